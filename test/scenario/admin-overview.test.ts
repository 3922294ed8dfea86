import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { addLostNode } from '../support/console-history.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const API = '/_cardea/api'

test('the overview shows sign-ins, refusals, requests, revocations and locked accounts', async (t) => {
  const { document: url, multiModel } = await startServer(t, { chttpd_auth_lockout: { threshold: 2 } })
  const ask = async (path: string, method = 'GET', body?: unknown) =>
    (await send(url, { path: `${API}${path}`, method, as: AS_ADMIN, body })).json
  await ask('/users', 'POST', { name: 'ada', password: 'pw' })
  const signIn = (password: string) => send(url, { method: 'POST', path: '/_session', body: { name: 'ada', password } })
  await signIn('pw')
  await send(multiModel, { path: '/_api/version', as: 'ada:pw' })
  await ask('/users/ada/sign-out', 'POST')
  await signIn('wrong')
  await signIn('wrong')

  const { series, totals, lockedAccounts, ...overview } = await ask('/overview')
  assert.equal(overview.range, '1h')
  assert.equal(overview.stepSeconds, 60)
  assert.equal(series.signIns.document.length, 60)
  const last = (line: readonly (number | null)[]) =>
    line.slice(-2).reduce<number>((sum, value) => sum + (value ?? 0), 0)
  assert.ok(last(series.signIns.document) >= 1)
  assert.equal(last(series.signIns['multi-model']), 1)
  assert.equal(last(series.refusals.document), 2)
  assert.ok(last(series.requests.document) >= 5)
  assert.ok(last(series.latencyMs.p95) > 0)
  assert.equal(last(series.revokedSessions), 1)
  assert.equal(series.signIns.document[0], null)
  assert.equal(totals.refusals, 2)
  assert.equal(lockedAccounts, 1)
  assert.equal(overview.refusedUnknownNames, 0)
  assert.equal(overview.administrators, 1)
  const { users } = await ask('/users')
  assert.deepEqual(users, [{ ...users[0], name: 'ada', isLocked: true }])
  assert.deepEqual(users[0].lastSignIn, (await ask('/users/ada')).lastSignIn)
  assert.equal(users[0].lastSignIn.peer, '127.0.0.1')
  assert.deepEqual((await ask('/users/ada')).lockout.peers, ['127.0.0.1'])
  assert.deepEqual(overview.health.nodes, { total: 1, ready: 1 })
  assert.deepEqual(overview.health.parts[0], { name: 'store', state: 'ok', isWorking: true, problem: null })
  await ask('/users/ada/unlock', 'POST')
  const unlocked = await ask('/overview?range=30d')
  assert.deepEqual([unlocked.lockedAccounts, unlocked.refusedUnknownNames], [0, 0])
  assert.equal((await ask('/users')).users[0].isLocked, false)
  for (const password of ['one', 'two'])
    await send(url, { method: 'POST', path: '/_session', body: { name: 'no such user', password } })
  const { lockedAccounts: lockedUsers, refusedUnknownNames } = await ask('/overview')
  assert.deepEqual([lockedUsers, refusedUnknownNames], [0, 1])
  assert.equal((await send(url, { path: `${API}/overview?range=2h`, as: AS_ADMIN })).status, 400)
})

test('totals survive a restart', async (t) => {
  const store = { store: { url: `sqlite:${makeFolder(t)}/cardea.db` } }
  const first = await startServer(t, store)
  await send(first.document, { method: 'POST', path: '/_session', body: { name: 'admin', password: 'adminpw' } })
  await first.cardea.close()
  const second = await startServer(t, store)
  const { json } = await send(second.document, { path: `${API}/overview?range=24h`, as: AS_ADMIN })
  assert.equal(json.totals.signIns, 2)
})

test('the overview says when the audit trail was verified, and whether it was changed', async (t) => {
  const path = `${makeFolder(t)}/cardea.db`
  const { document: url } = await startServer(t, { store: { url: `sqlite:${path}` } })
  const ask = async (path: string, method = 'GET', body?: unknown) =>
    (await send(url, { path: `${API}${path}`, method, as: AS_ADMIN, body })).json
  const { lastBackup, lastVerification } = (await ask('/overview')).health
  assert.deepEqual([lastBackup, lastVerification], [null, null])
  const unchanged = await ask('/audit/verification', 'POST')
  assert.deepEqual(unchanged.findings, [])
  const verified = (await ask('/overview')).health.lastVerification
  assert.deepEqual([verified.records, verified.findings], [unchanged.records, 0])
  const database = new DatabaseSync(path)
  database.exec("UPDATE cardea_audit SET outcome = 'failure' WHERE sequence = 1")
  database.close()
  const { findings } = await ask('/audit/verification', 'POST')
  assert.deepEqual(
    findings.map(({ kind }: { kind: string }) => kind),
    ['altered'],
  )
  assert.equal((await ask('/overview')).health.lastVerification.findings, 1)
  const recorded = await ask('/audit/commands', 'POST', { event: 'store.saved', records: 1 })
  assert.equal(recorded.error, 'forbidden', 'an administrator could say anything')
})

