import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type CookieRules,
  isRenewalDue,
  mintCookie,
  readCookie,
  verifyCookie,
} from '../../../src/auth/session/cookie-value.ts'

const SECRET = Buffer.from('92de07df7e7a3fe14808cef90a7cc0d9')
const SALT = '1112283cf988a34f124200a050d308a1'
const T = 0x66000000
const CLASSIC_SHA256 = 'amFuOjY2MDAwMDAwOlpwO22ZANdL46RcR4Cx7v9qR2CJvH9d5yPogenQsp7c'
const CLASSIC_SHA = 'amFuOjY2MDAwMDAwOnChCbN6S2ubp8TsHtCUXDoxHJjF'
const ID = Buffer.from('0123456789abcdef')
const RULES: CookieRules = {
  secrets: [SECRET],
  salt: SALT,
  algorithms: ['sha256', 'sha1'],
  nowSeconds: T,
  timeoutSeconds: 600,
}
const mint = (algorithm = 'sha256', secret = SECRET, name = 'jan') =>
  mintCookie({ name, issuedAt: T, id: ID }, { secret, salt: SALT, algorithm })

function outcome(value: string, rules: Partial<CookieRules> = {}): string {
  const cookie = readCookie(value)
  if (cookie === undefined) return 'malformed'
  const verdict = verifyCookie(cookie, { ...RULES, ...rules })
  return verdict.kind === 'verified' ? `${verdict.name}, ${verdict.id ?? 'classic'}` : verdict.kind
}

/** The classic form, as the document database makes it. */
function classic(name: string, time: string, algorithm = 'sha256'): string {
  const payload = `${name}:${time}`
  const mac = createHmac(algorithm, SECRET + SALT)
    .update(payload)
    .digest()
  return Buffer.concat([Buffer.from(`${payload}:`), mac]).toString('base64url')
}

const flip = (value: string, index: number): string => {
  const bytes = Buffer.from(value, 'base64url')
  bytes[index] = (bytes[index] ?? 0) ^ 1
  return bytes.toString('base64url')
}

