/** A change of the configuration over HTTP that would refuse the request that makes it is refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { mintProxyToken } from '../../src/auth/proxy.ts'
import { AS_ADMIN, createAsk, type Reply, type RequestDetails } from '../support/request.ts'
import { type AnyOptions, type Server, startServer, startServerWithFiles } from '../support/server.ts'
import { mintJwt } from './document/session-server.ts'
import { serve } from './library/server.ts'

const CONFIG = '/_node/_local/_config'
const PAGE = 'https://app.example'

interface Row {
  readonly name: string
  /** An option of the document door, and its new value; without one it is removed. */
  readonly change: readonly [option: string, value?: string]
  /** Options that are set before, at run time. */
  readonly before?: readonly (readonly [option: string, value: string])[]
  /** What it signs in with instead of Basic. */
  readonly by?: 'cookie' | 'jwt' | 'cookie of a JWT' | 'proxy'
  readonly headers?: Readonly<Record<string, string>>
  /** The address to which the request goes. */
  readonly at?: string
}

const FROM_PAGE: Pick<Row, 'before' | 'headers'> = {
  before: [
    ['chttpd/enable_cors', 'true'],
    ['cors/origins', PAGE],
  ],
  headers: { origin: PAGE },
}

const SECRET = 'a secret of this test'
const KEY = 'another secret of this test, of 32 bytes'
const KEY_TEXT = Buffer.from(KEY).toString('base64')
const WITH_KEY: Row['before'] = [
  ['chttpd/authentication_handlers', 'jwt,proxy,cookie,default'],
  ['jwt_keys/hmac:ops', KEY_TEXT],
  ['jwt_keys/hmac:other', KEY_TEXT],
]
const WITH_PROXY_SECRET: Row['before'] = [
  ['chttpd/authentication_handlers', 'proxy,cookie,default'],
  ['chttpd_auth/proxy_use_secret', 'true'],
]

const REFUSED: readonly Row[] = [
  { name: 'hosts are checked and none is valid', change: ['chttpd/validate_host', 'true'] },
  {
    name: 'the host of the request is not valid',
    before: [['chttpd/valid_hosts', 'db.example']],
    change: ['chttpd/validate_host', 'true'],
  },
  {
    name: 'the valid hosts are removed',
    before: [
      ['chttpd/valid_hosts', '127.0.0.1'],
      ['chttpd/validate_host', 'true'],
    ],
    change: ['chttpd/valid_hosts'],
  },
  { name: 'Basic is no longer read', change: ['chttpd/authentication_handlers', 'cookie'] },
  { name: 'cookies are no longer read', change: ['chttpd/authentication_handlers', 'default'], by: 'cookie' },
  { name: 'the page may not read replies', ...FROM_PAGE, change: ['cors/origins', 'https://other.example'] },
  { name: 'no page may read replies', ...FROM_PAGE, change: ['chttpd/enable_cors'] },
  { name: 'the path is too long', change: ['chttpd/max_uri_length', '8'] },
  { name: 'the body is too long', change: ['chttpd/max_http_request_size', '1'] },
  { name: 'connections begin with another header', change: ['door/proxy-protocol', 'document'] },
  { name: 'the listener is closed at the next start', change: ['chttpd/port', 'none'] },
  {
    name: 'the listener has another address at the next start',
    at: '127.0.0.2',
    change: ['chttpd/bind_address', '127.0.0.1'],
  },
  { name: 'the key of its token is removed', by: 'jwt', before: WITH_KEY, change: ['jwt_keys/hmac:ops'] },
  {
    name: 'the key of its token gives no role',
    by: 'jwt',
    before: WITH_KEY,
    change: ['jwt_key_limits/hmac:ops', 'roles=editor'],
  },
  {
    name: 'the key is removed of the token that opened its session',
    by: 'cookie of a JWT',
    before: WITH_KEY,
    change: ['jwt_keys/hmac:ops'],
  },
  {
    name: 'the proxy signs with another secret',
    by: 'proxy',
    before: WITH_PROXY_SECRET,
    change: ['chttpd_auth/secret', 'another secret'],
  },
  { name: 'the listener has an address of IPv6 only at the next start', change: ['chttpd/bind_address', '::1'] },
]

const ACCEPTED: readonly Row[] = [
  {
    name: 'the host of the request is valid',
    before: [['chttpd/valid_hosts', '127.0.0.1']],
    change: ['chttpd/validate_host', 'true'],
  },
  { name: 'the kind of its credential is read', change: ['chttpd/authentication_handlers', 'default'] },
  { name: 'every request needs a credential', change: ['chttpd/require_valid_user', 'true'] },
  {
    name: 'another page may not read replies',
    ...FROM_PAGE,
    headers: {},
    change: ['cors/origins', 'https://b.example'],
  },
  { name: 'the secret of its cookie is replaced', change: ['chttpd_auth/secret', 'another secret'], by: 'cookie' },
  { name: 'another key is removed', by: 'jwt', before: WITH_KEY, change: ['jwt_keys/hmac:other'] },
  {
    name: 'the key of its token gives its role',
    by: 'jwt',
    before: WITH_KEY,
    change: ['jwt_key_limits/hmac:ops', 'roles=_admin'],
  },
  {
    name: 'the secret is replaced that proxies need not know',
    by: 'proxy',
    before: [
      ['chttpd/authentication_handlers', 'proxy,default'],
      ['chttpd_auth/proxy_use_secret', 'false'],
    ],
    change: ['chttpd_auth/secret', 'another secret'],
  },
  { name: 'the listener has another port at the next start', change: ['chttpd/port', '12345'] },
  {
    name: 'the listener has the address of the request at the next start',
    at: '127.0.0.2',
    change: ['chttpd/bind_address', '127.0.0.2'],
  },
  {
    name: 'an earlier change has moved the listener',
    at: '127.0.0.2',
    before: [['chttpd/bind_address', '127.0.0.1']],
    change: ['chttpd_auth/timeout', '700'],
  },
  {
    name: 'the listener is reached again',
    at: '127.0.0.2',
    before: [['chttpd/bind_address', '127.0.0.1']],
    change: ['chttpd/bind_address'],
  },
]

