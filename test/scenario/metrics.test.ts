// The metrics at the doors and at metrics.endpoint.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { METRICS } from '../../src/observe/metric-table.ts'
import { sendHttp2 } from '../support/http2.ts'
import { superuser } from '../support/multi-model.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend, openServer } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const PATH = '/_cardea/metrics'

/** The value of one line; `undefined`: there is no such line. */
function findValue(text: string, line: string): number | undefined {
  const found = text.split('\n').find((each) => each.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}

const scrape = async (base: string): Promise<string> => {
  const reply = await send(base, { path: PATH, headers: ADMIN })
  assert.equal(reply.status, 200, reply.body)
  return reply.body
}

describe('who may read the metrics', () => {
  const closing: (() => unknown)[] = []
  let doors: readonly string[] = []
  before(async () => {
    const front = await startServer({ after: (work) => void closing.push(work) })
    doors = [front.document, front.multiModel]
    await front.cardea.users.create({ name: 'ann', password: 'apple' })
    await front.cardea.users.create({ name: 'prometheus', password: 'banana', roles: ['_metrics'] })
  })
  after(async () => {
    for (const close of closing) await close()
  })
  const ROWS: readonly (readonly [name: string, headers: Record<string, string>, status: number])[] = [
    ['an anonymous client', {}, 401],
    ['a wrong password', { Authorization: basic('ann', 'wrong') }, 401],
    ['a user', { Authorization: basic('ann', 'apple') }, 403],
    ['the role _metrics', { Authorization: basic('prometheus', 'banana') }, 200],
    ['an administrator', ADMIN, 200],
    ['an administrator, from a page', { ...ADMIN, Origin: 'http://other.example' }, 401],
  ]
  for (const [name, headers, status] of ROWS)
    test(`${name}: ${status}`, async () => {
      for (const door of doors) assert.equal((await send(door, { path: PATH, headers })).status, status, door)
    })

  test('the role _metrics opens nothing else of the admin API', async () => {
    const headers = { Authorization: basic('prometheus', 'banana') }
    assert.equal((await send(doors[0] ?? '', { path: '/_cardea/api/users', headers })).status, 403)
  })

  test('a superuser token: 200', async () => {
    const headers = { Authorization: superuser({}) }
    assert.equal((await send(doors[1] ?? '', { path: PATH, headers })).status, 200)
  })

  test('the session cookie of an administrator: 401', async () => {
    const body = { name: 'admin', password: 'adminpw' }
    const session = await send(doors[0] ?? '', { method: 'POST', path: '/_session', body })
    const headers = { Cookie: (session.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    assert.equal((await send(doors[0] ?? '', { path: PATH, headers })).status, 401)
  })
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test('promtool accepts the metrics', { skip: !hasPromtool && 'promtool is not installed' }, async (t) => {
  const { document } = await startServer(t)
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: await scrape(document) })
  assert.equal(status, 0, `${stdout}${stderr}`)
})

describe('metrics.endpoint', () => {
  const scope = createSharedScope()
  let url = ''
  before(async () => {
    const options = { metrics: { endpoint: 'tcp://127.0.0.1:0' }, chttpd: { require_valid_user: true } }
    url = (await startServer(scope, options)).addresses.metrics[0] ?? ''
  })

  test('renders at most once a second', async () => {
    const bodies = new Set<string>()
    const start = performance.now()
    for (let turn = 0; turn < 20; turn += 1) bodies.add((await send(url, { path: '/metrics' })).body)
    const seconds = (performance.now() - start) / 1000
    assert.ok(bodies.size <= 1 + Math.ceil(seconds), `${bodies.size} different pages in ${seconds} s`)
  })

  test('is open, and serves the metrics only', async () => {
    for (const path of ['/metrics', PATH]) {
      const reply = await send(url, { path })
      assert.equal(reply.status, 200)
      assert.match(reply.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
    }
    for (const path of ['/', '/_cardea/', '/_cardea/api/health', '/_session', '/_cardea/ready'])
      assert.equal((await send(url, { path })).status, 404, path)
    assert.equal((await send(url, { path: '/metrics', method: 'POST' })).status, 405)
  })

  test('shows every metric of the table, and no other', async () => {
    const { body } = await send(url, { path: '/metrics' })
    const types = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type])
    assert.deepEqual(
      types,
      Object.entries(METRICS).map(([name, { type }]) => [name, type]),
    )
  })
})

test('requests over HTTP/2 are counted as the others, and a method of no standard as another one', async (t) => {
  const { document } = await startServer(t)
  const url = `${document}/_session`
  await sendHttp2(url, { headers: ADMIN })
  await sendHttp2(url, { headers: { authorization: basic('admin', 'wrong') } })
  assert.equal((await sendHttp2(url, { method: 'secret-word' })).status, 400)
  const text = await scrape(document)
  const count = (labels: string) => findValue(text, `cardea_requests_total{door="document",${labels}}`)
  assert.equal(count('route="/_session",method="GET",status="2xx",handler="default"'), 1)
  assert.equal(count('route="none",method="GET",status="4xx",handler="anonymous"'), 1)
  assert.doesNotMatch(text, /secret-word/)
  assert.match(text, /cardea_requests_total\{[^}]*method="other",status="4xx"[^}]*\} 1/)
})

