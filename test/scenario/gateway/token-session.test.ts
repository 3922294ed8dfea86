/** An access token at `POST /_session`, as CouchDB's replicator sends it, and what its session may do. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { readTotp, renderCode } from '../../../src/directory/second-factor/totp.ts'
import { now } from '../../support/multi-model.ts'
import { AS_ADMIN, basic, createAsk, type Reply, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { type AnyOptions, startServer } from '../../support/server.ts'
import { beforeDocument, openBackend, openFeeds, openStream } from '../../support/upstream.ts'

const SERVICES = (url: string): AnyOptions => ({
  services: { shop: `/shop ${url} document`, desk: `/desk ${url} document required` },
  admin: { endpoint: 'tcp://127.0.0.1:0' },
})

async function open(t: Scope, { upstream = openBackend, options = {} as AnyOptions } = {}) {
  const { url } = await upstream(t)
  const server = await startServer(t, beforeDocument(url), SERVICES(url), options)
  await server.cardea.users.create({ name: 'ada', password: 'right password' })
  const createToken = async (limits: object = {}): Promise<{ readonly token: string; readonly id: number }> => {
    const body = { name: `t${Math.random()}`, valid_until: now() + 600, ...limits }
    const made = await createAsk(server.multiModel)('POST', '/_api/token/ada', { as: AS_ADMIN, body })
    assert.equal(made.status, 200, made.body)
    return made.json
  }
  /** The form that CouchDB's replicator sends. */
  const signIn = (password: string, more = ''): Promise<Reply> =>
    send(server.document, {
      method: 'POST',
      path: '/_session',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: `name=ada&password=${encodeURIComponent(password)}${more}`,
    })
  const openSession = async (password: string): Promise<{ readonly cookie: string }> => {
    const opened = await signIn(password)
    assert.equal(opened.status, 200, opened.body)
    return { cookie: opened.header('set-cookie')?.split(';')[0] ?? '' }
  }
  return { ...server, ask: createAsk(server.document), createToken, signIn, openSession }
}

const statusesOf = async (
  ask: ReturnType<typeof createAsk>,
  headers: Record<string, string>,
  paths: readonly string[],
) =>
  Object.fromEntries(await Promise.all(paths.map(async (path) => [path, (await ask('GET', path, { headers })).status])))