/** Without flags for the options above, which would have precedence. */
async function start(t: Parameters<typeof startServerWithFiles>[0]): Promise<Server> {
  const file = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'local.ini')
  writeFileSync(file, `[chttpd]\nport = 0\nbind_address = 0.0.0.0\n[chttpd_auth]\nsecret = ${SECRET}\n`)
  const options: AnyOptions = { chttpd: { port: undefined }, chttpd_auth: { secret: undefined } }
  return reach(await startServerWithFiles(t, [file], options), {})
}

/** The server as the request of the row reaches it. */
const reach = (server: Server, { at = '127.0.0.1' }: Pick<Row, 'at'>): Server => ({
  ...server,
  document: server.document.replace(/0\.0\.0\.0|127\.0\.0\.1/, at),
})

async function prepare({ document }: Server, { before = [], by, headers = {} }: Row): Promise<RequestDetails> {
  const ask = createAsk(document)
  for (const [option, value] of before)
    assert.equal((await ask('PUT', `${CONFIG}/${option}`, { as: AS_ADMIN, body: JSON.stringify(value) })).status, 200)
  if (by === undefined) return { as: AS_ADMIN, headers }
  if (by === 'proxy') return { headers: { ...headers, ...BY_PROXY } }
  const claims = { sub: 'ops', '_couchdb.roles': ['_admin'], exp: Math.floor(Date.now() / 1000) + 600 }
  const bearer = { authorization: `Bearer ${mintJwt(claims, KEY, { kid: 'ops' })}` }
  if (by === 'jwt') return { headers: { ...headers, ...bearer } }
  const opened = await (by === 'cookie'
    ? ask('POST', '/_session', { body: { name: 'admin', password: 'adminpw' } })
    : ask('POST', '/_session', { headers: bearer }))
  return { headers: { ...headers, cookie: opened.header('set-cookie')?.split(';')[0] ?? '' } }
}

const BY_PROXY = {
  'x-auth-couchdb-username': 'ops',
  'x-auth-couchdb-roles': '_admin',
  'x-auth-couchdb-token': mintProxyToken('ops', { secret: Buffer.from(SECRET), algorithm: 'sha256' }),
}

const change = ({ document }: Server, [option, value]: Row['change'], details: RequestDetails): Promise<Reply> =>
  value === undefined
    ? createAsk(document)('DELETE', `${CONFIG}/${option}`, details)
    : createAsk(document)('PUT', `${CONFIG}/${option}`, { ...details, body: JSON.stringify(value) })

describe('a change over HTTP is refused if afterwards', () => {
  for (const row of REFUSED) {
    test(row.name, async (t) => {
      const server = await start(t)
      const details = await prepare(server, row)
      const { status, body } = await change(reach(server, row), row.change, details)
      assert.equal(status, 400, body)
      assert.match(body, /would refuse this request/)
      for (const [option, value] of row.before ?? [])
        assert.ok(
          [value, '***'].includes((await createAsk(server.document)('GET', `${CONFIG}/${option}`, details)).json),
        )
    })
  }
})

test('an expiry may be shorter than the session that sets it, because signing in again undoes it', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const server = await start(t)
  const details = await prepare(server, { name: '', by: 'cookie', change: [''] })
  t.mock.timers.tick(300_000)
  for (const option of ['chttpd_auth/timeout', 'chttpd_auth/max_lifetime', 'admin/session-timeout']) {
    const { status, body } = await change(server, [option, '200'], { ...details })
    assert.equal(status, 200, `${option}: ${body}`)
    assert.equal((await change(server, [option], { as: AS_ADMIN })).status, 200)
  }
})

test('a program that serves the document door through its own listener can change options without chttpd.port', async (t) => {
  const { cardea } = await startServer(t, { chttpd: { port: 'none' } })
  const ask = createAsk(await serve(t, (request, response) => void cardea.handle(request, response)))
  const reply = await ask('PUT', `${CONFIG}/chttpd_auth/timeout`, { as: AS_ADMIN, body: '"700"' })
  assert.equal(reply.status, 200, reply.body)
})

describe('a change over HTTP is made if afterwards', () => {
  for (const row of ACCEPTED) {
    test(row.name, async (t) => {
      const server = await start(t)
      const details = await prepare(server, row)
      const { status, body } = await change(reach(server, row), row.change, details)
      assert.equal(status, 200, body)
    })
  }
})

test('a preview of the admin API and its change say the same', async (t) => {
  const server = await start(t)
  const ask = createAsk(server.document)
  const path = '/_cardea/api/settings/chttpd/authentication_handlers'
  const preview = await ask('POST', `${path}/preview`, { as: AS_ADMIN, body: { value: 'cookie' } })
  assert.match(preview.json.problems.join(), /would refuse this request/)
  const { status, body } = await ask('PUT', path, { as: AS_ADMIN, body: { value: 'cookie' } })
  assert.equal(status, 400, body)
  assert.match(body, /would refuse this request/)
})

test('while a change is tried, other requests see nothing of it', async (t) => {
  const server = await start(t)
  const tried = change(server, ['chttpd/validate_host', 'true'], { as: AS_ADMIN })
  const others = await Promise.all(Array.from({ length: 50 }, () => createAsk(server.document)('GET', '/')))
  assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([200]))
  assert.equal((await tried).status, 400)
})
