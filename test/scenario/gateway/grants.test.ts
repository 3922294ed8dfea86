// Grants of the directory at the document door: which requests reach the database behind it.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, describe, it, test } from 'node:test'
import type { AccessRule } from '../../../src/directory/account.ts'
import { ADMIN, basic, type Request, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument, openBackend, openStream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait.ts'

const NAMES = ['_replicator', '_users', 'a/b', 'market', 'open', 'secret', 'shop', 'team/_replicator', 'zoo']

const backend = await openBackend({ after }, (request, response, body) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://a')
  const rows = pathname === '/_all_dbs' ? listNames(searchParams) : undefined
  const infos = pathname === '/_dbs_info' ? JSON.parse(body.toString()).keys.map(toInfo) : undefined
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(rows ?? infos ?? { ok: true }))
})
/** As CouchDB applies the parameters of a list. */
function listNames(query: URLSearchParams): readonly string[] {
  const isDown = query.get('descending') === 'true'
  const find = (...names: readonly string[]) => names.map((name) => query.get(name)).find((text) => text !== null)
  const [from, to] = [find('key', 'start_key', 'startkey'), find('key', 'end_key', 'endkey')].map((text) =>
    text === undefined ? undefined : JSON.parse(String(text)),
  )
  const compare = (a: string, b: string) => (a === b ? 0 : (a < b ? -1 : 1) * (isDown ? -1 : 1))
  const isBefore = (name: string) => compare(name, to) < (query.get('inclusive_end') === 'false' ? 0 : 1)
  return NAMES.toSorted(compare).filter(
    (name) => (from === undefined || compare(name, from) >= 0) && (to === undefined || isBefore(name)),
  )
}
const toInfo = (key: string) => (NAMES.includes(key) ? { key, info: { db_name: key } } : { key, error: 'not_found' })

const COOKIE_SECRET = 'cardea-test-cookie-secret'
const JWT_SECRET = 'a secret of another issuer, 32 bytes long'
const OPTIONS = {
  document: { grants: 'enforce' },
  chttpd: { admin_only_all_dbs: false },
  jwt_keys: { 'hmac:other': Buffer.from(JWT_SECRET).toString('base64') },
}
const server = await startServer({ after }, beforeDocument(backend.url), OPTIONS)
const closed = await startServer({ after }, beforeDocument(backend.url), OPTIONS, {
  document: { 'grants-others': 'none' },
})
const off = await startServer({ after }, beforeDocument(backend.url))

const GRANTS = {
  ada: { shop: 'ro', market: 'rw', 'a/b': 'rw', 'team/_replicator': 'rw', 'c+d$(e)': 'ro', _system: 'rw' },
  eve: { '*': 'rw', secret: 'none' },
  root: { '*': 'rw', _system: 'none' },
  max: { '*': 'ro', open: 'rw' },
} as const
for (const { cardea } of [server, closed, off])
  for (const [name, grants] of Object.entries(GRANTS)) await cardea.users.create({ name, password: 'pw', grants })

