// The cookies of the console and of the sign-in at providers: no other host can set them, and none is chosen of two.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { API, createBrowser, NAVIGATION, SCRIPT } from '../support/browser.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { createBrowser as createProviderBrowser, PUBLIC_URL } from '../support/provider-browser.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend } from '../support/upstream.ts'

const scope = createSharedScope()
const provider = await startProvider(scope)
const NAMES = ['CardeaAdmin', '__Host-CardeaAdmin', 'CardeaSignIn', '__Host-CardeaSignIn']
const backend = await openBackend(scope, (_request, response) => {
  const cookies = [...NAMES.map((name) => `${name}=forged; Secure; Path=/`), 'theirs=1']
  response.writeHead(200, { 'Set-Cookie': cookies }).end('{}')
})
const { document, multiModel } = await startServer(scope, beforeDocument(backend.url), {
  chttpd: { trusted_proxies: 'loopback' },
  chttpd_auth: { cookie_host_prefix: true },
  console: { 'public-url': PUBLIC_URL },
  'provider:work': {
    issuer: provider.issuer,
    audience: AUDIENCE,
    'client-id': CLIENT,
    'client-secret': CLIENT_SECRET,
    users: 'create',
  },
})
/** What a proxy adds that ends TLS. */
const TLS = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'db.example.com' }
const SCHEMES = { TLS, 'plain HTTP': {} }

const nameOf = async (url: string, Cookie: string, headers: object) =>
  (await send(url, { path: `${API}/session`, headers: { ...SCRIPT, ...headers, Cookie } })).json.name

async function signIn(headers: Readonly<Record<string, string>>, url = document) {
  const browser = createBrowser(url, headers)
  const reply = await browser.signIn('admin', 'adminpw')
  assert.equal(reply.status, 200, reply.body)
  return { line: reply.lines['set-cookie']?.join() ?? '', value: browser.cookie.split('=')[1] ?? '' }
}

describe('the cookie of the console', () => {
  it('has the prefix __Host- where the client uses TLS, also behind a trusted proxy', async () => {
    for (const url of [document, multiModel])
      assert.match(
        (await signIn(TLS, url)).line,
        /^__Host-CardeaAdmin=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      )
    assert.match((await signIn({})).line, /^CardeaAdmin=[\w-]+; Path=\/_cardea\/; HttpOnly; SameSite=Strict$/)
  })

  it('is accepted under the one name of its scheme', async () => {
    const { value } = await signIn(TLS)
    assert.equal(await nameOf(document, `__Host-CardeaAdmin=${value}`, TLS), 'admin')
    assert.equal(await nameOf(document, `CardeaAdmin=${value}`, TLS), null)
    assert.equal(await nameOf(document, `CardeaAdmin=${value}`, {}), 'admin')
    assert.equal(await nameOf(document, `__Host-CardeaAdmin=${value}`, {}), null)
  })

  it('is not found within the value of a cookie that another host has set', async () => {
    const { value } = await signIn(TLS)
    const own = `__Host-CardeaAdmin=${value}`
    for (const Cookie of [`theme=a,${own}`, `theme=a, ${own}`, `theme="a,${own}"`, `theme=a=${own}`, ` =${own}`])
      assert.equal(await nameOf(document, Cookie, TLS), null, Cookie)
    const hidden = `theme="a; ${own}; other="`
    assert.equal(await nameOf(document, hidden, TLS), 'admin', 'a quotation mark hides no cookie')
  })

  it('is refused if it is sent twice, whichever comes first', async () => {
    for (const [scheme, headers] of Object.entries(SCHEMES)) {
      const name = scheme === 'TLS' ? '__Host-CardeaAdmin' : 'CardeaAdmin'
      const [one, two] = [await signIn(headers), await signIn(headers)]
      for (const values of [
        [one.value, two.value],
        [two.value, one.value],
        [one.value, ''],
        ['', one.value],
        [one.value, one.value],
      ]) {
        const Cookie = values.map((value) => `${name}=${value}`).join('; ')
        const requests = [
          { path: `${API}/session`, headers: { ...SCRIPT, ...headers, Cookie } },
          { path: '/_cardea/', headers: { ...NAVIGATION, ...headers, Cookie } },
        ]
        for (const request of requests) {
          const reply = await send(document, request)
          assert.equal(reply.status, 400, `${scheme} ${request.path}`)
          assert.match(reply.json.reason, /sent twice/)
        }
      }
    }
  })

  it('is removed under the name it was set with', async () => {
    for (const [scheme, headers] of Object.entries(SCHEMES)) {
      const out = await send(document, { method: 'DELETE', path: `${API}/session`, headers: { ...SCRIPT, ...headers } })
      const path = scheme === 'TLS' ? '__Host-CardeaAdmin=; Path=/;' : 'CardeaAdmin=; Path=/_cardea/;'
      assert.equal(out.header('set-cookie')?.startsWith(`${path} Max-Age=0`), true, scheme)
    }
  })
})

