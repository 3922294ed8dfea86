// What a server answers, and what its health says, when PostgreSQL does what Cardea does not expect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { describeServers } from '../../src/store/postgres/describe.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const postgres = await startPostgres()
scope.after(postgres.stop)

const create = ({ document }: Server, name: string) =>
  send(document, {
    as: AS_ADMIN,
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    body: { name, type: 'user', roles: [], password: `${name}-password` },
  })

/** The reason of the store in the server's health; `undefined`: it works. */
async function findProblem({ multiModel }: Server): Promise<string | undefined> {
  const { json } = await send(multiModel, { as: AS_ADMIN, path: '/_cardea/api/health' })
  return json.parts.find(({ name }: { name: string }) => name === 'store')?.problem
}

/** Health is checked at most once a second. */
const waitForProblem = (server: Server, expected: RegExp) =>
  waitUntil(async () => expected.test((await findProblem(server)) ?? ''))

test('a code of PostgreSQL that is not expected is 503 and red health, and sessions are still served', async () => {
  const place = await postgres.createPlace()
  const server = await startServer(scope, { store: { url: place } })
  await postgres.execute(
    place,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.name = 'bob' THEN RAISE EXCEPTION 'out of luck' USING ERRCODE = 'XX123'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON cardea_users FOR EACH ROW EXECUTE FUNCTION fail()`,
  )
  assert.equal((await create(server, 'bob')).status, 503)
  await waitForProblem(server, /unexpected code XX123: out of luck/)
  assert.equal((await send(server.document, { path: '/_cardea/ready' })).status, 503)
  assert.equal((await send(server.document, { path: '/_up' })).status, 200)
  assert.equal((await create(server, 'ada')).status, 201)
})

test('a start says how many connections PostgreSQL allows, and how many nodes fit', async () => {
  const url = await postgres.createPlace()
  const { log } = await startServer(scope, { store: { url, 'max-connections': 12 } })
  const line = log.find(({ message }) => message.startsWith('PostgreSQL allows'))
  assert.match(
    line?.message ?? '',
    /allows 97 connections and has \d+\. A node uses up to 12 of them, so 8 such nodes fit/,
  )
})

test('health names the limit of connections when PostgreSQL has none left', async () => {
  await postgres.execute(postgres.addressOf('postgres'), 'CREATE DATABASE narrow CONNECTION LIMIT 6')
  const admin = postgres.addressOf('postgres')
  await postgres.execute(admin, `CREATE ROLE narrow LOGIN PASSWORD 'narrow'; ALTER DATABASE narrow OWNER TO narrow`)
  const url = postgres.addressOf('narrow').replace(/\/\/[^@]+/, '//narrow:narrow')
  const server = await startServer(scope, { store: { url } })
  const [warned] = server.log.filter(({ message }) => message.startsWith('PostgreSQL allows 6 '))
  assert.match(warned?.message ?? '', /so 0 such nodes fit; too few are left/)
  const others: Client[] = []
  for (let isLeft = true; isLeft; ) {
    const client = new Client({ connectionString: url })
    client.on('error', () => {})
    isLeft = await client.connect().then(
      () => others.push(client) > 0,
      () => false,
    )
  }
  // more at once than the node has connections
  const replies = await Promise.all(Array.from({ length: 12 }, (_, number) => create(server, `user-${number}`)))
  assert.deepEqual([...new Set(replies.map(({ status }) => status))].sort(), [201, 503])
  await waitForProblem(server, /refused a connection: too many connections.*See store\.max-connections/)
  await Promise.all(others.map((client) => client.end()))
})

test('a server that was set to read-only is not used until it accepts writes again', async () => {
  await postgres.execute(postgres.addressOf('postgres'), 'CREATE DATABASE paused')
  const url = postgres.addressOf('paused')
  const server = await startServer(scope, { store: { url } })
  assert.equal((await create(server, 'ada')).status, 201)
  // its own connections may write all the same
  const admin = `${postgres.addressOf('postgres')}?options=-c%20default_transaction_read_only%3Doff`
  await postgres.execute(admin, 'ALTER SYSTEM SET default_transaction_read_only = on')
  await postgres.execute(admin, 'SELECT pg_reload_conf()')
  await waitUntil(async () => (await create(server, 'bob')).status === 503)
  await waitForProblem(server, /accepts no writes: it is a standby, or default_transaction_read_only is on/)
  await postgres.execute(admin, 'ALTER SYSTEM RESET default_transaction_read_only')
  await postgres.execute(admin, 'SELECT pg_reload_conf()')
  await waitUntil(async () => [201, 409].includes((await create(server, 'bob')).status))
})

test('while PostgreSQL does not respond, known sessions are served', async () => {
  const frozen = await startPostgres()
  scope.after(frozen.stop)
  const options = { store: { url: await frozen.createPlace() }, chttpd_auth: { secret: 'a secret of both nodes' } }
  const other = await startServer(scope, options)
  assert.equal((await create(other, 'ada')).status, 201)
  const body = { name: 'ada', password: 'ada-password' }
  const cookie = (await send(other.document, { method: 'POST', path: '/_session', body })).header('set-cookie')
  // begins after these changes: to the other one they may still come, and it would read the user again
  const server = await startServer(scope, options)
  const session = { path: '/_session', headers: { Cookie: cookie?.split(';')[0] ?? '' } }
  assert.equal((await send(server.document, session)).json.userCtx.name, 'ada')
  const thaw = frozen.freeze()
  try {
    // health is checked at most once a second
    await waitUntil(async () => (await send(server.document, { path: '/_cardea/ready' })).status === 503)
    assert.equal((await send(server.document, { path: '/_up' })).status, 200)
    assert.equal((await send(server.multiModel, { path: '/_admin/server/availability' })).status, 200)
    const known = await send(server.document, session)
    assert.deepEqual([known.status, known.json.userCtx?.name], [200, 'ada'], known.body)
  } finally {
    thaw()
  }
  await waitUntil(async () => (await send(server.document, { path: '/_cardea/ready' })).status === 200)
})

test('a change that no synchronous standby confirms is 503 with the reason, and leaves no connection behind', async () => {
  const primary = await startPostgres({ hasStandbys: true })
  scope.after(primary.stop)
  const url = await primary.createPlace()
  const server = await startServer(scope, { store: { url } })
  const set = async (change: string) => {
    await primary.execute(url, `ALTER SYSTEM ${change}`)
    await primary.execute(url, 'SELECT pg_reload_conf()')
  }
  const waiting = () => primary.execute(url, `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
  // the warning that PostgreSQL sends is not needed to notice it
  await set(`SET client_min_messages = 'error'`)
  await set(`SET synchronous_standby_names = 'gone'`)
  const changing = create(server, 'ada')
  await waitUntil(async () => (await waiting()).length > 0)
  const before = await waiting()
  assert.equal((await changing).status, 503)
  const isExplained = () =>
    server.log.some(({ fields }) => /standby did not confirm the change in time/.test(String(fields['reason'])))
  // on a busy machine the driver may give up first
  while (!isExplained()) assert.equal((await create(server, 'ada')).status, 503)
  await waitForProblem(server, /standby did not confirm the change in time/)
  await waitUntil(async () => {
    const pids = new Set((await waiting()).map(({ pid }) => pid))
    return before.every(({ pid }) => !pids.has(pid))
  })
  await set('RESET ALL')
  await waitUntil(async () => [201, 409].includes((await create(server, 'ada')).status))
})

test('health names the limit of connections when all of the node were busy', async () => {
  const url = await postgres.createPlace()
  const server = await startServer(scope, { store: { url, 'max-connections': 2 } })
  const other = new Client({ connectionString: url })
  await other.connect()
  await other.query('BEGIN; SELECT * FROM cardea_state FOR UPDATE')
  const wasBusy = () =>
    server.log.some(({ fields }) => /connections of this process were busy/.test(String(fields['reason'])))
  while (!wasBusy()) {
    const replies = await Promise.all(Array.from({ length: 6 }, (_, number) => create(server, `user-${number}`)))
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [503])
  }
  await other.end()
  await waitForProblem(server, /all 1 connections of this process were busy for 5 s\. See store\.max-connections/)
})