test('a store in memory cannot be verified, and the reason says so', async (t) => {
  const { document: url } = await startServer(t)
  const { status, json } = await send(url, { path: `${API}/audit/verification`, method: 'POST', as: AS_ADMIN })
  assert.deepEqual([status, json.error], [400, 'bad_request'])
  assert.match(json.reason, /^A store in memory/)
})

test('the list of nodes shows this node, and no longer one that stopped', async (t) => {
  const store = { store: { url: `sqlite:${makeFolder(t)}/cardea.db` } }
  const first = await startServer(t, store, { node: { name: 'first@here' } })
  const show = async ({ document: url }: { document: string }) =>
    (await send(url, { path: `${API}/nodes`, as: AS_ADMIN })).json.nodes
  const [node] = await show(first)
  assert.equal(node.name, 'first@here')
  assert.deepEqual([node.isReady, node.isLost, node.isThisNode, node.problems], [true, false, true, []])
  await first.cardea.close()
  const second = await startServer(t, store, { node: { name: 'second@here' } })
  const nodes = await show(second)
  assert.deepEqual(
    nodes.map(({ name }: { name: string }) => name),
    ['second@here'],
  )
  assert.equal(nodes[0].keysHash, node.keysHash)
  await second.cardea.close()
  const third = await startServer(t, store, { chttpd_auth: { secret: 'another-cookie-secret' } })
  assert.notEqual((await show(third))[0].keysHash, node.keysHash)
})

test('a node that was not seen for long is not ready, in the overview and in the list', async (t) => {
  const url = `sqlite:${makeFolder(t)}/cardea.db`
  const { document } = await startServer(t, { store: { url }, node: { name: 'cardea@db1.example.com' } })
  await addLostNode(url)
  const ask = async (path: string) => (await send(document, { path: `${API}${path}`, as: AS_ADMIN })).json
  assert.deepEqual((await ask('/overview')).health.nodes, { total: 2, ready: 1 })
  const { nodes } = await ask('/nodes')
  assert.deepEqual(
    nodes.map(({ isReady, isLost }: { isReady: boolean; isLost: boolean }) => [isReady, isLost]),
    [
      [true, false],
      [false, true],
    ],
  )
})

test('the last server errors are kept with the id of their request, and without the query', async (t) => {
  const backend = await openBackend(t, (_request, response) => void response.writeHead(500).end('{}'))
  const { document: url } = await startServer(t, beforeDocument(backend.url))
  const ask = async (path: string) => (await send(url, { path: `${API}${path}`, as: AS_ADMIN })).json
  assert.deepEqual((await ask('/server-errors')).errors, [])
  await send(url, { path: '/db/doc?token=secret', headers: { 'X-Couch-Request-ID': 'my-request' }, as: AS_ADMIN })
  await send(url, { path: '/_up' })
  await backend.close()
  await send(url, { method: 'POST', path: '/db', as: AS_ADMIN, body: {} })
  const { errors } = await ask('/server-errors')
  assert.equal(errors.length, 2, 'probes are not server errors')
  const [newest, oldest] = errors
  assert.deepEqual([newest.method, newest.path, newest.status], ['POST', '/db', 503])
  assert.deepEqual([newest.error, newest.reason.length > 10], ['upstream_unavailable', true])
  assert.deepEqual(oldest, {
    time: oldest.time,
    request: 'my-request',
    door: 'document',
    method: 'GET',
    path: '/db/doc',
    status: 500,
  })
  assert.ok(Math.abs(Date.now() - oldest.time) < 60_000)
})

test('of server errors the last hundred are kept', async (t) => {
  const backend = await openBackend(t, (_request, response) => void response.writeHead(500).end('{}'))
  const { document: url } = await startServer(t, beforeDocument(backend.url))
  for (let at = 0; at < 103; at += 1) await send(url, { path: `/db/${at}`, as: AS_ADMIN })
  const { errors } = (await send(url, { path: `${API}/server-errors`, as: AS_ADMIN })).json
  assert.deepEqual([errors.length, errors[0].path, errors.at(-1).path], [100, '/db/102', '/db/3'])
})
