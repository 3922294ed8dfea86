import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal, refusalText } from '../../src/base/errors.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { UserDraft } from '../../src/directory/users/user.ts'
import { readPasswordRules } from '../../src/passwords/password-rules.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { readDraft, toDraftJson } from '../../src/transfer/draft.ts'
import { lastSequence } from '../contract/store-values.ts'
import { openTestNode } from '../support/directory.ts'

const STORED: StoredPassword = { scheme: 'simple', salt: 'salt', hash: 'a'.repeat(40) }
const ALICE: UserDraft = {
  name: 'alice',
  password: { stored: STORED },
  isActive: false,
  roles: ['editor'],
  members: [['colour', 'red']],
  revision: `7-${'b'.repeat(32)}`,
  sessionEpoch: { generation: 3, seconds: 1_700_000_000 },
  multiModel: {
    grants: new Map([['db', { level: undefined, collections: new Map([['c', 'ro']]) }]]),
    extra: { a: 1 },
    config: { b: 2 },
    tokens: [{ id: 1, name: 't', createdAt: 1, validUntil: 2, fingerprint: 'v1...abcdef', digest: 'd', generation: 3 }],
  },
}

const SHORT: UserDraft = { name: 'short', password: { password: 'x' } }
const LONG: UserDraft = { name: 'long', password: { password: 'a long one' } }

