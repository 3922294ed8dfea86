import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createUser, type User } from '../../src/directory/user.ts'
import { createDocumentWriter } from '../../src/transfer/document.ts'
import { user as anyUser, members, name, pbkdf2, roles, simple } from './arbitrary.ts'
import { ID_PREFIX, readDump, readingsOf, readUserOf, reasonOf, toUser } from './read.ts'

const HASH = { password_scheme: 'pbkdf2', pbkdf2_prf: 'sha256', salt: 's', iterations: 10, derived_key: 'ab' }
const ANN = {
  _id: 'org.couchdb.user:ann',
  _rev: `3-${'a'.repeat(32)}`,
  name: 'ann',
  type: 'user',
  roles: ['x'],
  ...HASH,
}

const REFUSED: readonly [row: string, record: unknown, reason: RegExp][] = [
  ['a type that is not user', { ...ANN, type: 'group' }, /type/],
  ['no name', { ...ANN, name: undefined }, /name/],
  ['another id', { ...ANN, _id: 'org.couchdb.user:bob' }, /_id/],
  ['an id without the prefix', { ...ANN, _id: 'ann' }, /_id/],
  ['an id that is no text', { ...ANN, _id: 7 }, /_id/],
  ['a name that cannot be', { ...ANN, _id: 'org.couchdb.user:a:b', name: 'a:b' }, /colon/],
  ['no roles', { ...ANN, roles: undefined }, /roles/],
  ['roles that are no texts', { ...ANN, roles: [1] }, /roles/],
  ['a role of the system', { ...ANN, roles: ['_admin'] }, /underscore/],
  ['iterations that are no number', { ...ANN, iterations: '10' }, /iterations/],
  ['iterations that cannot be counted', { ...ANN, iterations: 2 ** 40 }, /iterations/],
  ['no iterations at all', { ...ANN, iterations: 0 }, /iterations/],
  ['an unknown scheme', { ...ANN, password_scheme: 'md5crypt' }, /scheme/],
  ['an unknown pseudo-random function', { ...ANN, pbkdf2_prf: 'md5' }, /pseudo-random/],
  ['a hash that is no text', { ...ANN, derived_key: 7 }, /hash/],
  ['a password that is no text', { ...ANN, password: 7 }, /password/],
  ['an unknown special member', { ...ANN, _special: 1 }, /underscore/],
  ['a row without its document', { id: ANN._id, key: ANN._id, value: {} }, /include_docs/],
  ['no document', { hello: 1 }, /neither/],
  ['null', null, /object/],
  ['a member twice', `{"_id":"org.couchdb.user:ann","name":"ann","name":"ann","type":"user","roles":[]}`, /twice/],
]

const PASSED: readonly [row: string, record: unknown][] = [
  ['a design document', { _id: '_design/_auth', validate_doc_update: 'function' }],
  ['a deletion', { _id: ANN._id, _deleted: true }],
  ['a row of a deletion', { id: ANN._id, key: ANN._id, value: { rev: '1-a', deleted: true }, doc: null }],
  ['a row of nothing', { key: ANN._id, error: 'not_found' }],
  ['the head of a backup', { name: '@cloudant/couchbackup', version: '2.11.0', mode: 'full' }],
]

