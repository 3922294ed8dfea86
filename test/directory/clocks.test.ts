// Nodes whose clocks differ, and a node that is started with a wrong clock. docs/background/history-and-time.md has the
// same rules.
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openStoreClock, type StoreClock } from '../../src/store/store-clock.ts'
import { createSqlitePlace } from '../store/places.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { openTestNode, type TestNode } from '../support/directory.ts'
import { waitUntil } from '../support/wait.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

/** Nodes of one PostgreSQL: the time is the real one, their clocks differ from it by these seconds. */
async function openNodes(t: TestContext, ...offsets: readonly number[]) {
  const url = await postgres.createPlace()
  const nodes = []
  for (const seconds of offsets) {
    const system = { nowMs: () => Date.now() + seconds * 1000 }
    const openTime = (store: Store) => openStoreClock(store, { log: SILENT_LOG, system })
    nodes.push(await openTestNode(t, { url, openTime, clock: { nowMs: () => performance.now() } }))
  }
  return nodes.map(({ directory }) => directory)
}

const now = () => Math.floor(Date.now() / 1000)

describe('nodes whose clocks differ', () => {
  for (const seconds of [-600, -30, 30, 600])
    it(`a token of another issuer ends with a sign-out by a node that is ${seconds} s off`, async (t) => {
      const [wrong, right] = await openNodes(t, seconds, 0)
      assert.ok(wrong && right)
      await right.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      const token = { name: 'ada', issuedAt: now() }
      assert.equal(await right.isForeignTokenLive(token), true)
      await wrong.signOut('ada', PROGRAM)
      await right.catchUp()
      for (const node of [wrong, right]) {
        assert.equal(await node.isForeignTokenLive(token), false)
        // an issuer that is 55 seconds ahead
        assert.equal(await node.isForeignTokenLive({ name: 'ada', issuedAt: now() + 55 }), false)
      }
    })

  for (const seconds of [-300, 300])
    it(`a renewal may be repeated at a node that is ${seconds} s off`, async (t) => {
      const [here, there] = await openNodes(t, 0, seconds)
      assert.ok(here && there)
      await here.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
      const account = (await here.findAccount('ada')) ?? assert.fail('no account')
      const session = here.createSession(account)
      here.noteSession(session.id, () => ({
        ...session,
        door: 'document',
        createdAt: session.issuedAt,
        expiresAt: now() + 3600,
        peer: '',
        userAgent: '',
      }))
      const first = await here.createRenewalToken(session.id, 3600)
      await there.catchUp()
      const second = await here.useRenewalToken(first, 3600)
      const repeated = await there.useRenewalToken(first, 3600)
      assert.equal(repeated?.token, second?.token, 'within a second')
      assert.ok(await there.useRenewalToken(second?.token ?? '', 3600), 'the session goes on')
    })
})

const START_MS = 1_800_000_000_000

/** A store in a file, and a machine that starts one process after the other, each with its own clock. */
async function openMachine(t: TestContext) {
  const place = await createSqlitePlace()
  t.after(() => place.remove())
  let elapsedMs = 0
  return {
    async start(offsetSeconds: number) {
      let clock: StoreClock | undefined
      const system = { nowMs: () => START_MS + elapsedMs + offsetSeconds * 1000 }
      const openTime = async (store: Store) => {
        clock = await openStoreClock(store, { log: SILENT_LOG, system, monotonic: { nowMs: () => elapsedMs } })
        await clock.compare(true)
        return clock
      }
      const node = await openTestNode(t, { url: place.url, openTime, clock: { nowMs: () => elapsedMs } })
      return {
        ...node,
        async run(seconds: number) {
          for (let second = 0; second < seconds; second += 2) {
            elapsedMs += 2000
            await clock?.compare(true)
          }
        },
      }
    },
  }
}

const endOne = ({ directory }: TestNode, id: string, seconds = 600) =>
  directory.endSession({ id, name: 'ada', expiresAt: START_MS / 1000 + seconds })

describe('a node that is started with a wrong clock', () => {
  for (const seconds of [3600, 86_400 * 40, -600])
    it(`keeps the sessions that others ended, ${seconds} s off`, async (t) => {
      const machine = await openMachine(t)
      const first = await machine.start(0)
      await endOne(first, 'revoked')
      await first.close()
      const wrong = await machine.start(seconds)
      await wrong.run(70)
      await endOne(wrong, 'another')
      await wrong.directory.catchUp()
      await wrong.close()
      const { directory } = await machine.start(0)
      assert.equal(directory.isSessionEnded('revoked'), true)
    })

  it('keeps the records of sessions', async (t) => {
    const machine = await openMachine(t)
    const first = await machine.start(0)
    await first.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    const note = (node: typeof first, id: string) =>
      node.directory.noteSession(id, () => ({
        id,
        name: 'ada',
        generation: 0,
        door: 'document',
        createdAt: START_MS / 1000,
        expiresAt: START_MS / 1000 + 600,
        peer: '',
        userAgent: '',
      }))
    note(first, 'one')
    await first.close()
    const wrong = await machine.start(86_400 * 31)
    await wrong.run(70)
    note(wrong, 'two')
    await wrong.directory.flushSessions()
    assert.deepEqual((await wrong.store.listSessionRecords({ name: 'ada', limit: 10 })).map(({ id }) => id).sort(), [
      'one',
      'two',
    ])
  })

  it('deletes what has expired once the time of the store has come to it', async (t) => {
    const machine = await openMachine(t)
    const node = await machine.start(0)
    await endOne(node, 'expired')
    await node.run(700)
    await endOne(node, 'another', 1200)
    await waitUntil(async () => (await node.store.listEndedIds('ada')).join() === 'another')
  })
})
