import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { loadAdministrators, openServerSource, readServerUrl } from '../../../src/cli/transfer/document-server.ts'
import type { Scope } from '../../support/scope.ts'

const PREFIX = 'org.couchdb.user:'
const AUTHORIZATION = 'Basic YWRtaW46c2VjcmV0'

async function listen(scope: Scope, answer: RequestListener): Promise<URL> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  scope.after(() => server.close())
  await once(server, 'listening')
  // what listens on a port has an address of this kind
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

const toRow = (id: string, padding = '') =>
  JSON.stringify({
    id,
    key: id,
    value: {},
    doc: { _id: id, name: id.slice(PREFIX.length), type: 'user', roles: [], padding },
  })

/** Responds like a CouchDB that lists these rows. */
const listing =
  (rows: ReadonlyMap<string, string>, asked: string[] = []): RequestListener =>
  (request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    asked.push(url.search)
    if (request.headers.authorization !== AUTHORIZATION) return void response.writeHead(401).end('{}')
    if (url.pathname === '/_users') return void response.end(JSON.stringify({ doc_count: rows.size }))
    const from: string = JSON.parse(url.searchParams.get('startkey') ?? '""')
    const ids = [...rows.keys()].filter((id) => id >= from).sort()
    const skip = Number(url.searchParams.get('skip') ?? 0)
    const page = ids.slice(skip, skip + Number(url.searchParams.get('limit')))
    response.end(
      `{"total_rows":${rows.size},"offset":0,"rows":[\r\n${page.map((id) => rows.get(id)).join(',\r\n')}\r\n]}\n`,
    )
  }

const rowsOf = (count: number) =>
  new Map(
    Array.from({ length: count }, (_, index) => [`${PREFIX}u${String(index).padStart(6, '0')}`, ''] as const).map(
      ([id]) => [id, toRow(id)],
    ),
  )

async function readAll(base: URL): Promise<readonly (string | undefined)[]> {
  const source = await openServerSource({ base, headers: () => ({ Authorization: AUTHORIZATION }) }, PREFIX)
  const ids: (string | undefined)[] = []
  for await (const found of source.read(new AbortController().signal)) {
    for (const { reading } of found) ids.push(reading.kind === 'user' ? reading.id : reading.kind)
  }
  assert.deepEqual(source.position(), { done: ids.length, total: source.position().total })
  return ids
}

describe('reading users from CouchDB', () => {
  for (const count of [0, 1, 999, 1000, 1001, 2500]) {
    it(`returns each user once: ${count}`, async (t) => {
      const rows = rowsOf(count)
      assert.deepEqual(await readAll(await listen(t, listing(rows))), [...rows.keys()])
    })
  }

  it('continues after unreadable rows', async (t) => {
    const rows = rowsOf(2500)
    const long = [...rows.keys()].slice(998, 1000)
    for (const id of long) rows.set(id, toRow(id, 'x'.repeat(5_000_000)))
    const ids = await readAll(await listen(t, listing(rows)))
    assert.equal(ids.filter((id) => id === 'refused').length, 2)
    assert.deepEqual(
      ids.filter((id) => id !== 'refused'),
      [...rows.keys()].filter((id) => !long.includes(id)),
    )
  })

  it('follows no redirect', async (t) => {
    const heard: unknown[] = []
    const other = await listen(t, (request, response) => {
      heard.push(request.headers.authorization)
      response.end('{}')
    })
    const base = await listen(t, (_, response) => void response.writeHead(302, { Location: String(other) }).end())
    await assert.rejects(readAll(base), /redirects are not followed/)
    assert.deepEqual(heard, [])
  })

  const FAILURES: readonly [row: string, answer: RequestListener, reason: RegExp][] = [
    ['a wrong password', (_, response) => void response.writeHead(401).end('{}'), /rejects this name and password/],
    ['no such database', (_, response) => void response.writeHead(404).end('{}'), /no such database/],
    ['another status', (_, response) => void response.writeHead(500).end('{}'), /status 500/],
    ['a server that is not CouchDB', (_, response) => void response.end('<html>'), /is not a CouchDB/],
    ['a broken connection', (_, response) => void response.destroy(), /cannot be read/],
  ]
  for (const [row, answer, reason] of FAILURES) {
    it(`reports ${row}`, async (t) => {
      await assert.rejects(readAll(await listen(t, answer)), reason)
    })
  }

  it('reads the administrators', async (t) => {
    const base = await listen(t, (request, response) => void response.end(JSON.stringify([request.url])))
    assert.equal(
      await loadAdministrators({ base, headers: () => ({ Authorization: AUTHORIZATION }) }),
      '["/_node/_local/_config/admins"]',
    )
  })
})

describe('the URL of a CouchDB', () => {
  const ADDRESSES: readonly [text: string, base: string][] = [
    ['http://host:5984', 'http://host:5984/'],
    ['http://host:5984/_users', 'http://host:5984/'],
    ['https://host/prefix/_users/', 'https://host/prefix/'],
    ['https://host/prefix/', 'https://host/prefix/'],
    ['https://host/prefix', 'https://host/prefix/'],
  ]
  for (const [text, base] of ADDRESSES) it(text, () => assert.equal(readServerUrl(text).href, base))

  for (const text of ['http://ann:secret@host', 'http://[', 'http://host?x=1']) {
    it(`is rejected without repeating it: ${text}`, () => {
      assert.throws(
        () => readServerUrl(text),
        (error: Error) => !error.message.includes('secret'),
      )
    })
  }
})
