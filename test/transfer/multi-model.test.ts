import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import type { User } from '../../src/directory/users/user.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { NO_PASSWORD } from '../../src/passwords/schemes.ts'
import { writeMultiModelUser } from '../../src/transfer/multi-model.ts'
import { user as anyUser, salted } from './arbitrary.ts'
import { PASSKEY, readDump, readingsOf, readUserOf, reasonOf, toUser, writeDump } from './read.ts'

const HASH = '14af9cd53b0ef83109c84a633203b213a3f6e5533a389cf5ca03a6b836133a54'
const SIMPLE = { method: 'sha256', salt: '1a2b3c4d', hash: HASH }
const ALICE = {
  _key: '1',
  user: 'alice',
  authData: { active: true, simple: SIMPLE },
  databases: {},
  userData: {},
  configData: {},
}
const grant = (read: boolean, write: boolean) => ({ permissions: { read, write } })

const REFUSED: readonly [row: string, record: unknown, reason: RegExp][] = [
  ['a missing name', { ...ALICE, user: undefined }, /user must be a string/],
  ['an invalid name', { ...ALICE, user: '_a' }, /underscore/],
  ['missing authData', { ...ALICE, authData: undefined }, /authData/],
  ['a missing active flag', { ...ALICE, authData: { simple: SIMPLE } }, /active/],
  ['an unknown method', { ...ALICE, authData: { active: true, simple: { ...SIMPLE, method: 'rot13' } } }, /method/],
  ['a hash that is not a string', { ...ALICE, authData: { active: true, simple: { ...SIMPLE, hash: 7 } } }, /hash/],
  ['databases of the wrong type', { ...ALICE, databases: [] }, /databases/],
  ['a database of the wrong type', { ...ALICE, databases: { db: 7 } }, /database/],
  ['a database without a name', { ...ALICE, databases: { '': grant(true, true) } }, /empty/],
  ['an access token without its text', { ...ALICE, accessTokens: [{ id: 1, name: 'x' }] }, /token/],
  ['an envelope of another type', { type: 2301, data: ALICE }, /2300/],
  ['an empty envelope', { type: 2300, data: 7 }, /data/],
  ['a list that contains no records', '[7]', /object/],
]

describe('reading users of ArangoDB', () => {
  for (const [row, record, reason] of REFUSED) {
    it(`rejects ${row}`, () => assert.match(reasonOf(record, 'multi-model') ?? '', reason))
  }

  it('keeps the password', async () => {
    const { draft } = readUserOf(ALICE, 'multi-model')
    assert.ok(draft.password && 'stored' in draft.password)
    const hasher = createHasher({ queue: () => 1 })
    const decoy = { unit: 'sha', amount: 1 }
    assert.equal(await hasher.verify(draft.password.stored, 'secret', { decoy }), true)
    assert.equal(await hasher.verify(draft.password.stored, 'other', { decoy }), false)
  })

  it('keeps grants', () => {
    const databases = {
      a: {
        ...grant(true, true),
        collections: { '*': grant(true, false), c: grant(false, false), d: { permissions: { undefined: true } } },
      },
      b: { permissions: { undefined: true }, collections: { x: grant(true, true) } },
      c: { permissions: { undefined: true } },
      d: {},
      old: 'RW',
      older: 'none',
      '*': grant(true, false),
    }
    const { draft } = readUserOf({ ...ALICE, databases }, 'multi-model')
    assert.deepEqual(
      draft.multiModel?.grants,
      new Map([
        [
          'a',
          {
            level: 'rw',
            collections: new Map([
              ['*', 'ro'],
              ['c', 'none'],
            ]),
          },
        ],
        ['b', { level: undefined, collections: new Map([['x', 'rw']]) }],
        ['d', { level: 'none', collections: new Map() }],
        ['old', { level: 'rw', collections: new Map([['*', 'rw']]) }],
        ['*', { level: 'ro', collections: new Map() }],
      ]),
    )
  })

  it('notes that grants on system collections are not imported', () => {
    const databases = { a: { ...grant(true, true), collections: { _graphs: grant(true, true) } } }
    const { draft, notes } = readUserOf({ ...ALICE, databases }, 'multi-model')
    assert.deepEqual(draft.multiModel?.grants, new Map([['a', { level: 'rw', collections: new Map() }]]))
    assert.equal(notes.length, 1)
  })

  it('keeps extra, config and the active flag', () => {
    const record = {
      ...ALICE,
      authData: { ...ALICE.authData, active: false },
      userData: { a: 1 },
      configData: { b: 2 },
    }
    const { draft } = readUserOf(record, 'multi-model')
    assert.deepEqual([draft.isActive, draft.multiModel?.extra, draft.multiModel?.config], [false, { a: 1 }, { b: 2 }])
  })

  it('keeps the digest and fingerprint of an access token, not its text', () => {
    const token = 'v1.7b2265223a313831343430303030307d56227d'
    const accessTokens = [{ id: 1, name: 'for A', valid_until: 1814400000, created_at: 1785857267, token }]
    const { draft } = readUserOf({ ...ALICE, accessTokens }, 'multi-model')
    assert.deepEqual(draft.multiModel?.tokens, [
      {
        id: 1,
        name: 'for A',
        createdAt: 1785857267,
        validUntil: 1814400000,
        fingerprint: 'v1...56227d',
        digest: createHash('sha256').update(token).digest('hex'),
      },
    ])
    assert.equal(JSON.stringify(draft).includes(token), false)
  })

  it('reads a user without a password', () => {
    assert.equal(readUserOf({ ...ALICE, authData: { active: true } }, 'multi-model').draft.password, undefined)
  })

  it('reads the lines of a dump, with or without envelopes, and skips deletions', () => {
    const dump = [ALICE, { type: 2300, key: '1', data: ALICE }, { type: 2302, data: { _key: '1' } }]
    const text = dump.map((line) => JSON.stringify(line)).join('\n')
    assert.deepEqual(
      readDump(text, 'multi-model').map(({ reading }) => reading.kind),
      ['user', 'user', 'passed'],
    )
  })
})