describe('an access token at POST /_session', () => {
  it('opens a session, and locks no one out', async (t) => {
    const { ask, createToken, signIn, openSession } = await open(t)
    const { token } = await createToken()
    for (let i = 0; i < 12; i += 1) assert.equal((await signIn(token)).status, 200)
    const headers = await openSession(token)
    const { json } = await ask('GET', '/_session', { headers })
    assert.deepEqual([json.userCtx.name, json.info.authenticated], ['ada', 'cookie'])
    assert.equal((await ask('GET', '/sales/_changes', { headers })).status, 200)
    assert.equal((await signIn('right password')).status, 200)
  })

  it('opens exactly what the token opens', async (t) => {
    const { ask, createToken, openSession } = await open(t)
    const { token } = await createToken({ databases: ['sales'], services: ['shop'] })
    const headers = await openSession(token)
    const paths = ['/sales', '/sales/doc', '/other', '/other/doc', '/shop', '/desk', '/_all_dbs', '/_users/_all_docs']
    const byCookie = await statusesOf(ask, headers, paths)
    assert.deepEqual(byCookie, await statusesOf(ask, { authorization: basic('ada', token) }, paths))
    assert.deepEqual([byCookie['/sales/doc'], byCookie['/other/doc'], byCookie['/_all_dbs']], [200, 403, 403])
    assert.deepEqual([byCookie['/shop'], byCookie['/desk']], [200, 403])
  })

  it('is accepted neither for the account nor at the admin API, and changes no password', async (t) => {
    const { ask, addresses, createToken, openSession, cardea } = await open(t)
    const headers = await openSession((await createToken()).token)
    const api = { ...headers, 'x-cardea-control': '1' }
    assert.equal((await ask('GET', '/_cardea/account', { headers })).status, 401)
    assert.equal((await ask('GET', '/_cardea/api/account', { headers: api })).status, 401)
    const [admin = ''] = addresses.admin
    assert.equal((await createAsk(admin)('GET', '/_cardea/api/account', { headers: api })).status, 401)
    const body = { name: 'ada', password: 'another password', type: 'user', roles: [] }
    assert.equal((await ask('PUT', '/_users/org.couchdb.user:ada', { headers, body })).status, 409)
    const { _rev } = (await ask('GET', '/_users/org.couchdb.user:ada', { as: AS_ADMIN })).json
    const changed = await ask('PUT', `/_users/org.couchdb.user:ada?rev=${_rev}`, { headers, body })
    assert.equal(changed.status, 403, changed.body)
    assert.ok(await cardea.users.verifyPassword('ada', 'right password'))
  })

  for (const cacheSeconds of [0, 1])
    it(`is not accepted by /_gate, whatever its token is for, with gate.cache-seconds = ${cacheSeconds}`, async (t) => {
      const { ask, createToken, openSession } = await open(t, { options: { gate: { 'cache-seconds': cacheSeconds } } })
      const whole = await createToken()
      const limited = await createToken({ databases: ['sales'] })
      for (const { token } of [whole, limited]) {
        const headers = await openSession(token)
        // the second time from the cache, if a decision was kept
        for (const _ of [1, 2]) {
          const { status, header } = await ask('GET', '/_gate', { headers })
          assert.deepEqual([status, header('x-auth-user')], [401, undefined])
        }
      }
      const byToken = { authorization: basic('ada', whole.token) }
      assert.equal((await ask('GET', '/_gate', { headers: byToken })).status, 204)
    })

  it('opens the paths of Cardea where the door needs a credential for every path', async (t) => {
    const { ask, createToken, openSession } = await open(t, { options: { chttpd: { require_valid_user: true } } })
    assert.equal((await ask('GET', '/_cardea/live')).status, 401)
    const headers = await openSession((await createToken()).token)
    assert.equal((await ask('GET', '/_cardea/live', { headers })).status, 200)
  })

  it('ends, with its feeds, when the token is deleted', async (t) => {
    const { multiModel, document, ask, createToken, openSession } = await open(t, { upstream: openFeeds })
    const { token, id } = await createToken({ databases: ['db'] })
    const headers = await openSession(token)
    const feed = await openStream(document, '/db/_changes?feed=continuous', headers)
    assert.equal((await createAsk(multiModel)('DELETE', `/_api/token/ada/${id}`, { as: AS_ADMIN })).status, 200)
    assert.equal(await feed.ended, 'broken')
    assert.equal((await ask('GET', '/_session', { headers })).json.userCtx.name, null)
  })

  it('ends, with its feeds, when the password changes', async (t) => {
    const { document, ask, createToken, openSession, cardea } = await open(t, { upstream: openFeeds })
    const headers = await openSession((await createToken({ databases: ['db'] })).token)
    const feed = await openStream(document, '/db/_changes?feed=continuous', headers)
    await cardea.users.setPassword('ada', 'another password')
    assert.equal(await feed.ended, 'broken')
    assert.equal((await ask('GET', '/_session', { headers })).json.userCtx.name, null)
  })

  it('ends with DELETE /_session, and the token stays', async (t) => {
    const { ask, createToken, openSession, signIn } = await open(t)
    const { token } = await createToken()
    const headers = await openSession(token)
    assert.equal((await ask('DELETE', '/_session', { headers })).status, 200)
    assert.equal((await ask('GET', '/_session', { headers })).json.userCtx.name, null)
    assert.equal((await signIn(token)).status, 200)
  })

  it('has no effect after it has expired, or for another name', async (t) => {
    const { ask, createToken, signIn } = await open(t)
    assert.equal((await signIn((await createToken({ valid_until: now() - 1 })).token)).status, 401)
    const { token } = await createToken()
    const other = await ask('POST', '/_session', { body: { name: 'admin', password: token } })
    assert.equal(other.status, 401)
  })
})

describe('the access token of a user with a second factor', () => {
  const KEY = 'JBSWY3DPEHPK3PXP'
  it('opens no session, with or without a code, and is not counted', async (t) => {
    const { ask, createToken, signIn } = await open(t)
    const { _rev } = (await ask('GET', '/_users/org.couchdb.user:ada', { as: AS_ADMIN })).json
    const body = { name: 'ada', password: 'right password', type: 'user', roles: [], totp: { key: KEY } }
    await ask('PUT', `/_users/org.couchdb.user:ada?rev=${_rev}`, { as: AS_ADMIN, body })
    const { token } = await createToken()
    const totp = readTotp({ key: KEY }) ?? assert.fail()
    for (const code of ['', `&token=${renderCode(totp, Math.floor(Date.now() / 30_000))}`])
      for (let i = 0; i < 6; i += 1) assert.equal((await signIn(token, code)).status, 401)
    assert.equal(
      (await signIn('right password', `&token=${renderCode(totp, Math.floor(Date.now() / 30_000))}`)).status,
      200,
    )
  })
})

describe('a valid access token where only the password is accepted', () => {
  const PLACES: Readonly<Record<string, (t: Awaited<ReturnType<typeof open>>, token: string) => Promise<Reply>>> = {
    'the console': ({ ask }, token) =>
      ask('POST', '/_cardea/api/session', {
        headers: { 'x-cardea-control': '1' },
        body: { name: 'ada', password: token },
      }),
    'the account of the user': ({ ask }, token) =>
      ask('POST', '/_cardea/account/sign-in', { body: { name: 'ada', password: token } }),
  }
  for (const [place, attempt] of Object.entries(PLACES)) {
    it(`is refused and counts as no wrong password: ${place}`, async (t: TestContext) => {
      const scene = await open(t)
      const { token } = await scene.createToken()
      for (let i = 0; i < 12; i += 1) assert.equal((await attempt(scene, token)).status, 401)
      assert.equal((await scene.ask('GET', '/_session', { as: basic('ada', 'right password') })).status, 200)
    })
  }
})
