// The session of a browser at /_cardea/, and the token that only its own page carries.
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { API, createBrowser, NAVIGATION, SCRIPT, tokenOf, withToken } from '../support/browser.ts'
import { buildConsole, findAsset } from '../support/console.ts'
import { ADMIN, basic, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

buildConsole()
// the same timeout for both kinds of session, so that only their purpose tells their cookies apart
const { document, multiModel } = await startServer(createSharedScope(), {
  admin: { 'session-timeout': 600 },
  chttpd_auth: { timeout: 600 },
})
const DOORS = { document, multiModel }

const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]
const FOREVER = 'public, max-age=31536000, immutable'
const NEEDS_TOKEN = [403, 'page_token_required']

async function openSignedIn(url: string, name = 'admin', password = 'adminpw') {
  const browser = createBrowser(url)
  const answer = await browser.signIn(name, password)
  assert.equal(answer.status, 200, answer.body)
  return { browser, answer, token: tokenOf(await browser.openPage()) }
}

for (const [door, url] of Object.entries(DOORS)) {
  describe(`at the ${door} door`, () => {
    it('a browser signs in, makes a change and signs out', async () => {
      const { browser, answer, token } = await openSignedIn(url)
      assert.match(
        answer.lines['set-cookie']?.join() ?? '',
        /^CardeaAdmin=[\w-]+; Path=\/_cardea\/; HttpOnly; SameSite=Strict$/,
      )
      const { name, isAdministrator } = JSON.parse((await browser.ask('/session')).body)
      assert.deepEqual({ name, isAdministrator }, { name: 'admin', isAdministrator: true })
      const json = { name: `new-${door}`, password: 'x' }
      assert.equal((await browser.ask('/users', { method: 'POST', json, headers: withToken(token) })).status, 200)
      const copy = browser.cookie
      const out = await browser.ask('/session', { method: 'DELETE', headers: withToken(token) })
      assert.equal(out.status, 200)
      assert.match(out.lines['set-cookie']?.join() ?? '', /^CardeaAdmin=; .*Max-Age=0;/)
      browser.cookie = copy
      assert.equal(JSON.parse((await browser.ask('/session')).body).name, null, 'a copy of the cookie is worth nothing')
    })

    it('a wrong password opens no session and sends no challenge', async () => {
      const answer = await createBrowser(url).signIn('admin', 'wrong')
      assert.deepEqual(errorOf(answer), [401, 'credential_refused'])
      assert.equal(answer.headers['www-authenticate'], undefined)
      assert.equal(answer.headers['set-cookie'], undefined)
    })

    it('a session without the page token is rejected', async () => {
      const { browser, token } = await openSignedIn(url)
      const other = await openSignedIn(url)
      const json = { name: 'eve', password: 'x' }
      for (const headers of [{}, withToken(''), withToken('x'), withToken(other.token)]) {
        assert.deepEqual(errorOf(await browser.ask('/users', { method: 'POST', json, headers })), NEEDS_TOKEN)
        assert.deepEqual(errorOf(await browser.ask('/users', { headers })), NEEDS_TOKEN, 'nor read')
        assert.deepEqual(errorOf(await browser.ask('/session', { method: 'DELETE', headers })), NEEDS_TOKEN)
      }
      assert.equal((await browser.ask('/users', { headers: withToken(token) })).status, 200)
    })

    it('only a page opened by navigation contains the page token', async () => {
      const { browser, token } = await openSignedIn(url)
      assert.match(token, /^[\w-]{43}$/)
      for (const headers of [
        SCRIPT,
        { ...NAVIGATION, 'Sec-Fetch-Dest': 'iframe' },
        { ...NAVIGATION, 'Sec-Fetch-Dest': 'object' },
        { ...NAVIGATION, 'Sec-Fetch-Mode': 'no-cors' },
        {},
      ])
        assert.equal(tokenOf(await browser.openPage(headers)), '', JSON.stringify(headers))
      assert.equal(tokenOf(await createBrowser(url).openPage()), '', 'nor without a session')
    })

    it('every response forbids frames, openers, sniffing and caching', async () => {
      const files = [findAsset('.js'), findAsset('.css')]
      for (const path of ['/_cardea/', ...files, `${API}/session`, `${API}/users`]) {
        const { headers } = await send(url, { path, headers: NAVIGATION })
        assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/, path)
        assert.equal(headers['cross-origin-opener-policy'], 'same-origin', path)
        assert.equal(headers['cross-origin-resource-policy'], 'same-origin', path)
        assert.equal(headers['x-frame-options'], 'DENY', path)
        assert.equal(headers['x-content-type-options'], 'nosniff', path)
        // the name of a file changes with its content, and it is the same for every user
        assert.equal(headers['cache-control'], files.includes(path) ? FOREVER : 'no-store', path)
      }
    })
  })
}