test('a node neither starts with servers that are no copies of each other, nor moves from one to another', async () => {
  const [first, other] = [await startPostgres(), await startPostgres({ isOwnSystem: true })]
  for (const each of [first, other]) scope.after(each.stop)
  const place = await first.createPlace()
  const { username, password } = new URL(place)
  await other.execute(other.addressOf('postgres'), `ALTER ROLE ${username} PASSWORD '${password}'`)
  const url = place.replace(/@[^/]+/, `$&,${new URL(other.addressOf('postgres')).host}`)
  await assert.rejects(
    startServer(scope, { store: { url } }),
    /not copies of each other: 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+\./,
  )
  const { servers } = await describeServers(url)
  assert.deepEqual(
    servers.map(({ isForeign }) => isForeign),
    [false, true],
  )

  await other.crash()
  const server = await startServer(scope, { store: { url } })
  assert.equal((await create(server, 'ada')).status, 201)
  await other.restart()
  await first.crash()
  await waitUntil(() => server.log.some(({ message }) => message.startsWith('a server of the store cannot be watched')))
  await waitUntil(async () => (await create(server, 'bob')).status === 503)
  await first.restart()
  await waitUntil(async () => (await create(server, 'bob')).status === 201)
  assert.equal(server.log.filter(({ message }) => message === 'the store is used at another server').length, 0)
})
