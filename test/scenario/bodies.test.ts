import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sendRaw } from '../support/raw.ts'
import { ADMIN } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const portOf = (url: string): number => Number(new URL(url).port)
const server = await startServer(createSharedScope())
const PORTS = { document: portOf(server.document), multiModel: portOf(server.multiModel) }

type Door = keyof typeof PORTS

/** Every route that reads a body, and may not do so for an anonymous client. */
const CLOSED: readonly (readonly [door: Door, method: string, path: string])[] = [
  ['document', 'PUT', '/_users/org.couchdb.user:eve'],
  ['document', 'POST', '/_users'],
  ['document', 'POST', '/_users/_bulk_docs'],
  ['document', 'POST', '/_users/_bulk_get'],
  ['document', 'POST', '/_users/_revs_diff'],
  ['document', 'POST', '/_users/_missing_revs'],
  ['document', 'POST', '/_users/_all_docs'],
  ['document', 'POST', '/_users/_changes'],
  ['document', 'PUT', '/_users/_local/eve'],
  ['document', 'PUT', '/_users/_design/eve'],
  ['document', 'POST', '/_dbs_info'],
  ['document', 'PUT', '/_node/_local/_config/log/level'],
  ['document', 'POST', '/_cardea/api/users'],
  ['document', 'PUT', '/_cardea/api/users/eve/password'],
  ['document', 'POST', '/_gate'],
  ['multiModel', 'POST', '/_api/user'],
  ['multiModel', 'POST', '/_api/user/eve'],
  ['multiModel', 'PUT', '/_api/user/eve'],
  ['multiModel', 'PATCH', '/_api/user/eve'],
  ['multiModel', 'PUT', '/_api/user/eve/database/db'],
  ['multiModel', 'PUT', '/_api/user/eve/config/a'],
  ['multiModel', 'POST', '/_api/token/eve'],
  ['multiModel', 'POST', '/_admin/server/jwt'],
  ['multiModel', 'POST', '/_db/secret/_api/user'],
  ['multiModel', 'POST', '/_cardea/api/users'],
  ['multiModel', 'POST', '/_gate'],
]

const SIGN_INS: readonly (readonly [door: Door, path: string, type: string])[] = [
  ['document', '/_session', 'application/json'],
  ['document', '/_session', 'application/x-www-form-urlencoded'],
  ['multiModel', '/_open/auth', 'application/json'],
  ['multiModel', '/_open/auth/below', 'text/plain'],
  ['multiModel', '/_db/_system/_open/auth', 'application/json'],
]

