// With gate.sign-in, a browser without a session is sent to the sign-in page; programs keep their 401.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ADMIN, send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

const { document, multiModel } = await startServer(createSharedScope(), { gate: { 'sign-in': true } })

const HTML = { Accept: 'text/html,application/xhtml+xml' }
const PAGE = { 'X-Forwarded-Uri': '/app?a=1&b=2', 'X-Forwarded-Method': 'GET' }
const TARGET = '/_cardea/sign-in?next=%2Fapp%3Fa%3D1%26b%3D2'

describe('/_gate with gate.sign-in', () => {
  const rows: readonly [string, Record<string, string>, number, location?: string][] = [
    ['redirects a browser that opens a page', { ...HTML, ...PAGE }, 302, TARGET],
    ['names the place to nginx', { ...HTML, 'X-Original-URI': '/app?a=1&b=2' }, 401, TARGET],
    ['refuses a wrong credential', { ...HTML, ...PAGE, Authorization: 'Bearer wrong' }, 401],
    ['refuses a client that wants no HTML', { ...PAGE, Accept: 'application/json, text/html;q=0' }, 401],
    [
      'redirects without the way back, if its address is too long',
      { ...HTML, 'X-Forwarded-Uri': `/app?${'a'.repeat(2048)}` },
      302,
      '/_cardea/sign-in',
    ],
    ['refuses a program', { Accept: '*/*', ...PAGE }, 401],
    ['refuses a form', { ...HTML, ...PAGE, 'X-Forwarded-Method': 'POST' }, 401],
    ['refuses without a page to come back to', HTML, 401],
    ['refuses a page of another host', { ...HTML, 'X-Forwarded-Uri': '//example.com/' }, 401],
    ['refuses a URL', { ...HTML, 'X-Original-URI': 'https://example.com/' }, 401],
    ['lets a user pass', { ...HTML, ...PAGE, ...ADMIN }, 204],
  ]
  for (const [name, headers, expected, target] of rows)
    it(name, async () => {
      const { status, lines } = await send(document, { path: '/_gate', headers })
      assert.deepEqual([status, lines['location']?.[0]], [expected, target])
      assert.deepEqual(lines['cache-control'], ['no-store'])
    })

  it('redirects nobody at the multi-model door, which accepts no session cookie', async () => {
    assert.equal((await send(multiModel, { path: '/_gate', headers: { ...HTML, ...PAGE } })).status, 401)
  })

  it('is off by default', async (t) => {
    const server = await startServer(t)
    const { status, lines } = await send(server.document, { path: '/_gate', headers: { ...HTML, ...PAGE } })
    assert.deepEqual([status, lines['location']], [401, undefined])
  })
})
