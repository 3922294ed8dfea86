import assert from 'node:assert/strict'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import { PASSWORD } from '../../src/auth/basic.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Directory } from '../../src/directory/directory.ts'
import { readRevision } from '../../src/directory/users/revisions.ts'
import type { NewPassword, User, UserDraft } from '../../src/directory/users/user.ts'
import { readPasswordRules } from '../../src/passwords/password-rules.ts'
import type { Pbkdf2Password } from '../../src/passwords/schemes/pbkdf2.ts'
import { isRefused, START_SECONDS, setRoles, type TestNode, type TestNodeOptions } from '../support/directory.ts'
import type { Scope } from '../support/scope.ts'

const STORED: Pbkdf2Password = { scheme: 'pbkdf2', prf: 'sha256', iterations: 3, salt: 'salt', hash: 'a'.repeat(64) }

const revisionNumber = (user: User) => readRevision(user.document.revision)?.number
const addRole = (role: string) => (user: User) => ({
  ...user,
  document: { ...user.document, roles: [...user.document.roles, role] },
})

const impossible: readonly (readonly [string, UserDraft])[] = [
  ['no name', { name: '' }],
  ['a colon in the name', { name: 'a:b' }],
  ['a reserved name', { name: '_system' }],
  ['a name with a line end', { name: 'ada\n' }],
  ['a name of 257 bytes', { name: 'a'.repeat(257) }],
  ['a lone surrogate', { name: '\ud800' }],
  ['a role with a comma', { name: 'ada', roles: ['a,b'] }],
  ['an empty role', { name: 'ada', roles: ['a', ''] }],
  ['the role _admin', { name: 'ada', roles: ['_admin'] }],
  ['another system role', { name: 'ada', roles: ['_reader'] }],
  ['a database without a name', draftWithGrant('')],
  ['a database with a control character', draftWithGrant('a\u0000')],
  ['a system collection', draftWithGrant('shop', '_users')],
  ['one collection of all databases', draftWithGrant('*', 'orders')],
]

function draftWithGrant(database: string, ...collections: string[]): UserDraft {
  const grant = { level: 'rw' as const, collections: new Map(collections.map((name) => [name, 'rw' as const])) }
  return { name: 'ada', multiModel: { grants: new Map([[database, grant]]) } }
}

function sameWithOtherOrder({ password }: User): NewPassword {
  const entries = Object.entries(password).reverse()
  // the same members, so the same form
  return { stored: Object.fromEntries(entries) as unknown as typeof password }
}

async function importOne(at: Directory, draft: UserDraft): Promise<unknown> {
  const [outcome] = await at.importUsers([draft], PROGRAM, 'keep')
  if (outcome?.kind === 'refused') throw outcome.error
  return outcome
}

export type OpenNode = (scope: Scope, options?: TestNodeOptions) => Promise<TestNode>