describe('importing a user', () => {
  it('keeps everything, including the revision and revoked sessions', async (t) => {
    const { directory } = await openTestNode(t)
    assert.deepEqual(await directory.importUsers([ALICE], PROGRAM, 'keep'), [{ kind: 'created' }])
    assert.deepEqual(await directory.findUser('alice'), {
      kind: 'user',
      name: 'alice',
      isActive: false,
      password: STORED,
      sessionEpoch: ALICE.sessionEpoch,
      document: { revision: ALICE.revision, roles: ALICE.roles, members: ALICE.members },
      multiModel: ALICE.multiModel,
    })
  })

  it('again changes nothing, with --keep and --replace', async (t) => {
    const { directory, store } = await openTestNode(t)
    await directory.importUsers([ALICE], PROGRAM, 'keep')
    const before = await lastSequence(store)
    for (const onTaken of ['keep', 'replace'] as const) {
      const [outcome] = await directory.importUsers([ALICE], PROGRAM, onTaken)
      assert.equal(outcome?.kind, 'kept', onTaken)
    }
    assert.equal(await lastSequence(store), before)
  })

  it('in place of another continues the revision and keeps both revocations', async (t) => {
    const { directory } = await openTestNode(t)
    const { document, sessionEpoch } = await directory.createUser({ name: 'alice', roles: ['reader'] }, PROGRAM)
    const generation = sessionEpoch.generation + 2 ** 40
    const later = { ...ALICE, sessionEpoch: { ...ALICE.sessionEpoch, generation, seconds: 1_700_000_000 } }
    assert.deepEqual(await directory.importUsers([later], PROGRAM, 'replace'), [{ kind: 'replaced' }])
    const now = await directory.findUser('alice')
    assert.match(document.revision, /^1-/)
    assert.match(now?.document.revision ?? '', /^2-/)
    assert.deepEqual(now?.sessionEpoch, { generation, seconds: 1_800_000_000 })
  })

  it('without a password keeps the stored one and its sessions; a new user gets none', async (t) => {
    const { directory } = await openTestNode(t)
    const { sessionEpoch } = await directory.createUser({ name: 'alice', password: { stored: STORED } }, PROGRAM)
    // as a running server is sent them
    const drafts = ['alice', 'bob'].map((name) =>
      readDraft(toDraftJson({ name, keepsPassword: true, roles: ['reader'] })),
    )
    assert.deepEqual(await directory.importUsers(drafts, PROGRAM, 'replace'), [
      { kind: 'replaced' },
      { kind: 'created' },
    ])
    const [alice, bob] = await Promise.all([directory.findUser('alice'), directory.findUser('bob')])
    assert.deepEqual([alice?.password, alice?.document.roles], [STORED, ['reader']])
    assert.deepEqual(alice?.sessionEpoch, sessionEpoch)
    assert.equal(bob?.password.scheme, 'unusable')
  })

  it('in place of a deleted one continues after the deletion', async (t) => {
    const { directory } = await openTestNode(t)
    await directory.createUser({ name: 'alice' }, PROGRAM)
    await directory.removeUser('alice', PROGRAM, 'any')
    const deleted = await directory.findRecord('alice')
    const low = { ...ALICE, revision: `1-${'b'.repeat(32)}`, sessionEpoch: { generation: 0, seconds: 0 } }
    assert.deepEqual(await directory.importUsers([low], PROGRAM, 'keep'), [{ kind: 'created' }])
    const now = await directory.findUser('alice')
    assert.match(now?.document.revision ?? '', /^3-/)
    assert.equal(now?.sessionEpoch.generation, deleted?.sessionEpoch.generation)
  })

  it('imports active access tokens, and none that were revoked', async (t) => {
    const { directory } = await openTestNode(t)
    await directory.createUser({ name: 'alice' }, PROGRAM)
    await directory.signOut('alice', PROGRAM)
    const { generation: _other, ...token } = ALICE.multiModel?.tokens?.[0] ?? assert.fail()
    const tokens = [token, { ...token, id: 2, generation: 0 }]
    const draft: UserDraft = { name: 'alice', password: { stored: STORED }, multiModel: { tokens } }
    assert.deepEqual(await directory.importUsers([draft], PROGRAM, 'replace'), [{ kind: 'replaced' }])
    const user = await directory.findUser('alice')
    assert.deepEqual(
      user?.multiModel.tokens.map(({ generation }) => generation),
      [user?.sessionEpoch.generation, 0],
    )
  })

  it('refuses an external account that another user has, and two users with the same one', async (t) => {
    const { directory } = await openTestNode(t)
    const toDraft = (name: string, subject: string): UserDraft => ({
      name,
      links: [{ provider: 'staff', issuer: 'https://id.example.com', subject, linkedAt: 1 }],
    })
    await directory.createUser(toDraft('ada', '1'), PROGRAM)
    const drafts = [toDraft('bob', '1'), toDraft('carl', '2'), toDraft('dora', '2'), toDraft('ada', '1')]
    for (const isTrial of [true, false]) {
      const outcomes = await directory.importUsers(drafts, PROGRAM, 'keep', { isTrial })
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['refused', 'created', 'refused', 'kept'],
      )
      const [first] = outcomes
      assert.ok(first?.kind === 'refused' && first.error instanceof Refusal)
      assert.match(refusalText(first.error), /Another user has this external account/)
    }
  })

  it('as a dry run returns the outcomes and writes nothing', async (t) => {
    const reading = readPasswordRules('["long"]')
    assert.ok(reading.kind === 'rules')
    const { directory, store } = await openTestNode(t, { settings: { rules: reading.rules } })
    await directory.createUser({ name: 'bob' }, PROGRAM)
    await directory.setAdministrator('root', PROGRAM, { password: 'a long one' })
    const before = await lastSequence(store)
    const drafts = [
      ALICE,
      { name: 'bob' },
      { name: 'bob', roles: ['x'] },
      { name: 'root' },
      { name: 'a:b' },
      SHORT,
      LONG,
    ]
    const kinds = async (onTaken: 'keep' | 'replace') =>
      (await directory.importUsers(drafts, PROGRAM, onTaken, { isTrial: true })).map(({ kind }) => kind)
    assert.deepEqual(await kinds('keep'), ['created', 'kept', 'kept', 'refused', 'refused', 'refused', 'created'])
    assert.deepEqual(await kinds('replace'), [
      'created',
      'kept',
      'replaced',
      'refused',
      'refused',
      'refused',
      'created',
    ])
    assert.equal(await lastSequence(store), before)
  })
})
