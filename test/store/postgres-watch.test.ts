// Which server of a store is used, decided by what a real PostgreSQL says at several addresses.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { describeServers } from '../../src/store/postgres/describe.ts'
import { type ServerState, tryServers } from '../../src/store/postgres/servers.ts'
import { ServerWatch } from '../../src/store/postgres/watch.ts'
import { createForwarder } from '../support/forwarder.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { connectPostgres } from './postgres-server.ts'

const scope = createSharedScope()
const server = await connectPostgres()
after(() => server.stop())

const url = await server.createPlace()
const port = Number(new URL(url).port)
const state = await readState()

const READ_ONLY = '%20-c%20default_transaction_read_only=on'
const NEWER: Partial<ServerState> = { timeline: 1000 }
const OTHER_STORE: Partial<ServerState> = { system: '1' }

async function readState(): Promise<ServerState> {
  const [attempt] = await tryServers(url)
  await attempt?.client.end()
  assert.ok(attempt?.state)
  return attempt.state
}

/** Another address of the server. */
async function createAddress({ isUp = true, ending = '' } = {}) {
  const forwarder = await createForwarder(scope, isUp ? port : undefined)
  return { ...forwarder, url: `${url.replace(`:${port}/`, `:${forwarder.port}/`)}${ending}` }
}

type Address = Awaited<ReturnType<typeof createAddress>>

/** Watches these addresses, the last of which is used. It was a server with the state of the test, changed by `known`. */
function watch(addresses: readonly Address[], known: Partial<ServerState> = {}) {
  const used = addresses.at(-1)?.url ?? ''
  const counts = { leaves: 0, wakes: 0 }
  const watching = new ServerWatch({
    urls: addresses.map((address) => address.url),
    primary: { url: used, state: { ...state, ...known } },
    listens: true,
    wake: () => (counts.wakes += 1),
    leave: () => (counts.leaves += 1),
    log: SILENT_LOG,
  })
  watching.start()
  scope.after(() => watching.stop())
  return { counts, current: watching.current }
}

/** Waits until this address was connected, asked what it is, and what it said was considered. */
async function waitForLooks(address: Address): Promise<void> {
  const before = address.countRequests()
  await waitUntil(() => address.countRequests() >= before + 5)
}

describe('the watch of the servers of a store', () => {
  it('stays with the address in use when another one of the same server is back', async () => {
    const [first, second] = [await createAddress({ isUp: false }), await createAddress()]
    const { counts, current } = watch([first, second])
    await waitUntil(() => counts.wakes > 0)
    first.lead(port)
    await waitForLooks(first)
    assert.deepEqual([current(), counts.leaves], [second.url, 0])
    await server.execute(url, `SELECT pg_notify('cardea_changes', '')`)
    await waitUntil(() => counts.wakes > 1)
  })

  it('takes another address of the server when the one in use leads nowhere', async () => {
    const [first, second] = [await createAddress(), await createAddress()]
    const { counts, current } = watch([first, second])
    await waitUntil(() => counts.wakes > 0)
    second.lead(undefined)
    await waitUntil(() => current() === first.url && counts.wakes > 1)
    assert.equal(counts.leaves, 1)
  })

  it('takes another address when the one in use accepts no writes', async () => {
    const [first, second] = [await createAddress(), await createAddress({ ending: READ_ONLY })]
    const { counts, current } = watch([first, second])
    await waitUntil(() => current() === first.url && counts.leaves > 0 && counts.wakes > 0)
  })

  it('leaves the only address when it accepts no writes', async () => {
    const only = await createAddress({ ending: READ_ONLY })
    const { counts } = watch([only])
    await waitUntil(() => counts.leaves > 0)
  })

  it('leaves a server that another one has replaced', async () => {
    const [first, second] = [await createAddress(), await createAddress()]
    const { counts, current } = watch([first, second], NEWER)
    await waitUntil(() => counts.leaves > 0)
    assert.equal(current(), second.url)
  })

  it('does not take an address with another store', async () => {
    const [first, second] = [await createAddress(), await createAddress({ isUp: false })]
    const { counts, current } = watch([first, second], OTHER_STORE)
    await waitForLooks(first)
    assert.deepEqual([current(), counts.leaves], [second.url, 0])
  })
})

describe('two addresses of one server', () => {
  it('are not two primaries', async () => {
    const [first, second] = [await createAddress(), await createAddress()]
    const { servers } = await describeServers(first.url.replace('/postgres?', `,127.0.0.1:${second.port}/postgres?`))
    assert.deepEqual(
      servers.map(({ isPrimary, isSamePrimary, isForeign }) => [isPrimary, isSamePrimary, isForeign]),
      [
        [true, true, false],
        [false, true, false],
      ],
    )
  })
})
