import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { createPasswordExpression } from '../../src/passwords/password-expression.ts'
import { listQuickProblems, PASSWORD_RULE_LIMITS, readPasswordRules } from '../../src/passwords/password-rules.ts'
import { readRuleTerms } from '../../src/passwords/password-terms.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

describe('any text', () => {
  const pieces = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    '"',
    '\\',
    ',',
    '%',
    '\n',
    ' ',
    'x',
    '{1',
    '41}',
    '^',
    '(?=',
    '(',
    ')',
    '|',
    'a',
    'é',
  )
  const texts = fc.oneof(
    fc.string(),
    fc.string({ unit: ANY_CHARACTER }),
    fc.array(pieces).map((list) => list.join('')),
  )

  it('gives rules or a problem, and rules check any password', () => {
    fc.assert(
      fc.property(texts, texts, (text, password) => {
        const reading = readPasswordRules(text)
        if (reading.kind === 'problem') assert.ok(reading.character >= 1 && reading.character <= text.length + 1)
        else listQuickProblems(reading.rules, password, [])
      }),
      { numRuns: 3000 },
    )
  })

  it('in quotes reads back unchanged', () => {
    const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
    fc.assert(
      fc.property(fc.array(fc.tuple(bytes, bytes)), (pairs) => {
        const text = `[${pairs.map(([a, b]) => `{${quote(a)}, ${quote(b)}}`).join(',')}]`
        const terms = readRuleTerms(text).map(({ expression, reason }) => [expression, reason])
        assert.deepEqual(terms, pairs)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('look-ahead', () => {
  it('agrees with an engine that supports it', () => {
    const part = fc
      .array(fc.constantFrom('a', 'b', '.', '.*', '[ab]', '[^a]', '(?:a|b)', 'b?', '\\)', '[)|(]', '(a)', '$'))
      .map((list) => list.join(''))
    const lookAheads = fc.array(fc.tuple(fc.constantFrom('(?=', '(?!'), part), { minLength: 1, maxLength: 3 })
    const passwords = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ')', '|'), maxLength: 8 })
    fc.assert(
      fc.property(lookAheads, part, passwords, (ahead, rest, password) => {
        const source = `^${ahead.map(([open, body]) => `${open}${body})`).join('')}${rest}`
        assert.equal(createPasswordExpression(source).isMatch(password), new RegExp(source).test(password), source)
      }),
      { numRuns: 3000 },
    )
  })
})

describe('pairs that stall a backtracking engine', () => {
  const PAIRS: [string, string, string][] = [
    ['nested repetition', '^(a+)+$', 'a'],
    ['nested repetition of a class', '^([a-zA-Z]+)*$', 'a'],
    ['alternatives that overlap', '^(a|aa)+$', 'a'],
    ['alternatives that are equal', '^(a|a)*$', 'a'],
    ['many optional characters', `^${'a?'.repeat(30)}${'a'.repeat(30)}[bc]$`, 'a'],
    ['repetition beside repetition', '^(.*a){12}[bc]$', 'a'],
    ['three in a row', '^\\d*\\d*\\d*[bc]$', '1'],
    ['words', '^(\\w+\\s?)*$', 'a'],
    ['words under look-ahead', '^(?=(?:\\w+\\s?)*$)(?=(a+)+$).*', 'a'],
    ['a suffix searched anywhere', '(x+x+)+[yz]', 'x'],
  ]
  const most = PASSWORD_RULE_LIMITS.passwordBytes
  const MAX_READS = 4

  /** How often the engine reads a character of the password. */
  function countReads(isMatch: (bytes: string) => boolean, password: string): number {
    const read = mock.method(String.prototype, 'charCodeAt')
    assert.equal(isMatch(password), false)
    read.mock.restore()
    return read.mock.callCount()
  }

  for (const [name, expression, unit] of PAIRS) {
    it(`${name}: the engine reads each character a few times, however long the password is`, () => {
      const { isMatch, size } = createPasswordExpression(expression)
      assert.ok(size <= PASSWORD_RULE_LIMITS.steps)
      const reads = countReads(isMatch, `${unit.repeat(most - 1)}!`)
      // with backtracking it would be their square, or the match would never end
      assert.ok(reads >= most && reads <= MAX_READS * most, `${reads} reads of ${most} characters`)
    })
  }
})