const BOB = createEmptyUser('bob', { scheme: 'salted', method: 'sha256', salt: 's', hash: HASH })

describe('writing users of ArangoDB', () => {
  const PBKDF2: User = { ...BOB, password: { scheme: 'pbkdf2', prf: 'sha256', iterations: 1, salt: 's', hash: HASH } }
  const TOTP: User = { ...BOB, document: { ...BOB.document, members: [['totp', { key: 'x' }]] } }
  const LOSSES: readonly [row: string, user: User, hash: string, losses: readonly string[]][] = [
    ['a salted password', BOB, HASH, []],
    ['a password of another scheme', PBKDF2, '0'.repeat(64), ['password']],
    ['a second factor', TOTP, '0'.repeat(64), ['second_factor', 'members']],
    ['passkeys', { ...BOB, passkeys: [PASSKEY] }, HASH, ['passkeys']],
    ['no password', { ...BOB, password: NO_PASSWORD }, '0'.repeat(64), []],
  ]
  for (const [row, user, hash, losses] of LOSSES) {
    it(`with ${row}`, () => {
      const written = writeMultiModelUser(user)
      assert.equal(JSON.parse(written.text).authData.simple.hash, hash)
      assert.deepEqual(written.losses, losses)
    })
  }

  it('writes a user without a password so that reading finds none', () => {
    for (const user of [PBKDF2, TOTP]) {
      const { draft, notes } = readUserOf(JSON.parse(writeMultiModelUser(user).text), 'multi-model')
      assert.deepEqual([draft.password, draft.keepsPassword, notes.length], [undefined, true, 1])
    }
    assert.equal(readUserOf(ALICE, 'multi-model').draft.keepsPassword, undefined)
  })

  it('derives a valid key from the name', () => {
    const keyOf = (name: string) => JSON.parse(writeMultiModelUser({ ...BOB, name }).text)._key
    assert.match(keyOf('ž/"\\'), /^[0-9a-f]{32}$/)
    assert.equal(keyOf('ann'), keyOf('ann'))
    assert.notEqual(keyOf('ann'), keyOf('anna'))
  })

  it('is the inverse of reading', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyUser, salted), { maxLength: 4 }), (pairs) => {
        const users = pairs.map(
          ([user, password]): User => ({
            ...user,
            password,
            sessionEpoch: { generation: 0, seconds: 0 },
            document: { revision: '', roles: [], members: [] },
            multiModel: { ...user.multiModel, tokens: [] },
          }),
        )
        const readings = readingsOf(writeDump(users, 'multi-model'), 'multi-model')
        const read = readings.flatMap((reading) => (reading.kind === 'user' ? [toUser(reading.draft)] : []))
        assert.deepEqual(
          read.map((user) => ({ ...user, document: { ...user.document, revision: '' } })),
          users,
        )
      }),
      { numRuns: 300 },
    )
  })
})
