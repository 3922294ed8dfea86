// admin.endpoint: a listener for Cardea's own paths, whatever the doors ask for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API, createBrowser, tokenOf, withToken } from '../support/browser.ts'
import { buildConsole, findAsset } from '../support/console.ts'
import { sendHttp2 } from '../support/http2.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

buildConsole()
const { addresses } = await startServer(createSharedScope(), {
  admin: { endpoint: 'tcp://127.0.0.1:0' },
  chttpd: { require_valid_user: true },
  server: { 'authentication-system-only': false },
})
const { admin } = addresses
const [url = ''] = admin

test('the admin endpoint listens only if it is configured', async (t) => {
  assert.equal(admin.length, 1)
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.deepEqual((await startServer(t)).addresses.admin, [])
})

test('the admin endpoint serves only the paths of Cardea', async () => {
  const rows: readonly [path: string, status: number][] = [
    ['/', 303],
    ['/_cardea', 308],
    ['/_cardea/', 200],
    [findAsset('.js'), 200],
    ['/.well-known/jwks.json', 200],
    ['/_cardea/live', 200],
    ['/_cardea/ready', 200],
    [`${API}/session`, 200],
    [`${API}/health`, 401],
    ['/_session', 404],
    ['/_api/version', 404],
    ['/db', 404],
    ['/_gate', 404],
  ]
  for (const [path, status] of rows) assert.equal((await send(url, { path })).status, status, path)
  for (const path of ['/_session', '/_api/version', '/db', '/_gate'])
    assert.equal((await send(url, { path, headers: ADMIN })).status, 404, path)
})

test('programs use the admin endpoint with Basic', async () => {
  assert.equal((await send(url, { path: `${API}/users`, headers: ADMIN })).status, 200)
})

test('the admin endpoint speaks HTTP/2, with the same rights', async () => {
  assert.equal((await sendHttp2(`${url}${API}/users`, { headers: ADMIN })).status, 200)
  assert.equal((await sendHttp2(`${url}${API}/users`, {})).status, 401)
  assert.equal((await sendHttp2(`${url}/_session`, { headers: ADMIN })).status, 404)
})

test('over plain HTTP, without Sec-Fetch headers, the page contains the page token', async () => {
  const plain = { Host: 'db.example:8530' }
  const browser = createBrowser(url, plain)
  const headers = { 'Sec-Fetch-Site': '', 'Sec-Fetch-Mode': '', 'Sec-Fetch-Dest': '' }
  const json = { name: 'admin', password: 'adminpw' }
  const sent = {
    ...plain,
    'Content-Type': 'application/json',
    'X-Cardea-Control': '1',
    Origin: 'http://db.example:8530',
  }
  const opened = await send(url, { method: 'POST', path: `${API}/session`, headers: sent, body: JSON.stringify(json) })
  assert.equal(opened.status, 200, opened.body)
  browser.cookie = (opened.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
  const token = tokenOf(await browser.openPage({}))
  assert.match(token, /^[\w-]{43}$/)
  const answer = await send(url, {
    path: `${API}/users`,
    headers: { ...plain, Cookie: browser.cookie, 'X-Cardea-Control': '1', ...withToken(token) },
  })
  assert.equal(answer.status, 200, answer.body)
  assert.equal(
    tokenOf(await browser.openPage({ ...headers, 'Sec-Fetch-Dest': 'empty' })),
    '',
    'where they do, they count',
  )
})

test('at doors that require a credential the page and the sign-in require one too', async () => {
  for (const door of [...addresses.document, ...addresses.multiModel])
    for (const path of ['/_cardea/', findAsset('.js'), `${API}/session`]) {
      assert.equal((await send(door, { path })).status, 401, `${door}${path}`)
      assert.equal((await send(door, { path, headers: ADMIN })).status, 200, `${door}${path}`)
    }
})
