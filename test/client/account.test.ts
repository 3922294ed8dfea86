// The account calls of the client, and the endpoints behind them at both doors.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createClient } from '../../client/src/index.ts'
import { idOf } from '../../src/directory/account.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { account, authenticate } from '../../src/express.ts'
import { express, serve } from '../scenario/library/server.ts'
import { basic, type Request, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'

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
  await client.signOut({ everywhere: true })
  assert.equal(await nameOf(), null)
  assert.deepEqual([await client.session(), await other.session()], [null, null])
  assert.deepEqual([changes[0], changes.at(-1)], ['signed_in', 'signed_out'])
})
