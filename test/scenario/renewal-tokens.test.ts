// Sessions with a short token and a renewal token, at `/_cardea/account/token` of both doors.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { idOf } from '../../src/directory/account.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { type Request, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const ORIGIN = 'https://app.example.com'
const PASSWORD = 'analytical'
const DAY_MS = 86_400_000

const scope = createSharedScope()
const options = {
  chttpd: { enable_cors: true },
  cors: { origins: ORIGIN },
  http: { 'trusted-origin': ORIGIN },
}
const server = await startServer(scope, options)
const { cardea, document, multiModel } = server

interface Tokens {
  readonly token: string
  readonly renewalToken: string
  readonly expiresIn: number
  readonly renewalExpiresIn: number
}

const call = async (door: string, method: string, path: string, { headers, ...request }: Partial<Request> = {}) => {
  // Node sends no length with DELETE
  const length = method === 'DELETE' ? { 'Content-Length': String(JSON.stringify(request.body).length) } : {}
  const own = { path: `/_cardea/account${path}`, headers: { ...length, ...headers } }
  const response = await send(door, { method, ...own, ...request })
  return { ...response, json: JSON.parse(response.body) }
}
const signIn = (door: string, name: string, more = {}) =>
  call(door, 'POST', '/token', { body: { name, password: PASSWORD, ...more } })
const renew = (door: string, renewalToken: string) => call(door, 'POST', '/token/renew', { body: { renewalToken } })
const statusOf = async (door: string, token: string) =>
  (await call(door, 'GET', '', { headers: { Authorization: `Bearer ${token}` } })).status

async function open(name: string, door = document): Promise<Tokens> {
  await cardea.users.create({ name, password: PASSWORD })
  const opened = await signIn(door, name)
  assert.equal(opened.status, 200)
  server.takeEvents()
  return opened.json
}

const isReused = () => server.takeEvents().some(({ event }) => event === 'session.reused')

/** Returns a function that sets the clock of the server forward. */
function holdClock(t: TestContext): (ms: number) => void {
  const { now } = Date
  let aheadMs = 0
  t.mock.method(Date, 'now', () => now.call(Date) + aheadMs)
  return (ms) => {
    aheadMs += ms
  }
}

test('both doors open, accept and renew a session', async () => {
  await cardea.users.create({ name: 'ada', password: PASSWORD, roles: ['member'] })
  for (const [door, other] of [
    [document, multiModel],
    [multiModel, document],
  ] as const) {
    const { status, json: opened } = await signIn(door, 'ada')
    assert.equal(status, 200)
    const { token, renewalToken, id, ...shown } = opened
    assert.equal(id, idOf({ name: 'ada' }))
    assert.deepEqual(shown, { expiresIn: 600, renewalExpiresIn: 2_592_000, name: 'ada', roles: ['member'] })
    assert.deepEqual([await statusOf(door, token), await statusOf(other, token)], [200, 200])
    const renewed = await renew(other, renewalToken)
    assert.equal(renewed.status, 200)
    assert.notEqual(renewed.json.renewalToken, renewalToken)
    assert.deepEqual([await statusOf(door, renewed.json.token), await statusOf(door, token)], [200, 200])
    assert.equal((await call(door, 'DELETE', '/token', { body: { renewalToken } })).status, 200)
    assert.deepEqual([await statusOf(door, token), await statusOf(other, renewed.json.token)], [401, 401])
    assert.equal((await renew(door, renewed.json.renewalToken)).status, 401)
  }
})

