// The life of workers: they are replaced when they end, are killed or stuck, and end with the process that started them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { FREE_PORTS, IN_MEMORY, run, start, stop } from '../support/process.ts'
import { createAsk } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import {
  ADMIN,
  addUser,
  api,
  type Doors,
  HELD,
  listWorkers,
  makeConfiguration,
  must,
  openClient,
  readMetric,
  roll,
  serve,
} from '../support/workers.ts'

const IS_LONG = process.env['TEST_LONG'] !== undefined
const CLIENTS = IS_LONG ? 8 : 4
/** Between the requests of a client while workers are replaced: without it, the load takes most of the time of the test. */
const PAUSE_MS = IS_LONG ? 5 : 20
const ROLLS = IS_LONG ? 20 : 1

/** Two workers that serve, none of them in `gone`. */
const waitForWorkers = (doors: Doors, ...gone: readonly number[]) =>
  waitUntil(async () => {
    const running = listWorkers(doors)
    const serving: readonly number[] = (await api(doors, 'GET', '/health')).processes.map(
      ({ pid }: { readonly pid: number }) => pid,
    )
    return running.length === 2 && running.every((pid) => serving.includes(pid) && !gone.includes(pid))
  })

const setStopTimeout = ({ document }: Doors, seconds: number) =>
  must(createAsk(document)('PUT', '/_node/_local/_config/door/stop-timeout', { as: ADMIN, body: `"${seconds}"` }))

/** The newest of two workers that serve. */
async function findNewest(doors: Doors): Promise<number> {
  await waitForWorkers(doors)
  const newest = listWorkers(doors).at(-1) ?? 0
  // zero would be the group of this process
  assert.ok(newest > 0)
  return newest
}

