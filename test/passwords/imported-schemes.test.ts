import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import { isOutdated } from '../../src/passwords/hash-policy.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { derive } from '../../src/passwords/password-digest.ts'
import { encodeBase64 } from '../../src/passwords/schemes/encoded.ts'
import type { HashParameters } from '../../src/passwords/schemes/scheme.ts'
import {
  describePassword,
  findHashWork,
  readDocumentPassword,
  requireScheme,
  type StoredPassword,
  spendWork,
  toDocumentMembers,
} from '../../src/passwords/schemes.ts'

const bcrypt: typeof import('bcrypt') = createRequire(import.meta.url)('bcrypt')
const hasher = createHasher({ jobs: 2, queue: () => 1000 })
const CHEAP_DECOY = { unit: 'sha', amount: 1 }
const DEFAULTS: HashParameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: 600_000 }

const read = (scheme: string, text: unknown): StoredPassword =>
  readDocumentPassword({ password_scheme: scheme, encoded_hash: text })

const describeBcrypt = (text: unknown) => describePassword(read('bcrypt', text))

interface Vector {
  readonly scheme: string
  readonly text: string
  readonly password: string
  readonly description: string
}

const VECTORS: readonly Vector[] = [
  // the tests of the reference implementation of Argon2
  {
    scheme: 'argon2id',
    text: '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4',
    password: 'password',
    description: 'argon2id m=256 t=2 p=1',
  },
  {
    scheme: 'argon2id',
    text: '$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc',
    password: 'password',
    description: 'argon2id m=256 t=2 p=2',
  },
  // the tests of jBCrypt
  {
    scheme: 'bcrypt',
    text: '$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i',
    password: 'abc',
    description: 'bcrypt 6',
  },
  // the same, as OpenBSD and PHP name it
  {
    scheme: 'bcrypt',
    text: '$2b$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC',
    password: 'abcdefghijklmnopqrstuvwxyz',
    description: 'bcrypt 6',
  },
  {
    scheme: 'bcrypt',
    text: '$2y$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC',
    password: 'abcdefghijklmnopqrstuvwxyz',
    description: 'bcrypt 6',
  },
  // RFC 7914, section 12
  {
    scheme: 'scrypt',
    text: '$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw',
    password: 'pleaseletmein',
    description: 'scrypt N=16384 r=8 p=1',
  },
  // the documentation of passlib
  {
    scheme: 'scrypt',
    text: '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    password: 'password',
    description: 'scrypt N=65536 r=8 p=1',
  },
]

for (const { scheme, text, password, description } of VECTORS) {
  describe(text.slice(0, 32), () => {
    const stored = read(scheme, text)

    it('verifies its password and no other', async () => {
      assert.equal(await hasher.verify(stored, password, { decoy: CHEAP_DECOY }), true)
      for (const wrong of [`${password} `, password.toUpperCase(), '', `${password}\0`]) {
        assert.equal(await hasher.verify(stored, wrong, { decoy: CHEAP_DECOY }), false, JSON.stringify(wrong))
      }
    })

    it('is written unchanged, and described', () => {
      assert.deepEqual(toDocumentMembers(stored), { password_scheme: scheme, encoded_hash: text })
      assert.equal(describePassword(stored), description)
    })

    it('is hashed again as configured, unless that is weaker', () => {
      assert.equal(isOutdated(stored, DEFAULTS), true)
      assert.equal(isOutdated(stored, { ...DEFAULTS, iterations: 1 }), false)
      assert.equal(isOutdated(stored, { ...DEFAULTS, scheme: 'simple' }), false)
    })

    it('costs as much for an unknown name as for a wrong password: the decoy has the same parameters', async () => {
      const decoy = await spendWork(findHashWork(stored) ?? assert.fail(text), derive)
      if (!Buffer.isBuffer(decoy)) return assert.deepEqual([decoy].flat().map(describeBcrypt), [description])
      const salt = encodeBase64(Buffer.from('salt of a decoy'))
      const same = { ...stored, salt, hashBytes: decoy.length }
      assert.equal(await requireScheme(scheme).compute('decoy', same, derive), encodeBase64(decoy))
    })

    it('a cheaper hash is padded to it if it is the most expensive one', async () => {
      const decoy = findHashWork(stored)
      assert.ok(decoy)
      const stepMs = (unit: string) => (unit === decoy.unit ? 10 : 0.01)
      let iterations = 0
      const counting = createHasher({
        queue: () => 10,
        stepMs,
        derive: (clear, by) => {
          iterations += by.iterations
          return derive(clear, { ...by, iterations: 1 })
        },
      })
      const cheap: StoredPassword = { scheme: 'pbkdf2', prf: 'sha256', iterations: 100, salt: 'x', hash: '00' }
      assert.equal(counting.findMostExpensive({ unit: 'sha256', amount: 100 }, [decoy]), decoy)
      assert.equal(await counting.verify(cheap, 'wrong', { decoy }), false)
      assert.equal(iterations, decoy.amount * 1000)
    })
  })
}

it('bcrypt reads the first 72 bytes of a password', async () => {
  // the tests of crypt_blowfish
  const stored = read('bcrypt', '$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui')
  const first = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
  assert.equal(await hasher.verify(stored, `${first}chars after 72 are ignored`, { decoy: CHEAP_DECOY }), true)
  assert.equal(await hasher.verify(stored, first, { decoy: CHEAP_DECOY }), true)
  assert.equal(await hasher.verify(stored, first.slice(1), { decoy: CHEAP_DECOY }), false)
})

