import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkPassword,
  createLengthRule,
  PASSWORD_RULE_LIMITS,
  type PasswordRules,
  readPasswordRules,
} from '../../src/passwords/password-rules.ts'

const REFUSED = 'Password does not conform to requirements.'

function rulesOf(text: string): PasswordRules {
  const reading = readPasswordRules(text)
  assert.ok(reading.kind === 'rules', `${text}: ${JSON.stringify(reading)}`)
  return reading.rules
}

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
const check = (rules: PasswordRules, password: string) => checkPassword(rules, password, [])
const isAccepted = async (expression: string, password: string) =>
  (await check(rulesOf(`[${quote(expression)}]`), password)) === undefined

describe('no rules', () => {
  for (const text of ['', ' ', '[]', '""', ' [ ] ', '[%none\n]', '"" ""', '\t[\r\n]\n% the end']) {
    it(JSON.stringify(text), async () => {
      assert.deepEqual(rulesOf(text), [])
      assert.equal(await check([], 'x'.repeat(10_000)), undefined)
    })
  }
})

describe('rules', () => {
  const text = '[{".{10,}", "Min length is 10 chars."}, "[0-9]+"]'
  const rows: [string, string, string, string | undefined][] = [
    ['all match', text, 'long enough 1', undefined],
    ['the first that fails gives its reason', text, 'short', `${REFUSED} Min length is 10 chars.`],
    ['a later one that fails has none to give', text, 'long enough', REFUSED],
    ['a tuple of one', '[{"[0-9]"}]', 'x', REFUSED],
    ['an empty reason', '[{"[0-9]", ""}]', 'x', REFUSED],
    ['an empty password', '["."]', '', REFUSED],
    ['the empty expression', '[""]', '', undefined],
    ['white space and comments', ' [ % first\n { "a" , "b" } % second\n , "c" ] % third', 'c', `${REFUSED} b`],
    ['adjacent strings are joined', '["a" "b"]', 'ab', undefined],
    ['adjacent strings are joined, so a alone fails', '["a" "b"]', 'a b', REFUSED],
    [
      'a reason in any script',
      '[{"[0-9]", "Bitte eine Ziffer – žádná tu není"}]',
      'x',
      `${REFUSED} Bitte eine Ziffer – žádná tu není`,
    ],
  ]
  for (const [name, list, password, expected] of rows) {
    it(name, async () => assert.equal(await check(rulesOf(list), password), expected))
  }

  it('a reason with a character of several bytes', async () => {
    assert.equal(await check(rulesOf('[{"[0-9]", "\\"\\x{2713}\\" \\\\"}]'), 'x'), `${REFUSED} "✓" \\`)
  })

  it('a reason that is not UTF-8 is read byte by byte', async () => {
    assert.equal(await check(rulesOf('[{"[0-9]", "\\xe4"}]'), 'x'), `${REFUSED} ä`)
  })
})

describe('escapes of a string', () => {
  const rows: [string, string, string][] = [
    ['\\n', '\\n', '\n'],
    ['\\t', '\\t', '\t'],
    ['\\r', '\\r', '\r'],
    ['\\s is a space', '\\s', ' '],
    ['\\d is DEL', '\\d', '\x7f'],
    ['\\e', '\\e', '\x1b'],
    ['\\b \\f \\v', '\\b\\f\\v', '\b\f\v'],
    ['\\"', '\\"', '"'],
    ["\\'", "\\'", "'"],
    ['\\\\\\\\ is a backslash to the expression', '\\\\\\\\', '\\'],
    ['\\\\d is a digit to the expression', '\\\\d', '7'],
    ['\\x41', '\\x41', 'A'],
    ['\\x{41}', '\\x{41}', 'A'],
    ['\\x{00000041}', '\\x{00000041}', 'A'],
    ['\\x{20AC}', '\\x{20AC}', '€'],
    ['\\x{1F511}', '\\x{1F511}', '🔑'],
    ['two bytes', '\\xc3\\xa4', 'ä'],
    ['octal of one digit', '\\7', '\x07'],
    ['octal of three digits', '\\101', 'A'],
    ['octal has at most three digits', '\\1012', 'A2'],
    ['control character', '\\^a\\^Z\\^[', '\x01\x1a\x1b'],
    ['any other escape is the character itself', '\\q', 'q'],
    ['a literal line break', '\n', '\n'],
    ['literal text', 'žluťoučký', 'žluťoučký'],
  ]
  for (const [name, text, password] of rows) {
    it(name, async () => {
      const rules = rulesOf(`["^${text}$"]`)
      assert.equal(await check(rules, password), undefined)
      assert.equal(await check(rules, 'other'), REFUSED)
    })
  }
})

