import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type HashedPassword, readAdminPassword, renderAdminPassword } from '../../src/passwords/schemes.ts'

const SALT = '1112283cf988a34f124200a050d308a1'
const hex = (digits: number) => '0a'.repeat(digits / 2)

describe('stored forms', () => {
  const pbkdf2 = (prf: 'sha' | 'sha224' | 'sha256' | 'sha384' | 'sha512', hash: string, iterations = 10) =>
    ({ scheme: 'pbkdf2', prf, iterations, salt: SALT, hash }) as const
  const rows: [string, string, HashedPassword][] = [
    ['simple', `-hashed-${hex(40)},${SALT}`, { scheme: 'simple', salt: SALT, hash: hex(40) }],
    ['40 digits are sha', `-pbkdf2-${hex(40)},${SALT},10`, pbkdf2('sha', hex(40))],
    ['56 digits are sha224', `-pbkdf2-${hex(56)},${SALT},10`, pbkdf2('sha224', hex(56))],
    ['64 digits are sha256', `-pbkdf2-${hex(64)},${SALT},600000`, pbkdf2('sha256', hex(64), 600000)],
    ['96 digits are sha384', `-pbkdf2-${hex(96)},${SALT},10`, pbkdf2('sha384', hex(96))],
    ['128 digits are sha512', `-pbkdf2-${hex(128)},${SALT},10`, pbkdf2('sha512', hex(128))],
    ['the maximum number of iterations', `-pbkdf2-${hex(40)},${SALT},2147483647`, pbkdf2('sha', hex(40), 2147483647)],
  ]
  for (const [name, text, password] of rows) {
    it(`${name}: read, and rendered to the same text`, () => {
      assert.deepEqual(readAdminPassword(text), { kind: 'stored', password })
      assert.equal(renderAdminPassword(password), text)
    })
  }

  for (const [prf, digits] of [
    ['sha', 40],
    ['sha224', 56],
    ['sha256', 64],
    ['sha384', 96],
    ['sha512', 128],
  ] as const) {
    it(`-pbkdf2:${prf}-: read, and rendered in that form on request`, () => {
      const text = `-pbkdf2:${prf}-${hex(digits)},${SALT},10`
      assert.deepEqual(readAdminPassword(text), { kind: 'stored', password: pbkdf2(prf, hex(digits)) })
      assert.equal(renderAdminPassword(pbkdf2(prf, hex(digits)), 'prf'), text)
    })
  }

  it('a salt that the text cannot contain is not rendered', () => {
    for (const salt of ['', 'a,b', 'a b', 'a\nb', 'ä']) {
      assert.throws(() => renderAdminPassword({ scheme: 'simple', salt, hash: hex(40) }), TypeError)
    }
  })
})

describe('clear text', () => {
  for (const text of [
    '',
    'relax',
    'hashed-1,2',
    '-hashed',
    '-Hashed-1,2',
    '-pbkdf2',
    '-pbkdf2x-1,2,3',
    ' -pbkdf2-1,2,3',
    `-pbkdf2:md5-${hex(32)},${SALT},10`,
    `-pbkdf2:SHA256-${hex(64)},${SALT},10`,
    `-pbkdf2:constructor-${hex(64)},${SALT},10`,
    `-pbkdf2:-${hex(64)},${SALT},10`,
  ]) {
    it(JSON.stringify(text), () => assert.deepEqual(readAdminPassword(text), { kind: 'plain' }))
  }
})

describe('a known prefix before a malformed text', () => {
  const rows: [string, string][] = [
    ['hashed alone', '-hashed-'],
    ['hashed without a salt', `-hashed-${hex(40)}`],
    ['hashed with an empty salt', `-hashed-${hex(40)},`],
    ['hashed with an extra part', `-hashed-${hex(40)},${SALT},10`],
    ['hashed in upper case', `-hashed-${hex(40).toUpperCase()},${SALT}`],
    ['hashed of another length', `-hashed-${hex(64)},${SALT}`],
    ['pbkdf2 alone', '-pbkdf2-'],
    ['pbkdf2 without iterations', `-pbkdf2-${hex(64)},${SALT}`],
    ['pbkdf2 with an extra part', `-pbkdf2-${hex(64)},${SALT},10,10`],
    ['pbkdf2 with an empty hash', `-pbkdf2-,${SALT},10`],
    ['pbkdf2 with an empty salt', `-pbkdf2-${hex(64)},,10`],
    ['pbkdf2 with a hash length of no PRF', `-pbkdf2-${hex(62)},${SALT},10`],
    ['pbkdf2 in upper case', `-pbkdf2-${hex(64).toUpperCase()},${SALT},10`],
    ['pbkdf2 not hexadecimal', `-pbkdf2-${'g'.repeat(64)},${SALT},10`],
    ['a hash length of another PRF', `-pbkdf2:sha256-${hex(40)},${SALT},10`],
    ['iterations 0', `-pbkdf2-${hex(64)},${SALT},0`],
    ['iterations with a leading zero', `-pbkdf2-${hex(64)},${SALT},010`],
    ['iterations negative', `-pbkdf2-${hex(64)},${SALT},-10`],
    ['iterations in hexadecimal', `-pbkdf2-${hex(64)},${SALT},0x10`],
    ['iterations with an exponent', `-pbkdf2-${hex(64)},${SALT},1e5`],
    ['iterations with a space', `-pbkdf2-${hex(64)},${SALT},10 `],
    ['iterations with a line end', `-pbkdf2-${hex(64)},${SALT},10\n`],
    ['iterations too large for a number', `-pbkdf2-${hex(64)},${SALT},2147483648`],
    ['iterations above the maximum', `-pbkdf2-${hex(64)},${SALT},${'9'.repeat(400)}`],
    ['a salt with a control character', `-pbkdf2-${hex(64)},a\u0000b,10`],
    ['a salt that is too long', `-pbkdf2-${hex(64)},${'a'.repeat(257)},10`],
  ]
  for (const [name, text] of rows) {
    it(name, () => assert.equal(readAdminPassword(text).kind, 'malformed'))
  }

  it('the reason does not quote what was given', () => {
    const reading = readAdminPassword('-pbkdf2-SecretWord,OtherWord,ThirdWord')
    assert.equal(reading.kind, 'malformed')
    assert.doesNotMatch(JSON.stringify(reading), /Word/)
  })
})