describe('the session cookie', () => {
  const rows: [string, string, string, Partial<CookieRules>?][] = [
    ['the classic vector with SHA-256', CLASSIC_SHA256, 'jan, classic'],
    ['the classic vector with SHA-1', CLASSIC_SHA, 'jan, classic'],
    ['SHA-1 that is not listed', CLASSIC_SHA, 'not_verified', { algorithms: ['sha256'] }],
    ['another salt', CLASSIC_SHA256, 'not_verified', { salt: SALT.toUpperCase() }],
    ['another secret', CLASSIC_SHA256, 'not_verified', { secrets: [Buffer.from('x')] }],
    ['no secret', CLASSIC_SHA256, 'not_verified', { secrets: [] }],
    ['an empty secret', CLASSIC_SHA256, 'not_verified', { secrets: [Buffer.alloc(0)] }],
    ['an old secret', CLASSIC_SHA256, 'jan, classic', { secrets: [Buffer.from('new'), SECRET] }],
    ['one second before it expires', CLASSIC_SHA256, 'jan, classic', { nowSeconds: T + 599 }],
    ['at its expiry', CLASSIC_SHA256, 'expired', { nowSeconds: T + 600 }],
    ['expired, with a wrong signature', CLASSIC_SHA256, 'not_verified', { nowSeconds: T + 600, secrets: [] }],
    ['issued by a clock that is ahead', CLASSIC_SHA256, 'jan, classic', { nowSeconds: T - 60 }],
    ['time in lower case', classic('jan', '6600000a'), 'jan, classic'],
    ['time with a sign', classic('jan', '+66000000'), 'jan, classic'],
    ['a negative time', classic('jan', '-66000000'), 'expired'],
    ['a time that is not a number', classic('jan', '0x660000'), 'not_verified'],
    ['a missing time', classic('jan', ''), 'not_verified'],
    ['a time with too many digits', classic('jan', 'F'.repeat(30)), 'not_verified'],
    ['an empty name', classic('', '66000000'), ', classic'],
    ['a name beyond ASCII', classic('jané', '66000000'), 'jané, classic'],
    ['ours', mint(), `jan, ${ID}`],
    ['ours with SHA-1', mint('sha1'), `jan, ${ID}`],
    ['ours with SHA-512 that is not listed', mint('sha512'), 'not_verified'],
    ['ours at its expiry', mint(), 'expired', { nowSeconds: T + 600 }],
    ['ours with SHA-256, as long as classic SHA-384', mint(), `jan, ${ID}`, { algorithms: ['sha384', 'sha256'] }],
    [
      'classic SHA-384, as long as ours with SHA-256',
      classic('jan', '66000000', 'sha384'),
      'jan, classic',
      { algorithms: ['sha256', 'sha384'] },
    ],
    ['ours where only SHA-384 is listed', mint(), 'not_verified', { algorithms: ['sha384'] }],
    ['an algorithm that this machine lacks', mint(), `jan, ${ID}`, { algorithms: ['md4', 'nonsense', 'sha256'] }],
    ['nothing', '', 'malformed'],
    ['garbage', 'garbage', 'malformed'],
    ['one colon', Buffer.from('jan:66000000').toString('base64url'), 'malformed'],
    ['padding', `${CLASSIC_SHA}=`, 'malformed'],
    ['the standard alphabet', Buffer.from('jan:66000000:\xff\xfe\xfd', 'latin1').toString('base64'), 'malformed'],
    ['a changed last character', `${CLASSIC_SHA256.slice(0, -1)}d`, 'not_verified'],
    ['stray bits at the end', `${Buffer.from('jan:66000000:').toString('base64url').slice(0, -1)}h`, 'malformed'],
    ['a name that is not UTF-8', Buffer.from('\xff:66000000:x', 'latin1').toString('base64url'), 'malformed'],
    ['far too long', Buffer.from(`jan:66000000:${'x'.repeat(4096)}`).toString('base64url'), 'malformed'],
    ['no MAC', Buffer.from('jan:66000000:').toString('base64url'), 'not_verified'],
    ['an id and no MAC', Buffer.from('jan:66000000:0123456789abcdef').toString('base64url'), 'not_verified'],
    [
      'a MAC of letters',
      Buffer.from('ada:7AF8FF20:0123456789012345678901234567890').toString('base64url'),
      'not_verified',
    ],
  ]
  for (const [name, value, expected, rules] of rows) it(name, () => assert.equal(outcome(value, rules), expected))

  it('verifies for every name and id', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !text.includes(':'))
    fc.assert(
      fc.property(
        name,
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
        fc.constantFrom('sha256', 'sha1'),
        (who, id, algorithm) => {
          const cookie = readCookie(
            mintCookie({ name: who, issuedAt: T, id }, { secret: SECRET, salt: SALT, algorithm }),
          )
          assert.ok(cookie)
          const verdict = verifyCookie(cookie, RULES)
          assert.deepEqual(verdict, { kind: 'verified', name: who, issuedAt: T, id: Buffer.from(id) })
        },
      ),
    )
  })

  it('does not verify with any changed byte', () => {
    for (const value of [CLASSIC_SHA256, CLASSIC_SHA, mint()]) {
      for (let index = 0; index < Buffer.from(value, 'base64url').length; index += 1) {
        assert.match(outcome(flip(value, index)), /^(not_verified|malformed)$/, `byte ${index}`)
      }
    }
  })

  it('does not verify in the other form', () => {
    const bytes = Buffer.from(mint(), 'base64url')
    const withoutId = Buffer.concat([bytes.subarray(0, 13), bytes.subarray(29)])
    assert.equal(outcome(withoutId.toString('base64url')), 'not_verified')
    const plain = Buffer.from(CLASSIC_SHA256, 'base64url')
    const withId = Buffer.concat([plain.subarray(0, 13), ID, plain.subarray(13)])
    assert.equal(outcome(withId.toString('base64url')), 'not_verified')
  })

  it('is not minted for a name with a colon or an id of another length', () => {
    assert.throws(() => mint('sha256', SECRET, 'a:b'), TypeError)
    const key = { secret: SECRET, salt: SALT, algorithm: 'sha256' }
    assert.throws(() => mintCookie({ name: 'a', issuedAt: T, id: Buffer.alloc(15) }, key), TypeError)
  })

  it('never throws', () => {
    const bytes = fc.uint8Array({ maxLength: 100 }).map((value) => Buffer.from(value).toString('base64url'))
    const near = fc
      .tuple(fc.string(), fc.string(), fc.string())
      .map((parts) => Buffer.from(parts.join(':')).toString('base64url'))
    fc.assert(fc.property(fc.oneof(fc.string(), bytes, near), (value) => assert.doesNotMatch(outcome(value), /,/)))
  })

  it('is renewed when more than a tenth of its lifetime has passed', () => {
    assert.deepEqual(
      [0, 60, 61, 700].map((age) => isRenewalDue(T, T + age, 600)),
      [false, false, true, true],
    )
  })
})
