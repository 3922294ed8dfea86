import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { User } from '../../../src/directory/users/user.ts'
import { type Decision, decide, isOnePassword } from '../../../src/modules/couchdb-users/decide.ts'
import { type ReadDocument, readChange, readCurrent } from '../../../src/modules/couchdb-users/reading.ts'
import { readDocumentPassword } from '../../../src/passwords/schemes.ts'

const PREFIX = 'org.couchdb.user:'
const ID = `${PREFIX}ada`
const NOW = 1000
const toRevision = (number: number, digit = 'a') => `${number}-${digit.repeat(32)}`

const toHash = (salt: string, key = 'aa', iterations = 10) => ({
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha',
  salt,
  iterations,
  derived_key: key.repeat(20),
})

const toDocument = (revision: string, members: object = toHash('s')) => ({
  _id: ID,
  _rev: revision,
  type: 'user',
  name: 'ada',
  roles: [],
  ...members,
})

const ofFeed = (revision: string, members?: object): ReadDocument => {
  const read = readChange({ id: ID, changes: [{ rev: revision }], doc: toDocument(revision, members) }, PREFIX)
  assert.ok(read)
  return read
}

/** The document itself, with the status of the revisions before it. */
const ofDatabase = (revision: string, before: readonly (readonly [string, string])[], members?: object) =>
  readCurrent(
    ID,
    {
      ...toDocument(revision, members),
      _revs_info: [[revision, 'available'], ...before].map(([rev, status]) => ({ rev, status })),
    },
    PREFIX,
  )

function requireRecord(decision: Decision): User {
  assert.ok(decision.kind === 'write' && decision.record.kind === 'user', decision.kind)
  return decision.record
}

const first = requireRecord(decide(undefined, ofFeed(toRevision(3)), NOW))
const stored = { sequence: 7, record: first }

describe('a document of the feed', () => {
  it('becomes a user with its revision', () => {
    assert.equal(first.document.revision, toRevision(3))
    assert.equal(decide(stored, ofFeed(toRevision(3)), NOW).kind, 'keep')
  })

  it('with a revision that is not later is asked for, as the feed may be behind', () => {
    for (const revision of [toRevision(2), toRevision(3, 'b')])
      assert.equal(decide(stored, ofFeed(revision), NOW).kind, 'ask')
    const deleted = readChange({ id: ID, deleted: true, changes: [{ rev: toRevision(2) }] }, PREFIX)
    assert.ok(deleted)
    assert.equal(decide(stored, deleted, NOW).kind, 'ask')
  })

  it('with another password is asked for, as there may be a deletion in between', () => {
    assert.equal(decide(stored, ofFeed(toRevision(5), toHash('t')), NOW).kind, 'ask')
  })

  it('without another password keeps the sessions', () => {
    const record = requireRecord(decide(stored, ofFeed(toRevision(4), { ...toHash('s', 'bb', 20), plan: 1 }), NOW))
    assert.deepEqual(record.sessionEpoch, first.sessionEpoch)
    assert.equal(record.document.revision, toRevision(4))
  })

  it('is asked for where there may be a deletion in between', () => {
    assert.equal(decide(stored, ofFeed(toRevision(5)), NOW).kind, 'ask')
    const empty = requireRecord(decide(undefined, ofFeed(toRevision(3), {}), NOW))
    assert.equal(decide({ sequence: 7, record: empty }, ofFeed(toRevision(4), {}), NOW).kind, 'ask')
  })

  it('that the feed does not have is asked for', () => {
    const row = readChange({ id: ID, changes: [{ rev: toRevision(4) }] }, PREFIX)
    assert.ok(row)
    for (const known of [undefined, stored]) assert.equal(decide(known, row, NOW).kind, 'ask')
  })

  it('of no user says nothing', () => {
    for (const row of [{ id: '_design/x', doc: {} }, { id: 'other', doc: {} }, {}, null, 'x'])
      assert.equal(readChange(row, PREFIX), undefined)
  })
})