describe('user documents read', () => {
  for (const [row, record, reason] of REFUSED) {
    it(`refuse ${row}`, () => assert.match(reasonOf(record, 'document') ?? '', reason))
  }
  for (const [row, record] of PASSED) {
    it(`pass over ${row}`, () => assert.equal(readingsOf(JSON.stringify(record), 'document')[0]?.kind, 'passed'))
  }

  it('keep roles, members, revision and the stored password', () => {
    const { draft } = readUserOf({ ...ANN, colour: 'red', '7': { a: 1 } }, 'document')
    assert.deepEqual(draft, {
      name: 'ann',
      roles: ['x'],
      members: [
        ['7', { a: 1 }],
        ['colour', 'red'],
      ],
      revision: ANN._rev,
      password: { stored: { scheme: 'pbkdf2', prf: 'sha256', salt: 's', iterations: 10, hash: 'ab' } },
    })
  })

  it('take a password in clear, with its salt where that is to be kept', () => {
    const clear = { ...ANN, password: 'secret' }
    assert.deepEqual(readUserOf(clear, 'document').draft.password, { password: 'secret' })
    const { draft } = readUserOf({ ...clear, preserve_salt: true }, 'document')
    assert.deepEqual(draft.password, { password: 'secret', salt: 's' })
  })

  it('say that attachments are left behind', () => {
    assert.equal(readUserOf({ ...ANN, _attachments: { a: {} } }, 'document').notes.length, 1)
  })

  const line = JSON.stringify(ANN)
  const LAYOUTS: readonly [row: string, dump: string][] = [
    ['one a line', `${line}\n`],
    ['a list', `[${line}]`],
    [
      'a listing',
      `{"total_rows":1,"offset":0,"rows":[\r\n{"id":"${ANN._id}","key":"${ANN._id}","value":{},"doc":${line}}\r\n]}`,
    ],
    ['a bulk request', `{"docs":[${line}]}`],
    ['a backup, a list a line', `{"name":"@cloudant/couchbackup","version":"2"}\n[${line}]\n`],
    ['a backup without head', `[${line}]\n[]\n`],
  ]
  for (const [row, dump] of LAYOUTS) {
    it(`are found in ${row}, and known for what they are`, () => {
      const users = readDump(dump).filter(({ reading }) => reading.kind === 'user')
      assert.deepEqual(
        users.map(({ reading }) => reading.kind === 'user' && reading.draft.name),
        ['ann'],
      )
    })
  }
})

const writer = createDocumentWriter({ idPrefix: ID_PREFIX })
const write = (user: User) => {
  const { text, losses } = writer.writeUser(user)
  return { document: JSON.parse(text), losses }
}
const BOB = createUser('bob', {
  scheme: 'pbkdf2',
  prf: 'sha',
  salt: 's',
  iterations: 10,
  hash: 'ab',
  members: { derived_key: 'ab' },
})

describe('user documents written', () => {
  it('name the pseudo-random function and iterations, however they were read', () => {
    assert.deepEqual(write(BOB).document, {
      _id: 'org.couchdb.user:bob',
      name: 'bob',
      type: 'user',
      roles: [],
      password_scheme: 'pbkdf2',
      pbkdf2_prf: 'sha',
      salt: 's',
      iterations: 10,
      derived_key: 'ab',
    })
  })

  const hasHash = (document: object) => 'derived_key' in document || 'salted_hash' in document
  const LOSSES: readonly [row: string, user: User, losses: readonly string[]][] = [
    [
      'a salted password',
      { ...BOB, password: { scheme: 'salted', method: 'sha256', salt: '', hash: 'x' } },
      ['password'],
    ],
    [
      'a damaged password',
      { ...BOB, password: { scheme: 'unusable', reason: 'scheme', members: { derived_key: 'x' } } },
      ['password'],
    ],
    ['a deactivated user', { ...BOB, isActive: false }, ['deactivated']],
    ['no password', { ...BOB, password: { scheme: 'unusable', reason: 'absent', members: {} } }, []],
  ]
  for (const [row, user, losses] of LOSSES) {
    it(`hold no hash for ${row}`, () => {
      const written = write(user)
      assert.deepEqual(written.losses, losses)
      assert.equal(hasHash(written.document), false)
    })
  }

  it('are read by their own reader as what they were', () => {
    const carried = fc.record({ name, roles, members, password: fc.oneof(pbkdf2, simple) })
    fc.assert(
      fc.property(fc.array(carried, { maxLength: 4 }), (drafts) => {
        const users = drafts.map(({ password, ...draft }) => toUser({ ...draft, password: { stored: password } }))
        const texts = users.map((user) => writer.writeUser(user).text)
        const readings = readingsOf(`${writer.head}${texts.join(writer.separator)}${writer.tail(users.length)}`)
        const read = readings.flatMap((reading) => (reading.kind === 'user' ? [toUser(reading.draft)] : []))
        assert.deepEqual(read.map(withoutOrder), users.map(withoutOrder))
      }),
      { numRuns: 300 },
    )
  })

  it('are read whatever the user was', () => {
    fc.assert(
      fc.property(anyUser, (user) => {
        const [reading] = readingsOf(writer.writeUser(user).text, 'document')
        assert.equal(reading?.kind, 'user')
      }),
      { numRuns: 300 },
    )
  })
})

/** A JSON object puts names that look like numbers first. */
const withoutOrder = (user: User) => ({
  ...user,
  document: { ...user.document, revision: '', members: new Map(user.document.members) },
})
