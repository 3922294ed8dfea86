// A server with two workers, as its operator sees it: one node, whichever worker serves the request.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { makeAuditKey } from '../../src/observe/audit/audit-key.ts'
import { FREE_PORTS, type Started, start, stop } from '../support/process.ts'
import { basic, createAsk } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const ADMIN = basic('anna', 'secret')
const NODE = 'cardea@here'
/** More than there are workers, which get new connections in turn. */
const ROUNDS = 6

interface Running {
  readonly cardea: Started
  readonly url: string
  readonly folder: string
  readonly config: readonly string[]
}

async function serve(scope: Scope): Promise<Running> {
  const folder = makeFolder(scope)
  const keyFile = join(folder, 'audit.pem')
  writeFileSync(keyFile, makeAuditKey(), { mode: 0o600 })
  const lines = [
    '[admins]\nanna = secret',
    `[audit]\nkey-file = ${keyFile}\ndestinations = file:${join(folder, 'audit.log')}`,
    `[store]\nurl = sqlite:${join(folder, 'cardea.db')}`,
    `[node]\nname = ${NODE}`,
    '[auth]\npeer-failures = 0',
    '[server]\nworkers = 2',
  ]
  // readable by others, of which a start warns
  writeFileSync(join(folder, 'a.ini'), `${lines.join('\n')}\n`, { mode: 0o644 })
  const config = ['--config', join(folder, 'a.ini')]
  const cardea = start(scope, ['serve', ...FREE_PORTS, ...config])
  const { document: url } = await cardea.doors()
  return { cardea, url, folder, config }
}

async function api({ url }: Running, path: string) {
  const { status, body, json } = await createAsk(url)('GET', `/_cardea/api${path}`, { as: ADMIN })
  assert.equal(status, 200, body)
  return json
}

async function readMetrics({ url }: Running): Promise<string> {
  return (await createAsk(url)('GET', '/_cardea/metrics', { as: ADMIN })).body
}

/** How often this route was asked, by one metric of all workers. */
const countRequests = async (running: Running, route: string): Promise<number> =>
  [
    ...(await readMetrics(running)).matchAll(
      new RegExp(`^cardea_requests_total\\{.*route="${route}".*\\} (\\d+)$`, 'gm'),
    ),
  ]
    .map(([, count]) => Number(count))
    .reduce((sum, count) => sum + count, 0)

async function signIn({ url }: Running): Promise<void> {
  const { status } = await createAsk(url)('POST', '/_session', { body: { name: 'anna', password: 'secret' } })
  assert.equal(status, 200)
}

/** Reads server-sent events into a text. */
async function follow(scope: Scope, { url }: Running) {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const request = get(`${url}/_cardea/api/events`, { headers: { Authorization: ADMIN }, agent: false }, (response) => {
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      if (text.startsWith(': open\n\n')) resolve()
    })
  }).on('error', reject)
  scope.after(() => request.on('error', () => {}).destroy())
  await promise
  return () => text
}

const isSession = ({ opened }: { readonly opened?: string }): boolean => opened === 'session'