/** One that has ended and that its parent has not noticed yet does not run. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('workers', () => {
  const scope = createSharedScope()
  let doors: Doors
  let held: (() => void)[]
  before(async () => {
    const made = await makeConfiguration(scope)
    held = made.held
    doors = await serve(scope, made.folder, '--server.worker-timeout', '6')
  })

  it('serve side by side', async () => {
    assert.equal(listWorkers(doors).length, 2)
    const clients = Array.from({ length: 8 }, () => openClient(doors.document))
    for (const client of clients) assert.equal((await client.get('/', {})).status, 200)
    for (const client of clients) client.close()
  })

  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    it(`that get ${signal} are started again, and clients of the others notice nothing`, async () => {
      const headers = await addUser(doors, `user-${signal}`)
      const victim = await findNewest(doors)
      const clients = Array.from({ length: 8 }, () => openClient(doors.document))
      for (const client of clients) await client.get('/_session', headers)
      process.kill(victim, signal)
      await waitUntil(() => !isRunning(victim))
      // half of the connections were those of the other worker, and each new one is served
      const replies = await Promise.all(
        clients.map((client) => client.get('/_session', headers).catch(() => undefined)),
      )
      assert.ok(replies.filter((reply) => reply?.status === 200).length >= 4)
      await waitForWorkers(doors, victim)
      for (const client of clients) client.close()
    })

  it('that get SIGTERM are not the first any longer while they finish requests', async () => {
    await waitForWorkers(doors)
    const first = listWorkers(doors)[0] ?? 0
    const headers = await addUser(doors, 'slow')
    const clients = Array.from({ length: 8 }, () => openClient(doors.document))
    const before = held.length
    await setStopTimeout(doors, 600)
    const asked = clients.map((client) => client.get(HELD, headers).catch(() => {}))
    await waitUntil(() => held.length === before + clients.length)
    const countApplied = () => doors.cardea.stderr().split('configuration applied').length
    const appliedBefore = countApplied()
    process.kill(first, 'SIGTERM')
    await waitUntil(async () => (await readMetric(doors.document, 'cardea_workers')) === 1)
    // the first worker reloads for all: this one would not
    process.kill(first, 'SIGSTOP')
    doors.cardea.child.kill('SIGHUP')
    await waitUntil(() => countApplied() > appliedBefore)
    for (const respond of held.splice(before)) respond()
    await Promise.all(asked)
    await setStopTimeout(doors, 1)
    for (const client of clients) client.close()
    await waitForWorkers(doors, first)
  })

  it('that are stuck are replaced after server.worker-timeout', async () => {
    const victim = await findNewest(doors)
    process.kill(victim, 'SIGSTOP')
    await waitForWorkers(doors, victim)
    assert.match(doors.cardea.stderr(), /a worker is stuck and is ended/)
  })

  it('that do not follow a change are ended before the change is acknowledged', async () => {
    const victim = await findNewest(doors)
    process.kill(victim, 'SIGSTOP')
    // a connection that the stopped worker was given goes to the other one when it has ended
    const acknowledged = Array.from({ length: 4 }, async (_, index) => {
      await waitUntil(() => isAdded(doors, `late-${index}`))
      return isRunning(victim)
    })
    for (const isStillRunning of await Promise.all(acknowledged)) assert.equal(isStillRunning, false)
    assert.match(doors.cardea.stderr(), /a worker (has not followed a change in time|is stuck) and is ended/)
    await waitForWorkers(doors, victim)
  })

  it('are replaced without a failed request: all are finished, and clients of HTTP/2 get GOAWAY', async (t) => {
    const headers = await addUser(doors, 'busy')
    const asked = Array.from({ length: CLIENTS }, () => openClient(doors.document, false).get(HELD, headers))
    await waitUntil(() => held.length === CLIENTS)
    const sessions = Array.from({ length: CLIENTS }, () => connect(doors.document).on('error', () => {}))
    const told = await Promise.all(sessions.map(awaitGoaway))
    const load = openLoad(doors, headers)
    await Promise.race([roll(doors), load.running])
    for (const { goaway } of told) assert.equal((await goaway)[0], 0)
    for (const session of sessions) session.destroy()
    for (const respond of held) respond()
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
    for (let round = 1; round < ROLLS; round += 1) await Promise.race([roll(doors), load.running])
    const count = await load.end()
    assert.ok(count > CLIENTS)
    t.diagnostic(`${ROLLS} times all workers, ${count} requests, 0 failed`)
    assert.equal(await readMetric(doors.document, 'cardea_workers'), 2)
  })

  it('end with the server, after the requests that they have', async () => {
    await setStopTimeout(doors, 600)
    const known = await addUser(doors, 'known-at-the-end')
    const unknown = await addUser(doors, 'unknown-at-the-end')
    const clients = Array.from({ length: CLIENTS }, () => openClient(doors.document))
    for (const client of clients) assert.equal((await client.get('/db/doc', known)).status, 200)
    const before = held.length
    const asked = clients.map((client, index) => client.get(HELD, index % 2 === 0 ? known : unknown))
    await waitUntil(() => held.length === before + CLIENTS)
    const stopped = stop(doors.cardea)
    await waitUntil(() => /"msg":"stopping"/.test(doors.cardea.stderr() + doors.cardea.stdout()))
    for (const respond of held.slice(before)) respond()
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
    // far before the stop timeout
    await stopped
    assert.doesNotMatch(doors.cardea.stderr(), /a worker has failed|could not be started/)
  })
})

it('a worker that is stuck while it starts delays no stop', async (t) => {
  const { folder } = await makeConfiguration(t)
  const doors = await serve(t, folder)
  await waitForWorkers(doors)
  const before = listWorkers(doors)
  await api(doors, 'POST', '/reload', { rolling: true })
  // one that is stopped before it runs its own program would block the process that starts it
  const isStarted = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes('NODE_UNIQUE_ID=')
  const findStarting = () => listWorkers(doors).find((pid) => !before.includes(pid) && isStarted(pid))
  await waitUntil(() => findStarting() !== undefined)
  process.kill(findStarting() ?? 0, 'SIGSTOP')
  await stop(doors.cardea)
  assert.match(doors.cardea.stderr(), /a worker has not started in time and is ended/)
})

/** After the first response: whether the server ends the connection in order. */
async function awaitGoaway(session: ClientHttp2Session) {
  const goaway = once(session, 'goaway')
  const [head] = await once(session.request({ ':path': '/_session' }).resume(), 'response')
  assert.equal(head[':status'], 200)
  return { goaway }
}

/** Clients that send requests until they are ended. `running` rejects when one fails. */
function openLoad({ document }: Doors, headers: Record<string, string>) {
  let isDone = false
  let count = 0
  const sendMany = async (client: ReturnType<typeof openClient>) => {
    while (!isDone) {
      for (const path of ['/_session', '/db/doc']) assert.equal((await client.get(path, headers)).status, 200)
      count += 2
      await pause(PAUSE_MS)
    }
    client.close()
  }
  const clients = Array.from({ length: CLIENTS }, (_, index) => openClient(document, index % 2 === 0))
  const running = Promise.all(clients.map(sendMany))
  const end = async (): Promise<number> => {
    isDone = true
    await running
    return count
  }
  return { running, end }
}

/** Not while the stopped worker holds the lock of the store: it is ended as one that is stuck then. */
async function isAdded({ document }: Doors, name: string): Promise<boolean> {
  const body = { name, password: 'one' }
  const { status } = await createAsk(document)('POST', '/_cardea/api/users', { as: ADMIN, body })
  assert.ok([200, 503].includes(status), `${name}: ${status}`)
  return status === 200
}

