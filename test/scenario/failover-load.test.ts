// Failovers while nodes are used. The long forms, with all of them and with clocks that jump: npm run test:long -- failover
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeServers } from '../../src/store/postgres/describe.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const { FORMS } = await import(new URL('../long/failover/forms.ts', import.meta.url).href)
const scope = createSharedScope()

const MS = 300
const JUMP_MS = 600_000

test('a killed primary with a synchronous standby loses nothing, while the clock jumps', async () => {
  const outcome = await FORMS['synchronous standby, primary killed'](scope, { ms: MS, clockMs: -JUMP_MS })
  const { lost, unexplained, defects } = outcome
  assert.deepEqual({ lost, unexplained, defects }, { lost: 0, unexplained: [], defects: [] })
})

test('what a killed primary with an asynchronous standby loses is lost at all nodes alike', async () => {
  const { unexplained, defects } = await FORMS['asynchronous standby, primary killed'](scope, { ms: MS })
  assert.deepEqual({ unexplained, defects }, { unexplained: [], defects: [] })
})

test('an earlier SQLite file in the place of the store explains every decision, while the clock jumps', async () => {
  const { unexplained, defects } = await FORMS['SQLite file put back'](scope, { ms: MS, clockMs: JUMP_MS })
  assert.deepEqual({ unexplained, defects }, { unexplained: [], defects: [] })
})

test('of two primaries, a node that reaches both leaves the old one, the other cannot write', async () => {
  const primary = await startPostgres({ hasStandbys: true })
  const standby = await primary.startStandby()
  const place = await primary.createPlace()
  const newPlace = place.replace(/@[^/]+/, `@${new URL(standby.addressOf('')).host}`)
  const both = place.replace(/@([^/]+)/, `@$1,${new URL(newPlace).host}`)
  const a = await startServer(scope, { store: { url: both } })
  const c = await startServer(scope, { store: { url: `${place}&statement_timeout=500` } })
  scope.after(standby.stop)
  scope.after(primary.stop)
  const create = async (base: string, user: string) =>
    (await send(base, { as: AS_ADMIN, method: 'POST', path: '/_api/user', body: { user, passwd: 'x' } })).status
  const findUsers = async (url: string) =>
    (await primary.execute(url, 'SELECT name FROM cardea_users ORDER BY name')).map(({ name }) => name)

  await primary.execute(place, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await primary.execute(place, 'SELECT pg_reload_conf()')
  const isSynchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`
  await waitUntil(async () => (await primary.execute(place, isSynchronous)).length > 0)
  assert.equal(await create(a.multiModel, 'ada'), 201)
  const { servers, replication } = await describeServers(both)
  assert.deepEqual(
    servers.map(({ isPrimary, isReadOnly, failure }) => [isPrimary, isReadOnly, failure]),
    [
      [true, false, undefined],
      [false, true, undefined],
    ],
  )
  assert.equal(replication?.names, '*')
  assert.deepEqual([replication.standbys, replication.synchronous], [1, 1])
  await standby.detach()
  await standby.promote()
  await waitUntil(async () => a.log.some(({ message }) => message === 'the store is used at another server'))
  // a response may be lost with the connection
  await waitUntil(async () => [201, 409].includes(await create(a.multiModel, 'bob')))
  assert.equal(await create(c.multiModel, 'eve'), 503)
  assert.deepEqual(await findUsers(newPlace), ['ada', 'bob'])
})
