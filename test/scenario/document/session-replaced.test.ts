// A sign-in that carries the cookie of a session: it ends that session, and takes its place.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { API, createBrowser, SCRIPT, tokenOf, withToken } from '../../support/browser.ts'
import { buildConsole } from '../../support/console.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../../support/provider.ts'
import { createBrowser as createProviderBrowser, PUBLIC_URL } from '../../support/provider-browser.ts'
import { ADMIN, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, openFeeds, openStream } from '../../support/upstream.ts'

buildConsole()

const JSON_TYPE = { 'Content-Type': 'application/json' }
const FEED = '/db/_changes?feed=continuous'
/** Longer than a replaced cookie is accepted. */
const LATER_MS = 11_000

type Cookie = Readonly<Record<string, string>>

async function start(t: TestContext, options: object = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const front = await startServer(t, { ...beforeDocument((await openFeeds(t)).url), ...options })
  for (const name of ['ada', 'bob'])
    await send(front.document, {
      method: 'PUT',
      path: `/_users/org.couchdb.user:${name}`,
      headers: { ...ADMIN, ...JSON_TYPE },
      body: JSON.stringify({ name, password: 'pw', roles: [], type: 'user' }),
    })
  return front
}

const post = (front: Server, given: object, headers: Cookie = {}) =>
  send(front.document, {
    method: 'POST',
    path: '/_session',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ password: 'pw', ...given }),
  })

/** The cookie of a new session. */
async function signIn(front: Server, name: string, headers: Cookie = {}, password = 'pw'): Promise<Cookie> {
  const { status, headers: sent, body } = await post(front, { name, password }, headers)
  assert.equal(status, 200, body)
  return { Cookie: sent['set-cookie']?.[0]?.split(';')[0] ?? '' }
}

async function nameOf(front: Server, headers: Cookie): Promise<string | null> {
  return JSON.parse((await send(front.document, { path: '/_session', headers })).body).userCtx.name
}

const signOut = (front: Server, headers: Cookie) =>
  send(front.document, { method: 'DELETE', path: '/_session', headers })

test('a sign-in of the same user ends the session of its cookie, after requests that were on their way', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  const fresh = await signIn(front, 'ada', old)
  const { body, headers } = await send(front.document, { path: '/_session', headers: old })
  assert.equal(JSON.parse(body).userCtx.name, 'ada', 'a parallel request that was sent with the old cookie')
  assert.equal(headers['set-cookie'], undefined, 'which does not replace the new cookie')
  t.mock.timers.tick(LATER_MS)
  assert.equal(await nameOf(front, old), null)
  assert.equal(await nameOf(front, fresh), 'ada')
})

test('the cookie of a replaced session is not renewed', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  // renewal is due
  t.mock.timers.tick(120_000)
  const { headers } = await send(front.document, { path: '/_session', headers: old })
  assert.equal(headers['set-cookie']?.length, 1, 'before it is replaced')
  await signIn(front, 'ada', old)
  const after = await send(front.document, { path: '/_session', headers: old })
  assert.equal(JSON.parse(after.body).userCtx.name, 'ada')
  assert.equal(after.headers['set-cookie'], undefined)
})

test('feeds of the same user go on under the new session, and end with it', async (t) => {
  const front = await start(t)
  const first = await signIn(front, 'ada')
  const feed = await openStream(front.document, FEED, first)
  const second = await signIn(front, 'ada', first)
  const late = await openStream(front.document, FEED, first)
  t.mock.timers.tick(LATER_MS)
  const third = await signIn(front, 'ada', second)
  t.mock.timers.tick(LATER_MS)
  // revalidates all streams
  await send(front.document, { method: 'POST', path: '/_node/_local/_config/_reload', headers: ADMIN })
  assert.equal(await nameOf(front, second), null)
  assert.ok(feed.isOpen() && late.isOpen())
  await signOut(front, third)
  assert.equal(await feed.ended, 'broken')
  assert.equal(await late.ended, 'broken', 'also one that was opened with the replaced cookie')
})

test('a sign-in of another user ends the session at once, and cuts its feeds', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  const feed = await openStream(front.document, FEED, old)
  const fresh = await signIn(front, 'bob', old)
  assert.equal(await nameOf(front, old), null)
  assert.equal(await feed.ended, 'broken')
  assert.equal(await nameOf(front, fresh), 'bob')
})

test('a refused sign-in, and one with a cookie that is not valid, end nothing', async (t) => {
  const front = await start(t)
  const cookie = await signIn(front, 'ada')
  assert.equal((await post(front, { name: 'ada', password: 'wrong' }, cookie)).status, 401)
  assert.equal((await post(front, { name: 'bob', password: 'wrong' }, cookie)).status, 401)
  await signIn(front, 'bob', { Cookie: `${cookie['Cookie']?.slice(0, -2)}AA` })
  t.mock.timers.tick(LATER_MS)
  assert.equal(await nameOf(front, cookie), 'ada')
})

test('of two sign-ins at a time with one cookie, both sessions are valid', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  const both = [await signIn(front, 'ada', old), await signIn(front, 'ada', old)] as const
  t.mock.timers.tick(LATER_MS)
  for (const cookie of both) assert.equal(await nameOf(front, cookie), 'ada')
  assert.equal(await nameOf(front, old), null)
})

test('a sign-out with a cookie that was replaced on the way ends the session in its place', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  const fresh = await signIn(front, 'ada', old)
  await signOut(front, old)
  assert.equal(await nameOf(front, fresh), null)
  assert.equal(await nameOf(front, old), null)
})

