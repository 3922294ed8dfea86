import assert from 'node:assert/strict'
import { after, describe, it, test } from 'node:test'
import { now, userToken } from '../../support/multi-model.ts'
import { AS_ADMIN, basic, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend } from '../../support/upstream.ts'

/** The address of the client: a web `Request` does not have it. */
const PEER = { peer: '192.0.2.1' }

const backend = await openBackend({ after })
const service = { services: { shop: `/shop ${backend.url}`, desk: `/desk ${backend.url} required` } }
const server = await startServer(
  { after },
  beforeDocument(backend.url),
  beforeMultiModel({ after }, backend.url),
  service,
  { admin: { endpoint: 'tcp://127.0.0.1:0' } },
)
const [adminUrl = ''] = server.addresses.admin
const closed = await startServer({ after }, beforeMultiModel({ after }, backend.url), service, {
  server: { 'authentication-system-only': false },
  chttpd: { require_valid_user: true },
})

const createToken = async ({ cardea, multiModel }: typeof server, body: object): Promise<string> => {
  await cardea.users.create({ name: 'ada', password: 'pw', grants: { '*': 'rw', _system: 'rw' } }).catch(() => {})
  const name = `t${Math.random().toString(36).slice(2)}`
  const headers = { Authorization: basic('ada', 'pw'), 'Content-Type': 'application/json' }
  const request = { name, valid_until: now() + 600, ...body }
  const made = await send(multiModel, {
    method: 'POST',
    path: '/_api/token/ada',
    headers,
    body: JSON.stringify(request),
  })
  assert.equal(made.status, 200, made.body)
  return JSON.parse(made.body).token
}

/** The token itself as Basic password, and a token opened with it. */
async function toCredentials(text: string): Promise<readonly string[]> {
  const body = JSON.stringify({ username: 'ada', password: text })
  const opened = await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
  return [basic('ada', text), `Bearer ${JSON.parse(opened.body).jwt}`]
}

const statusOf = async (base: string, path: string, Authorization: string, method = 'GET'): Promise<number> =>
  (await send(base, { method, path, headers: { Authorization } })).status

const DATABASES = { databases: ['sales', 'a/b'] }
const [basicDatabases = '', bearerDatabases = ''] = await toCredentials(await createToken(server, DATABASES))
const [basicService = '', bearerService = ''] = await toCredentials(await createToken(server, { services: ['shop'] }))
const [basicSystem = ''] = await toCredentials(await createToken(server, { databases: ['_system'] }))

describe('an access token for some databases', () => {
  const rows: readonly (readonly [door: 'document' | 'multiModel', path: string, status: number])[] = [
    ['document', '/sales/doc', 200],
    ['document', '/sales/_changes', 200],
    ['document', '/a%2Fb/doc', 200],
    ['document', '/_session', 200],
    ['document', '/other/doc', 403],
    ['document', '/a/b/doc', 403],
    ['document', '/_all_dbs', 403],
    ['document', '/_users/org.couchdb.user:ada', 403],
    ['document', '/sales/_design/x/_rewrite/other', 403],
    ['document', '/_gate', 401],
    ['document', '/_cardea/api/users', 401],
    ['multiModel', '/_db/sales/_api/collection', 200],
    ['multiModel', '/_db/other/_api/collection', 401],
    ['multiModel', '/_api/collection', 401],
    ['multiModel', '/_db/sales/_admin/log', 401],
    ['multiModel', '/_db/sales/_api/user', 401],
    ['multiModel', '/_db/sales/_api/user/ada', 401],
    ['multiModel', '/_db/sales/_api/token/ada', 401],
    ['multiModel', '/_db/sales/_api/database', 401],
    ['multiModel', '/shop/page', 401],
    ['multiModel', '/_gate', 401],
  ]
  for (const [door, path, status] of rows) {
    it(`${door === 'document' ? 'document' : 'multi-model'} door: ${path} is ${status}`, async () => {
      assert.equal(await statusOf(server[door], path, basicDatabases), status, 'as Basic password')
      assert.equal(await statusOf(server[door], path, bearerDatabases), status, 'as a token opened with it')
    })
  }

  it('is not accepted by the middleware', async () => {
    const request = new Request('http://a/', { headers: { Authorization: basicDatabases } })
    assert.equal(await server.cardea.authenticate(request, PEER), undefined)
    assert.equal(await server.cardea.authenticate(request, { ...PEER, service: 'sales' }), undefined)
  })

  it('is renewed and ended with the token that it opened', async () => {
    assert.equal(await statusOf(server.multiModel, '/_open/auth/renew', bearerDatabases, 'POST'), 200)
  })
})