test('the page allows only its own script, with a new nonce each time', async () => {
  const pages = [await createBrowser(DOORS.document).openPage(), await createBrowser(DOORS.document).openPage()]
  const nonces = pages.map(({ headers, body }) => {
    const [, nonce = ''] = /script-src 'nonce-([\w-]+)'/.exec(String(headers['content-security-policy'])) ?? []
    const script = `<script type="module" crossorigin src="${findAsset('.js')}" nonce="${nonce}"></script>`
    assert.ok(body.includes(script), body)
    assert.doesNotMatch(body, /<script(?![^>]*src=)|\{\{| on[a-z]+=/)
    return nonce
  })
  assert.notEqual(nonces[0], nonces[1])
})

test('cookies of the document door and of the admin session are not interchangeable', async () => {
  const url = DOORS.document
  const body = 'name=admin&password=adminpw'
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const opened = await send(url, { method: 'POST', path: '/_session', headers: type, body })
  const [cookie = ''] = (opened.lines['set-cookie']?.[0] ?? '').split(';')
  const value = cookie.slice('AuthSession='.length)
  for (const headers of [
    { Cookie: cookie },
    { Cookie: `CardeaAdmin=${value}` },
    { Cookie: `${cookie}; CardeaAdmin=${value}` },
  ])
    assert.deepEqual(
      errorOf(await send(url, { path: `${API}/users`, headers: { ...headers, 'X-Cardea-Control': '1' } })),
      [401, 'authentication_required'],
    )
  const { browser } = await openSignedIn(url)
  const Cookie = browser.cookie.replace('CardeaAdmin', 'AuthSession')
  assert.equal(JSON.parse((await send(url, { path: '/_session', headers: { Cookie } })).body).userCtx.name, null)
})

test('a password change or a sign-out by an administrator ends a session at both doors', async () => {
  const add = async (name: string) => {
    const json = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name, password: 'first' })
    await send(DOORS.document, { method: 'POST', path: `${API}/users`, headers: { ...ADMIN, ...json }, body })
  }
  const change = (method: string, path: string, body?: object) =>
    send(DOORS.document, {
      method,
      path: `${API}/users/${path}`,
      headers: { ...ADMIN, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  await add('mia')
  const endings = [() => change('PUT', 'mia/password', { password: 'second' }), () => change('POST', 'mia/sign-out')]
  for (const [at, end] of endings.entries()) {
    const { browser } = await openSignedIn(DOORS.document, 'mia', at === 0 ? 'first' : 'second')
    const other = createBrowser(DOORS.multiModel)
    other.cookie = browser.cookie
    for (const each of [browser, other]) assert.equal(JSON.parse((await each.ask('/session')).body).name, 'mia')
    assert.equal((await end()).status, 200)
    for (const each of [browser, other]) assert.equal(JSON.parse((await each.ask('/session')).body).name, null)
  }
})

test('a user who is not an administrator has a session but no access to the API', async () => {
  const headers = { ...ADMIN, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ name: 'joe', password: 'pw' })
  await send(DOORS.document, { method: 'POST', path: `${API}/users`, headers, body })
  const { browser, token } = await openSignedIn(DOORS.document, 'joe', 'pw')
  assert.deepEqual(errorOf(await browser.ask('/users', { headers: withToken(token) })), [403, 'admin_required'])
})

test('a page of another origin does not sign a browser in', async () => {
  const browser = createBrowser(DOORS.document, { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' })
  const call = {
    method: 'POST',
    json: { name: 'admin', password: 'adminpw' },
    headers: { 'Sec-Fetch-Site': 'cross-site' },
  }
  assert.deepEqual(errorOf(await browser.ask('/session', call)), [403, 'cross_origin'])
})

test('a change by cookie is rejected from another origin, even with the correct page token', async () => {
  for (const url of Object.values(DOORS)) {
    const { browser, token } = await openSignedIn(url, 'admin', 'adminpw')
    const ask = (headers: Record<string, string>) =>
      browser.ask('/users', { method: 'POST', json: { name: 'x y' }, headers: { ...withToken(token), ...headers } })
    for (const site of ['cross-site', 'same-site'])
      assert.deepEqual(errorOf(await ask({ 'Sec-Fetch-Site': site })), [403, 'cross_origin'], site)
    const reading = { headers: { ...withToken(token), 'Sec-Fetch-Site': 'cross-site' } }
    assert.equal((await browser.ask('/users', reading)).status, 200)
  }
})

test('a prefetched page carries no page token', async () => {
  const { browser } = await openSignedIn(DOORS.document, 'admin', 'adminpw')
  assert.notEqual(tokenOf(await browser.openPage()), '')
  for (const purpose of ['prefetch', 'prefetch;prerender'])
    for (const name of ['Sec-Purpose', 'Purpose', 'X-Purpose', 'X-Moz'])
      assert.equal(tokenOf(await browser.openPage({ ...NAVIGATION, [name]: purpose })), '', `${name}: ${purpose}`)
})

test('a page that a service worker preloads carries no page token', async () => {
  for (const url of Object.values(DOORS)) {
    const { browser } = await openSignedIn(url)
    for (const value of ['true', 'any value', '']) {
      const page = await browser.openPage({ ...NAVIGATION, 'Service-Worker-Navigation-Preload': value })
      assert.equal(tokenOf(page), '', value)
      assert.match(String(page.headers['vary']), /\bService-Worker-Navigation-Preload\b/)
    }
  }
})

test('over plain HTTP to another host a browser cannot sign in, and the error says what to do', async () => {
  for (const url of Object.values(DOORS)) {
    const browser = createBrowser(url, { Host: 'db.example:5984' })
    const answer = await browser.signIn('admin', 'adminpw')
    assert.equal(answer.status, 403)
    assert.match(JSON.parse(answer.body).reason, /admin\.endpoint/)
    assert.equal(answer.headers['set-cookie'], undefined)
    assert.match((await browser.openPage({})).body, /name="cardea-sign-in" content="closed"/)
  }
})

test('behind a trusted proxy that ends TLS a browser signs in, and the cookie is Secure', async () => {
  const browser = createBrowser(DOORS.document, { Host: 'db.example', 'X-Forwarded-Proto': 'https' })
  const answer = await browser.signIn('admin', 'adminpw')
  assert.equal(answer.status, 200, answer.body)
  assert.match(answer.lines['set-cookie']?.join() ?? '', /; Secure$/)
})

describe('the own password of an administrator', () => {
  const put = (json: object) => ({ method: 'PUT', json })

  it('needs the current password once the session is older than admin.reauthenticate-after', async (t) => {
    const own = await startServer(t, { admin: { 'reauthenticate-after': 1 } })
    const { browser, token } = await openSignedIn(own.document)
    const ask = (json: object) => browser.ask('/administrators/admin', { ...put(json), headers: withToken(token) })
    // a wrong new form changes nothing, and is looked at first
    let answer: Reply
    do answer = await browser.ask('/users/admin', { method: 'DELETE', headers: withToken(token) })
    while (answer.status === 404)
    assert.deepEqual(errorOf(answer), [403, 'password_required'])
    assert.deepEqual(errorOf(await ask({ password: 'next' })), [403, 'password_required'])
    assert.deepEqual(errorOf(await ask({ password: 'next', current_password: 'wrong' })), [403, 'password_required'])
    assert.equal((await ask({ password: 'next', current_password: 'adminpw' })).status, 200)
  })

  it('is changed by Basic with the password, not by a token that was signed elsewhere', async () => {
    const headers = { Authorization: basic('admin', 'adminpw'), 'Content-Type': 'application/json' }
    const body = JSON.stringify({ password: 'adminpw' })
    const answer = await send(DOORS.document, { method: 'PUT', path: `${API}/administrators/admin`, headers, body })
    assert.equal(answer.status, 200, answer.body)
  })
})