const toJwt = (claims: object): string => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${encode({ alg: 'HS256', typ: 'JWT', kid: 'other' })}.${encode(claims)}`
  return `Bearer ${text}.${createHmac('sha256', JWT_SECRET).update(text).digest('base64url')}`
}
const exp = Math.floor(Date.now() / 1000) + 600
const AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...Object.fromEntries(Object.keys(GRANTS).map((name) => [name, { Authorization: basic(name, 'pw') }])),
  admin: ADMIN,
  jwt: { Authorization: toJwt({ sub: 'ada', exp }) },
  stranger: { Authorization: toJwt({ sub: 'stranger', exp }) },
  /** The name of an administrator, without its role. */
  nameless: { Authorization: toJwt({ sub: 'admin', exp }) },
  proxy: {
    'X-Auth-CouchDB-UserName': 'ada',
    'X-Auth-CouchDB-Token': createHmac('sha256', COOKIE_SECRET).update('ada').digest('hex'),
  },
  anonymous: {},
}

/** The status, and what the database received. */
async function ask(who: string, line: string, more: Partial<Request> = {}, { document } = server) {
  const [method = '', path = ''] = line.split(' ')
  backend.seen.length = 0
  const headers = { ...AS[who], ...more.headers }
  const reply = await send(document, { method, path, ...more, headers })
  return { reply, received: backend.seen.map(({ method: sent, url }) => `${sent} ${url}`) }
}

const NOT_FOUND = '{"error":"not_found","reason":"Database does not exist."}\n'
const READ_ONLY = '{"error":"forbidden","reason":"You may only read this database."}\n'
const NOT_ADMIN = '{"error":"unauthorized","reason":"You are not a server admin."}\n'
const REWRITE = '{"error":"forbidden","reason":"_rewrite needs rw on every database."}\n'

const rows: readonly (readonly [who: string, line: string, refusal?: string])[] = [
  ['ada', 'GET /shop'],
  ['ada', 'GET /shop/doc?rev=1-a'],
  ['ada', 'GET /shop/_changes?include_docs=true'],
  ['ada', 'POST /shop/_find'],
  ['ada', 'POST /shop/_bulk_get?revs=true'],
  ['ada', 'POST /shop/_ensure_full_commit'],
  ['ada', 'POST /shop/_bulk_docs', READ_ONLY],
  ['ada', 'PUT /shop/doc', READ_ONLY],
  ['ada', 'PUT /shop/doc?new_edits=false', READ_ONLY],
  ['ada', 'PUT /shop/doc?batch=ok', READ_ONLY],
  ['ada', 'POST /shop?batch=ok', READ_ONLY],
  ['ada', 'DELETE /shop/doc?rev=1-a', READ_ONLY],
  ['ada', 'COPY /shop/doc', READ_ONLY],
  ['ada', 'PUT /shop/doc/file', READ_ONLY],
  ['ada', 'PUT /shop/_security', READ_ONLY],
  ['ada', 'PUT /shop/_design/app', READ_ONLY],
  ['ada', 'GET /shop/_design/app/_update/f/doc', READ_ONLY],
  ['ada', 'GET /shop/_design/app/%5Fupdate/f/doc', READ_ONLY],
  ['ada', 'GET /sho%70/%5fdesign/app/_update/f', READ_ONLY],
  ['ada', 'GET /shop/_design/app/_rewrite/x', READ_ONLY],
  ['ada', 'DELETE /shop/_local/id', READ_ONLY],
  ['ada', 'COPY /shop/_local/id', READ_ONLY],
  ['ada', 'PUT /shop/_local/id/file', READ_ONLY],
  ['ada', 'GET /shop/_future', READ_ONLY],
  ['ada', 'PUT /market/doc'],
  ['ada', 'PUT /a%2Fb/doc'],
  ['ada', 'PUT /a%2fb/_design/x'],
  ['ada', 'GET /market/_design/app/_update/f'],
  ['ada', 'GET /market/_design/app/_rewrite/x', REWRITE],
  ['ada', 'GET /c+d$(e)/doc'],
  ['ada', 'GET /c%2Bd%24%28e%29/doc'],
  ['ada', 'PUT /c%2bd$(e)/doc', READ_ONLY],
  ['ada', 'GET /c%20d$(e)/doc', NOT_FOUND],
  ['ada', 'GET /secret/doc', NOT_FOUND],
  ['ada', 'GET /a/b', NOT_FOUND],
  ['ada', 'GET /SHOP/doc', NOT_FOUND],
  ['ada', 'GET /_arango/v0/shop', NOT_ADMIN],
  ['ada', 'PUT /new', NOT_ADMIN],
  ['ada', 'POST /_replicate', NOT_ADMIN],
  ['ada', 'GET /_replicator/_all_docs', NOT_ADMIN],
  ['ada', 'PUT /_replicator/job', NOT_ADMIN],
  ['ada', 'PUT /team%2F_replicator/job', NOT_ADMIN],
  ['ada', 'GET /team%2f%5freplicator/job', NOT_ADMIN],
  ['eve', 'PUT /anything/doc'],
  ['eve', 'GET /market/_design/app/_rewrite/x', REWRITE],
  ['eve', 'GET /market/_design%2Fapp%2F_rewrite%2Fx', REWRITE],
  ['root', 'GET /market/_design/app/_rewrite/x'],
  ['max', 'GET /anything/doc'],
  ['max', 'PUT /anything/doc', READ_ONLY],
  ['max', 'PUT /open/doc'],
  ['admin', 'PUT /secret/doc'],
  ['admin', 'POST /_replicate'],
  ['jwt', 'GET /shop/doc'],
  ['jwt', 'PUT /shop/doc', READ_ONLY],
  ['jwt', 'PUT /secret/doc', NOT_FOUND],
  ['jwt', 'POST /_replicate', NOT_ADMIN],
  ['proxy', 'PUT /shop/doc', READ_ONLY],
  ['stranger', 'PUT /secret/doc'],
  ['nameless', 'PUT /secret/doc'],
  ['anonymous', 'PUT /secret/doc'],
  ['anonymous', 'PUT /x%2F_replicator/doc', NOT_ADMIN],
]

describe('with document.grants = enforce', () => {
  for (const [who, line, refusal] of rows)
    it(`${who}: ${line} is ${refusal === undefined ? 'forwarded' : JSON.parse(refusal).reason}`, async () => {
      const { reply, received } = await ask(who, line)
      if (refusal !== undefined) assert.equal(reply.body, refusal)
      assert.deepEqual(received, refusal === undefined ? [line] : [])
    })

  it('a header that overrides the method is refused', async () => {
    const { reply, received } = await ask('ada', 'POST /shop/_find', {
      headers: { 'X-HTTP-Method-Override': 'DELETE' },
    })
    assert.deepEqual([reply.status, received], [400, []])
  })

  it('a document in several parts is a write', async () => {
    const headers = { 'Content-Type': 'multipart/related;boundary=x' }
    const { reply, received } = await ask('ada', 'PUT /shop/doc?new_edits=false', { headers, body: '--x--' })
    assert.deepEqual([reply.status, received], [403, []])
  })
})

describe('a checkpoint of a read-only user', () => {
  const JSON_TYPE = { 'Content-Type': 'application/json' }
  const POUCHDB = '/shop/_local/Kp.z_8A6Xt2DvV1Yk0XbRg%3D%3D'
  const put = (body: string, headers = {}, who = 'ada', path = POUCHDB) =>
    ask(who, `PUT ${path}`, { body, headers: { ...JSON_TYPE, ...headers } })
  const ofLength = (length: number) => JSON.stringify({ last_seq: 'x'.repeat(length - '{"last_seq":""}'.length) })

  it('has at most 64 KiB, a length and no content coding', async () => {
    assert.equal((await put(ofLength(65_536))).reply.status, 200)
    assert.equal((await put(ofLength(65_537))).reply.status, 413)
    assert.equal((await put('{}', { 'Transfer-Encoding': 'chunked' })).reply.status, 413)
    assert.equal((await put('{}', { 'Content-Encoding': 'gzip' })).reply.status, 413)
  })

  it('is sent on as it came', async () => {
    const body = '{"_id":"_local/x", "_rev":"0-1","last_seq":1.0,"history":[{"session_id":"é"}]}'
    for (const path of [POUCHDB, '/shop/_local/0123456789abcdef0123456789abcdef']) {
      const { reply, received } = await put(body, {}, 'ada', path)
      assert.deepEqual([reply.status, reply.json, received], [200, { ok: true }, [`PUT ${path}`]])
      assert.equal(String(backend.seen[0]?.body), body)
    }
  })

  it('is nothing else', async () => {
    const ONLY = 'A read-only client may only write checkpoints of replications.'
    for (const body of ['{"_deleted":true}', '{"_deleted":false}', '{"\\u005fdeleted":true}', '{"_attachments":{}}'])
      assert.deepEqual([(await put(body)).reply.json.reason, backend.seen.length], [ONLY, 0], body)
    for (const [body, headers, status] of [
      ['{"a":1,"a":2}', {}, 400],
      ['[]', {}, 400],
      ['{', {}, 400],
      ['{}', { 'Content-Type': 'multipart/related;boundary=x' }, 415],
    ] as const)
      assert.deepEqual([(await put(body, headers)).reply.status, backend.seen.length], [status, 0], body)
    for (const id of ['id', 'obsydian_livesync_milestone', 'a'.repeat(31), `${'A'.repeat(23)}%3D`])
      assert.equal((await put('{}', {}, 'ada', `/shop/_local/${id}`)).reply.body, READ_ONLY, id)
  })

  it('has no limit for a user who may write', async () => {
    assert.equal((await put(ofLength(65_537), {}, 'root')).reply.status, 200)
    assert.equal((await put('{"_deleted":true}', {}, 'root', '/shop/_local/id')).reply.status, 200)
  })
})

describe('a database that a user with a grant on * may not use', () => {
  const NONE = '{"error":"not_found","reason":"Database does not exist."}'

  it('looks as one that does not exist: the reply, its headers, and what is refused before', async (t) => {
    const couchdb = await openBackend(t, ({ url = '' }, response) => {
      const isThere = /^\/(?:secret|shop)(?:[/?]|$)/.test(url)
      response.writeHead(isThere ? 200 : 404, { Server: 'CouchDB/3.5.0', 'X-Couch-Request-ID': 'abc' })
      response.end(isThere ? '{"ok":true}' : NONE)
    })
    const front = await startServer(t, beforeDocument(couchdb.url), OPTIONS)
    await front.cardea.users.create({ name: 'writer', password: 'pw', grants: { '*': 'rw', secret: 'none' } })
    await front.cardea.users.create({ name: 'reader', password: 'pw', grants: { '*': 'ro', secret: 'none' } })
    const compare = async (name: string, method: string, rest: string) => {
      const headers = { Authorization: basic(name, 'pw'), 'Content-Type': 'application/json' }
      const [hidden, missing] = await Promise.all(
        ['secret', 'absent'].map((database) =>
          send(front.document, { method, path: `/${database}${rest}`, headers, body: method === 'GET' ? '' : '{}' }),
        ),
      )
      const ofEach = /^(?:date|x-couch-request-id|x-couchdb-body-time)$/
      const show = (reply = hidden) => [
        reply?.status,
        reply?.body,
        Object.entries(reply?.lines ?? {}).filter(([header]) => !ofEach.test(header)),
      ]
      assert.deepEqual(show(hidden), show(missing), `${name}: ${method} ${rest}`)
      return hidden?.status
    }
    for (const name of ['writer', 'reader']) {
      assert.equal(await compare(name, 'GET', ''), 404)
      assert.equal(await compare(name, 'GET', '/doc?rev=1-a'), 404)
      assert.equal(await compare(name, 'POST', '/_find'), 404)
      assert.equal(await compare(name, 'PUT', ''), 401)
      assert.equal(await compare(name, 'GET', '/_design/app/_rewrite/x'), 403)
    }
    assert.equal(await compare('writer', 'PUT', '/doc'), 404)
    assert.equal(await compare('reader', 'PUT', '/doc'), 403)
    assert.equal(
      couchdb.seen.some(({ url }) => url.includes('secret')),
      false,
    )
  })
})

describe('with document.grants-others = none', () => {
  for (const [who, line] of [
    ['stranger', 'GET /shop/doc'],
    ['anonymous', 'GET /shop/doc'],
    ['anonymous', 'PUT /shop/doc'],
  ] as const)
    it(`${who}: ${line} finds no database`, async () => {
      const { reply, received } = await ask(who, line, {}, closed)
      assert.deepEqual([reply.body, received], [NOT_FOUND, []])
    })
  it('users have their grants, also with a JWT', async () => {
    assert.equal((await ask('ada', 'GET /shop/doc', {}, closed)).reply.status, 200)
    assert.equal((await ask('jwt', 'GET /shop/doc', {}, closed)).reply.status, 200)
  })
})

describe('the lists of databases', () => {
  const list = async (who: string, line: string, more = {}, front = server) =>
    JSON.parse((await ask(who, line, more, front)).reply.body)

  it('show a user what it may read', async () => {
    for (const who of ['ada', 'jwt']) assert.deepEqual(await list(who, 'GET /_all_dbs'), ['a/b', 'market', 'shop'])
    assert.deepEqual(await list('eve', 'GET /_all_dbs'), ['a/b', 'market', 'open', 'shop', 'zoo'])
    assert.deepEqual(await list('eve', 'GET /_all_dbs?skip=1&limit=2'), ['market', 'open'])
    assert.deepEqual(await list('eve', 'GET /_all_dbs?limit=1&start_key=%22n%22'), ['open'])
    assert.deepEqual(await list('ada', 'GET /_dbs_info?skip=2'), [{ key: 'shop', info: { db_name: 'shop' } }])
    assert.equal((await ask('ada', 'GET /_all_dbs?limit=-1')).reply.status, 400)
    assert.equal((await ask('ada', 'POST /_all_dbs')).reply.status, 405)
    for (const below of ['GET /_all_dbs/x', 'GET /%5fall_dbs/x', 'GET /_dbs_info/x', 'POST /_dbs_info/x'])
      assert.equal((await ask('ada', below)).reply.status, 404, below)
  })

  it('apply the parameters of CouchDB to what they show', async () => {
    const toPath = (query: object) =>
      `GET /_all_dbs?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, JSON.stringify(value)]))}`
    for (const [query, names] of [
      [{ key: 'shop' }, ['shop']],
      [{ key: 'secret' }, []],
      [{ key: 'absent' }, []],
      [{ startkey: 'market', endkey: 'shop' }, ['market', 'open', 'shop']],
      [{ start_key: 'market', end_key: 'shop', inclusive_end: false }, ['market', 'open']],
      [{ descending: true, limit: 2 }, ['zoo', 'shop']],
      [{ descending: true, startkey: 'shop', skip: 1, limit: 1 }, ['open']],
      [{ keys: ['zoo', 'secret', 'absent', 'error', '_users', 7, 'shop'] }, ['zoo', 'shop']],
      [{ keys: ['zoo', 'secret', 'open', 'shop'], skip: 1, limit: 1 }, ['open']],
      [{ keys: ['shop'] }, ['shop']],
      [{ keys: ['secret'] }, []],
      [{ keys: [] }, []],
      [{ limit: 0 }, []],
    ] as const)
      assert.deepEqual(await list('eve', toPath(query)), names, JSON.stringify(query))
    const infos = await list('eve', toPath({ keys: ['shop', 'secret'] }).replace('_all_dbs', '_dbs_info'))
    assert.deepEqual(infos, [{ key: 'shop', info: { db_name: 'shop' } }])
    for (const wrong of ['keys=7', 'keys=%7B', 'keys=["shop","zoo"]&key="shop"', 'keys=["shop","zoo"]&startkey="a"'])
      assert.equal((await ask('eve', `GET /_all_dbs?${wrong}`)).reply.status, 400, wrong)
  })

  it('show at most a thousand descriptions at once, and ask for no more', async (t) => {
    const many = Array.from({ length: 1001 }, (_, index) => `db${index}`)
    const large = await openBackend(t, ({ url = '' }, response, body) => {
      const rows = url.startsWith('/_all_dbs') ? many : JSON.parse(body.toString()).keys.map((key: string) => ({ key }))
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(rows))
    })
    const { document, cardea } = await startServer(t, beforeDocument(large.url), OPTIONS)
    await cardea.users.create({ name: 'max', password: 'pw', grants: { '*': 'ro' } })
    const show = async (path: string) => send(document, { path, headers: AS['max'] ?? {} })
    assert.equal((await show('/_all_dbs')).json.length, 1001)
    large.seen.length = 0
    const whole = await show('/_dbs_info')
    assert.deepEqual(
      [whole.status, whole.json.reason],
      [400, 'Set limit: at most 1000 databases are described at once.'],
    )
    assert.equal(large.seen.length, 1)
    assert.equal((await show('/_dbs_info?skip=1')).json.length, 1000)
    assert.equal((await show('/_dbs_info?limit=1000')).json.length, 1000)
  })

  it('are read four at a time', async (t) => {
    const held: ServerResponse[] = []
    const slow = await openBackend(t, (_request, response) => void held.push(response))
    const { document, cardea } = await startServer(t, beforeDocument(slow.url), OPTIONS)
    await cardea.users.create({ name: 'max', password: 'pw', grants: { '*': 'ro' } })
    let most = 0
    let left = 40
    const list = async () => {
      const { status } = await send(document, { path: '/_all_dbs', headers: AS['max'] ?? {} })
      left -= 1
      return status
    }
    const lists = Array.from({ length: left }, list)
    await waitUntil(() => held.length >= 4)
    await waitUntil(() => {
      most = Math.max(most, held.length)
      for (const response of held.splice(0)) response.writeHead(200).end('[]')
      return left === 0
    })
    assert.deepEqual(new Set(await Promise.all(lists)), new Set([200]))
    assert.equal(most, 4)
  })

  it('are asked with an identity of Cardea', async () => {
    await ask('ada', 'GET /_all_dbs?limit=1')
    assert.deepEqual(
      backend.seen.map(({ url }) => url),
      ['/_all_dbs?'],
    )
    const [, claims = ''] = backend.seen[0]?.header('authorization')?.split('.') ?? []
    assert.deepEqual(JSON.parse(Buffer.from(claims, 'base64url').toString())['_couchdb.roles'], ['_admin'])
  })

  it('say of a database that a user may not read what they say of a missing one', async () => {
    const body = JSON.stringify({ keys: ['shop', 'secret', 'missing', 7] })
    const headers = { 'Content-Type': 'application/json' }
    assert.deepEqual(await list('ada', 'POST /_dbs_info', { body, headers }), [
      { key: 'shop', info: { db_name: 'shop' } },
      { key: 'secret', error: 'not_found' },
      { key: 'missing', error: 'not_found' },
      { key: 7, error: 'not_found' },
    ])
    assert.deepEqual(JSON.parse(String(backend.seen[0]?.body)), { keys: ['shop'] })
    for (const wrong of ['{}', '[]', '{"keys":1}', JSON.stringify({ keys: Array(101).fill('shop') })])
      assert.equal((await ask('ada', 'POST /_dbs_info', { body: wrong, headers })).reply.status, 400)
  })

  it('are as CouchDB shows them to administrators, and empty for others if they find no database', async () => {
    assert.deepEqual(await list('admin', 'GET /_all_dbs'), NAMES)
    assert.deepEqual(await list('stranger', 'GET /_all_dbs'), NAMES)
    assert.deepEqual(await list('anonymous', 'GET /_all_dbs', {}, closed), [])
  })
})

describe('what a user may reach', () => {
  const explain = async (name: string, database: string, front = server) => {
    const path = `/_cardea/api/users/${name}/access?database=${encodeURIComponent(database)}`
    const [{ rules }] = (await send(front.document, { path, headers: ADMIN })).json.doors
    return rules.slice(4).map(({ what, isAllowed, because }: AccessRule) => `${what}: ${isAllowed}. ${because}`)
  }
  const DECIDES = (name: string) => `CouchDB decides by _security of the database, for ${name} without roles.`
  const CONFIGURATION = 'read and change the configuration: false. Only administrators may.'
  const REPLICATION = 'start a replication: false. Only administrators may.'

  it('is explained by the rules of the door', async () => {
    assert.deepEqual(await explain('ada', 'shop'), [
      REPLICATION,
      CONFIGURATION,
      `read documents of shop: null. The grant on shop: read only. Then ${DECIDES('ada')}`,
      'write documents of shop: false. The grant on shop: read only.',
    ])
    assert.deepEqual((await explain('max', 'open')).slice(2), [
      `read and write documents of open: null. The grant on open: read and write. Then ${DECIDES('max')}`,
    ])
    assert.deepEqual((await explain('max', 'zoo')).at(-1), 'write documents of zoo: false. The grant on *: read only.')
    assert.deepEqual((await explain('ada', 'zoo')).slice(2), [
      'read and write documents of zoo: false. No grant covers it.',
    ])
    assert.deepEqual((await explain('ada', 'team/_replicator')).slice(2), [
      'read and write documents of team/_replicator: false. Only administrators may.',
    ])
    assert.deepEqual((await explain('eve', 'secret')).slice(2), [
      'read and write documents of secret: false. The grant on secret: no access.',
    ])
  })

  it('names of no database and those of the system are said to be so', async () => {
    for (const [name, because] of [
      ['SHOP', 'CouchDB accepts no database of this name.'],
      ['7', 'CouchDB accepts no database of this name.'],
      ['_users', 'Users may only read and change their own document there.'],
      ['_replicator', 'Only administrators may.'],
      ['_global_changes', 'Only administrators may.'],
      ['_system', 'Only administrators may.'],
    ] as const)
      assert.deepEqual((await explain('root', name)).slice(2), [
        `read and write documents of ${name}: false. ${because}`,
      ])
    assert.deepEqual((await explain('root', '_replicator', off)).slice(2), [
      `read and write documents of _replicator: null. ${DECIDES('root')}`,
    ])
  })

  it('is what CouchDB decides unless grants are enforced', async () => {
    assert.deepEqual(await explain('ada', 'shop', off), [
      'start a replication: true. Every user may.',
      CONFIGURATION,
      `read and write documents of shop: null. ${DECIDES('ada')}`,
    ])
  })
})

test('a feed ends when the grant of its user is removed', async (t) => {
  const feeds = await openBackend(t, (_request, response) => void response.writeHead(200).write('{"seq":1}\n'))
  const { document, cardea } = await startServer(t, beforeDocument(feeds.url), OPTIONS)
  await cardea.users.create({ name: 'ada', password: 'pw' })
  for (const who of ['ada', 'jwt']) {
    await cardea.users.update('ada', { grants: { shop: 'ro' } })
    const feed = await openStream(document, '/shop/_changes?feed=continuous', AS[who] ?? {})
    await cardea.users.update('ada', { grants: { shop: 'none' } })
    assert.equal(await feed.ended, 'broken', who)
  }
})

test('with the option left as it is, CouchDB alone decides', async () => {
  for (const line of ['PUT /shop/doc', 'GET /secret/doc', 'POST /_replicate', 'PUT /team%2F_replicator/job'])
    assert.deepEqual((await ask('ada', line, {}, off)).received, [line])
})