describe('the cookie of a sign-in at a provider', () => {
  const open = (headers: Readonly<Record<string, string>>) => createProviderBrowser(document, document, headers)

  it('has the prefix __Host- where the client uses TLS, also behind a trusted proxy', async () => {
    const path = '/_cardea/sign-in/providers/work'
    const lineOf = async (headers: object) =>
      (await send(document, { method: 'POST', path, headers: { ...headers }, body: {} })).header('set-cookie') ?? ''
    const attributes = 'Max-Age=600; HttpOnly; SameSite=Strict'
    assert.match(await lineOf(TLS), new RegExp(`^__Host-CardeaSignIn=[^;]+; Path=/; ${attributes}; Secure$`))
    assert.match(await lineOf({}), new RegExp(`^CardeaSignIn=[^;]+; Path=/_cardea/sign-in; ${attributes}$`))
  })

  it('signs in under the one name of its scheme, once', async () => {
    const rows: readonly [name: string, status: number][] = [
      ['CardeaSignIn', 403],
      ['__Host-CardeaSignIn', 200],
    ]
    for (const [name, status] of rows) {
      const browser = open(TLS)
      const query = await browser.visit('work')
      const cookie = browser.cookies.get('__Host-CardeaSignIn') ?? assert.fail('no cookie')
      browser.cookies.clear()
      browser.cookies.set(name, cookie)
      assert.equal((await browser.finish('work', query)).status, status, name)
    }
  })

  it('is refused beside that of another browser, which a sibling host has set', async () => {
    const [victim, attacker] = [open({}), open({})]
    await victim.visit('work')
    const query = await attacker.visit('work')
    const own = victim.cookies.get('CardeaSignIn')
    const tossed = attacker.cookies.get('CardeaSignIn')
    for (const pair of [`${tossed}; CardeaSignIn=${own}`, `${own}; CardeaSignIn=${tossed}`]) {
      victim.cookies.set('CardeaSignIn', pair)
      const reply = await victim.finish('work', query)
      assert.equal(reply.status, 400)
      assert.match(reply.reason, /sent twice/)
    }
    assert.equal(victim.cookies.has('AuthSession'), false)
  })
})

it('the session cookie with the prefix is not found within the value of another cookie', async () => {
  const body = { name: 'admin', password: 'adminpw' }
  const opened = await send(document, { method: 'POST', path: '/_session', headers: TLS, body })
  const own = opened.header('set-cookie')?.split(';')[0] ?? ''
  assert.match(own, /^__Host-AuthSession=./)
  const who = async (Cookie: string) =>
    (await send(document, { path: '/_session', headers: { ...TLS, Cookie } })).json.userCtx.name
  assert.equal(await who(`theme=a; ${own}`), 'admin')
  for (const Cookie of [`theme=a,${own}`, `theme="a,${own}"`]) assert.equal(await who(Cookie), null, Cookie)
})

it('no database or service gets or sets one of these cookies', async () => {
  const Cookie = [...NAMES.map((name) => `${name}=secret`), 'theirs=1'].join('; ')
  const reply = await send(document, { path: '/db', headers: { ...ADMIN, Cookie } })
  assert.equal(backend.seen.at(-1)?.header('cookie'), 'theirs=1')
  assert.deepEqual(reply.lines['set-cookie'], ['theirs=1'])
})
