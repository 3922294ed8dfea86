// Servers whose system clock is wrong. test/directory/clocks.test.ts shows what each rule does.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { connectPostgres } from '../store/postgres-server.ts'
import { ADMIN_PASSWORD, CONFIG, makeManaged } from '../support/managed.ts'
import { ROOT, run, type Started, start, stop } from '../support/process.ts'
import { basic, send } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const ADMIN = { Authorization: basic('admin', ADMIN_PASSWORD), 'X-Cardea-Request': '1' }

/** A configuration, and processes of it whose clocks a test sets. */
function makeMachine(scope: Scope, config = CONFIG) {
  const { folder } = makeManaged(scope, config)
  const file = join(makeFolder(scope), 'clock')
  const preload = pathToFileURL(join(ROOT, 'test/support/shifted-clock.ts'))
  const env = { NODE_OPTIONS: `--import ${preload}`, SHIFTED_CLOCK: file }
  const set = (ms: number) => writeFileSync(file, String(ms))
  return {
    set,
    async serve(ms: number, ...args: readonly string[]) {
      set(ms)
      const server = start(scope, ['serve', '--config', folder, ...args], { cwd: folder, env })
      return { server, ...(await server.doors()) }
    },
    cardea: (...args: readonly string[]) => run(scope, [...args, '--config', folder], { cwd: folder, env }),
  }
}

const createUser = (door: string, name: string) =>
  send(door, { method: 'POST', path: '/_cardea/api/users', headers: ADMIN, body: { name, password: 'a password' } })

async function createLink(door: string, name: string): Promise<string> {
  const { json } = await send(door, {
    method: 'POST',
    path: `/_cardea/api/users/${name}/password-link`,
    headers: ADMIN,
  })
  return String(json.url).split('/').at(-1) ?? ''
}

const findLink = async (door: string, token: string): Promise<number> =>
  (await send(door, { method: 'POST', path: '/_cardea/api/password-links/find', headers: ADMIN, body: { token } }))
    .status

test('a start with a clock 40 days ahead deletes no audit record, password link or session', async (t) => {
  const machine = makeMachine(t)
  const first = await machine.serve(0)
  for (const name of ['ada', 'bob']) await createUser(first.document, name)
  const link = await createLink(first.document, 'ada')
  assert.equal(await findLink(first.document, link), 200)
  await stop(first.server)
  const count = async () =>
    (await machine.cardea('audit', 'list', '--json', '--limit', '1000')).stdout.split('"user.created"').length
  assert.equal(await count(), 3)
  const wrong = await machine.serve(40 * DAY)
  await createLink(wrong.document, 'bob')
  await wrong.server.says(/nothing is deleted for now: the clock of this machine is (?:39|40) days ahead/)
  await stop(wrong.server)
  const last = await machine.serve(0)
  assert.equal(await findLink(last.document, link), 200)
  await stop(last.server)
  assert.equal(await count(), 3)
})

/** What every surface says about the clock. */
async function lookAtAll(server: Started, machine: ReturnType<typeof makeMachine>, door: string) {
  const [ready, up, health, metrics] = await Promise.all([
    send(door, { path: '/_cardea/ready', headers: ADMIN }),
    send(door, { path: '/_up', headers: ADMIN }),
    send(door, { path: '/_cardea/api/health', headers: ADMIN }),
    send(door, { path: '/_cardea/metrics', headers: ADMIN }),
  ])
  const status = await machine.cardea('status')
  const check = await machine.cardea('check')
  return {
    ready: ready.status,
    up: up.status,
    health: /clock/.test(health.body) && health.json.isReady,
    skew: Number(/^cardea_clock_skew_seconds (\S+)$/m.exec(metrics.body)?.[1]),
    status: status.code,
    statusSays: status.stdout,
    check: check.stdout + check.stderr,
    log: server.stderr(),
  }
}

for (const [engine, ms, direction] of [
  ['PostgreSQL', 10 * MINUTE, 'ahead of'],
  ['PostgreSQL', -10 * MINUTE, 'behind'],
  ['SQLite', -10 * MINUTE, 'behind'],
] as const)
  test(`a node with ${engine} whose clock is 10 minutes ${direction} the store is not ready, on all surfaces`, async (t) => {
    const config = engine === 'SQLite' ? CONFIG : CONFIG.replace('sqlite:cardea.db', await postgres.createPlace())
    const machine = makeMachine(t, config)
    const { server, document } = await machine.serve(0)
    assert.equal((await send(document, { path: '/_cardea/ready', headers: ADMIN })).status, 200)
    machine.set(ms)
    const isNotReady = async () => (await send(document, { path: '/_cardea/ready', headers: ADMIN })).status === 503
    await waitUntil(isNotReady)
    const seen = await lookAtAll(server, machine, document)
    const problem = new RegExp(`the clock of this machine is (?:9|10) minutes ${direction} the time of the store`)
    assert.deepEqual([seen.ready, seen.up === 200, seen.health, seen.status], [503, false, false, 1])
    assert.ok(Math.abs(seen.skew * 1000 - ms) < 5000, `${seen.skew} s`)
    for (const text of [seen.statusSays, seen.check, seen.log]) assert.match(text, problem)
    assert.doesNotMatch(seen.log, /could not be deleted/, 'the purge of the start has succeeded')
    machine.set(0)
    await waitUntil(async () => !(await isNotReady()))
  })

test('a sign-out by a server whose clock is behind lasts, also after a restart with the right one', async (t) => {
  const machine = makeMachine(t)
  const first = await machine.serve(0)
  const opened = await send(first.document, {
    method: 'POST',
    path: '/_session',
    body: { name: 'admin', password: ADMIN_PASSWORD },
  })
  const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const isLive = async (door: string) =>
    (await send(door, { path: '/_session', headers: { Cookie: cookie } })).json?.userCtx?.name === 'admin'
  machine.set(-HOUR)
  assert.equal(await isLive(first.document), true, 'no session is lost')
  await send(first.document, { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } })
  await stop(first.server)
  for (const ms of [-HOUR, 0]) {
    const { server, document } = await machine.serve(ms)
    assert.equal(await isLive(document), false)
    await stop(server)
  }
})
