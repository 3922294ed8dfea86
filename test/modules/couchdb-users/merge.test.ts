import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endSessions } from '../../../src/directory/session-epoch.ts'
import { applyUpdate, toNewUser, toTombstone } from '../../../src/directory/users/revisions.ts'
import { type User, type UserRecord, withField } from '../../../src/directory/users/user.ts'
import { mergeWritten, withGivenRevision } from '../../../src/modules/couchdb-users/merge.ts'
import { hasPrf, isVerifiable } from '../../../src/modules/couchdb-users/password-forms.ts'
import { NO_PASSWORD, readDocumentPassword } from '../../../src/passwords/schemes.ts'

const NOW = 1000
const toRevision = (number: number) => `${number}-${'a'.repeat(32)}`

const toHash = (salt: string, prf = 'sha256') =>
  readDocumentPassword({ password_scheme: 'pbkdf2', pbkdf2_prf: prf, salt, iterations: 10, derived_key: 'ab' })

const BEFORE = withGivenRevision(
  toNewUser({ name: 'ada', roles: ['staff'] }, toHash('one'), undefined),
  undefined,
  toRevision(1),
) as User

/** The change that CouchDB has accepted: a new password, which need not be changed. */
const AFTER = withGivenRevision(
  applyUpdate(BEFORE, { ...BEFORE, password: toHash('two') }, { nowSeconds: NOW }),
  BEFORE,
  toRevision(2),
) as User

const asUser = (record: UserRecord): User => {
  assert.ok(record.kind === 'user')
  return record
}

describe('a change that CouchDB has accepted', () => {
  it('keeps what another process has changed meanwhile of what only Cardea knows', () => {
    const now = withField(withField(BEFORE, 'isActive', false), 'expiresAt', 2000)
    const merged = asUser(mergeWritten(BEFORE, AFTER, now))
    assert.deepEqual([merged.isActive, merged.expiresAt], [false, 2000])
    assert.deepEqual([merged.password, merged.document.revision], [AFTER.password, toRevision(2)])
    assert.deepEqual(merged.sessionEpoch, AFTER.sessionEpoch)
  })

  it('changes what only Cardea knows where the feed was faster', () => {
    const after = withField(AFTER, 'mustChangePassword', true)
    const byFeed = { ...AFTER, sessionEpoch: endSessions(BEFORE.sessionEpoch, NOW + 1) }
    const merged = asUser(mergeWritten(BEFORE, after, byFeed))
    assert.equal(merged.mustChangePassword, true)
    const generations = [AFTER, byFeed].map(({ sessionEpoch: { generation } }) => generation)
    assert.equal(merged.sessionEpoch.generation, Math.max(...generations))
  })

  it('does not replace a later document', () => {
    const later = { ...BEFORE, password: toHash('three'), document: { ...BEFORE.document, revision: toRevision(3) } }
    const merged = asUser(mergeWritten(BEFORE, withField(AFTER, 'mustChangePassword', true), later))
    assert.deepEqual([merged.password, merged.document], [later.password, later.document])
    assert.equal(merged.mustChangePassword, true)
  })

  it('does not revive a user that was deleted later, and a deletion removes no later user', () => {
    const deleted = withGivenRevision(toTombstone(AFTER, NOW), AFTER, toRevision(3))
    assert.equal(mergeWritten(BEFORE, AFTER, deleted).kind, 'tombstone')
    const removal = withGivenRevision(toTombstone(BEFORE, NOW), BEFORE, toRevision(2))
    assert.equal(mergeWritten(BEFORE, removal, BEFORE).kind, 'tombstone')
    const again = { ...AFTER, document: { ...AFTER.document, revision: toRevision(4) } }
    assert.equal(mergeWritten(BEFORE, removal, again).kind, 'user')
  })
})

describe('a stored password can be verified by CouchDB', () => {
  const rows = [
    ['none', NO_PASSWORD, '3.3.3', true],
    ['PBKDF2 with SHA-1, by 3.3', toHash('s', 'sha'), '3.3.3', true],
    ['PBKDF2 with SHA-256, by 3.3', toHash('s'), '3.3.3', false],
    ['PBKDF2 with SHA-256, by 3.4', toHash('s'), '3.4.0', true],
    ['PBKDF2 with SHA-256, by another server', toHash('s'), undefined, true],
    ['a simple digest, by 3.3', readDocumentPassword({ salt: 's', password_sha: 'a'.repeat(40) }), '3.3.3', true],
    ['bcrypt, by 3.5', { scheme: 'bcrypt', cost: 4, salt: 's', hash: 'h', version: '2b' } as never, '3.5.0', false],
  ] as const
  for (const [name, password, version, expected] of rows)
    it(name, () => assert.equal(isVerifiable(password, version), expected))

  it('by versions from 3.4 with every PRF', () => {
    const versions = ['2.3.1', '3.3.3', '3.4.0', '3.5.0-dirty', '3.10.0', '4.0.0']
    assert.deepEqual(versions.map(hasPrf), [false, false, true, true, true, true])
  })
})