test('a repeated renewal gets the same token, and only one is stored', async () => {
  const { renewalToken } = await open('bob')
  const renewals = await Promise.all(
    [document, multiModel, document, document].map((door) => renew(door, renewalToken)),
  )
  assert.deepEqual(new Set(renewals.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(renewals.map(({ json }) => json.renewalToken)).size, 1)
  assert.equal((await renew(document, renewals[0]?.json.renewalToken)).status, 200)
})

test('renewals at the same time may get several tokens, which end with the one session', async (t) => {
  const { renewalToken } = await open('nina')
  const setAhead = holdClock(t)
  const { json: first } = await renew(document, renewalToken)
  setAhead(2000)
  const { json: second } = await renew(document, renewalToken)
  assert.notEqual(first.token, second.token)
  const ask = async () => [await statusOf(document, first.token), await statusOf(multiModel, second.token)]
  assert.deepEqual(await ask(), [200, 200])
  await call(document, 'DELETE', '/token', { body: { renewalToken: second.renewalToken } })
  assert.deepEqual(await ask(), [401, 401])
})

test('reuse after the grace ends the session', async (t) => {
  const { token, renewalToken } = await open('carol')
  const setAhead = holdClock(t)
  const { json: second } = await renew(document, renewalToken)
  setAhead(15_000)
  assert.equal((await renew(document, renewalToken)).json.renewalToken, second.renewalToken)
  setAhead(30_000)
  server.takeEvents()
  assert.equal((await renew(document, renewalToken)).status, 401)
  assert.deepEqual(
    server.takeEvents().map(({ event, level, subject }) => [event, level, subject]),
    [['session.reused', 'warn', 'carol']],
  )
  assert.equal((await renew(document, second.renewalToken)).status, 401)
  assert.deepEqual([await statusOf(document, token), await statusOf(multiModel, second.token)], [401, 401])
})

test('a token that was replaced twice ends the session even within the grace', async () => {
  const { renewalToken } = await open('dora')
  const { json: second } = await renew(document, renewalToken)
  const { json: third } = await renew(document, second.renewalToken)
  assert.equal((await renew(document, renewalToken)).status, 401)
  assert.equal((await renew(document, third.renewalToken)).status, 401)
})

test('a made-up token with the id of a session does not end it', async () => {
  const { renewalToken, token } = await open('eve')
  const forged = Buffer.from(renewalToken, 'base64url')
  forged.writeUInt8(forged.readUInt8(20) ^ 1, 20)
  for (const text of [forged.toString('base64url'), '', token, `${renewalToken}=`, 'x'.repeat(64)]) {
    assert.equal((await renew(document, text)).status, 401)
    assert.equal((await call(document, 'DELETE', '/token', { body: { renewalToken: text } })).status, 200)
  }
  assert.ok(!isReused())
  assert.equal((await renew(document, renewalToken)).status, 200)
})

test('a session expires without a renewal, and at the end of its lifetime', async (t) => {
  const setAhead = holdClock(t)
  const first = await open('fay')
  setAhead(29 * DAY_MS)
  assert.equal(await statusOf(document, first.token), 401)
  const { json: second } = await renew(document, first.renewalToken)
  setAhead(29 * DAY_MS)
  const { status, json: third } = await renew(document, second.renewalToken)
  assert.equal(status, 200)
  setAhead(31 * DAY_MS)
  assert.equal((await renew(document, third.renewalToken)).status, 401)
  assert.ok(!isReused(), 'an expired token was not used twice')
})

/** What ends the sessions of a user, and the name of the user. */
const ENDS: Readonly<Record<string, (name: string, tokens: Tokens) => Promise<unknown>>> = {
  'a new password': (name) => cardea.users.setPassword(name, 'difference'),
  deactivation: (name) => cardea.users.update(name, { isActive: false }),
  deletion: (name) => cardea.users.remove(name),
  'a sign-out everywhere': (name) => cardea.sessions.revokeAll(name),
  'the user, at a list of sessions': async (_name, { token }) => {
    const headers = { Authorization: `Bearer ${token}` }
    const { sessions } = (await call(multiModel, 'GET', '/sessions', { headers })).json
    assert.deepEqual(
      sessions.map(({ isCurrent, door }: Record<string, unknown>) => [isCurrent, door]),
      [[true, 'document']],
    )
    assert.ok(sessions[0].expiresAt - sessions[0].createdAt >= 2_592_000)
    const ended = await call(document, 'DELETE', `/sessions/${sessions[0].id}`, { headers, body: {} })
    assert.equal(ended.status, 200)
  },
  'a sign-out at the multi-model door': async (_name, { token }) => {
    const headers = { Authorization: `Bearer ${token}` }
    assert.equal((await send(multiModel, { method: 'DELETE', path: '/_open/auth', headers })).status, 200)
  },
}

for (const [at, [title, end]] of Object.entries(ENDS).entries())
  test(`ended by ${title}`, async () => {
    const name = `grace${at}`
    const tokens = await open(name)
    await end(name, tokens)
    assert.equal(await statusOf(document, tokens.token), 401)
    assert.equal((await renew(multiModel, tokens.renewalToken)).status, 401)
    assert.ok(!isReused())
  })

test('a token cannot be prolonged without its renewal token', async (t) => {
  const { token } = await open('hana', multiModel)
  const setAhead = holdClock(t)
  setAhead(500_000)
  const renewed = await send(multiModel, {
    method: 'POST',
    path: '/_open/auth/renew',
    headers: { Authorization: `Bearer ${token}` },
  })
  const { jwt } = JSON.parse(renewed.body)
  setAhead(110_000)
  assert.equal(await statusOf(multiModel, jwt), 401)
})

test('a wrong password, a missing code, and pages of other origins', async () => {
  const { token } = await open('ivy')
  assert.equal((await signIn(multiModel, 'ivy', { password: 'wrong' })).json.error, 'credential_refused')
  const headers = { Authorization: `Bearer ${token}` }
  const { secret } = (await call(document, 'POST', '/totp', { headers, body: {} })).json
  const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
  const confirmed = await call(document, 'POST', '/totp/confirm', { headers, body: { secret, code } })
  const missing = await signIn(document, 'ivy')
  assert.deepEqual([missing.status, missing.json.error], [401, 'code_required'])
  assert.equal(missing.headers['x-cardea-second-factor'], 'required')
  const given = { name: 'ivy', password: PASSWORD, code: confirmed.json.recoveryCodes[0] }
  for (const [origin, status] of [
    ['https://evil.example.com', 403],
    [ORIGIN, 200],
  ] as const) {
    const from = { headers: { Origin: origin, 'Sec-Fetch-Site': 'cross-site' }, body: given }
    const opened = await call(document, 'POST', '/token', from)
    assert.equal(opened.status, status)
    if (status === 200) assert.equal(opened.headers['access-control-allow-origin'], origin)
    assert.equal(opened.headers['set-cookie'], undefined)
  }
})

test('a session outlives a restart of the server, and its tokens get a new secret', async (t) => {
  const store = { url: `sqlite:${join(makeFolder(t), 'cardea.db')}` }
  const before = await startServer(t, { store, chttpd_auth: { max_lifetime: 86_400 } })
  await before.cardea.users.create({ name: 'ada', password: PASSWORD })
  const { json: opened } = await signIn(before.document, 'ada')
  await before.cardea.close()
  const after = await startServer(t, { store, chttpd_auth: { max_lifetime: 86_400 } })
  const { status, json: renewed } = await renew(after.multiModel, opened.renewalToken)
  assert.equal(status, 200)
  assert.equal(await statusOf(after.document, renewed.token), 200)
  const setAhead = holdClock(t)
  setAhead(DAY_MS - 300_000)
  const { json: last } = await renew(after.document, renewed.renewalToken)
  assert.ok(last.expiresIn <= 300, 'not beyond the lifetime of the session')
  setAhead(300_000)
  assert.equal((await renew(after.document, last.renewalToken)).status, 401)
})