const head = (method: string, path: string, ...lines: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n')

describe('a client is authorised before its body is read', () => {
  for (const [door, method, path] of CLOSED)
    it(`${door}: ${method} ${path}`, async () => {
      const lines = ['Content-Type: application/json', 'Content-Length: 9', 'Expect: 100-continue']
      // a server that reads the body asks for it first
      const answer = await sendRaw(PORTS[door], head(method, path, ...lines))
      assert.doesNotMatch(answer.text, /100 Continue/)
      assert.ok([401, 403, 405].includes(answer.status), answer.text)
    })
})

describe('a sign-in has at most 16 KiB', () => {
  for (const [door, path, type] of SIGN_INS) {
    it(`${door}: ${path} as ${type}, declared`, async () => {
      const lines = [`Content-Type: ${type}`, 'Content-Length: 16385']
      assert.equal((await sendRaw(PORTS[door], head('POST', path, ...lines))).status, 413)
    })
    it(`${door}: ${path} as ${type}, up to the limit`, async () => {
      const lines = [`Content-Type: ${type}`, 'Content-Length: 16384']
      const answer = await sendRaw(PORTS[door], head('POST', path, ...lines) + ' '.repeat(16_384))
      assert.equal(answer.status, 400)
    })
  }
  it('in chunks too', async () => {
    const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const bytes = `${head('POST', '/_session', ...lines)}4001\r\n${' '.repeat(16_385)}\r\n0\r\n\r\n`
    assert.equal((await sendRaw(PORTS.document, bytes)).status, 413)
  })
})

describe('a body is bounded before it is parsed', () => {
  const post = (text: string, path = '/_users/_bulk_docs') => {
    const lines = [`Authorization: ${ADMIN.Authorization}`, 'Content-Type: application/json']
    return sendRaw(PORTS.document, head('POST', path, ...lines, `Content-Length: ${text.length}`) + text)
  }
  it('400 for one that nests too deep', async () => {
    const nested = (depth: number) => {
      const member = `${'['.repeat(depth)}${']'.repeat(depth)}`
      return `{"_id":"org.couchdb.user:deep","name":"deep","roles":[],"type":"user","password":"p","member":${member}}`
    }
    assert.equal((await post(nested(100), '/_users')).status, 400)
    assert.equal((await post(nested(99), '/_users')).status, 201)
  })
  it('413 for one of too many items', async () => {
    assert.equal((await post(`{"docs":[${'1,'.repeat(260_000)}1]}`)).status, 413)
  })
  it('413 for a user body that only an administrator may send', async () => {
    const ann = { _id: 'org.couchdb.user:ann', name: 'ann', password: 'apple', roles: [], type: 'user' }
    assert.equal((await post(JSON.stringify(ann), '/_users')).status, 201)
    const lines = ['Authorization: Basic YW5uOmFwcGxl', 'Content-Type: application/json', 'Content-Length: 1048577']
    assert.equal((await sendRaw(PORTS.document, head('POST', '/_users/_bulk_get', ...lines))).status, 413)
    const getMany = (count: number) => {
      const body = `{"docs":[${'{"id":"x"},'.repeat(count)}{"id":"x"}]}`
      const own = [...lines.slice(0, 2), `Content-Length: ${body.length}`]
      return sendRaw(PORTS.document, `${head('POST', '/_users/_bulk_get', ...own)}${body}`)
    }
    assert.equal((await getMany(5100)).status, 413)
    assert.equal((await getMany(4900)).status, 200)
  })
  it('other requests are served while an administrator sends a large body', async () => {
    const docs = Array.from({ length: 9000 }, (_, i) => `{"id":"org.couchdb.user:u${i}","rev":"1-${'a'.repeat(400)}"}`)
    let isOver = false
    const large = post(`{"docs":[${docs.join()}]}`, '/_users/_bulk_get').finally(() => {
      isOver = true
    })
    let turns = 0
    while (!isOver) {
      await sendRaw(PORTS.multiModel, head('GET', '/_admin/server/availability'))
      turns += 1
    }
    assert.equal((await large).status, 200)
    assert.ok(turns > 3, `${turns} turns`)
  })
})

it('an anonymous client that may sign up sends at most 128 KiB', async (t) => {
  const port = portOf((await startServer(t, { chttpd_auth: { allow_sign_up: true } })).document)
  const declare = (bytes: number) => {
    const lines = ['Content-Type: application/json', `Content-Length: ${bytes}`, 'Expect: 100-continue']
    return sendRaw(port, head('PUT', '/_users/org.couchdb.user:eve', ...lines), { until: '100 Continue\r\n\r\n' })
  }
  assert.equal((await declare(131_073)).status, 413)
  assert.equal((await declare(131_072)).status, 100)
})

it('413 for an anonymous sign-up of more than 2000 members, before they are parsed', async (t) => {
  const port = portOf((await startServer(t, { chttpd_auth: { allow_sign_up: true } })).document)
  const signUp = (members: number) => {
    const others = Object.fromEntries(Array.from({ length: members }, (_, number) => [`k${number}`, 1]))
    const body = JSON.stringify({ name: 'eve', type: 'user', roles: [], password: 'eve-password', ...others })
    const lines = ['Content-Type: application/json', `Content-Length: ${body.length}`]
    return sendRaw(port, `${head('PUT', '/_users/org.couchdb.user:eve', ...lines)}${body}`)
  }
  assert.equal((await signUp(2000)).status, 413)
  assert.equal((await signUp(1900)).status, 201)
})

describe('a body may not have too many tiny chunks', () => {
  const HEAD = head('POST', '/_session', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
  const chunksOf = (text: string, bytes: number) =>
    text.replace(new RegExp(`.{1,${bytes}}`, 'g'), (part) => `${part.length.toString(16)}\r\n${part}\r\n`)
  const signIn = (padding: number, bytes: number) => {
    const body = '{"name":"eve","password":"wrong"}'.padEnd(padding)
    return sendRaw(PORTS.document, `${HEAD}${chunksOf(body, bytes)}0\r\n\r\n`)
  }
  it('250 of one byte are read', async () => {
    assert.equal((await signIn(250, 1)).status, 401)
  })
  it('400 for 300 of one byte, and for 300 of three bytes', async () => {
    assert.equal((await signIn(300, 1)).status, 400)
    assert.equal((await signIn(900, 3)).status, 400)
  })
  it('thousands of a usual size are read', async () => {
    assert.equal((await signIn(16_000, 32)).status, 401)
  })
  it('a rejected client gets its response, and the connection ends', async () => {
    const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const bytes = head('PUT', '/_users/org.couchdb.user:eve', ...lines) + chunksOf('['.repeat(5000), 1)
    const refused = await sendRaw(PORTS.document, bytes, { untilClosed: true })
    assert.deepEqual([refused.status, refused.isClosed], [401, true])
  })
})

describe('a client that disconnects is not an error', () => {
  it('within a body, or with one that is cut for its tiny chunks', async (t) => {
    const { document, log } = await startServer(t)
    const port = portOf(document)
    const json = ['Content-Type: application/json']
    await sendRaw(port, `${head('POST', '/_session', ...json, 'Content-Length: 100')}{`, { waitMs: 50 })
    const chunks = head('POST', '/_session', ...json, 'Transfer-Encoding: chunked') + '1\r\n[\r\n'.repeat(20_000)
    const cut = await sendRaw(port, chunks, { untilClosed: true })
    assert.deepEqual([cut.status, cut.isClosed], [400, true])
    await sendRaw(port, head('GET', '/_up'))
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    )
  })
})