const listEvents = (folder: string): readonly { readonly event: string; readonly opened?: string }[] =>
  readFileSync(join(folder, 'audit.log'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const countEvents = (folder: string, kind: string): number =>
  listEvents(folder).filter(({ event }) => event === kind).length

describe('two workers', () => {
  const scope = createSharedScope()
  let running: Running
  before(async () => {
    running = await serve(scope)
  })

  it('have one row in the list of nodes, which names both, at every worker', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { nodes } = await api(running, '/nodes')
      assert.equal(nodes.length, 1)
      const [{ name, isThisNode, processes }] = nodes
      assert.deepEqual([name, isThisNode], [NODE, true])
      assert.deepEqual(
        processes.map(({ place, memoryBytes }: { place: number; memoryBytes: number }) => [place, memoryBytes > 1e7]),
        [
          [1, true],
          [2, true],
        ],
      )
      const health = await api(running, '/health')
      assert.equal(health.pid, running.cardea.child.pid)
      assert.equal(health.processes.length, 2)
      assert.ok(
        health.parts.some((part: { name: string; state: string }) => part.name === 'workers' && part.state === 'ok'),
      )
    }
  })

  it('say once what all of them find when they start', () => {
    const lines = running.cardea.stderr().trimEnd().split('\n')
    const messages = lines.map((line) => JSON.parse(line)).flatMap(({ event, msg }) => (event ? [] : [msg]))
    assert.ok(messages.some((text) => text.startsWith('no secret for tokens is configured')))
    assert.ok(messages.some((text) => text.startsWith('this file is readable by others')))
    assert.deepEqual(messages, [...new Set(messages)])
  })

  it('are listed by cardea status', async () => {
    const status = start(scope, ['status', ...running.config])
    assert.equal((await status.ended).code, 0)
    assert.match(status.stdout(), new RegExp(`^process +${running.cardea.child.pid}, since `, 'm'))
    assert.match(status.stdout(), /^ {2}worker 1 +\d+, since \S+, \d+ MiB, lag \d+ ms\n {2}worker 2 +\d+, since /m)
  })

  it('have one set of metrics', async () => {
    const before = await countRequests(running, '/_up')
    for (let round = 0; round < ROUNDS; round += 1) await createAsk(running.url)('GET', '/_up')
    for (let round = 0; round < ROUNDS; round += 1) assert.equal(await countRequests(running, '/_up'), before + ROUNDS)
    assert.match(await readMetrics(running), /^cardea_workers 2$/m)
  })

  it('have one live view', async () => {
    const followers = [await follow(scope, running), await follow(scope, running)]
    for (let round = 0; round < ROUNDS; round += 1) await signIn(running)
    await waitUntil(() => followers.every((read) => [...read().matchAll(/"opened":"session"/g)].length === ROUNDS))
  })

  it('have one audit trail and one file, in two chains that verify', async () => {
    const all = (await api(running, '/audit?event=sign-in.accepted&order=oldest')).records
    const records = all.filter(isSession)
    assert.equal(records.length, ROUNDS)
    assert.deepEqual([...new Set(records.map(({ node }: { node: string }) => node))].toSorted(), [NODE, `${NODE}/2`])
    const times = records.map(({ time }: { time: number }) => time)
    assert.deepEqual(times, times.toSorted())
    const verify = start(scope, ['audit', 'verify', ...running.config])
    assert.equal((await verify.ended).code, 0, verify.stdout() + verify.stderr())
    assert.equal(listEvents(running.folder).filter(isSession).length, ROUNDS)
  })

  it('lose no count and break no chain when one is killed', async () => {
    const before = await countRequests(running, '/_up')
    const { processes } = await api(running, '/health')
    process.kill(processes[1].pid, 'SIGKILL')
    // until then new connections may still be given to it
    await running.cardea.says(/a worker has ended and is started again/)
    await waitUntil(async () => {
      const now: readonly { readonly pid: number }[] = (await api(running, '/health')).processes
      return now.length === 2 && now.every(({ pid }) => pid !== processes[1].pid)
    })
    assert.ok((await countRequests(running, '/_up')) >= before)
    const after = await api(running, '/health')
    assert.deepEqual(
      after.processes.map(({ place }: { place: number }) => place),
      [1, 2],
    )
    assert.equal(after.startedAt, (await api(running, '/nodes')).nodes[0].startedAt)
    for (let round = 0; round < ROUNDS; round += 1) await signIn(running)
    const { findings } = (await createAsk(running.url)('POST', '/_cardea/api/audit/verification', { as: ADMIN })).json
    assert.deepEqual(findings, [])
    assert.equal((await api(running, '/nodes')).nodes.length, 1)
  })

  it('are one server that starts and stops once', async () => {
    assert.equal(countEvents(running.folder, 'server.started'), 1)
    await stop(running.cardea)
    assert.equal(countEvents(running.folder, 'server.started'), 1)
    assert.equal(countEvents(running.folder, 'server.stopped'), 1)
  })
})