it('a cheaper bcrypt hash costs as many rounds as the most expensive one', async (t) => {
  const encoded = (cost: string) => read('bcrypt', `$2b$${cost}$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC`)
  const decoy = findHashWork(encoded('11'))
  assert.deepEqual(decoy, { unit: 'bcrypt', amount: 2048 })
  const hash = t.mock.method(bcrypt, 'hash')
  for (const stored of [undefined, ...['04', '08', '10', '11'].map(encoded)]) {
    hash.mock.resetCalls()
    assert.equal(await hasher.verify(stored, 'wrong', { decoy }), false)
    const results = await Promise.all(hash.mock.calls.map(({ result }) => result))
    const works = results.map((text) => findHashWork(read('bcrypt', text))?.amount ?? assert.fail(String(text)))
    const rounds = works.reduce((sum, amount) => sum + amount, 0)
    assert.equal(rounds, decoy?.amount, String(stored && describePassword(stored)))
  }
})

it('work in a unit of a later version costs nothing', async () => {
  const unknown = { unit: 'balloon s=1', amount: 1000 }
  assert.deepEqual(hasher.findMostExpensive(CHEAP_DECOY, [unknown]), CHEAP_DECOY)
  assert.equal(await hasher.verify(undefined, 'x', { decoy: unknown }), false)
})

describe('an encoded hash that is rejected', () => {
  const SALT = 'c29tZXNhbHQ'
  const HASH = 'nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
  const argon2id = (cost: string, salt = SALT, hash = HASH) => `$argon2id$v=19$${cost}$${salt}$${hash}`
  const bcrypt = (cost: string) => `$2b$${cost}$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC`
  const scrypt = (cost: string, salt = SALT, hash = HASH) => `$scrypt$${cost}$${salt}$${hash}`
  const rows: readonly (readonly [scheme: string, name: string, text: unknown, reason: string])[] = [
    ['argon2id', 'no text', 7, 'encoding'],
    ['argon2id', 'no members', undefined, 'encoding'],
    ['argon2id', 'another scheme', scrypt('ln=14,r=8,p=1'), 'encoding'],
    ['argon2id', 'Argon2i', argon2id('m=256,t=2,p=1').replace('argon2id', 'argon2i'), 'encoding'],
    ['argon2id', 'an older version', argon2id('m=256,t=2,p=1').replace('v=19', 'v=16'), 'encoding'],
    ['argon2id', 'no passes', argon2id('m=256,t=0,p=1'), 'encoding'],
    ['argon2id', 'less memory than its lanes need', argon2id('m=8,t=1,p=2'), 'encoding'],
    ['argon2id', 'a short salt', argon2id('m=256,t=2,p=1', 'c29t'), 'encoding'],
    ['argon2id', 'a short hash', argon2id('m=256,t=2,p=1', SALT, 'c29t'), 'encoding'],
    ['argon2id', 'padding', argon2id('m=256,t=2,p=1', `${SALT}=`), 'encoding'],
    ['argon2id', 'bits that nothing decodes to', argon2id('m=256,t=2,p=1', 'c29tZXNhbHR'), 'encoding'],
    ['argon2id', 'something behind it', `${argon2id('m=256,t=2,p=1')}\n`, 'encoding'],
    ['argon2id', 'the most memory', argon2id('m=262144,t=4,p=16'), ''],
    ['argon2id', 'more memory', argon2id('m=262145,t=1,p=1'), 'too_expensive'],
    ['argon2id', 'gigabytes of memory', argon2id('m=4194304,t=1,p=1'), 'too_expensive'],
    ['argon2id', 'too many passes', argon2id('m=65536,t=17,p=1'), 'too_expensive'],
    ['argon2id', 'minutes of passes', argon2id('m=8,t=4294967295,p=1'), 'too_expensive'],
    ['argon2id', 'too many lanes', argon2id('m=65536,t=1,p=17'), 'too_expensive'],
    ['bcrypt', 'no text', 7, 'encoding'],
    ['bcrypt', 'a version with a known fault', bcrypt('06').replace('2b', '2x'), 'encoding'],
    ['bcrypt', 'too low a cost', bcrypt('03'), 'encoding'],
    ['bcrypt', 'a cut-off hash', bcrypt('06').slice(0, -1), 'encoding'],
    ['bcrypt', 'the highest cost', bcrypt('14'), ''],
    ['bcrypt', 'a higher cost', bcrypt('15'), 'too_expensive'],
    ['bcrypt', 'a cost of days', bcrypt('31'), 'too_expensive'],
    ['scrypt', 'no text', null, 'encoding'],
    ['scrypt', 'N not below the limit of r', scrypt('ln=16,r=1,p=1'), 'encoding'],
    ['scrypt', 'no r', scrypt('ln=14,r=0,p=1'), 'encoding'],
    ['scrypt', 'the most memory', scrypt('ln=18,r=8,p=1'), ''],
    ['scrypt', 'more memory', scrypt('ln=19,r=8,p=1'), 'too_expensive'],
    ['scrypt', 'memory beyond any machine', scrypt('ln=63,r=8,p=1'), 'too_expensive'],
    ['scrypt', 'too many rounds', scrypt('ln=14,r=8,p=17'), 'too_expensive'],
  ]
  for (const [scheme, name, text, reason] of rows) {
    it(`${scheme}: ${name}${reason === '' ? ' is accepted' : ''}`, () => {
      const password = read(scheme, text)
      assert.equal(password.scheme === 'unusable' ? password.reason : '', reason)
    })
  }
})
