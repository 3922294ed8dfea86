// Changes that a page of another origin could make with the credentials of the browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Request, send } from '../../support/request.ts'
import { type Row, runRows } from '../../support/rows.ts'
import { type AnyOptions, startServer } from '../../support/server.ts'

const EVIL = 'https://evil.example'
const APP = 'https://app.example'
const CORS = { chttpd: { enable_cors: true }, cors: { origins: APP } }
const REFUSAL = { error: 'forbidden', reason: 'A page of another origin may not send this request.' }

const signIn = (headers: Readonly<Record<string, string>>): Request => ({
  method: 'POST',
  path: '/_session',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  body: 'name=admin&password=adminpw',
})

const row = (name: string, sent: Request, isRefused: boolean, options?: AnyOptions): Row => ({
  name: `POST /_session ${name}: ${isRefused ? 'refused' : 'accepted'}`,
  ...sent,
  ...(options && { options }),
  expect: { status: isRefused ? 403 : 200, ...(isRefused && { json: REFUSAL, headers: { 'set-cookie': undefined } }) },
})

const json = { 'Content-Type': 'application/json' }

runRows('document', [
  row('by a program', signIn({}), false),
  row('by a form of another origin', signIn({ Origin: EVIL }), true),
  row('by a form of another origin, without Origin', signIn({ 'Sec-Fetch-Site': 'cross-site' }), true),
  row('by a form of this origin', signIn({ Host: 'door.example', Origin: 'http://door.example' }), false),
  row('by a form of an origin in [cors]', signIn({ Origin: APP }), false, CORS),
  row('by a form of an origin not in [cors]', signIn({ Origin: EVIL }), true, CORS),
  row('by a form of an origin in [cors] while CORS is off', signIn({ Origin: APP }), true, { cors: { origins: APP } }),
  row(
    'with JSON, which a browser sends only after a preflight',
    { ...signIn({ ...json, Origin: EVIL }), body: '{"name":"admin","password":"adminpw"}' },
    false,
  ),
])

const RELOAD = '/_node/_local/_config/_reload'

test('a change from another origin with a cookie or a remembered password is rejected, on any path', async (t) => {
  const { document: door } = await startServer(t)
  const [cookie = ''] = ((await send(door, signIn({}))).lines['set-cookie']?.[0] ?? '').split(';')
  const basic = `Basic ${Buffer.from('admin:adminpw').toString('base64')}`
  for (const credential of [{ Cookie: cookie }, { Authorization: basic }]) {
    for (const path of [RELOAD, '/_users/_bulk_docs', '/somewhere/_design/x/_update/y']) {
      const headers = { ...credential, Origin: EVIL, 'Content-Type': 'text/plain' }
      const answer = await send(door, { method: 'POST', path, headers, body: '{}' })
      assert.equal(answer.status, 403, path)
      assert.deepEqual(JSON.parse(answer.body), REFUSAL)
    }
    assert.equal((await send(door, { method: 'POST', path: RELOAD, headers: credential })).status, 200)
  }
})
