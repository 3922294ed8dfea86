import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, describe, it, test } from 'node:test'
import { AS_ADMIN, type Reply, type Request, send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const AUDIT = '/_cardea/api/audit'
const FAST = { chttpd_auth: { iterations: 1 } }

const asAdmin = (path: string): Request => ({ path, as: AS_ADMIN })

const asAdminPost = (path: string, body?: unknown): Request => ({
  ...asAdmin(`/_cardea/api${path}`),
  method: 'POST',
  body,
})

const putUser = (name: string): Request => ({
  method: 'PUT',
  path: `/_users/org.couchdb.user:${name}`,
  as: AS_ADMIN,
  body: { name, password: 'right', roles: [], type: 'user' },
})

const signIn = (name: string, password: string): Request => ({
  method: 'POST',
  path: '/_session',
  body: { name, password },
})

const OPEN_AUTH: Request = { method: 'POST', path: '/_open/auth', body: { username: 'jo', password: 'right' } }

const kindsOf = ({ json }: Reply): readonly string[] => json.records.map(({ event }: { event: string }) => event)

describe('the audit trail in the admin API', () => {
  let server: Server
  const scope = createSharedScope()
  before(async () => {
    server = await startServer(scope, FAST)
    await send(server.document, putUser('jo'))
    await send(server.document, signIn('jo', 'wrong'))
    await send(server.document, signIn('jo', 'right'))
  })
  const list = (query: string) => send(server.document, asAdmin(`${AUDIT}${query}`))

  it('lists records as soon as their request is answered, the newest first', async () => {
    const reply = await list('')
    assert.equal(reply.status, 200, reply.body)
    assert.deepEqual(kindsOf(reply).slice(-5), [
      'sign-in.accepted',
      'sign-in.refused',
      'user.created',
      'sign-in.accepted',
      'server.started',
    ])
    const created = reply.json.records.find(({ event }: { event: string }) => event === 'user.created')
    const { id, time, hash, previous, request, ...others } = created
    assert.equal(id, `cardea@127.0.0.1:${others.sequence}`)
    assert.ok(Math.abs(Date.now() - time) < 60_000)
    assert.match(hash, /^[0-9a-f]{64}$/)
    assert.match(previous, /^[0-9a-f]{64}$/)
    assert.ok(request)
    assert.deepEqual(others, {
      sequence: 3,
      node: 'cardea@127.0.0.1',
      event: 'user.created',
      outcome: 'success',
      actor: 'admin',
      subject: 'jo',
      peer: '127.0.0.1',
      door: 'document',
      handler: 'default',
    })
  })

  it('filters by user, event, outcome and time', async () => {
    assert.deepEqual(kindsOf(await list('?user=jo&order=oldest')), [
      'user.created',
      'sign-in.refused',
      'sign-in.accepted',
    ])
    assert.deepEqual(kindsOf(await list('?user=jo&event=user.created')), ['user.created'])
    assert.deepEqual(kindsOf(await list('?outcome=failure')), ['sign-in.refused'])
    assert.deepEqual(kindsOf(await list(`?since=${Date.now() + 60_000}`)), [])
    assert.deepEqual(kindsOf(await list('?until=2020-01-01T00:00:00Z')), [])
  })

  it('lists page by page', async () => {
    const whole = kindsOf(await list('?order=oldest&until=9999999999999'))
    const paged: string[] = []
    let query = '?order=oldest&limit=2'
    for (let pages = 0; pages < whole.length; pages += 1) {
      const reply = await list(query)
      paged.push(...kindsOf(reply))
      if (reply.json.next === undefined) break
      query = `?order=oldest&limit=2&after=${reply.json.next}`
    }
    assert.deepEqual(paged.slice(0, whole.length), whole)
  })

  for (const query of [
    '?event=x',
    '?outcome=x',
    '?since=x',
    '?since=12/11/2030',
    '?until=2030-12-31T18:00',
    '?after=x',
    '?limit=0',
    '?limit=1001',
    '?order=x',
  ])
    it(`rejects ${query}`, async () => {
      const reply = await list(query)
      assert.equal(reply.status, 400, reply.body)
    })

  it('lists the kinds of events', async () => {
    const { json } = await list('/events')
    const accepted = json.events.find(({ event }: { event: string }) => event === 'sign-in.accepted')
    assert.equal(accepted.sentence, 'sign-in accepted')
    assert.deepEqual(
      accepted.fields.map(({ name }: { name: string }) => name),
      ['subject', 'opened'],
    )
  })

  it('is for administrators only', async () => {
    assert.equal((await send(server.document, { path: AUDIT })).status, 401)
    assert.equal((await send(server.document, { path: AUDIT, as: 'jo:right' })).status, 403)
  })
})

/** Waits for a reply with this status. */
async function waitForStatus(url: string, request: Request, status: number): Promise<Reply> {
  let reply = await send(url, request)
  await waitUntil(async () => {
    reply = await send(url, request)
    return reply.status === status
  })
  return reply
}

async function startFailing(t: Scope, onFailure: string) {
  const folder = makeFolder(t)
  const file = join(folder, 'cardea.db')
  const tokens = join(folder, 'tokens')
  mkdirSync(tokens)
  writeFileSync(join(tokens, '1.key'), 'a secret of the token folder, long enough')
  const config = { ...FAST, server: { 'jwt-secret-folder': tokens, 'jwt-secret': '' } }
  const server = await startServer(t, config, { store: { url: `sqlite:${file}` }, audit: { 'on-failure': onFailure } })
  const database = new DatabaseSync(file, { timeout: 5000 })
  t.after(() => database.close())
  return {
    server,
    fail: () =>
      database.exec(`CREATE TRIGGER broken BEFORE INSERT ON cardea_audit BEGIN SELECT RAISE(ABORT, 'full'); END`),
    repair: () => database.exec('DROP TRIGGER broken'),
  }
}

test('with audit.on-failure = refuse, changes and new sign-ins are refused while records cannot be written', async (t) => {
  const { server, fail, repair } = await startFailing(t, 'refuse')
  const { document, multiModel } = server
  assert.equal((await send(document, putUser('jo'))).status, 201)
  const session = await send(document, signIn('jo', 'right'))
  const Cookie = session.lines['set-cookie']?.[0]?.split(';')[0] ?? ''
  const used = await send(document, { path: '/_session', as: 'jo:right' })
  assert.equal(used.status, 200)
  fail()
  await send(document, signIn('jo', 'wrong'))
  const refused = await waitForStatus(document, signIn('jo', 'right'), 503)
  assert.equal(refused.status, 503, refused.body)
  assert.match(refused.body, /The audit trail cannot be written/)
  assert.equal(refused.header('retry-after'), '10')

  const REFUSED: readonly (readonly [door: string, request: Request])[] = [
    [document, putUser('mo')],
    [document, { method: 'PUT', path: '/_node/_local/_config/log/level', as: AS_ADMIN, body: '"warn"' }],
    [document, { method: 'PUT', path: '/_node/_local/_config/admins/eve', as: AS_ADMIN, body: '"a-password"' }],
    [document, asAdminPost('/users/jo/password-link')],
    [document, { ...asAdmin('/_cardea/api/administrators/admin/totp'), method: 'DELETE' }],
    [multiModel, OPEN_AUTH],
    [multiModel, { path: '/_api/version', as: 'jo:right' }],
  ]
  for (const [door, request] of REFUSED)
    assert.equal((await send(door, request)).status, 503, `${request.method} ${request.path}`)

  assert.equal((await send(document, { path: '/_session', headers: { Cookie } })).json.userCtx.name, 'jo')
  assert.equal((await send(document, { path: '/_session', as: 'jo:right' })).json.userCtx.name, 'jo')
  const metrics = await send(document, asAdmin('/_cardea/metrics'))
  assert.match(metrics.body, /^cardea_audit_failing\{destination="store"\} 1$/m)
  const ready = await waitForStatus(document, asAdmin('/_cardea/ready'), 503)
  assert.equal(ready.json.components.audit, 'failed', ready.body)
  assert.match(ready.json.reasons.audit, /^store: /)
  assert.equal((await send(document, { path: '/_up' })).status, 200)
  assert.equal((await send(document, { method: 'DELETE', path: '/_session', headers: { Cookie } })).status, 200)

  const signedOut = await send(document, { ...asAdmin('/_cardea/api/users/jo/sign-out'), method: 'POST' })
  assert.equal(signedOut.status, 200, signedOut.body)

  repair()
  assert.equal((await waitForStatus(document, signIn('jo', 'right'), 200)).status, 200)
  assert.equal((await waitForStatus(document, asAdmin('/_cardea/ready'), 200)).json.components.audit, 'ok')
  const { json } = await send(document, asAdmin(`${AUDIT}?order=oldest`))
  const kinds = json.records.map(({ event }: { event: string }) => event)
  for (const kind of ['audit.failed', 'sign-in.refused', 'sign-out', 'audit.recovered'])
    assert.ok(kinds.includes(kind), kind)
  assert.ok(server.log.some(({ level, message }) => level === 'error' && message === 'audit records cannot be written'))
})

test('with audit.on-failure = continue, nothing is refused', async (t) => {
  const { server, fail } = await startFailing(t, 'continue')
  fail()
  assert.equal((await send(server.document, putUser('jo'))).status, 201)
  const failing = /^cardea_audit_failing\{destination="store"\} 1$/m
  await waitUntil(async () => failing.test((await send(server.document, asAdmin('/_cardea/metrics'))).body))
  assert.equal((await send(server.document, signIn('jo', 'right'))).status, 200)
  const issued = await send(server.multiModel, OPEN_AUTH)
  assert.equal(issued.status, 200)
})