describe('problems with their position', () => {
  const rows: [string, string, number][] = [
    ['not a list', 'a', 1],
    ['a string that is not empty', '"a"', 1],
    ['a tuple alone', '{"a"}', 1],
    ['an unterminated list', '["a"', 5],
    ['an empty element', '["a",]', 6],
    ['two lists', '[] []', 4],
    ['a full stop', '["a"].', 6],
    ['a number', '["a", 97]', 7],
    ['an atom', '[abc]', 2],
    ['a binary', '[<<"a">>]', 2],
    ['a list inside', '[["a"]]', 2],
    ['an empty tuple', '[{}]', 3],
    ['a tuple of three', '[{"a", "b", "c"}]', 11],
    ['a reason that is not a string', '[{"a", b}]', 8],
    ['an unterminated string', '["a", "b]', 7],
    ['a string that ends in a backslash', '["a\\', 5],
    ['\\x with nothing', '["\\x"]', 4],
    ['\\x with one digit', '["\\x1"]', 4],
    ['\\x{} empty', '["\\x{}"]', 4],
    ['\\^ with nothing', '["\\^"]', 4],
    ['a code point that does not exist', '["\\x{110000}"]', 13],
    ['a lone surrogate', '["\\x{d800}"]', 11],
    ['an unterminated number', `["\\x{${'f'.repeat(400)}}"]`, 407],
    ['a comment up to the end', '["a" % ]', 9],
    ['counted in characters, not bytes', '["žluť", x]', 10],
    ['a bad expression', '["a", "(b"]', 7],
    ['a back reference', '["(a)\\\\1"]', 2],
    ['look-behind', '["(?<=a)b"]', 2],
    ['look-ahead without ^ before it', '["(?=a)b"]', 2],
    ['look-ahead before alternatives', '["^(?=a)b|c"]', 2],
    ['an unterminated look-ahead', '["^(?=a"]', 2],
    ['look-ahead repeated', '["^(?=a)*b"]', 2],
  ]
  for (const [name, text, character] of rows) {
    it(name, () => {
      const reading = readPasswordRules(text)
      assert.equal(reading.kind === 'problem' ? reading.character : 'no problem', character)
      assert.match(reading.kind === 'problem' ? reading.message : '', new RegExp(`^at character ${character}: \\S`))
    })
  }
})

describe('expressions', () => {
  const rows: [string, string, string, boolean][] = [
    ['match anywhere', 'b', 'abc', true],
    ['are case-sensitive', 'B', 'abc', false],
    ['can be case-insensitive', '(?i)B', 'abc', true],
    ['count bytes', '^.{8}$', 'äöüß', true],
    ['count bytes, not characters', '^.{4}$', 'äöüß', false],
    ['. does not match a line break', '^a.b$', 'a\nb', false],
    ['\\w is ASCII', '^\\w+$', 'ä', false],
    ['named classes', '[[:punct:]]', 'a!', true],
    ['a literal in any script', 'ž', 'xžx', true],
    ['look-ahead holds', '^(?=.*[A-Z])(?=.*\\d).{8,}$', 'Abcdefg1', true],
    ['first look-ahead fails', '^(?=.*[A-Z])(?=.*\\d).{8,}$', 'abcdefg1', false],
    ['second look-ahead fails', '^(?=.*[A-Z])(?=.*\\d).{8,}$', 'Abcdefgh', false],
    ['what follows look-aheads fails', '^(?=.*[A-Z])(?=.*\\d).{8,}$', 'Ab1', false],
    ['negative look-ahead', '^(?!.*pass).*$', 'my password', false],
    ['negative look-ahead holds', '^(?!.*pass).*$', 'my secret', true],
    ['flags before look-ahead', '(?i)^(?!.*pass).*$', 'my PASSWORD', false],
    ['brackets in classes of a look-ahead', '^(?=.*[)(\\]])(?=[[:alpha:]])a', 'a]', true],
    ['escaped brackets in a look-ahead', '^(?=.*\\))(?=.*\\Q(\\E)a', 'a()', true],
  ]
  for (const [name, expression, password, expected] of rows) {
    it(name, async () => assert.equal(await isAccepted(expression, password), expected))
  }
})