describe('a document with another password', () => {
  const rows: readonly (readonly [string, ReadDocument, Decision['kind']])[] = [
    ['that follows the known revision', ofDatabase(toRevision(4), [[toRevision(3), 'missing']], toHash('t')), 'write'],
    [
      'after revisions that are there',
      ofDatabase(
        toRevision(5),
        [
          [toRevision(4), 'available'],
          [toRevision(3), 'available'],
        ],
        toHash('t'),
      ),
      'write',
    ],
    [
      'after a deletion',
      ofDatabase(
        toRevision(5),
        [
          [toRevision(4), 'deleted'],
          [toRevision(3), 'available'],
        ],
        toHash('t'),
      ),
      'replace-user',
    ],
    [
      'after a revision that is not known any more',
      ofDatabase(
        toRevision(5),
        [
          [toRevision(4), 'missing'],
          [toRevision(3), 'missing'],
        ],
        toHash('t'),
      ),
      'replace-user',
    ],
    ['of another history', ofDatabase(toRevision(2, 'b'), [], toHash('t')), 'replace-user'],
  ]
  for (const [title, document, kind] of rows)
    it(`${title}: ${kind}`, () => {
      const decision = decide(stored, document, NOW)
      assert.equal(decision.kind, kind)
      if (decision.kind === 'write')
        assert.ok(requireRecord(decision).sessionEpoch.generation > first.sessionEpoch.generation)
    })

  it('that is written back after a deletion is that of another user', () => {
    const deleted = ofDatabase(toRevision(5), [
      [toRevision(4), 'deleted'],
      [toRevision(3), 'available'],
    ])
    assert.equal(decide(stored, deleted, NOW).kind, 'replace-user')
    assert.equal(decide(stored, ofDatabase(toRevision(2, 'b'), []), NOW).kind, 'replace-user')
  })

  it('of a restored database is that of the user who had the revision before', () => {
    const later = requireRecord(
      decide(
        stored,
        ofDatabase(toRevision(5), [
          [toRevision(4), 'available'],
          [toRevision(3), 'available'],
        ]),
        NOW,
      ),
    )
    for (const revision of [toRevision(4), toRevision(3)]) {
      const back = requireRecord(decide({ sequence: 8, record: later }, ofDatabase(revision, [], toHash('t')), NOW))
      assert.equal(back.id, first.id)
      assert.ok(back.sessionEpoch.generation > first.sessionEpoch.generation)
    }
    assert.equal(decide({ sequence: 8, record: later }, ofDatabase(toRevision(4, 'b'), []), NOW).kind, 'replace-user')
  })

  it('of the other side of a conflict is that of the same user, unless it may have been deleted there', () => {
    const ofOne = [
      [toRevision(4), 'available'],
      [toRevision(3), 'available'],
    ] as const
    const here = { sequence: 8, record: requireRecord(decide(stored, ofDatabase(toRevision(5), ofOne), NOW)) }
    const there = (status: string) =>
      ofDatabase(toRevision(5, 'b'), [[toRevision(4, 'b'), status], ...ofOne.slice(1)], toHash('t'))
    const after = requireRecord(decide(here, there('available'), NOW))
    assert.equal(after.id, first.id)
    assert.ok(after.sessionEpoch.generation > first.sessionEpoch.generation)
    assert.deepEqual(after.document.ancestors, ['b'.repeat(32), 'a'.repeat(32)])
    for (const status of ['deleted', 'missing']) assert.equal(decide(here, there(status), NOW).kind, 'replace-user')
  })

  it('that cannot be used says nothing about whose document it is', () => {
    const after = [
      [toRevision(4), 'deleted'],
      [toRevision(3), 'available'],
    ] as const
    const bad = { ...toHash('t'), roles: ['_admin'] }
    const refused = requireRecord(decide(stored, ofDatabase(toRevision(5), after, bad), NOW))
    assert.deepEqual([refused.isWithheld, refused.document.revision], [true, toRevision(3)])
    const repaired = ofDatabase(toRevision(6), [[toRevision(5), 'available'], ...after], toHash('t'))
    assert.equal(decide({ sequence: 8, record: refused }, repaired, NOW).kind, 'replace-user')
    const own = requireRecord(decide(stored, ofDatabase(toRevision(4), [[toRevision(3), 'available']], bad), NOW))
    assert.equal(own.document.revision, toRevision(4))
    const again = requireRecord(decide({ sequence: 8, record: own }, ofFeed(toRevision(5)), NOW))
    assert.deepEqual([again.id, again.isWithheld], [first.id, undefined])
  })

  it('is that of another user after the deletion', () => {
    const document = ofDatabase(toRevision(2, 'b'), [], toHash('t'))
    const decision = decide(stored, document, NOW)
    assert.ok(decision.kind === 'replace-user')
    const record = requireRecord(decide({ sequence: 8, record: decision.record }, document, NOW))
    assert.notEqual(record.id, first.id)
    assert.equal(record.document.revision, toRevision(2, 'b'))
  })
})

describe('two stored forms are of one password', () => {
  const simple = { password_scheme: 'simple', salt: 's', password_sha: 'cc'.repeat(20) }
  const rows: readonly (readonly [string, object, object, boolean])[] = [
    ['the same', toHash('s'), toHash('s'), true],
    ['the same, with a PRF that is said or left out', toHash('s'), { ...toHash('s'), pbkdf2_prf: undefined }, true],
    ['more iterations with the same salt', toHash('s'), toHash('s', 'bb', 20), true],
    ['another PRF with the same salt', toHash('s'), { ...toHash('s', 'bb'), pbkdf2_prf: 'sha256' }, true],
    ['another scheme with the same salt', simple, toHash('s'), true],
    ['another key with the same parameters', toHash('s'), toHash('s', 'bb'), false],
    ['another salt', toHash('s'), toHash('t', 'aa', 20), false],
    ['no salt', toHash(''), toHash('', 'bb', 20), false],
    ['a password that is removed', toHash('s'), {}, false],
  ]
  for (const [title, a, b, isSame] of rows)
    it(`${title}: ${isSame}`, () => {
      const [before, after] = [a, b].map((members) => readDocumentPassword(JSON.parse(JSON.stringify(members))))
      assert.ok(before && after)
      assert.equal(isOnePassword(before, after), isSame)
    })
})
