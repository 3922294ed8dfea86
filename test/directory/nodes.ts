import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Revocation } from '../../src/directory/deps.ts'
import type { Directory } from '../../src/directory/directory.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { openTestNode, START_SECONDS, type TestNode } from '../support/directory.ts'
import { waitUntil } from '../support/wait.ts'

type CreatePlace = () => Promise<string>

const DECOY = { unit: 'sha256', amount: 1 }
const hasher = createHasher({ queue: () => 1000 })

async function isPassword(directory: Directory, name: string, password: string): Promise<boolean> {
  return hasher.verify((await directory.findAccount(name))?.password, password, { decoy: DECOY })
}

/** Resolves when the node is notified of the revocation, which it is within a second, unless the machine is busy. */
function waitForRevocation(directory: Directory, isExpected: (ended: Revocation) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const leave = directory.onRevoked((ended) => {
    if (!isExpected(ended)) return
    leave()
    resolve()
  })
  return promise
}

const ofName = (name: string) => (ended: Revocation) => ended.kind === 'account' && ended.name === name

/** Two nodes over one store, in the ways that differ by engine. */
export function testNodes(engine: string, createPlace: CreatePlace): void {
  /** Both poll as they do in earnest. */
  const openLive = async (t: TestContext): Promise<readonly [TestNode, TestNode]> => {
    const url = await createPlace()
    const options = { url, clock: SYSTEM_CLOCK, pollMs: 250 }
    return [await openTestNode(t, options), await openTestNode(t, options)]
  }
  /** Each node sees the changes of the other only when it catches up. */
  const openWithoutPolling = async (t: TestContext): Promise<readonly [TestNode, TestNode]> => {
    const url = await createPlace()
    return [await openTestNode(t, { url }), await openTestNode(t, { url })]
  }

  describe(`two nodes over ${engine}`, () => {
    it('a password changed on one ends the old one on the other', async (t) => {
      const [{ directory: one }, { directory: other }] = await openLive(t)
      await one.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      assert.equal(await isPassword(other, 'ada', 'analytical'), true)
      await other.catchUp()
      const notified = waitForRevocation(other, ofName('ada'))
      await one.setPassword('ada', PROGRAM, { password: 'engine' })
      await notified
      assert.equal(await isPassword(other, 'ada', 'analytical'), false)
      assert.equal(await isPassword(other, 'ada', 'engine'), true)
    })

    const changes: readonly (readonly [string, (directory: Directory) => Promise<unknown>])[] = [
      ['a deactivation', (at) => at.setActive('ada', PROGRAM, false)],
      ['a deletion', (at) => at.removeUser('ada', PROGRAM, 'any')],
      ['a sign-out', (at) => at.signOut('ada', PROGRAM)],
      ['an administrator of that name', (at) => at.setAdministrator('ada', PROGRAM, { password: 'engine' })],
    ]
    for (const [what, change] of changes) {
      it(`${what} on one ends sessions on the other`, async (t) => {
        const [{ directory: one }, { directory: other }] = await openLive(t)
        await one.createUser({ name: 'ada' }, PROGRAM)
        const account = (await other.findAccount('ada')) ?? assert.fail('ada cannot sign in')
        const session = other.createSession(account)
        await other.catchUp()
        const notified = waitForRevocation(other, ofName('ada'))
        await change(one)
        await notified
        assert.equal(await other.isSessionLive(session), false)
      })
    }

    it('a session ended on one ends on the other', async (t) => {
      const [{ directory: one }, { directory: other }] = await openLive(t)
      await one.createUser({ name: 'ada' }, PROGRAM)
      const account = (await other.findAccount('ada')) ?? assert.fail('ada cannot sign in')
      const [session, stays] = [other.createSession(account), other.createSession(account)]
      await other.catchUp()
      const notified = waitForRevocation(other, (ended) => ended.kind === 'session' && ended.id === session.id)
      await one.endSession({ id: session.id, name: 'ada', expiresAt: session.issuedAt + 600 })
      await notified
      assert.deepEqual([await other.isSessionLive(session), await other.isSessionLive(stays)], [false, true])
    })

    it('sign-ins on both at the same time leave no more sessions than allowed', async (t) => {
      const url = await createPlace()
      const options = { url, clock: SYSTEM_CLOCK, pollMs: 250, settings: { chttpd_auth: { max_sessions: 2 } } }
      const nodes = [await openTestNode(t, options), await openTestNode(t, options)]
      const [one, other] = nodes.map(({ directory }) => directory)
      if (!one || !other) assert.fail('not opened')
      await one.createUser({ name: 'ada' }, PROGRAM)
      const open = async (directory: Directory) => {
        const found = (await directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')
        const account = await directory.makeRoom(found, { hasPassword: true })
        const session = directory.createSession(account, { hasPassword: true, hasFactor: false })
        const { id, name, generation, issuedAt: createdAt } = session
        const use = { id, name, generation, door: 'document', createdAt, expiresAt: createdAt + 600 }
        directory.noteSession(id, () => ({ ...use, peer: '', userAgent: '' }))
        return session
      }
      const sessions = await Promise.all(Array.from({ length: 10 }, (_, turn) => open(turn % 2 ? one : other)))
      const countLive = async (directory: Directory) => {
        const isLive = await Promise.all(sessions.map((session) => directory.isSessionLive(session)))
        return isLive.filter(Boolean).length
      }
      await waitUntil(async () => (await countLive(one)) === 2 && (await countLive(other)) === 2)
    })

    it('a node that starts later knows the ended sessions', async (t) => {
      const url = await createPlace()
      const { directory: one } = await openTestNode(t, { url })
      await one.createUser({ name: 'ada' }, PROGRAM)
      const session = one.createSession((await one.findAccount('ada')) ?? assert.fail('ada cannot sign in'))
      await one.endSession({ id: session.id, name: 'ada', expiresAt: START_SECONDS + 600 })
      const { directory: late } = await openTestNode(t, { url })
      assert.equal(await late.isSessionLive(session), false)
    })

    it('a session opened on one is valid on the other, even before that has seen the change', async (t) => {
      const [{ directory: one }, { directory: other }] = await openWithoutPolling(t)
      await one.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      await one.setAdministrator('root', PROGRAM, { password: 'secret' })
      await other.catchUp()
      await other.findAccount('ada')
      await one.setPassword('ada', PROGRAM, { password: 'engine' })
      await one.setAdministrator('root', PROGRAM, { password: 'other' })
      for (const name of ['ada', 'root']) {
        const account = (await one.findAccount(name)) ?? assert.fail(`${name} cannot sign in`)
        assert.equal(await other.isSessionLive(one.createSession(account)), true, name)
      }
    })

    it('of two nodes that each delete one of the last two administrators, one is rejected', async (t) => {
      const [{ directory: one }, { directory: other }] = await openWithoutPolling(t)
      await one.setAdministrator('a', PROGRAM, { password: 'secret' })
      await one.setAdministrator('b', PROGRAM, { password: 'secret' })
      await other.catchUp()
      const outcomes = await Promise.allSettled([
        one.removeAdministrator('a', PROGRAM),
        other.removeAdministrator('b', PROGRAM),
      ])
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      await Promise.all([one.catchUp(), other.catchUp()])
      assert.equal(one.listAdministrators().length, 1)
      assert.deepEqual(one.listAdministrators(), other.listAdministrators())
    })

    it('concurrent changes of one user on both nodes are all stored', async (t) => {
      const nodes = await openWithoutPolling(t)
      let round = 0
      const property = fc.asyncProperty(fc.array(fc.nat(1), { minLength: 2, maxLength: 12 }), async (plan) => {
        round += 1
        const name = `user ${round}`
        await nodes[0].directory.createUser({ name }, PROGRAM)
        const add = (role: string, at: number) =>
          nodes[at]?.directory.changeUser(name, PROGRAM, (user) => ({
            ...user,
            document: { ...user.document, roles: [...user.document.roles, role] },
          }))
        await Promise.all(plan.map((at, number) => add(`role ${number}`, at)))
        const roles = (await nodes[1].directory.findUser(name))?.document.roles ?? []
        assert.deepEqual([...roles].sort(), plan.map((_, number) => `role ${number}`).sort())
      })
      await fc.assert(property, { numRuns: 15 })
    })

    it('of concurrent changes from one revision, one is accepted', async (t) => {
      const [{ directory: one }, { directory: other }] = await openWithoutPolling(t)
      const { document } = await one.createUser({ name: 'ada' }, PROGRAM)
      const outcomes = await Promise.allSettled(
        Array.from({ length: 12 }, (_, number) =>
          (number % 2 ? one : other).changeUser(
            'ada',
            PROGRAM,
            (user) => ({ ...user, document: { ...user.document, roles: [`role ${number}`] } }),
            { expected: document.revision },
          ),
        ),
      )
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    })
  })
}