describe('bounds', () => {
  const rows: [string, string][] = [
    ['a text that is too long', `["${'a'.repeat(PASSWORD_RULE_LIMITS.textBytes)}"]`],
    ['too many rules', `[${Array.from({ length: PASSWORD_RULE_LIMITS.rules + 1 }, () => '"a"').join(',')}]`],
    ['expressions too large together', `["[ab]{999}","[cd]{999}","[ef]{999}"]`],
    ['one too large', '[".{0,1000}.{0,1000}"]'],
    ['repetitions that expand', `["${'a{1000}'.repeat(1000)}"]`],
    ['repetitions of repetitions', `["(?:${'.{31}'.repeat(1000)}){31}"]`],
    ['repetitions too large for a number', '["a{99999999999999999999}"]'],
    ['nested too deeply', `["${'('.repeat(4000)}${')'.repeat(4000)}"]`],
    ['classes that never close', `["^(?=${'['.repeat(8000)}"]`],
    ['look-aheads that never close', `["^${'(?=('.repeat(2000)}"]`],
  ]
  for (const [name, text] of rows) {
    it(`${name}: rejected`, () => assert.equal(readPasswordRules(text).kind, 'problem'))
  }

  it('expressions that expand without bound are rejected early', () => {
    for (const text of [`["${'a{1000}'.repeat(1000)}"]`, `["^(?=(?:${'.{31}'.repeat(1000)}){31})"]`]) {
      const reading = readPasswordRules(text)
      assert.match(reading.kind === 'problem' ? reading.message : '', /repeats too much/)
    }
  })

  it('as many rules as allowed, and a long one', async () => {
    assert.equal(rulesOf(`[${Array.from({ length: PASSWORD_RULE_LIMITS.rules }, () => '"a"').join(',')}]`).length, 32)
    assert.equal(await isAccepted('^.{8,1000}$', 'x'.repeat(1000)), true)
  })

  it('a password that is too long to check is rejected, only if there are rules', async () => {
    const most = PASSWORD_RULE_LIMITS.passwordBytes
    const rules = rulesOf('["a"]')
    assert.equal(await check(rules, 'a'.repeat(most)), undefined)
    assert.equal(await check(rules, 'a'.repeat(most + 1)), `${REFUSED} It is longer than ${most} bytes.`)
    assert.equal(await check(rules, `a${'ä'.repeat(most / 2)}`), `${REFUSED} It is longer than ${most} bytes.`)
    assert.equal(await check([], 'a'.repeat(most + 1)), undefined)
  })
})

describe('the minimum length', () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['twelve letters', 'a'.repeat(12), true],
    ['eleven letters', 'a'.repeat(11), false],
    ['eleven letters of two bytes', 'ü'.repeat(11), false],
    ['twelve letters of two bytes', 'ü'.repeat(12), true],
    ['six characters of four bytes', '🦊'.repeat(6), false],
    ['twelve characters of four bytes', '🦊'.repeat(12), true],
  ]
  for (const [name, password, isLong] of rows) {
    it(`${name}: ${isLong}`, async () => {
      const expected = isLong ? undefined : `${REFUSED} Use at least 12 characters.`
      assert.equal(await check([createLengthRule(12)], password), expected)
    })
  }
})