describe('an access token for some services', () => {
  it('reaches them, and no other path', async () => {
    for (const credential of [basicService, bearerService]) {
      assert.equal(await statusOf(server.multiModel, '/shop/page', credential), 200)
      for (const path of ['/desk/page', '/_api/version', '/_db/shop/_api/collection', '/other'])
        assert.equal(await statusOf(server.multiModel, path, credential), 401, path)
      assert.equal(await statusOf(server.document, '/shop/doc', credential), 403)
    }
    assert.equal(backend.seen.at(-1)?.url, '/shop/page')
  })

  it('reaches them where every path needs a credential', async () => {
    const credential = basic('ada', await createToken(closed, { services: ['desk'] }))
    assert.equal(await statusOf(closed.multiModel, '/desk/page', credential), 200)
    assert.equal(await statusOf(closed.multiModel, '/shop/page', credential), 401)
  })

  it('is accepted by the middleware of a service with that name', async () => {
    for (const Authorization of [basicService, bearerService]) {
      const request = new Request('http://a/', { headers: { Authorization } })
      assert.equal((await server.cardea.authenticate(request, { ...PEER, service: 'shop' }))?.name, 'ada')
      for (const options of [{}, { service: 'desk' }, { service: '' }])
        assert.equal(
          await server.cardea.authenticate(request, { ...PEER, ...options }),
          undefined,
          JSON.stringify(options),
        )
    }
  })
})

