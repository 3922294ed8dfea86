// A credential that ends while a request is served: its feed ends, and what it has not got yet is refused.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { describe, it } from 'node:test'
import { basic, type Reply } from '../../support/request.ts'
import { createUsersServer, idOf } from './users-server.ts'

const SECRET = 'the secret of a token issuer'
const server = createUsersServer()
const { ask, add } = server

const COOKIE = '{chttpd_auth, cookie_authentication_handler}'
const BASIC = '{chttpd_auth, default_authentication_handler}'

const toKey = (secret: string): string => Buffer.from(secret).toString('base64')

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function toToken(): string {
  const claims = { sub: 'ops', '_couchdb.roles': ['_admin'], exp: Math.floor(Date.now() / 1000) + 600 }
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

async function toCookie(): Promise<string> {
  const reply = await ask('POST', '/_session', { as: '', body: { name: 'admin', password: 'adminpw' } })
  return (reply.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
}

const set = (option: string, value: unknown) =>
  ask('PUT', `/_node/_local/_config/${option}`, { body: JSON.stringify(value) })

/** Sends the head of a request, and the body when `send` is called. */
async function open(path: string, headers: Record<string, string>, method = 'GET') {
  const { url } = await server.started
  const sent = request(`${url}${path}`, { method, headers, agent: false })
  const response = new Promise<IncomingMessage>((resolve, reject) => sent.on('response', resolve).on('error', reject))
  sent.flushHeaders()
  return { response, send: (body: string) => sent.end(body) }
}

/** What a feed delivers until it ends. */
async function readAll(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) text += chunk
  } catch {
    // it is cut
  }
  return text
}

const FEED = '/_users/_changes?feed=continuous&since=now&heartbeat=100&include_docs=true'

const ENDED_BY: readonly [what: string, headers: () => Promise<Record<string, string>>, end: () => Promise<Reply>][] = [
  [
    'the key of its token is replaced',
    async () => {
      await set('jwt_keys/hmac:_default', toKey(SECRET))
      await set('chttpd/authentication_handlers', `{chttpd_auth, jwt_authentication_handler}, ${COOKIE}, ${BASIC}`)
      return { Authorization: `Bearer ${toToken()}` }
    },
    () => set('jwt_keys/hmac:_default', toKey('another secret')),
  ],
  [
    'its handler is removed',
    async () => ({ Cookie: await toCookie() }),
    () => set('chttpd/authentication_handlers', BASIC),
  ],
]

describe('a feed of the users database ends before the next change when', () => {
  for (const [index, [what, headers, end]] of ENDED_BY.entries()) {
    it(what, async () => {
      const { response, send } = await open(FEED, await headers())
      send('')
      const feed = await response
      assert.equal(feed.statusCode, 200)
      const delivered = readAll(feed)
      const before = await add(`before${index}`)
      const ended = await end()
      assert.equal(ended.status, 200, ended.body)
      const after = await add(`after${index}`)
      const text = await delivered
      assert.ok(!text.includes(after), `${before} ${text}`)
    })
  }
})

const BODIES: readonly [path: string, body: object][] = [
  ['/_users/_bulk_get', { docs: [{ id: idOf('ada') }] }],
  ['/_users/_all_docs?include_docs=true', { keys: [idOf('ada')] }],
  ['/_users/_changes?filter=_doc_ids&include_docs=true', { doc_ids: [idOf('ada')] }],
  ['/_users/_changes?feed=continuous&filter=_doc_ids&include_docs=true&heartbeat=100', { doc_ids: [idOf('ada')] }],
]

describe('an administrator who is removed while the body is sent gets 401', () => {
  for (const [path, body] of BODIES) {
    it(path, async () => {
      if ((await ask('GET', '/_users/org.couchdb.user:ada')).status === 404) await add('ada')
      assert.equal((await set('admins/boss', 'secret')).status, 200)
      const headers = { Authorization: basic('boss', 'secret'), 'Content-Type': 'application/json' }
      const text = JSON.stringify(body)
      const { response, send } = await open(path, { ...headers, 'Content-Length': String(text.length) }, 'POST')
      // the request is authenticated before its body arrives
      assert.equal((await ask('GET', '/_session', { as: 'boss:secret' })).json.userCtx.name, 'boss')
      assert.equal((await ask('DELETE', '/_node/_local/_config/admins/boss')).status, 200)
      send(text)
      assert.equal((await response).statusCode, 401)
    })
  }
})
