import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endSessions } from '../../../src/directory/session-epoch.ts'
import { checkName, checkRole } from '../../../src/directory/users/names.ts'
import {
  createEmptyUser,
  nextRevision,
  readRevision,
  reviseUser,
  revisionOf,
  toTombstone,
} from '../../../src/directory/users/revisions.ts'
import type { User } from '../../../src/directory/users/user.ts'
import type { StoredPassword } from '../../../src/passwords/schemes.ts'

const PASSWORD: StoredPassword = { scheme: 'simple', salt: 'salt', hash: 'a'.repeat(40) }
const ALICE = createEmptyUser('alice', PASSWORD)

const WORDS: readonly [row: string, word: string, name: string | undefined, role: string | undefined][] = [
  ['plain', 'alice', undefined, undefined],
  ['a space inside', 'a b', undefined, undefined],
  ['not ASCII', 'žofie', undefined, undefined],
  ['outside the basic plane', '🦊', undefined, undefined],
  ['names of Object.prototype', '__proto__', 'leading_underscore', undefined],
  ['constructor', 'constructor', undefined, undefined],
  ['empty', '', 'empty', 'empty'],
  ['256 bytes', 'x'.repeat(256), undefined, undefined],
  ['257 bytes', 'x'.repeat(257), 'too_long', 'too_long'],
  ['129 characters of two bytes', 'ž'.repeat(129), 'too_long', 'too_long'],
  ['U+0000', 'a\0b', 'control_character', 'control_character'],
  ['line feed', 'a\nb', 'control_character', 'control_character'],
  ['U+0085', 'a\u0085b', 'control_character', 'control_character'],
  ['DEL', 'a\x7f', 'control_character', 'control_character'],
  ['a leading space', ' a', 'white_space_at_end', 'white_space_at_end'],
  ['a trailing space', 'a ', 'white_space_at_end', 'white_space_at_end'],
  ['a trailing no-break space', 'a\u00a0', 'white_space_at_end', 'white_space_at_end'],
  ['a leading byte order mark', '\ufeffa', 'white_space_at_end', 'white_space_at_end'],
  ['a lone surrogate', 'a\ud800', 'not_text', 'not_text'],
  ['colon', 'a:b', 'colon', undefined],
  ['comma', 'a,b', undefined, 'comma'],
  ['leading underscore', '_a', 'leading_underscore', undefined],
]

describe('names and roles', () => {
  for (const [row, word, name, role] of WORDS) {
    it(row, () => assert.deepEqual({ name: checkName(word), role: checkRole(word) }, { name, role }))
  }
})

const withDocument = (user: User, document: Partial<User['document']>): User => ({
  ...user,
  document: { ...user.document, ...document },
})

const CHANGES: readonly [row: string, after: User, moves: boolean][] = [
  ['nothing', ALICE, false],
  ['roles', withDocument(ALICE, { roles: ['editor'] }), true],
  ['a member', withDocument(ALICE, { members: [['colour', 'red']] }), true],
  ['the password', { ...ALICE, password: { ...PASSWORD, salt: 'other' } }, true],
  ['activity', { ...ALICE, isActive: false }, false],
  ['sessions', { ...ALICE, sessionEpoch: endSessions(ALICE.sessionEpoch, 7) }, false],
  [
    'grants',
    {
      ...ALICE,
      multiModel: { ...ALICE.multiModel, grants: new Map([['db', { level: 'rw', collections: new Map() }]]) },
    },
    false,
  ],
]

describe('revisions', () => {
  for (const [row, after, moves] of CHANGES) {
    it(`a change of ${row} ${moves ? 'changes' : 'keeps'} the revision`, () => {
      const revision = readRevision(reviseUser(ALICE, after).document.revision)
      assert.equal(revision?.number, moves ? 2 : 1)
    })
  }

  it('the order of members is kept', () => {
    const one = reviseUser(
      ALICE,
      withDocument(ALICE, {
        members: [
          ['2', 0],
          ['1', 0],
        ],
      }),
    )
    const two = reviseUser(
      one,
      withDocument(one, {
        members: [
          ['1', 0],
          ['2', 0],
        ],
      }),
    )
    assert.notEqual(one.document.revision, two.document.revision)
  })

  it('reveals nothing about the password', () => {
    const other = createEmptyUser('alice', { ...PASSWORD, hash: 'b'.repeat(40) })
    assert.equal(other.document.revision, ALICE.document.revision)
  })

  it('two passwords of the same user have two revisions', () => {
    const other = createEmptyUser('alice', { ...PASSWORD, salt: 'another-salt' })
    assert.notEqual(other.document.revision, ALICE.document.revision)
  })

  it('same start and same content give the same revision', () => {
    assert.equal(nextRevision(undefined, ['x']), nextRevision(undefined, ['x']))
    assert.notEqual(nextRevision(undefined, ['x']), nextRevision(undefined, ['y']))
  })

  for (const text of [
    '',
    '1',
    '0-',
    `0-${'a'.repeat(32)}`,
    `1-${'A'.repeat(32)}`,
    `1-${'a'.repeat(31)}`,
    `1-${'a'.repeat(32)}\n`,
  ]) {
    it(`${JSON.stringify(text)} is not a revision`, () => {
      assert.equal(readRevision(text), undefined)
      assert.throws(() => nextRevision(text, null), TypeError)
    })
  }
})

describe('a deleted user', () => {
  const tombstone = toTombstone({ ...ALICE, sessionEpoch: { generation: 4, seconds: 900 } }, 800)

  it('ends its sessions, and its time never decreases', () => {
    assert.ok(tombstone.sessionEpoch.generation > 4)
    assert.equal(tombstone.sessionEpoch.seconds, 900)
  })

  it('has the next revision', () => assert.equal(readRevision(tombstone.revision)?.number, 2))

  it('a new user of that name continues its revisions', () => {
    const again = createEmptyUser('alice', PASSWORD, tombstone)
    assert.deepEqual(again.sessionEpoch, tombstone.sessionEpoch)
    assert.equal(readRevision(revisionOf(again) ?? '')?.number, 3)
  })
})
