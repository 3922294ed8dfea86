/** A change of the configuration over HTTP that would refuse the request that makes it is refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { AS_ADMIN, createAsk, type Reply, type RequestDetails } from '../support/request.ts'
import { type AnyOptions, type Server, startServerWithFiles } from '../support/server.ts'

const CONFIG = '/_node/_local/_config'
const PAGE = 'https://app.example'

interface Row {
  readonly name: string
  /** An option of the document door, and its new value; without one it is removed. */
  readonly change: readonly [option: string, value?: string]
  /** Options that are set before, at run time. */
  readonly before?: readonly (readonly [option: string, value: string])[]
  /** Signs in with the cookie instead of Basic. */
  readonly withCookie?: true
  readonly headers?: Readonly<Record<string, string>>
}

const FROM_PAGE: Pick<Row, 'before' | 'headers'> = {
  before: [
    ['chttpd/enable_cors', 'true'],
    ['cors/origins', PAGE],
  ],
  headers: { origin: PAGE },
}

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
  { name: 'cookies are no longer read', change: ['chttpd/authentication_handlers', 'default'], withCookie: true },
  { name: 'the page may not read replies', ...FROM_PAGE, change: ['cors/origins', 'https://other.example'] },
  { name: 'no page may read replies', ...FROM_PAGE, change: ['chttpd/enable_cors'] },
  { name: 'the path is too long', change: ['chttpd/max_uri_length', '8'] },
  { name: 'the body is too long', change: ['chttpd/max_http_request_size', '1'] },
  { name: 'connections begin with another header', change: ['door/proxy-protocol', 'document'] },
  { name: 'the listener is closed at the next start', change: ['chttpd/port', 'none'] },
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
  { name: 'the secret of its cookie is replaced', change: ['chttpd_auth/secret', 'another secret'], withCookie: true },
  { name: 'the listener has another port at the next start', change: ['chttpd/port', '12345'] },
]

/** Without flags for the options above, which would have precedence. */
async function start(t: Parameters<typeof startServerWithFiles>[0]): Promise<Server> {
  const file = join(mkdtempSync(join(tmpdir(), 'cardea-')), 'local.ini')
  writeFileSync(file, '[chttpd]\nport = 0\n[chttpd_auth]\nsecret = a secret of this test\n')
  const options: AnyOptions = { chttpd: { port: undefined }, chttpd_auth: { secret: undefined } }
  return startServerWithFiles(t, [file], options)
}

async function prepare({ document }: Server, { before = [], withCookie, headers = {} }: Row): Promise<RequestDetails> {
  const ask = createAsk(document)
  for (const [option, value] of before)
    assert.equal((await ask('PUT', `${CONFIG}/${option}`, { as: AS_ADMIN, body: JSON.stringify(value) })).status, 200)
  if (!withCookie) return { as: AS_ADMIN, headers }
  const opened = await ask('POST', '/_session', { body: { name: 'admin', password: 'adminpw' } })
  return { headers: { ...headers, cookie: opened.header('set-cookie')?.split(';')[0] ?? '' } }
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
      const { status, body } = await change(server, row.change, details)
      assert.equal(status, 400, body)
      assert.match(body, /would refuse this request/)
      for (const [option, value] of row.before ?? [])
        assert.equal((await createAsk(server.document)('GET', `${CONFIG}/${option}`, details)).json, value)
    })
  }
})

describe('a change over HTTP is made if afterwards', () => {
  for (const row of ACCEPTED) {
    test(row.name, async (t) => {
      const server = await start(t)
      const details = await prepare(server, row)
      const { status, body } = await change(server, row.change, details)
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
