import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { digestHex } from '../../src/base/encoding.ts'
import { createHasher, defaultJobs } from '../../src/passwords/hasher.ts'
import { derive } from '../../src/passwords/password-digest.ts'
import { METHODS } from '../../src/passwords/schemes/salted.ts'
import type { HashParameters } from '../../src/passwords/schemes/scheme.ts'
import {
  readAdminPassword,
  readDocumentPassword,
  readSimpleAuthData,
  type StoredPassword,
} from '../../src/passwords/schemes.ts'

const SALT = '1112283cf988a34f124200a050d308a1'
const CHEAP: HashParameters = { scheme: 'pbkdf2', prf: 'sha', iterations: 1 }
const CHEAP_DECOY = { unit: 'sha', amount: 1 }
const hasher = createHasher({ jobs: 2, queue: () => 1000 })

const admin = (text: string): StoredPassword => {
  const reading = readAdminPassword(text)
  assert.ok(reading.kind === 'stored', text)
  return reading.password
}

const document = (scheme: string, members: Record<string, unknown>) =>
  readDocumentPassword({ password_scheme: scheme, salt: SALT, ...members })

const VECTORS: [string, StoredPassword, string][] = [
  ['simple', document('simple', { password_sha: 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf' }), 'apple'],
  ['-hashed-', admin(`-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,${SALT}`), 'apple'],
  [
    'pbkdf2 sha 10',
    document('pbkdf2', { iterations: 10, derived_key: 'e579375db0e0c6a6fc79cd9e36a36859f71575c3' }),
    'apple',
  ],
  ['-pbkdf2- sha 10', admin(`-pbkdf2-e579375db0e0c6a6fc79cd9e36a36859f71575c3,${SALT},10`), 'apple'],
  [
    '-pbkdf2- sha256 600000',
    admin(`-pbkdf2-292f36dc55501b0c004039b69d0b49035257093c22e1dcf8d4b39fdb7e59c1e2,${SALT},600000`),
    'apple',
  ],
  [
    'simple+pbkdf2 sha256 1000',
    document('simple+pbkdf2', {
      pbkdf2_prf: 'sha256',
      iterations: 1000,
      derived_key: '3dfd82807b7340f8778a0a7b244a70aa73132fd0d45bc0faf5c16a8bd98582d2',
    }),
    'apple',
  ],
  [
    'salted sha256',
    readSimpleAuthData({
      method: 'sha256',
      salt: '1a2b3c4d',
      hash: '14af9cd53b0ef83109c84a633203b213a3f6e5533a389cf5ca03a6b836133a54',
    }),
    'secret',
  ],
]

// no trailing U+0000: HMAC pads a short key with zeros, so PBKDF2 gives the same hash
describe('known passwords', () => {
  for (const [name, stored, password] of VECTORS) {
    it(`${name} verifies its password and no other`, async () => {
      assert.equal(await hasher.verify(stored, password, { decoy: CHEAP_DECOY }), true)
      for (const wrong of [`${password} `, password.toUpperCase(), password.slice(1), '', `\u0000${password}`]) {
        assert.equal(await hasher.verify(stored, wrong, { decoy: CHEAP_DECOY }), false, JSON.stringify(wrong))
      }
    })
  }

  for (const [name, stored] of VECTORS) {
    it(`${name} does not verify by its own hash, nor with another salt`, async () => {
      assert.ok(stored.scheme !== 'unusable')
      assert.equal(await hasher.verify(stored, stored.hash, { decoy: CHEAP_DECOY }), false)
      assert.equal(await hasher.verify({ ...stored, salt: `${stored.salt}0` }, 'apple', { decoy: CHEAP_DECOY }), false)
    })
  }

  it('every method of the salted form verifies its own digests', async () => {
    for (const method of METHODS) {
      const stored = readSimpleAuthData({ method, salt: 'ab', hash: digestHex(method, 'ab', 'pässword') })
      assert.equal(await hasher.verify(stored, 'pässword', { decoy: CHEAP_DECOY }), true, method)
      assert.equal(await hasher.verify(stored, 'password', { decoy: CHEAP_DECOY }), false, method)
    }
  })

  it('a hash in another spelling or length verifies nothing', async () => {
    for (const [name, stored, password] of VECTORS.filter(([name]) => !name.includes('600000'))) {
      assert.ok(stored.scheme !== 'unusable')
      const { hash } = stored
      for (const other of [hash.toUpperCase(), hash.slice(0, -2), `${hash}00`, `${hash}\n`, '00', '']) {
        assert.equal(await hasher.verify({ ...stored, hash: other }, password, { decoy: CHEAP_DECOY }), false, name)
      }
    }
  })

  it('a lone surrogate is not a password, and not that of its replacement character', async () => {
    const stored = await hasher.hash('a\ufffdb', CHEAP)
    assert.equal(await hasher.verify(stored, 'a\ufffdb', { decoy: CHEAP_DECOY }), true)
    for (const wrong of ['a\ud800b', 'a\udfffb'])
      assert.equal(await hasher.verify(stored, wrong, { decoy: CHEAP_DECOY }), false)
    const broken = await hasher.hash('a\ud800b', CHEAP)
    assert.equal(await hasher.verify(broken, 'a\ud800b', { decoy: CHEAP_DECOY }), false)
  })

  it('rejects every text with NUL, also one that equals the password up to the NUL', async () => {
    const stored = await hasher.hash('ab', CHEAP)
    for (const wrong of ['ab\0', 'ab\0\0', '\0ab'])
      assert.equal(await hasher.verify(stored, wrong, { decoy: CHEAP_DECOY }), false)
    assert.equal(await hasher.verify(await hasher.hash('ab\0', CHEAP), 'ab\0', { decoy: CHEAP_DECOY }), false)
  })

  it('an unknown user and an unusable password verify nothing', async () => {
    for (const stored of [undefined, document('md5crypt', {}), readDocumentPassword({})]) {
      assert.equal(await hasher.verify(stored, '', { decoy: CHEAP_DECOY }), false)
      assert.equal(await hasher.verify(stored, 'apple', { decoy: CHEAP_DECOY }), false)
    }
  })
})

describe('new passwords', () => {
  for (const prf of ['sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const) {
    it(`pbkdf2 with ${prf} verifies`, async () => {
      const stored = await hasher.hash('pässword', { scheme: 'pbkdf2', prf, iterations: 7 })
      assert.match(stored.salt, /^[0-9a-f]{32}$/)
      assert.equal(await hasher.verify(stored, 'pässword', { decoy: CHEAP_DECOY }), true)
      assert.equal(await hasher.verify(stored, 'password', { decoy: CHEAP_DECOY }), false)
    })
  }

  it('keeps the salt it is given, and gives the known hash', async () => {
    const stored = await hasher.hash('apple', { scheme: 'pbkdf2', prf: 'sha', iterations: 10, salt: SALT })
    const hash = 'e579375db0e0c6a6fc79cd9e36a36859f71575c3'
    assert.deepEqual(stored, { scheme: 'pbkdf2', prf: 'sha', iterations: 10, salt: SALT, hash })
  })

  it('simple if requested', async () => {
    const stored = await hasher.hash('apple', { ...CHEAP, scheme: 'simple', salt: SALT })
    assert.deepEqual(stored, { scheme: 'simple', salt: SALT, hash: 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf' })
  })

  it('two hashes of one password differ', async () => {
    const [one, two] = await Promise.all([hasher.hash('apple', CHEAP), hasher.hash('apple', CHEAP)])
    assert.notEqual(one.salt, two.salt)
    assert.notEqual(one.hash, two.hash)
  })

  it('invalid parameters reject, and the next job runs', async () => {
    const one = createHasher({ jobs: 1, queue: () => 10 })
    await assert.rejects(one.hash('apple', { ...CHEAP, iterations: 0 }))
    await assert.rejects(one.hash('apple', { ...CHEAP, iterations: 2 ** 40 }))
    assert.equal((await one.hash('apple', CHEAP)).scheme, 'pbkdf2')
  })
})

describe('the work of a failed check', () => {
  const decoy = { unit: 'sha512', amount: 10_000 }
  const stepMs = (unit: string) => ({ sha: 0.2, sha256: 0.3, sha512: 0.7 })[unit] ?? assert.fail(unit)

  /** The work for a wrong password, in units of the decoy. */
  const workOf = async (stored: StoredPassword | undefined) => {
    let spent = 0
    const counting = createHasher({
      jobs: 1,
      queue: () => 10,
      derive: (password, by) => {
        spent += by.iterations * stepMs(by.prf)
        return derive(password, by)
      },
      stepMs,
    })
    assert.equal(await counting.verify(stored, 'wrong', { decoy }), false)
    return spent / (decoy.amount * stepMs(decoy.unit))
  }

  const rows: [string, StoredPassword | undefined][] = [
    ['an unknown user', undefined],
    ['an unusable password', document('md5crypt', {})],
    ...VECTORS.filter(([name]) => !name.includes('600000')).map(([name, stored]): [string, StoredPassword] => [
      name,
      stored,
    ]),
  ]
  for (const [name, stored] of rows) {
    it(`${name} costs as much as the decoy`, async () => {
      const ratio = await workOf(stored)
      assert.ok(ratio > 0.99 && ratio < 1.01, `${ratio}`)
    })
  }
})

describe('the number of jobs', () => {
  const rows: [string, string | undefined, number, number][] = [
    ['one per core', undefined, 2, 2],
    ['never all four threads of the pool', undefined, 16, 3],
    ['a larger pool', '33', 16, 16],
    ['a pool of one still works', '1', 16, 1],
    ['one core', undefined, 1, 1],
    ['an invalid value means the default', 'many', 8, 3],
  ]
  for (const [name, pool, cores, expected] of rows) {
    it(name, () => assert.equal(defaultJobs(pool, cores), expected))
  }
})