it('a server whose process is killed loses nothing; its workers end, and one that is stuck serves beside no other', async (t) => {
  const { folder } = await makeConfiguration(t)
  const doors = await serve(t, folder)
  const victim = await findNewest(doors)
  const others = listWorkers(doors).filter((pid) => pid !== victim)
  const kept: string[] = []
  const addMany = async (client: number) => {
    for (let index = 0; ; index += 1) {
      const name = `user-${client}-${index}`
      await addUser(doors, name)
      kept.push(name)
    }
  }
  const adding = Array.from({ length: CLIENTS }, (_, client) => addMany(client).catch(() => {}))
  await waitUntil(() => kept.length > 3 * CLIENTS)
  process.kill(victim, 'SIGSTOP')
  doors.cardea.child.kill('SIGKILL')
  await waitUntil(() => !others.some(isRunning))
  const store = ['--config', join(folder, 'a.ini'), '--store.url', `sqlite:${join(folder, 'store.db')}`]
  const isServing = async (workers: string): Promise<boolean> => {
    const next = start(t, ['serve', ...FREE_PORTS, ...store, '--server.workers', workers], { hasFamily: true })
    const listens = next.doors().then(
      () => true,
      () => false,
    )
    await Promise.race([next.ended, listens])
    assert.match(next.stderr(), new RegExp(`Another Cardea process \\(process ${victim}\\) is using this store`))
    return listens
  }
  assert.deepEqual(await Promise.all(['1', '2'].map(isServing)), [false, false])
  process.kill(victim, 'SIGCONT')
  await Promise.all(adding)
  const again = await serve(t, folder)
  assert.equal(isRunning(victim), false)
  for (const name of kept) await api(again, 'GET', `/users/${name}`)
  await stop(again.cardea)
})

describe('a server that cannot start ends as one process does', () => {
  const scope = createSharedScope()
  const rows: readonly { readonly name: string; readonly args: readonly string[] }[] = [
    { name: 'a port in use', args: [] },
    { name: 'a store that cannot be opened', args: ['--store.url', 'sqlite:/dev/null/store.db'] },
    { name: 'an invalid value', args: ['--chttpd_auth.timeout', 'soon'] },
  ]
  let port = 0
  before(async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    scope.after(() => taken.close())
    port = Object(taken.address()).port
  })
  for (const { name, args } of rows)
    it(name, async (t) => {
      const { folder } = await makeConfiguration(t)
      const all = ['--config', join(folder, 'a.ini'), '--store.url', `sqlite:${join(folder, 'store.db')}`]
      const serveWith = (workers: string) =>
        run(t, ['serve', ...all, '--chttpd.port', String(port), '--server.workers', workers, ...args])
      const alone = await serveWith('1')
      const { code, stderr, stdout } = await serveWith('2')
      const plain = (text: string) => text.replaceAll(/^\{.*\n/gm, '')
      assert.deepEqual(
        { code, stdout, message: plain(stderr) },
        { code: alone.code, stdout: '', message: plain(alone.stderr) },
      )
      assert.notEqual(code, 0)
    })

  it('a store in memory', async (t) => {
    const { code, stderr } = await run(t, ['serve', ...IN_MEMORY, '--server.workers', '2', '--admins.anna', 'secret'])
    assert.equal(code, 4)
    assert.match(stderr, /server\.workers: 2 processes cannot share a store in memory/)
  })
})

it('a backup of workers has all that they acknowledged; without the store file, none of them writes', async (t) => {
  const { folder } = await makeConfiguration(t)
  const doors = await serve(t, folder)
  const names = Array.from({ length: 6 }, (_, index) => `kept-${index}`)
  await Promise.all(names.map((name) => addUser(doors, name)))
  const toFlags = (name: string) => ['--config', join(folder, 'a.ini'), '--store.url', `sqlite:${join(folder, name)}`]
  const perform = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run(t, args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  await perform('backup', join(folder, 'saved.gz'), ...toFlags('store.db'))
  await perform('restore', join(folder, 'saved.gz'), ...toFlags('restored.db'))
  const listed = await perform('user', 'list', '--json', ...toFlags('restored.db'))
  for (const name of names) assert.ok(listed.includes(`"${name}"`), name)
  rmSync(join(folder, 'store.db'))
  const create = (name: string) =>
    createAsk(doors.document)('POST', '/_cardea/api/users', { as: ADMIN, body: { name, password: 'one' } })
  // the workers get connections in turn, and each looks for the file from time to time
  await waitUntil(async () => {
    const replies = await Promise.all(['a', 'b', 'c', 'd'].map((each, index) => create(`late-${each}-${index}`)))
    return replies.every(({ status }) => status === 503)
  })
})
