// The account calls of the client, and the endpoints behind them at both doors.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createClient } from '../../client/src/index.ts'
import { idOf } from '../../src/directory/account.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { account, authenticate } from '../../src/express.ts'
import { express, serve } from '../scenario/library/server.ts'
import { bySecurity, openPouchdbServer } from '../support/pouchdb-server.ts'
import { basic, type Request, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'

const ADA = { name: 'ada', password: 'analytical' }

async function open(scope: Scope, ...options: readonly AnyOptions[]) {
  const server = await startServer(scope, { chttpd_auth: { allow_sign_up: true } }, ...options)
  const openClient = async (): Promise<Client> => {
    const client = createClient({ url: server.document })
    scope.after(() => client.close())
    return client
  }
  const client = await openClient()
  await client.signUp('ada', 'analytical')
  await client.signIn(ADA)
  return { server, client, openClient }
}

const codeOf = (secret: string): string =>
  renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))

test('changes the password: other sessions end, this one goes on', async (t) => {
  const { client, openClient } = await open(t, { chttpd_auth: { password_regexp: '[{".{8,}", "Too short."}]' } })
  const other = await openClient()
  await other.signIn(ADA)
  assert.deepEqual(await client.changePassword('wrong', 'difference'), { status: 'wrong_password' })
  const rejected = await client.changePassword('analytical', 'short')
  assert.equal(rejected.status, 'rejected')
  assert.deepEqual(await client.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.equal((await client.session())?.name, 'ada')
  assert.equal(await other.session(), null)
})

test('names the URL of the own database', async (t) => {
  const { client } = await open(t)
  assert.equal(await client.database(), null)
  const database = await openPouchdbServer(t, { mayReach: bySecurity })
  const options = { 'user-databases': { enabled: true, wait: 0, prefix: 'of/' } }
  const { client: other, server } = await open(t, beforeDocument(database.url), options)
  assert.equal(await other.database(), `${server.document}/of%2F616461`)
})

test('exports what the server knows of the user, without anything that proves an identity', async (t) => {
  const { client, server } = await open(t)
  const { secret } = await client.secondFactor.enrol({ currentPassword: 'analytical' })
  const [recovery = ''] = await client.secondFactor.confirm(secret, codeOf(secret))
  await client.signIn({ ...ADA, code: recovery })
  const tokens = await server.cardea.accessTokens.create('ada', { name: 'script', expiresAt: new Date('2099-01-01') })
  const exported = await client.exportAccount()
  const { user, sessions, lastSignIn } = exported
  assert.equal(exported.name, 'ada')
  assert.equal(user?.['hasOneTimeCodes'], true)
  assert.ok(user)
  assert.equal((user['accessTokens'] as readonly { name: string }[])[0]?.name, 'script')
  assert.ok(sessions.some(({ isCurrent }) => isCurrent))
  assert.ok(lastSignIn)
  const text = JSON.stringify(exported)
  for (const proof of [secret, tokens.token, 'derived_key', 'salt', 'publicKey'])
    assert.ok(!text.includes(proof), proof)
})

test('signs out everywhere', async (t) => {
  const { client, openClient } = await open(t)
  const other = await openClient()
  await other.signIn(ADA)
  await client.signOut({ everywhere: true })
  assert.deepEqual([await client.session(), await other.session()], [null, null])
})

test('enrols a second factor, signs in with it, and disables it', async (t) => {
  const { client } = await open(t)
  const { secret, uri } = await client.secondFactor.enrol()
  assert.match(uri, /^otpauth:\/\/totp\//)
  await assert.rejects(client.secondFactor.confirm(secret, '000000x'), { name: 'ClientError' })
  const codes = await client.secondFactor.confirm(secret, codeOf(secret))
  assert.ok(codes.length > 0)
  await client.signOut()
  assert.deepEqual(await client.signIn(ADA), { status: 'code_required' })
  assert.equal((await client.signIn({ ...ADA, code: codes[0] ?? '' })).status, 'signed_in')
  assert.equal((await client.secondFactor.recoveryCodes()).length, codes.length)
  await client.secondFactor.disable()
  await client.signOut()
  assert.equal((await client.signIn(ADA)).status, 'signed_in')
})

test('lists the sessions of the user, and ends one', async (t) => {
  const { client, openClient } = await open(t)
  const other = await openClient()
  await other.signIn(ADA)
  const changes: string[] = []
  other.onChange((change) => changes.push(change))
  const [newest, oldest, ...more] = await client.sessions.list()
  assert.deepEqual([newest?.isCurrent, oldest?.isCurrent, more], [false, true, []])
  assert.equal(oldest?.door, 'document')
  await client.sessions.end(newest?.id ?? '')
  assert.equal(await other.session(), null)
  assert.deepEqual(changes, ['revoked'])
  await assert.rejects(client.sessions.end('unknown'), { name: 'ClientError', status: 404 })
  client.onChange((change) => changes.push(change))
  await client.sessions.end(oldest?.id ?? '')
  assert.equal(changes.at(-1), 'signed_out')
  assert.equal(await client.session(), null)
})

test('ends another session only with a proof of the password', async (t) => {
  const { client, openClient } = await open(t)
  const other = await openClient()
  const now = Date.now()
  // admin.reauthenticate-after is 900, and a session lives for 600 after a request
  t.mock.timers.enable({ apis: ['Date'], now: now + 500_000 })
  await client.session()
  await other.signIn(ADA)
  t.mock.timers.setTime(now + 1_000_000)
  const [session] = (await client.sessions.list()).filter(({ isCurrent }) => !isCurrent)
  await assert.rejects(client.sessions.end(session?.id ?? ''), { code: 'password_required' })
  await assert.rejects(client.deleteAccount(), { code: 'password_required' })
  await assert.rejects(client.deleteAccount({ currentPassword: 'wrong' }), { name: 'ClientError', status: 403 })
  assert.equal((await client.session())?.name, 'ada')
  await client.deleteAccount({ currentPassword: 'analytical' })
  assert.equal(await client.session(), null)
})

for (const credential of ['cookie', 'token'] as const)
  test(`deletes the account: ${credential}`, async (t) => {
    const { server, client: other } = await open(t)
    const removed: string[] = []
    server.cardea.events.on('user.removed', ({ fields }) => removed.push(`${fields.subject} by ${fields.actor}`))
    const client = createClient({ url: server.document, credential })
    t.after(() => client.close())
    const changes: string[] = []
    await client.signIn(ADA)
    client.onChange((change) => changes.push(change))
    await client.deleteAccount()
    assert.deepEqual([await client.session(), await other.session()], [null, null])
    assert.deepEqual(changes, ['signed_out'])
    assert.deepEqual(removed, ['ada by ada'])
    assert.deepEqual(await client.signIn(ADA), { status: 'wrong_password' })
    assert.equal(await server.cardea.users.find('ada'), undefined)
  })

test('an account is deleted by the rules for its document', async (t) => {
  const { server, client } = await open(t)
  const { cardea, document, multiModel } = server
  const remove = (url: string, request: Partial<Request>) =>
    send(url, { path: '/_cardea/account', method: 'DELETE', ...request })
  assert.equal((await remove(document, {})).status, 401, 'anonymous')
  const administrator = await remove(document, { as: basic('admin', 'adminpw') })
  assert.equal(administrator.status, 404)
  assert.match(administrator.body, /admin is an administrator: another one can remove it/)
  await cardea.users.create({ name: 'bob', password: 'analytical', mustChangePassword: true })
  assert.equal((await remove(document, { as: basic('bob', 'analytical') })).status, 403, 'the password comes first')
  const expiresAt = new Date(Date.now() + 60_000)
  const { token } = await cardea.accessTokens.create('ada', { name: 'sync', expiresAt })
  assert.equal((await remove(document, { as: basic('ada', token) })).status, 403, 'an access token proves no password')
  const session = await cardea.sessions.create('ada')
  const headers = { Cookie: session.cookie.split(';')[0] ?? '' }
  const unproved = await remove(document, { headers })
  assert.equal(JSON.parse(unproved.body).error, 'password_required')
  const { secret } = await client.secondFactor.enrol()
  await client.secondFactor.confirm(secret, codeOf(secret))
  await client.deleteAccount()
  assert.equal(await cardea.users.find('ada'), undefined)
  await cardea.users.create(ADA)
  assert.equal((await remove(multiModel, { as: basic('ada', 'analytical') })).status, 200)
})

test('the endpoints of an account', async (t) => {
  const { server } = await open(t, {
    chttpd: { enable_cors: true },
    cors: { origins: 'https://app.example.com', credentials: true },
  })
  const opened = await send(server.document, { method: 'POST', path: '/_session', body: ADA })
  const cookie = { Cookie: (opened.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
  const at = (door: string, request: Partial<Request>) => send(door, { path: '/_cardea/account', ...request })
  const endOthers = (headers: Record<string, string>) =>
    at(server.document, {
      method: 'POST',
      path: '/_cardea/account/sessions/end-others',
      headers: { ...cookie, ...headers },
      body: {},
    })

  assert.equal((await at(server.document, {})).status, 401, 'anonymous')
  assert.equal(JSON.parse((await at(server.document, { headers: cookie })).body).name, 'ada')
  assert.equal(JSON.parse((await at(server.multiModel, { as: basic('ada', 'analytical') })).body).name, 'ada')
  assert.equal((await at(server.multiModel, { headers: cookie })).status, 401, 'no cookie at the other door')
  const admin = await at(server.document, {
    path: '/_cardea/api/account',
    headers: { ...cookie, 'X-Cardea-Control': '1' },
  })
  assert.equal(admin.status, 401, 'the admin API refuses the cookie')
  assert.equal((await at(server.document, { path: '/_cardea/account/users', headers: cookie })).status, 404)

  assert.equal((await endOthers({})).status, 200)
  assert.equal((await endOthers({ Origin: 'https://evil.example.com' })).status, 403)
  assert.equal((await endOthers({ 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  const trusted = await endOthers({ Origin: 'https://app.example.com', 'Sec-Fetch-Site': 'cross-site' })
  assert.equal(trusted.status, 200)
  assert.equal(trusted.headers['access-control-allow-origin'], 'https://app.example.com')
  const preflight = await at(server.document, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'PUT' },
  })
  assert.equal(preflight.status, 204)
})

test('uses the routes that a program has mounted, with the cookie', async (t) => {
  const { cardea } = await startServer(t, { chttpd_auth: { allow_sign_up: true } })
  const app = express()
  app.use('/account', account(cardea))
  app.use(authenticate(cardea))
  app.get('/me', (request: { user?: { name: string } }, response: { json(value: unknown): void }) =>
    response.json(request.user?.name ?? null),
  )
  const base = await serve(t, app)
  const open = () => {
    const client = createClient({ url: base, account: '/account' })
    t.after(() => client.close())
    return client
  }
  const [client, other] = [open(), open()]
  const changes: string[] = []
  client.onChange((change) => changes.push(change))
  const nameOf = async () => (await client.fetch('/me')).json()
  assert.deepEqual(await client.signUp('ada', 'analytical'), { status: 'signed_up' })
  assert.deepEqual(await client.signUp('ada', 'analytical'), { status: 'name_taken' })
  assert.deepEqual(await client.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  assert.equal((await client.signIn(ADA)).status, 'signed_in')
  assert.equal(await nameOf(), 'ada')
  await other.signIn(ADA)
  assert.deepEqual(await client.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.deepEqual(await client.session(), { name: 'ada', roles: [], id: idOf({ name: 'ada' }) })
  assert.equal(await other.session(), null)
  const { secret } = await client.secondFactor.enrol()
  const [recovery = ''] = await client.secondFactor.confirm(secret, codeOf(secret))
  const given = { name: 'ada', password: 'difference' }
  assert.deepEqual(await other.signIn(given), { status: 'code_required' })
  assert.equal((await other.signIn({ ...given, code: recovery })).status, 'signed_in')
  assert.equal((await client.sessions.list()).length, 2)
  await client.signOut({ everywhere: true })
  assert.equal(await nameOf(), null)
  assert.deepEqual([await client.session(), await other.session()], [null, null])
  await cardea.secondFactor.remove('ada')
  await other.signIn(given)
  await other.deleteAccount()
  assert.equal(await cardea.users.find('ada'), undefined)
  assert.deepEqual([changes[0], changes.at(-1)], ['signed_in', 'signed_out'])
})
