// Of two writers that expect the same value of an option, one succeeds.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connectPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { type Server, startServer } from '../support/server.ts'

const TRIES = 5

async function startNodes(t: TestContext): Promise<readonly [Server, Server]> {
  const postgres = await connectPostgres()
  t.after(() => postgres.stop())
  const options = { store: { url: await postgres.createPlace() } }
  return [await startServer(t, options), await startServer(t, options)]
}

const set = async ({ document }: Server, value: string, expected?: string, option = 'chttpd_auth/timeout') =>
  (
    await send(document, {
      method: 'PUT',
      path: `/_cardea/api/settings/${option}`,
      as: AS_ADMIN,
      body: { value, ...(expected !== undefined && { expected }) },
    })
  ).status

async function race(one: Server, other: Server): Promise<void> {
  for (let turn = 0; turn < TRIES; turn += 1) {
    const expected = String(1000 + turn)
    assert.equal(await set(one, expected), 200)
    const statuses = await Promise.all([set(one, '5001', expected), set(other, '5002', expected)])
    assert.deepEqual(statuses.toSorted(), [200, 409], `turn ${turn}`)
  }
}

test('one of two writers at one node gets 200, the other 409', async (t) => {
  const [here] = await startNodes(t)
  await race(here, here)
  const server = await startServer(t)
  await race(server, server)
})

test('one of two writers at two nodes gets 200, the other 409', async (t) => {
  const [here, there] = await startNodes(t)
  await race(here, there)
})

test('a value that another node has set a moment ago is the expected one', async (t) => {
  const [here, there] = await startNodes(t)
  for (let turn = 0; turn < TRIES; turn += 1) {
    assert.equal(await set(here, String(2000 + turn)), 200)
    assert.equal(await set(there, '3000', String(2000 + turn)), 200)
  }
})

test('writers of different options of one section do not refuse each other', async (t) => {
  const [here, there] = await startNodes(t)
  for (let turn = 0; turn < TRIES; turn += 1) {
    const writes = [
      set(here, String(601 + turn), String(600 + turn)),
      set(there, String(turn + 1), String(turn), 'chttpd_auth/max_sessions'),
    ]
    assert.deepEqual(await Promise.all(writes), [200, 200], `turn ${turn}`)
  }
})
