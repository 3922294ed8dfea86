import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import type { User } from '../../src/directory/users/user.ts'
import { writeDocument } from '../../src/transfer/document.ts'
import { user as anyUser, members, name, pbkdf2, roles, simple } from './arbitrary.ts'
import { ID_PREFIX, PASSKEY, readDump, readingsOf, readUserOf, reasonOf, toUser, writeDump } from './read.ts'

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
  ['a missing name', { ...ANN, name: undefined }, /name/],
  ['another id', { ...ANN, _id: 'org.couchdb.user:bob' }, /_id/],
  ['an id without the prefix', { ...ANN, _id: 'ann' }, /_id/],
  ['an id that is not a string', { ...ANN, _id: 7 }, /_id/],
  ['an invalid name', { ...ANN, _id: 'org.couchdb.user:a:b', name: 'a:b' }, /colon/],
  ['missing roles', { ...ANN, roles: undefined }, /roles/],
  ['roles that are not strings', { ...ANN, roles: [1] }, /roles/],
  ['a system role', { ...ANN, roles: ['_admin'] }, /underscore/],
  ['iterations that are not a number', { ...ANN, iterations: '10' }, /iterations/],
  ['too many iterations', { ...ANN, iterations: 2 ** 40 }, /iterations/],
  ['missing iterations', { ...ANN, iterations: 0 }, /iterations/],
  ['an unknown scheme', { ...ANN, password_scheme: 'md5crypt' }, /scheme/],
  ['an unknown pseudo-random function', { ...ANN, pbkdf2_prf: 'md5' }, /pseudo-random/],
  ['a hash that is not a string', { ...ANN, derived_key: 7 }, /hash/],
  ['a password that is not a string', { ...ANN, password: 7 }, /password/],
  ['an unknown special member', { ...ANN, _special: 1 }, /underscore/],
  ['a row without its document', { id: ANN._id, key: ANN._id, value: {} }, /include_docs/],
  ['a record that is not a document', { hello: 1 }, /neither/],
  ['null', null, /object/],
  [
    'a duplicate member',
    `{"_id":"org.couchdb.user:ann","name":"ann","name":"ann","type":"user","roles":[]}`,
    /duplicated/,
  ],
]

const PASSED: readonly [row: string, record: unknown][] = [
  ['a design document', { _id: '_design/_auth', validate_doc_update: 'function' }],
  ['a deletion', { _id: ANN._id, _deleted: true }],
  ['a row of a deletion', { id: ANN._id, key: ANN._id, value: { rev: '1-a', deleted: true }, doc: null }],
  ['an empty row', { key: ANN._id, error: 'not_found' }],
  ['the head of a backup', { name: '@cloudant/couchbackup', version: '2.11.0', mode: 'full' }],
]

describe('reading user documents', () => {
  for (const [row, record, reason] of REFUSED) {
    it(`rejects ${row}`, () => assert.match(reasonOf(record, 'document') ?? '', reason))
  }
  for (const [row, record] of PASSED) {
    it(`skips ${row}`, () => assert.equal(readingsOf(JSON.stringify(record), 'document')[0]?.kind, 'passed'))
  }

  it('keeps roles, members, revision and the stored password', () => {
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

  it('accepts a plain-text password, with a salt that is to be kept', () => {
    const clear = { ...ANN, password: 'secret' }
    assert.deepEqual(readUserOf(clear, 'document').draft.password, { password: 'secret' })
    const { draft } = readUserOf({ ...clear, preserve_salt: true }, 'document')
    assert.deepEqual(draft.password, { password: 'secret', salt: 's' })
  })

  it('notes that attachments are not imported', () => {
    assert.equal(readUserOf({ ...ANN, _attachments: { a: {} } }, 'document').notes.length, 1)
  })

  const line = JSON.stringify(ANN)
  const LAYOUTS: readonly [row: string, dump: string][] = [
    ['one per line', `${line}\n`],
    ['a list', `[${line}]`],
    [
      'a listing',
      `{"total_rows":1,"offset":0,"rows":[\r\n{"id":"${ANN._id}","key":"${ANN._id}","value":{},"doc":${line}}\r\n]}`,
    ],
    ['a listing on one line', `{"total_rows":1,"offset":0,"rows":[{"id":"${ANN._id}","doc":${line}}]}`],
    ['a list with one on each line', `[\n${line}\n]\n`],
    ['a bulk request', `{"docs":[${line}]}`],
    ['a bulk request with one on each line', `{"docs":[\n${line}\n],"new_edits":false}`],
    ['a backup with a list per line', `{"name":"@cloudant/couchbackup","version":"2"}\n[${line}]\n`],
    ['a backup without its first line', `[${line}]\n[]\n`],
  ]
  for (const [row, dump] of LAYOUTS) {
    it(`reads ${row}`, () => {
      const users = readDump(dump, 'document').filter(({ reading }) => reading.kind === 'user')
      assert.deepEqual(
        users.map(({ reading }) => reading.kind === 'user' && reading.draft.name),
        ['ann'],
      )
    })
  }
})

const write = (user: User) => {
  const { text, losses } = writeDocument(user, ID_PREFIX)
  return { document: JSON.parse(text), losses }
}
const BOB = createEmptyUser('bob', {
  scheme: 'pbkdf2',
  prf: 'sha',
  salt: 's',
  iterations: 10,
  hash: 'ab',
  members: { derived_key: 'ab' },
})

const LINK = { issuer: 'https://id.example.org', provider: 'keycloak', subject: 'subject-1', linkedAt: 1 }

describe('writing user documents', () => {
  it('includes the pseudo-random function and the iterations', () => {
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
    ['a user who expires', { ...BOB, expiresAt: 1 }, ['limits']],
    ['a user who must change the password', { ...BOB, mustChangePassword: true }, ['limits']],
    ['no password', { ...BOB, password: { scheme: 'unusable', reason: 'absent', members: {} } }, []],
  ]
  for (const [row, user, losses] of LOSSES) {
    it(`writes no hash for ${row}`, () => {
      const written = write(user)
      assert.deepEqual(written.losses, losses)
      assert.equal(hasHash(written.document), false)
    })
  }

  it('names everything else that a document does not hold', () => {
    const multiModel = { ...BOB.multiModel, extra: { team: 'x' }, config: { theme: 'dark' } }
    const address = { text: 'bob@example.com', verifiedAt: 1 }
    const { losses } = write({ ...BOB, multiModel, links: [LINK], passkeys: [PASSKEY], address })
    assert.deepEqual(losses, ['links', 'passkeys', 'address', 'extra', 'config'])
  })

  it('is the inverse of reading', () => {
    const carried = fc.record({ name, roles, members, password: fc.oneof(pbkdf2, simple) })
    fc.assert(
      fc.property(fc.array(carried, { maxLength: 4 }), (drafts) => {
        const users = drafts.map(({ password, ...draft }) => toUser({ ...draft, password: { stored: password } }))
        const readings = readingsOf(writeDump(users, 'document'), 'document')
        const read = readings.flatMap((reading) => (reading.kind === 'user' ? [toUser(reading.draft)] : []))
        assert.deepEqual(read.map(withoutOrder), users.map(withoutOrder))
      }),
      { numRuns: 300 },
    )
  })

  it('writes every user so that it can be read', () => {
    fc.assert(
      fc.property(anyUser, (user) => {
        const [reading] = readingsOf(writeDocument(user, ID_PREFIX).text, 'document')
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
