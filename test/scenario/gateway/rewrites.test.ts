// One test for each rewrite in the table of docs/reference/paths.md, by the name in its first column.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { request, sendRaw } from '../../support/raw.ts'
import { ADMIN, basic, type Reply, type Request, send } from '../../support/request.ts'
import { type DoorName, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, type Seen } from '../../support/upstream.ts'

const backend = await openBackend({ after }, (incoming, response) => {
  if (incoming.url === '/') response.writeHead(301, { Location: '/_db/_system/_admin/aardvark/index.html' }).end()
  else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
})
const upstream = {
  upstream: { ...beforeDocument(backend.url)['upstream'], ...beforeMultiModel({ after }, backend.url)['upstream'] },
}
const front = await startServer({ after }, upstream)
const guarded = await startServer({ after }, upstream, {
  upstream: { 'document-rewrites': false },
  chttpd: { validate_host: true, valid_hosts: '127.0.0.1, app.example' },
})

const ANN = { Authorization: basic('ann', 'apple') }

before(async () => {
  const asAdmin = (method: string, path: string, value: object) =>
    send(front.multiModel, {
      method,
      path,
      headers: { ...ADMIN, 'Content-Type': 'application/json' },
      body: JSON.stringify(value),
    })
  await asAdmin('POST', '/_api/user', { user: 'ann', passwd: 'apple' })
  await asAdmin('PUT', '/_api/user/ann/database/*', { grant: 'rw' })
  for (const name of ['secret', 'a b', 'café'])
    await asAdmin('PUT', `/_api/user/ann/database/${encodeURIComponent(name)}`, { grant: 'none' })
})

interface Outcome {
  readonly status: number
  readonly seen: Seen | undefined
  readonly answer: Reply
}

async function ask(door: DoorName, sent: Request, of = front): Promise<Outcome> {
  const from = backend.seen.length
  const answer = await send(of[door], sent)
  return { status: answer.status, seen: backend.seen.slice(from).find(({ url }) => url === sent.path), answer }
}

async function assertForwarded(door: DoorName, sent: Request): Promise<Seen> {
  const { status, seen } = await ask(door, sent)
  assert.equal(status, 200, `${sent.method ?? 'GET'} ${sent.path}`)
  assert.ok(seen, `${sent.path} is forwarded byte for byte`)
  return seen
}

async function assertStopped(door: DoorName, sent: Request, expected: number, of = front): Promise<void> {
  const { status, seen } = await ask(door, sent, of)
  assert.deepEqual([status, seen], [expected, undefined], `${door} ${sent.path}`)
}

async function assertRawStopped(door: DoorName, text: string): Promise<string> {
  const from = backend.seen.length
  const answer = await sendRaw(Number(new URL(front[door]).port), text)
  assert.deepEqual([answer.status, backend.seen.length], [400, from], text)
  return answer.text
}

const BOTH: readonly DoorName[] = ['document', 'multiModel']