test('a replaced cookie opens no token and proves no password', async (t) => {
  const front = await start(t)
  const old = await signIn(front, 'ada')
  const openToken = (headers: Cookie) =>
    send(front.multiModel, { method: 'POST', path: '/_cardea/sign-in/token', headers, body: {} })
  const addAccessToken = (headers: Cookie) => {
    const body = { name: headers === old ? 'old' : 'fresh', expires: '2999-12-31' }
    return send(front.document, { method: 'POST', path: '/_cardea/account/tokens', headers, body })
  }
  const both = async (headers: Cookie) => [(await openToken(headers)).status, (await addAccessToken(headers)).status]
  assert.deepEqual(await both(old), [200, 200])
  const fresh = await signIn(front, 'ada', old)
  assert.equal(await nameOf(front, old), 'ada')
  assert.deepEqual(await both(old), [401, 403])
  assert.deepEqual(await both(fresh), [200, 200])
})

test('with max_sessions a sign-in takes the place of its own session, not of another', async (t) => {
  const front = await start(t, { chttpd_auth: { iterations: 1, max_sessions: 2 } })
  const other = await signIn(front, 'ada')
  t.mock.timers.tick(1000)
  const old = await signIn(front, 'ada')
  const feed = await openStream(front.document, FEED, old)
  const fresh = await signIn(front, 'ada', old)
  assert.deepEqual([await nameOf(front, other), await nameOf(front, fresh)], ['ada', 'ada'])
  assert.ok(feed.isOpen())
  feed.close()
})

test('sign-ins with an access token replace its sessions, however many, and never remove the token', async (t) => {
  const front = await start(t)
  const { token } = await front.cardea.accessTokens.create('ada', {
    name: 'sync',
    expiresAt: new Date(Date.now() + 1e9),
  })
  let cookie = await signIn(front, 'ada', {}, token)
  const first = cookie
  const feed = await openStream(front.document, FEED, first)
  for (let turn = 0; turn < 102; turn += 1) cookie = await signIn(front, 'ada', cookie, token)
  assert.equal(await nameOf(front, cookie), 'ada')
  assert.ok(feed.isOpen())
  t.mock.timers.tick(LATER_MS)
  assert.equal(await nameOf(front, first), null)
  const whole = await signIn(front, 'ada', cookie)
  assert.equal(await feed.ended, 'broken', 'the new session has other rights')
  assert.equal(await nameOf(front, cookie), null, 'at once')
  assert.equal(await nameOf(front, whole), 'ada')
})

/** What signs in at another place than `POST /_session`, with the cookie of a session, and reads a feed with it. */
interface Place {
  signIn(name: string): Promise<unknown>
  nameOf(cookie: string): Promise<string | null>
  cookie(): string
  openFeed(): ReturnType<typeof openStream>
}

const PLACES: Readonly<Record<string, (t: TestContext) => Promise<Place & { readonly front: Server }>>> = {
  async 'at a provider'(t) {
    const provider = await startProvider(t)
    const keys = { audience: AUDIENCE, 'client-id': CLIENT, 'client-secret': CLIENT_SECRET }
    const front = await start(t, {
      console: { 'public-url': PUBLIC_URL },
      'provider:open': { issuer: provider.issuer, ...keys, users: 'create' },
    })
    const browser = createProviderBrowser(front.document)
    const cookie = () => browser.session().Cookie
    return {
      front,
      cookie,
      async signIn(name) {
        provider.state.idToken = { sub: name, preferred_username: `${name}-there` }
        const { status } = await browser.finish('open', await browser.visit('open'))
        assert.equal(status, 200)
      },
      nameOf: (Cookie) => nameOf(front, { Cookie }),
      openFeed: () => openStream(front.document, FEED, { Cookie: cookie() }),
    }
  },
  async 'at the console'(t) {
    const front = await start(t, { admins: { ada: 'pw' } })
    const browser = createBrowser(front.document)
    const ask = (cookie: string) => send(front.document, { path: `${API}/session`, headers: { ...SCRIPT, cookie } })
    return {
      front,
      cookie: () => browser.cookie,
      async signIn(name) {
        const { status } = await browser.signIn(name, 'pw')
        assert.equal(status, 200)
      },
      nameOf: async (cookie) => (await ask(cookie)).json.name ?? null,
      async openFeed() {
        const token = withToken(tokenOf(await browser.openPage()))
        return openStream(front.document, `${API}/events`, { ...SCRIPT, ...token, Cookie: browser.cookie })
      },
    }
  },
}

for (const [where, open] of Object.entries(PLACES))
  test(`a sign-in ${where} ends the session of its cookie, and feeds of another user`, async (t) => {
    const { front, cookie, signIn: signInAs, nameOf: findName, openFeed } = await open(t)
    await signInAs('ada')
    const first = cookie()
    const feed = await openFeed()
    await signInAs('ada')
    const second = cookie()
    assert.notEqual(second, first)
    t.mock.timers.tick(LATER_MS)
    // revalidates all streams
    await send(front.document, { method: 'POST', path: '/_node/_local/_config/_reload', headers: ADMIN })
    assert.deepEqual([await findName(first), (await findName(second)) !== null, feed.isOpen()], [null, true, true])
    await signInAs('bob')
    await feed.ended
    assert.equal(await findName(second), null)
    assert.notEqual(await findName(cookie()), null)
  })