describe('a read-only access token', () => {
  const READ_ONLY = 'This access token is read-only.'
  const ELSEWHERE = 'A read-only access token is valid at the document door only. Here, use a user with the grant ro.'
  const token = createToken(server, { databases: ['sales', '_users', '_replicate', 'x/_replicator'], access: 'ro' })

  /** As Basic password, and as the cookie of a session that it opened. */
  const toHeaders = async (): Promise<readonly Readonly<Record<string, string>>[]> => {
    const body = { name: 'ada', password: await token }
    const opened = await send(server.document, { method: 'POST', path: '/_session', body })
    const [cookie = ''] = opened.headers['set-cookie']?.[0]?.split(';') ?? []
    return [{ Authorization: basic('ada', await token) }, { Cookie: cookie }]
  }

  for (const [line, status] of [
    ['GET /sales', 200],
    ['GET /sales/doc', 200],
    ['POST /sales/_find', 200],
    ['POST /sales/_revs_diff', 200],
    ['GET /_users/org.couchdb.user:ada', 200],
    ['GET /_session', 200],
    ['PUT /sales/_local/0123456789abcdef0123456789abcdef', 200],
    ['PUT /sales/_local/id', READ_ONLY],
    ['PUT /sales/doc', READ_ONLY],
    ['POST /sales/_bulk_docs', READ_ONLY],
    ['GET /sales/_design/app/_update/f', READ_ONLY],
    ['PUT /_users/org.couchdb.user:ada', READ_ONLY],
    ['DELETE /_users/org.couchdb.user:ada', READ_ONLY],
    ['POST /_replicate', READ_ONLY],
    ['PUT /x%2F_replicator/job', READ_ONLY],
    ['GET /other/doc', 'This access token is not valid for this path.'],
  ] as const)
    it(`${line} is ${status}`, async () => {
      const [method = '', path = ''] = line.split(' ')
      for (const headers of await toHeaders()) {
        const reply = await send(server.document, { method, path, headers, ...(method === 'PUT' && { body: {} }) })
        assert.equal(typeof status === 'number' ? reply.status : reply.json.reason, status, reply.body)
      }
    })

  it('writes nothing with a body in several parts, and reads replies in several parts', async () => {
    const CHECKPOINT = '/sales/_local/0123456789abcdef0123456789abcdef'
    const related = { 'Content-Type': 'multipart/related; boundary="x"' }
    const form = { 'Content-Type': 'multipart/form-data; boundary=x' }
    const parts = (type: string) => `--x\r\nContent-Type: ${type}\r\n\r\n{"_id":"new"}\r\n--x--`
    for (const own of await toHeaders())
      for (const [method, path, headers, status] of [
        ['PUT', '/sales/doc', related, 403],
        ['PUT', '/sales/doc?new_edits=false', related, 403],
        ['PUT', '/sales/_design/app', related, 403],
        ['PUT', '/sales/doc/file', related, 403],
        ['POST', '/sales/doc', form, 403],
        ['POST', '/sales', form, 403],
        ['POST', '/sales/_bulk_docs', related, 403],
        ['PUT', CHECKPOINT, related, 415],
        ['PUT', CHECKPOINT, form, 415],
        ['PUT', CHECKPOINT, { 'Content-Type': 'application/json, multipart/related; boundary=x' }, 415],
        ['PUT', `${CHECKPOINT}/file`, related, 403],
      ] as const) {
        backend.seen.length = 0
        const body = parts('application/json')
        const reply = await send(server.document, { method, path, headers: { ...own, ...headers }, body })
        assert.deepEqual([reply.status, backend.seen.length], [status, 0], `${method} ${path}: ${reply.body}`)
      }
    for (const own of await toHeaders()) {
      const headers = { ...own, Accept: 'multipart/mixed', 'Content-Type': 'application/json' }
      const request = { method: 'POST', path: '/sales/_bulk_get?attachments=true', headers, body: '{"docs":[]}' }
      assert.equal((await send(server.document, request)).status, 200)
    }
  })

  it('is refused at the multi-model door, and the response says what to use', async () => {
    const as = basic('ada', await token)
    for (const path of ['/_db/sales/_api/collection', '/_api/version', '/shop/page']) {
      const reply = await send(server.multiModel, { as, path })
      assert.deepEqual([reply.status, reply.json.errorMessage], [403, ELSEWHERE])
    }
    const body = { username: 'ada', password: await token }
    const reply = await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
    assert.deepEqual([reply.status, reply.json.errorMessage], [403, ELSEWHERE])
  })

  it('is not accepted by the middleware', async () => {
    const request = new Request('http://a/', { headers: { Authorization: basic('ada', await token) } })
    assert.equal(await server.cardea.authenticate(request, { ...PEER, service: 'sales' }), undefined)
  })

  it('names its databases, and no services', async () => {
    const as = 'ada:pw'
    const create = (body: object) =>
      send(server.multiModel, {
        as,
        method: 'POST',
        path: '/_api/token/ada',
        body: { name: 'x', valid_until: now() + 9, ...body },
      })
    for (const body of [
      { access: 'ro' },
      { access: 'ro', services: ['shop'] },
      { access: 'ro', databases: ['sales'], services: ['shop'] },
      { access: 'rw', databases: ['sales'] },
      { access: true, databases: ['sales'] },
    ])
      assert.equal((await create(body)).status, 400, JSON.stringify(body))
    const { tokens } = (await send(server.multiModel, { as, path: '/_api/token/ada' })).json
    assert.deepEqual(
      tokens.flatMap(({ access }: { access?: string }) => access ?? []),
      ['ro'],
    )
  })
})

describe('a limited access token, whatever its limit,', () => {
  const limited = [basicDatabases, bearerDatabases, basicService, bearerService, basicSystem]

  it('has no rights at admin.endpoint', async () => {
    for (const as of limited) {
      for (const path of ['/_cardea/api/users', '/_cardea/api/account', '/_cardea/metrics'])
        assert.equal((await send(adminUrl, { as, path })).status, 401, path)
      const body = { name: 'eve', password: 'pw' }
      assert.equal((await send(adminUrl, { as, method: 'POST', path: '/_cardea/api/users', body })).status, 401)
    }
    assert.equal((await send(adminUrl, { as: AS_ADMIN, path: '/_cardea/api/users' })).status, 200)
  })

  it('does not enter paths of Cardea where every path needs a credential', async () => {
    const as = basic('ada', await createToken(closed, { databases: ['sales', '_system'] }))
    const paths = ['/_cardea/', '/_cardea/api/session', '/.well-known/jwks.json']
    for (const url of [closed.document, closed.multiModel])
      for (const path of paths) {
        assert.equal((await send(url, { as, path })).status, 401, `${url}${path}`)
        assert.equal((await send(url, { as: 'ada:pw', path })).status, 200, `${url}${path}`)
      }
  })
})

