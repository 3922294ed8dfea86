/** A reply of the feed that is cut is never taken for a whole one. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { createUsersDatabase } from '../../../src/modules/couchdb-users/database.ts'
import { openAskedDatabases } from '../../../src/wiring/upstreams.ts'
import { read } from '../../config/given.ts'
import type { Scope } from '../../support/scope.ts'
import { UPSTREAM_SECRET } from '../../support/upstream.ts'
import { toDocument, toId } from '../../support/users-in-couchdb.ts'

const ROWS = ['ada', 'bob'].map((name, index) => ({
  seq: `${index + 1}-opaque`,
  id: toId(name),
  changes: [{ rev: `1-${'0'.repeat(32)}` }],
  doc: toDocument(name),
}))
const BODY = `${JSON.stringify({ results: ROWS, last_seq: '2-opaque', pending: 0 })}\n`
/** In lines, as CouchDB sends them. */
const CHUNKS = BODY.split(/(?<=,)/)
const toChunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

const REPLIES: Readonly<Record<string, string>> = {
  'with its length': `${HEAD}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
  'in chunks': `${HEAD}Transfer-Encoding: chunked\r\n\r\n${CHUNKS.map(toChunk).join('')}0\r\n\r\n`,
  'until the end of the connection': `${HEAD}Connection: close\r\n\r\n${BODY}`,
}

/** Sends the first bytes of the reply, and closes the connection. */
async function openFeed(scope: Scope, reply: string) {
  let bytes = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.end(reply.slice(0, bytes)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ini = `[upstream]\ndocument = ${url}\ndocument-secret = ${UPSTREAM_SECRET}\n`
  const databases = await openAskedDatabases(read({ ini }).settings.values, SILENT_LOG)
  scope.after(async () => {
    await databases.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const users = createUsersDatabase(databases.find, '_users')
  return (count: number) => {
    bytes = count
    const query = { since: '0', limit: 10, waitMs: 0, signal: new AbortController().signal }
    return users.readChanges(query).catch(() => 'failed' as const)
  }
}

describe('a page of the feed that is cut at any byte', () => {
  for (const [name, reply] of Object.entries(REPLIES))
    it(`has all of its changes, or is no page: ${name}`, async (t) => {
      const readCut = await openFeed(t, reply)
      for (let bytes = 0; bytes < reply.length; bytes += 1) {
        const page = await readCut(bytes)
        // not `undefined`: it is not too large either
        if (page !== 'failed') assert.deepEqual([page?.rows, page?.lastSeq], [ROWS, '2-opaque'], `${bytes} bytes`)
      }
      assert.deepEqual(await readCut(reply.length), { rows: ROWS, lastSeq: '2-opaque', pending: 0 })
    })
})
