import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { findKnownFlaw } from '../../src/passwords/known-passwords.ts'

const RUN = 'It is one character, repeated.'
const ROWS = 'It is made of rows of digits, letters or keys.'
const LISTED = 'It is a known password.'
const EXTENDED = 'It is a known password with digits or signs before or after it.'
const REPEATED = 'It is a known password, repeated.'
const NAME = 'It contains the name or address of the account.'
const PRODUCT = 'It contains the name Cardea.'

const ROWS_OF_TEST: readonly (readonly [name: string, password: string, flaw: string | undefined, account?: string])[] =
  [
    ['the first of the list', '123456', ROWS],
    ['one of the list', 'letmein', LISTED],
    ['the first of the file', '!qaz2wsx', LISTED],
    ['the last of the file', 'zzzzzzz1', LISTED],
    ['what is between two of the list', 'letmeimn', undefined],
    ['one of the list in capitals', 'LetMeIn', LISTED],
    ['digits after it', 'password2026', EXTENDED],
    ['digits and signs after it', 'Superman!2?', EXTENDED],
    ['digits before it', '2026Superman', EXTENDED],
    ['signs before and digits after it', '!!Superman2026', EXTENDED],
    ['signs of several bytes', 'superman✓✓✓✓', EXTENDED],
    ['five digits after it', 'supermanx20261', undefined],
    ['one of the list twice', 'supermansuperman', REPEATED],
    ['one of the list three times', 'DragonDragonDragon', REPEATED],
    ['one of the list twice, with a digit', 'dragondragondragon1', REPEATED],
    ['a run of one character', 'zzzzzzzzzzzzzzzz', RUN],
    ['a run of one character of several bytes', '😀😀😀😀😀😀', RUN],
    ['digits in a row', '123456789012', ROWS],
    ['digits backwards', '987654321098', ROWS],
    ['letters in a row', 'abcdefghijklmnop', ROWS],
    ['letters backwards', 'zyxwvutsrqpo', ROWS],
    ['keys of a row', 'qwertyuiop[]', ROWS],
    ['several rows', 'qwertyASDFGH123456', ROWS],
    ['columns of keys', '1qaz2wsx3edc4rfv', ROWS],
    ['keys of a row of another layout', 'azertyuiopqsdfgh', ROWS],
    ['a row and another word', 'qwertyuiop tin', undefined],
    ['the name of the account', 'my-ada.lovelace-pw', NAME, 'Ada.Lovelace'],
    ['an address that is the name', 'xx-lovelace-xx', NAME, 'lovelace@example.com'],
    ['a name of three characters', 'zebra adagio tin', undefined, 'ada'],
    ['the name of the product', 'mein CARDEA zebra', PRODUCT],
    ['words that have nothing to do with each other', 'correct horse battery staple', undefined],
    ['random characters', 'hT4kP9wQz7Lm', undefined],
    ['random digits and signs', '7?3!9#1%8+4=', undefined],
    ['nothing', '', undefined],
  ]

describe('a new password', () => {
  for (const [name, password, flaw, account = 'someone'] of ROWS_OF_TEST)
    it(name, () => assert.equal(findKnownFlaw(password, [account]), flaw))

  it('is searched in a list that is ordered, in which every line is found', () => {
    const text = readFileSync(new URL('../../etc/known-passwords.txt', import.meta.url), 'latin1')
    const lines = text.slice(text.indexOf('\n\n') + 2, -1).split('\n')
    assert.equal(lines.length, 49_233)
    assert.deepEqual(lines, lines.toSorted())
    for (const [at, line] of lines.entries()) if (at % 100 === 0) assert.ok(findKnownFlaw(line, []), line)
  })

  it('the address of the account', () => {
    assert.equal(findKnownFlaw('xx-countess-xx', ['ada', 'countess@example.com']), NAME)
  })

  it('of the longest length is checked', () => {
    for (const unit of ['a', 'ab', '1', '!', 'q1'])
      findKnownFlaw(unit.repeat(1024 / unit.length).replace(/.$/, 'x'), ['someone'])
  })
})