test('a token for some paths is not accepted by the middleware', async () => {
  const ask = (claims: object) =>
    server.cardea.authenticate(
      new Request('http://a/', { headers: { Authorization: userToken('ada', { ...claims }) } }),
      {
        door: 'multi-model',
        service: 'shop',
      },
    )
  assert.equal((await ask({}))?.name, 'ada')
  assert.equal(await ask({ allowed_paths: ['/_api/version'] }), undefined)
})

test('an access token for _system manages users, as its user may', async () => {
  assert.equal(await statusOf(server.multiModel, '/_api/user/ada', basicSystem), 200)
  assert.equal(await statusOf(server.multiModel, '/_db/sales/_api/collection', basicSystem), 401)
})

test('lists show what a token is valid for', async () => {
  const headers = { Authorization: basic('ada', 'pw') }
  const { tokens } = JSON.parse((await send(server.multiModel, { path: '/_api/token/ada', headers })).body)
  const [first, second] = tokens
  assert.deepEqual([first.databases, first.services], [['sales', 'a/b'], undefined])
  assert.deepEqual([second.databases, second.services], [undefined, ['shop']])
})

for (const list of [[], [''], [1], 'sales', {}, Array.from({ length: 101 }, (_, at) => `d${at}`)])
  test(`the list ${JSON.stringify(list).slice(0, 20)} is rejected`, async () => {
    for (const key of ['databases', 'services']) {
      const headers = { Authorization: basic('ada', 'pw'), 'Content-Type': 'application/json' }
      const body = JSON.stringify({ name: 'x', valid_until: now() + 9, [key]: list })
      const made = await send(server.multiModel, { method: 'POST', path: '/_api/token/ada', headers, body })
      assert.equal(made.status, 400, made.body)
      assert.match(made.body, new RegExp(`'${key}' must be a list of 1 to 100 names`))
    }
  })

describe('the last use of an access token', () => {
  const listUses = async () => {
    const headers = { Authorization: basic('ada', 'pw') }
    const { tokens } = JSON.parse((await send(server.multiModel, { path: '/_api/token/ada', headers })).body)
    return new Map<string, number>(
      tokens.map(({ fingerprint, last_used: used }: { fingerprint: string; last_used: number }) => [fingerprint, used]),
    )
  }
  const uses: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
    'Basic at the document door': (text) => statusOf(server.document, '/_session', basic('ada', text)),
    'Basic at the multi-model door': (text) => statusOf(server.multiModel, '/_api/version', basic('ada', text)),
    'POST /_open/auth': (text) => toCredentials(text),
    'the middleware': (text) =>
      server.cardea.authenticate(new Request('http://a/', { headers: { Authorization: basic('ada', text) } }), PEER),
  }
  for (const [what, use] of Object.entries(uses)) {
    it(`is listed after ${what}, to the minute`, async () => {
      const text = await createToken(server, {})
      const mark = `v1...${text.slice(-6)}`
      assert.equal((await listUses()).get(mark), undefined)
      await use(text)
      const usedAt = (await listUses()).get(mark) ?? 0
      assert.equal(usedAt % 60, 0)
      assert.ok(now() - usedAt < 120, String(usedAt))
    })
  }

  it('does not change the user: its revision stays', async () => {
    const text = await createToken(server, {})
    const headers = { Authorization: basic('ada', 'pw') }
    const read = async () => (await send(server.document, { path: '/_users/org.couchdb.user:ada', headers })).body
    const before = await read()
    await statusOf(server.document, '/_session', basic('ada', text))
    await listUses()
    assert.equal(await read(), before)
  })
})