/** What a directory does with users, in its own store or in another server. */
export function testUserOperations(openNode: OpenNode): void {
  let node: TestNode
  let directory: Directory
  beforeEach(async (t) => {
    node = await openNode(t as TestContext)
    ;({ directory } = node)
  })

  describe('a new user', () => {
    it('is stored as given', async () => {
      const grants = new Map([['shop', { level: 'ro' as const, collections: new Map() }]])
      const made = await directory.createUser(
        {
          name: 'ada',
          password: { password: 'analytical' },
          isActive: false,
          roles: ['maths'],
          members: [['type', 'user']],
          multiModel: { grants, extra: { born: 1815 } },
        },
        PROGRAM,
      )
      assert.deepEqual(await directory.findUser('ada'), made)
      assert.equal(made.isActive, false)
      assert.deepEqual(made.document.roles, ['maths'])
      assert.deepEqual(made.document.members, [['type', 'user']])
      assert.deepEqual(made.multiModel.grants, grants)
      assert.equal(revisionNumber(made), 1)
      assert.equal(await directory.countUsers(), 1)
    })

    it('has its password hashed as configured', async () => {
      const { password } = await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      assert.partialDeepStrictEqual(password, { scheme: 'pbkdf2', prf: 'sha256', iterations: 2 })
    })

    it('keeps a salt and a stored password that are given', async () => {
      const salted = await directory.createUser(
        { name: 'ada', password: { password: 'analytical', salt: 'pepper' } },
        PROGRAM,
      )
      assert.partialDeepStrictEqual(salted.password, { salt: 'pepper' })
      const stored = await directory.createUser({ name: 'bob', password: { stored: STORED } }, PROGRAM)
      assert.deepEqual(stored.password, STORED)
    })

    it('without a password has one that never verifies', async () => {
      const { password } = await directory.createUser({ name: 'ada' }, PROGRAM)
      assert.partialDeepStrictEqual(password, { scheme: 'unusable', reason: 'absent' })
    })

    const taken: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['a user', () => directory.createUser({ name: 'ada' }, PROGRAM)],
      ['an administrator', () => directory.setAdministrator('ada', PROGRAM, { password: 'analytical' })],
    ]
    for (const [who, make] of taken) {
      it(`cannot take the name of ${who}`, async () => {
        await make()
        await assert.rejects(directory.createUser({ name: 'ada' }, PROGRAM), isRefused('conflict'))
        assert.deepEqual(await directory.importUsers([{ name: 'bob' }], PROGRAM, 'keep'), [{ kind: 'created' }])
      })
    }

    it('is created once by many concurrent requests', async () => {
      const attempts = Array.from({ length: 20 }, () => directory.createUser({ name: 'ada' }, PROGRAM))
      const outcomes = await Promise.allSettled(attempts)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal(await directory.countUsers(), 1)
    })
  })

  describe('impossible', () => {
    for (const [what, draft] of impossible) {
      it(what, async () => {
        await assert.rejects(directory.createUser(draft, PROGRAM), isRefused('bad_request'))
        const [outcome] = await directory.importUsers([draft], PROGRAM, 'replace')
        assert.equal(outcome?.kind, 'refused')
        assert.equal(await directory.countUsers(), 0)
      })
    }

    it('a change that gives such roles or grants', async () => {
      await directory.createUser({ name: 'ada' }, PROGRAM)
      await assert.rejects(setRoles(directory, 'ada', ['_admin']), isRefused('bad_request'))
      await assert.rejects(
        directory.setGrant('ada', PROGRAM, { database: 'shop', collection: '_users' }, 'rw'),
        isRefused('bad_request'),
      )
      await assert.rejects(directory.changeUser('ada', PROGRAM, addRole('_admin')), isRefused('bad_request'))
    })

    it('the role _metrics is allowed', async () => {
      assert.deepEqual((await directory.createUser({ name: 'ada', roles: ['_metrics'] }, PROGRAM)).document.roles, [
        '_metrics',
      ])
    })
  })

  describe('a change', () => {
    let before: User
    beforeEach(async () => {
      before = await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    })

    it('of an unknown user is not found', async () => {
      const changes = [
        directory.changeUser('bob', PROGRAM, (user) => user),
        directory.setPassword('bob', PROGRAM, { password: 'builder' }),
        directory.setActive('bob', PROGRAM, false),
        directory.signOut('bob', PROGRAM),
        directory.removeUser('bob', PROGRAM, 'any'),
      ]
      for (const change of changes) await assert.rejects(change, isRefused('not_found'))
    })

    it('needs the current revision', async () => {
      const after = await directory.changeUser('ada', PROGRAM, addRole('maths'), { expected: before.document.revision })
      assert.equal(revisionNumber(after), 2)
      await assert.rejects(
        directory.changeUser('ada', PROGRAM, addRole('x'), { expected: before.document.revision }),
        isRefused('conflict'),
      )
      await assert.rejects(
        directory.setPassword('ada', PROGRAM, { password: 'engine' }, { expected: before.document.revision }),
        isRefused('conflict'),
      )
      await assert.rejects(directory.removeUser('ada', PROGRAM, before.document.revision), isRefused('conflict'))
      assert.deepEqual(await directory.findUser('ada'), after)
    })

    it('cannot change name, revision or sessions', async () => {
      const after = await directory.changeUser('ada', PROGRAM, (user) => ({
        ...user,
        name: 'bob',
        sessionEpoch: { generation: 77, seconds: 77 },
        document: { ...user.document, revision: '9-abc' },
      }))
      assert.deepEqual(after, before)
      assert.equal(await directory.findUser('bob'), undefined)
    })

    it('that throws changes nothing', async () => {
      const change = () => {
        throw new RangeError('no')
      }
      await assert.rejects(directory.changeUser('ada', PROGRAM, change), RangeError)
      assert.deepEqual(await directory.findUser('ada'), before)
    })

    const endings: readonly (readonly [string, boolean, () => Promise<User>])[] = [
      ['another password', true, () => directory.setPassword('ada', PROGRAM, { password: 'engine' })],
      ['the current password', false, () => directory.setPassword('ada', PROGRAM, { password: 'analytical' })],
      ['a deactivation', true, () => directory.setActive('ada', PROGRAM, false)],
      ['a sign-out', true, () => directory.signOut('ada', PROGRAM)],
      ['a role', false, () => setRoles(directory, 'ada', ['maths'])],
      ['a grant', false, () => directory.setGrant('ada', PROGRAM, { database: 'shop' }, 'rw')],
      ['an activation of an active user', false, () => directory.setActive('ada', PROGRAM, true)],
      ['the current password', false, () => directory.setPassword('ada', PROGRAM, sameWithOtherOrder(before))],
    ]
    for (const [what, isEnding, change] of endings) {
      it(`${what} ${isEnding ? 'ends' : 'ends no'} sessions`, async () => {
        const { sessionEpoch } = await change()
        assert.equal(sessionEpoch.generation > before.sessionEpoch.generation, isEnding)
        assert.equal(sessionEpoch.seconds, isEnding ? START_SECONDS : 0)
      })
    }

    const visible: readonly (readonly [string, boolean, () => Promise<User>])[] = [
      ['a role', true, () => setRoles(directory, 'ada', ['maths'])],
      ['another password', true, () => directory.setPassword('ada', PROGRAM, { password: 'engine' })],
      ['a grant', false, () => directory.setGrant('ada', PROGRAM, { database: 'shop' }, 'rw')],
      ['a deactivation', false, () => directory.setActive('ada', PROGRAM, false)],
      ['a sign-out', false, () => directory.signOut('ada', PROGRAM)],
    ]
    for (const [what, isVisible, change] of visible) {
      it(`${what} ${isVisible ? 'changes' : 'keeps'} the revision`, async () => {
        assert.equal(revisionNumber(await change()), isVisible ? 2 : 1)
      })
    }
  })

  describe('grants', () => {
    const grantsOf = async () => (await directory.findUser('ada'))?.multiModel.grants
    beforeEach(() => directory.createUser({ name: 'ada' }, PROGRAM))

    it('on a database and a collection are independent, and removed one by one', async () => {
      await directory.setGrant('ada', PROGRAM, { database: 'shop' }, 'ro')
      await directory.setGrant('ada', PROGRAM, { database: 'shop', collection: 'orders' }, 'rw')
      assert.deepEqual(await grantsOf(), new Map([['shop', { level: 'ro', collections: new Map([['orders', 'rw']]) }]]))
      await directory.setGrant('ada', PROGRAM, { database: 'shop' }, undefined)
      assert.deepEqual(
        await grantsOf(),
        new Map([['shop', { level: undefined, collections: new Map([['orders', 'rw']]) }]]),
      )
      await directory.setGrant('ada', PROGRAM, { database: 'shop', collection: 'orders' }, undefined)
      assert.deepEqual(await grantsOf(), new Map())
    })
  })

  describe('a deleted user', () => {
    it('leaves its revisions to the next user of that name', async () => {
      const { sessionEpoch } = await directory.createUser({ name: 'ada' }, PROGRAM)
      const revision = await directory.removeUser('ada', PROGRAM, 'any')
      assert.equal(await directory.findUser('ada'), undefined)
      assert.partialDeepStrictEqual(await directory.findRecord('ada'), { kind: 'tombstone', revision })
      const again = await directory.createUser({ name: 'ada' }, PROGRAM)
      assert.equal(revisionNumber(again), 3)
      assert.ok(again.sessionEpoch.generation > sessionEpoch.generation)
    })

    it('cannot be changed or deleted again', async () => {
      await directory.createUser({ name: 'ada' }, PROGRAM)
      await directory.removeUser('ada', PROGRAM, 'any')
      await assert.rejects(directory.setActive('ada', PROGRAM, true), isRefused('not_found'))
      await assert.rejects(directory.removeUser('ada', PROGRAM, 'any'), isRefused('not_found'))
    })
  })

  describe('an import', () => {
    it('returns an outcome for each draft', async () => {
      await directory.createUser({ name: 'ada', roles: ['old'] }, PROGRAM)
      await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
      const kinds = async (role: string, onTaken: 'keep' | 'replace') => {
        const drafts = ['ada', 'bob', 'b:c', 'root', 'bob'].map((name) => ({ name, roles: [role] }))
        return (await directory.importUsers(drafts, PROGRAM, onTaken)).map(({ kind }) => kind)
      }
      assert.deepEqual(await kinds('new', 'keep'), ['kept', 'created', 'refused', 'refused', 'kept'])
      assert.deepEqual((await directory.findUser('ada'))?.document.roles, ['old'])
      assert.deepEqual(await kinds('newer', 'replace'), ['replaced', 'replaced', 'refused', 'refused', 'replaced'])
      assert.deepEqual((await directory.findUser('ada'))?.document.roles, ['newer'])
    })

    it('that replaces a password ends the sessions of the user', async () => {
      const { generation } = (await directory.createUser({ name: 'ada', password: { stored: STORED } }, PROGRAM))
        .sessionEpoch
      const findGeneration = async () => (await directory.findUser('ada'))?.sessionEpoch.generation ?? 0
      await directory.importUsers([{ name: 'ada', password: { stored: STORED } }], PROGRAM, 'replace')
      assert.equal(await findGeneration(), generation)
      await directory.importUsers(
        [{ name: 'ada', password: { stored: { ...STORED, salt: 'other' } } }],
        PROGRAM,
        'replace',
      )
      assert.ok((await findGeneration()) > generation)
    })

    it('takes effect at once', async () => {
      await directory.createUser({ name: 'ada', password: { stored: STORED } }, PROGRAM)
      await directory.findAccount('ada')
      await directory.importUsers([{ name: 'ada', roles: ['new'] }], PROGRAM, 'replace')
      assert.deepEqual((await directory.findAccount('ada'))?.roles, ['new'])
    })
  })

  describe('rules for passwords', () => {
    const reading = readPasswordRules('[{"[0-9]", "It needs a digit."}]')
    const rules = reading.kind === 'rules' ? reading.rules : []
    const entrances: readonly (readonly [string, (directory: Directory) => Promise<unknown>])[] = [
      ['a new user', (at) => at.createUser({ name: 'bob', password: { password: 'builder' } }, PROGRAM)],
      ['a new password', (at) => at.setPassword('ada', PROGRAM, { password: 'engine' })],
      [
        'a change with a password',
        (at) => at.changeUser('ada', PROGRAM, (u) => u, { password: { password: 'engine' } }),
      ],
      ['a new administrator', (at) => at.setAdministrator('root', PROGRAM, { password: 'secret' })],
      ['an import', (at) => importOne(at, { name: 'bob', password: { password: 'builder' } })],
    ]
    for (const [entrance, enter] of entrances) {
      it(`${entrance} is checked`, async (t) => {
        const strict = await openNode(t, { settings: { rules } })
        const before = await strict.directory.createUser(
          { name: 'ada', password: { password: 'analytical 1' } },
          PROGRAM,
        )
        const reason = 'Password does not conform to requirements. It needs a digit.'
        await assert.rejects(enter(strict.directory), { code: 'password_refused', reason })
        assert.deepEqual(await strict.directory.listUsers({ limit: 10 }), [before])
        assert.deepEqual(strict.directory.listAdministrators(), [])
      })
    }
  })

  it('listing returns pages in byte order', async () => {
    for (const name of ['b', 'Z', 'ä', 'a']) await directory.createUser({ name }, PROGRAM)
    const names = async (range: Parameters<Directory['listUsers']>[0]) =>
      (await directory.listUsers(range)).map(({ name }) => name)
    assert.deepEqual(await names({ limit: 3 }), ['Z', 'a', 'b'])
    assert.deepEqual(await names({ limit: 3, from: { name: 'b', isInclusive: false } }), ['ä'])
  })

  describe('a change for a request', () => {
    /** As another node does. */
    const raiseEpoch = async () => {
      const { record, sequence } = (await node.store.findUser('ada')) ?? assert.fail('not stored')
      const sessionEpoch = { generation: record.sessionEpoch.generation + 1, seconds: START_SECONDS }
      await node.store.writeUser({ expected: sequence, record: { ...record, sessionEpoch } })
    }

    const changeAs = async (name: string, revoke: () => Promise<unknown>) => {
      const identity = (await directory.findAccount(name)) ?? assert.fail('cannot sign in')
      const confirm = async () => {
        await revoke()
        return { identity, credential: { kind: PASSWORD, handler: 'basic' } }
      }
      return directory.setPassword('ada', { confirm }, { password: 'stolen' })
    }

    it('of the own user is rejected if the credential is revoked after it was confirmed', async () => {
      await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      const before = await directory.findUser('ada')
      await assert.rejects(changeAs('ada', raiseEpoch), isRefused('authentication_required'))
      assert.deepEqual((await directory.findUser('ada'))?.password, before?.password)
    })

    it('of another user does not depend on the session epoch of that user', async () => {
      for (const name of ['ada', 'grace'])
        await directory.createUser({ name, password: { password: 'analytical' } }, PROGRAM)
      const before = await directory.findUser('ada')
      await changeAs('grace', raiseEpoch)
      assert.notDeepEqual((await directory.findUser('ada'))?.password, before?.password)
    })
  })
}