const TESTS: Readonly<Record<string, () => Promise<void>>> = {
  'API version prefix': async () => {
    await assertStopped('multiModel', { path: '/_arango/v0/_db/secret/_api/engine', headers: ANN }, 401)
    await assertForwarded('multiModel', { path: '/_arango/v0/_db/open/_api/engine', headers: ANN })
  },
  'database prefix': async () => {
    await assertStopped('multiModel', { path: '/_db/secret/_api/engine', headers: ANN }, 401)
    await assertStopped('multiModel', { path: '/_db/s%65cret/_api/engine', headers: ANN }, 401)
    await assertStopped('multiModel', { path: '/_db/open/_db/secret/_api/engine', headers: ANN }, 400)
    await assertForwarded('multiModel', { path: '/_db/open/_api/engine', headers: ANN })
  },
  'plus sign in a database name': async () => {
    await assertStopped('multiModel', { path: '/_db/a+b/_api/engine', headers: ANN }, 400)
    await assertStopped('multiModel', { path: '/_db/a%20b/_api/engine', headers: ANN }, 401)
    await assertForwarded('multiModel', { path: '/_db/a%2Bb/_api/engine', headers: ANN })
  },
  'Unicode form of a database name': async () => {
    await assertStopped('multiModel', { path: '/_db/caf%C3%A9/_api/engine', headers: ANN }, 401)
    await assertStopped('multiModel', { path: '/_db/cafe%CC%81/_api/engine', headers: ANN }, 400)
  },
  'repeated slashes': async () => {
    for (const door of BOTH)
      for (const path of ['//_users', '/db//doc', '/_db//secret/_api', '///_api/engine'])
        await assertStopped(door, { path, headers: ADMIN }, 400)
  },
  'trailing slash': async () => {
    await assertForwarded('document', { path: '/db/' })
    await assertForwarded('multiModel', { path: '/_api/engine/', headers: ADMIN })
    await assertStopped('document', { path: '/_users/_all_docs/' }, 401)
    await assertStopped('multiModel', { path: '/_api/user/' }, 401)
  },
  'dot segments': async () => {
    for (const door of BOTH)
      for (const path of ['/db/../_users', '/db/%2e%2e/_users', '/./_api/engine', '/_open/.%2E/_api/engine'])
        await assertStopped(door, { path, headers: ADMIN }, 400)
  },
  'percent-encoding': async () => {
    await assertStopped('document', { path: '/%5Fusers/_all_docs' }, 401)
    await assertStopped('document', { path: '/_sessio%6E' }, 200)
    await assertStopped('multiModel', { path: '/%5Fapi/engine', headers: ADMIN }, 400)
    await assertStopped('multiModel', { path: '/_db/%5Fsystem/_api/engine', headers: ADMIN }, 400)
  },
  'encoded slash': async () => {
    for (const path of ['/%2f_users', '/db%2f..%2f_users', '/a%5c..%5c_users', '/_users%2F_all_docs'])
      await assertStopped('document', { path, headers: ADMIN }, 400)
    await assertForwarded('document', { path: '/a%2Fb/http%3A%2F%2Fhost%2Fa' })
    await assertStopped('multiModel', { path: '/_db/open%2f_api/engine', headers: ADMIN }, 400)
  },
  'plus sign in a path': async () => {
    await assertForwarded('document', { path: '/db/a+b' })
    await assertForwarded('document', { path: '/_users+/doc', headers: ADMIN })
    await assertStopped('document', { path: '/_users+/doc' }, 401)
  },
  'absolute target': async () => {
    for (const door of BOTH) await assertRawStopped(door, request('http://127.0.0.1/_up'))
  },
  'method override': async () => {
    for (const door of BOTH)
      for (const name of ['X-HTTP-Method-Override', 'x-http-method', 'X_Method_Override'])
        await assertStopped(door, { method: 'POST', path: '/db', headers: { ...ADMIN, [name]: 'DELETE' } }, 400)
  },
  'HEAD as GET': async () => {
    await assertStopped('document', { method: 'HEAD', path: '/_users/_all_docs' }, 401)
    await assertStopped('document', { method: 'HEAD', path: '/_node/other/_stats' }, 401)
    await assertForwarded('document', { method: 'HEAD', path: '/db/doc' })
  },
  'virtual hosts': async () => {
    const path = '/db/doc'
    for (const name of ['_local', 'couchdb@127.0.0.1'])
      await assertStopped(
        'document',
        { method: 'PUT', path: `/_node/${name}/_config/vhosts/evil.example`, headers: ADMIN, body: '"/_node"' },
        403,
      )
    for (const host of ['evil.example', '_users.app.example'])
      for (const headers of [{ Host: host }, { Host: 'app.example', 'X-Forwarded-Host': host }])
        await assertStopped('document', { path, headers }, 400, guarded)
    const headers = { Host: 'app.example:80', 'X-Forwarded-Host': 'app.example' }
    assert.equal((await ask('document', { path, headers }, guarded)).status, 200)
  },
  'path headers': async () => {
    const headers = { 'X-Couchdb-Vhost-Path': '/_users', x_couchdb_requested_path: '/_users' }
    const { raw } = await assertForwarded('document', { path: '/db/doc', headers })
    assert.ok(!raw.includes('/_users'), String(raw))
  },
  '`_rewrite`': async () => {
    const path = '/db/_design/app/_rewrite/x'
    const seen = await assertForwarded('document', { path, headers: ANN })
    assert.match(seen.header('authorization') ?? '', /^Bearer /)
    for (const spelling of [
      path,
      '/db/_design%2Fapp/_rewrite',
      '/db/_design%2Fapp%2F_rewrite/x',
      '/db/_design/a/%5Frewrite',
    ]) {
      await assertStopped('document', { path: spelling }, 403, guarded)
      for (const method of ['GET', 'HEAD', 'PUT', 'POST'])
        await assertStopped('document', { method, path: spelling, headers: ADMIN }, 403)
    }
    assert.equal((await ask('document', { path: '/db/_design/app/_view/x' }, guarded)).status, 200)
  },
  '`_local` node': async () => {
    for (const path of [
      '/_node/_local/_config/admins',
      '/_node/%5Flocal/_config/admins',
      '/%5Fnode/_local/_config/admins',
    ])
      await assertStopped('document', { path, headers: ADMIN }, 200)
    await assertStopped('document', { path: '/_node/_local/_config/admins' }, 401)
  },
  '`_design%2F`': async () => {
    await assertForwarded('document', { path: '/db/_design%2Fapp' })
    await assertForwarded('document', { path: '/db/_design/app' })
    for (const path of ['/_users/_design%2F_auth', '/_users/_design/_auth'])
      await assertStopped('document', { path, headers: ADMIN }, 200)
  },
  '`Destination`': async () => {
    const headers = { Destination: 'other' }
    const seen = await assertForwarded('document', { method: 'COPY', path: '/db/doc', headers })
    assert.deepEqual(seen.all('destination'), ['other'])
  },
  'redirect of `/`': async () => {
    const { answer } = await ask('multiModel', { path: '/', headers: ADMIN })
    const path = answer.headers.location ?? ''
    assert.deepEqual([answer.status, path], [301, '/_db/_system/_admin/aardvark/index.html'])
    await assertStopped('multiModel', { path }, 401)
  },
  batch: async () => {
    for (const path of ['/_api/batch', '/_api/batch/', '/_db/open/_api/batch', '/_arango/v0/_api/batch'])
      await assertStopped('multiModel', { method: 'POST', path, headers: ADMIN }, 403)
    await assertForwarded('multiModel', { path: '/_api/batches', headers: ADMIN })
  },
  'other protocols': async () => {
    await assertRawStopped('multiModel', 'VST/1.1\r\n\r\n')
    const headers = { ...ADMIN, 'HTTP2-Settings': 'AAMAAABk' }
    const seen = await assertForwarded('multiModel', { path: '/_api/engine', headers })
    assert.deepEqual([seen.all('upgrade'), seen.all('http2-settings')], [[], []])
  },
}

for (const [name, run] of Object.entries(TESTS)) test(`rewrite: ${name}`, run)

test('every rewrite of docs/reference/paths.md has a test, and every test a row', () => {
  const page = readFileSync(new URL('../../../docs/reference/paths.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('## Rewrites of the two databases'))
  const names = [...table.matchAll(/^\| (.+?) \|/gm)].map(([, name]) => name).slice(1)
  assert.deepEqual(names, Object.keys(TESTS))
})