test('requests are counted by route pattern, method, class of the status and handler', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const { document } = front
  await send(document, { path: '/_session' })
  await send(document, { path: '/_session', headers: ADMIN })
  await send(document, { path: '/_users/org.couchdb.user:ann', headers: ADMIN })
  await send(document, { path: '/secret-database/secret-document', method: 'PUT', headers: ADMIN, body: {} })
  await send(document, { path: '/_session', headers: { Authorization: basic('admin', 'wrong') } })
  await send(document, { path: '/_session', headers: { Authorization: basic('ann', 'wrong') } })
  await send(document, { path: '/x', method: 'PROPFIND' })
  const text = await scrape(document)
  const count = (labels: string) => findValue(text, `cardea_requests_total{door="document",${labels}}`)
  assert.equal(count('route="/_session",method="GET",status="2xx",handler="anonymous"'), 1)
  assert.equal(count('route="/_session",method="GET",status="2xx",handler="default"'), 1)
  assert.equal(count('route="/_users/{id}",method="GET",status="4xx",handler="default"'), 1)
  assert.equal(count('route="forwarded",method="PUT",status="2xx",handler="default"'), 1)
  assert.equal(count('route="none",method="GET",status="4xx",handler="anonymous"'), 2)
  assert.ok(text.includes('method="other"'))
  assert.equal(findValue(text, 'cardea_upstream_seconds_count{door="document"}'), 2)
  assert.equal(findValue(text, 'cardea_decision_seconds_count{door="document"}'), 7)
  assert.equal(findValue(text, `cardea_upstream_up{door="document",server="${backend.url}"}`), 1)
  for (const chosen of ['secret-', 'ann', 'PROPFIND', '127.0.0.1"'])
    assert.ok(!text.includes(chosen), `${chosen} in a label`)
})

test('buckets of a histogram are cumulative, and end with the count', async (t) => {
  const { document } = await startServer(t)
  await send(document, { path: '/_session' })
  const text = await scrape(document)
  const values = [...text.matchAll(/^cardea_decision_seconds_bucket\{door="document",le="([^"]+)"\} (\d+)$/gm)]
  assert.equal(values.at(-1)?.[1], '+Inf')
  const counts = values.map(([, , count]) => Number(count))
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  )
  assert.equal(counts.at(-1), 1)
})

test('sign-ins, revocations, limits, hashes and the store are counted', async (t) => {
  const { document, multiModel, cardea } = await startServer(t, {
    chttpd_auth_lockout: { mode: 'enforce', threshold: 3 },
  })
  await cardea.users.create({ name: 'ann', password: 'apple' })
  const session = await send(document, { method: 'POST', path: '/_session', body: { name: 'ann', password: 'apple' } })
  const Cookie = (session.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
  await send(document, { method: 'DELETE', path: '/_session', headers: { Cookie } })
  for (let i = 0; i < 4; i += 1)
    await send(multiModel, { path: '/_api/version', headers: { Authorization: basic('ann', 'wrong') } })
  const text = await scrape(document)
  assert.equal(findValue(text, 'cardea_sign_ins_total{door="document",outcome="accepted",handler="_session"}'), 1)
  assert.equal(findValue(text, 'cardea_sign_ins_total{door="multi-model",outcome="refused",handler="basic"}'), 4)
  assert.equal(findValue(text, 'cardea_sessions_revoked_total{what="sign-out"}'), 1)
  assert.equal(findValue(text, 'cardea_limits_reached_total{limit="lockout"}'), 1)
  assert.equal(findValue(text, 'cardea_security_events_total{event="sign-in.refused"}'), 4)
  assert.equal(findValue(text, 'cardea_hash_jobs{state="waiting"}'), 0)
  for (const line of [
    'cardea_hash_wait_seconds_count',
    'cardea_store_operations_total{access="read",outcome="ok"}',
    'cardea_store_operations_total{access="write",outcome="ok"}',
    'cardea_cache_uses_total{cache="users",result="hit"}',
    'cardea_cache_uses_total{cache="passwords",result="miss"}',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'process_open_fds',
    'process_max_fds',
  ])
    assert.ok((findValue(text, line) ?? 0) > 0, line)
  assert.ok((findValue(text, 'cardea_store_staleness_seconds') ?? 60) < 60)
})

test('a server that fails is counted as down, with the requests that were sent again', async (t) => {
  const backend = await openBackend(t)
  const { document } = await startServer(t, beforeDocument('http://127.0.0.1:9', backend.url))
  const labels = '{door="document",server="http://127.0.0.1:9"}'
  let text = ''
  // it is down for a quarter of a second at first, then longer each time: a busy machine may be late for the first
  await waitUntil(async () => {
    assert.equal((await send(document, { path: '/db', headers: ADMIN })).status, 200)
    text = await scrape(document)
    return findValue(text, `cardea_upstream_up${labels}`) === 0
  })
  assert.ok(Number(findValue(text, `cardea_upstream_retries_total${labels}`)) >= 1)
})

test('a server is counted as down and up by health checks too, without other requests', async (t) => {
  const backend = await openBackend(t)
  const { document } = await startServer(t, beforeDocument(backend.url))
  const isCounted = (isUp: boolean) => async () => {
    await send(document, { path: '/_cardea/ready' })
    const line = `cardea_upstream_up{door="document",server="${backend.url}"}`
    return findValue(await scrape(document), line) === Number(isUp)
  }
  await backend.close()
  await waitUntil(isCounted(false))
  await openServer(t, (_request, response) => void response.end('{}'), [], backend.port)
  await waitUntil(isCounted(true))
})
