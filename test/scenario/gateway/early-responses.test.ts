import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ADMIN } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument } from '../../support/upstream.ts'

const EARLY = [
  'HTTP/1.1 409 Conflict',
  'Content-Type: application/json',
  'Content-Length: 20',
  '',
  '{"error":"conflict"}',
].join('\r\n')

/** Responds to the head of a request and closes the connection with the body unread, as CouchDB does. */
async function openHasty(t: TestContext, closeAfterMs: number) {
  let connections = 0
  const respond = (socket: Socket) => {
    socket.pause()
    socket.write(EARLY, () => setTimeout(() => socket.destroy(), closeAfterMs))
  }
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {}).once('data', () => respond(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => connections }
}

async function upload(url: string, headers: Record<string, string>, bytes: number): Promise<readonly [number, string]> {
  const request = httpRequest(`${url}/db/doc`, { method: 'PUT', headers: { ...ADMIN, ...headers }, agent: false })
  request.on('error', () => {})
  request.end(Buffer.alloc(bytes, 'a'))
  const [response] = await once(request, 'response')
  let body = ''
  for await (const chunk of response) body += chunk
  return [response.statusCode, body]
}

const BYTES = 8 << 20

const FRAMINGS: readonly (readonly [name: string, headers: Record<string, string>])[] = [
  ['a length', { 'Content-Length': String(BYTES) }],
  ['chunks', { 'Transfer-Encoding': 'chunked' }],
]

for (const [name, headers] of FRAMINGS)
  for (const closeAfterMs of [0, 20])
    test(`a response to the head of an upload with ${name} reaches the client, closed after ${closeAfterMs} ms`, async (t) => {
      const hasty = await openHasty(t, closeAfterMs)
      const front = await startServer(t, beforeDocument(hasty.url))
      for (let i = 1; i <= 10; i += 1) {
        const before = hasty.connections()
        assert.deepEqual(await upload(front.document, headers, BYTES), [409, '{"error":"conflict"}'], `upload ${i}`)
        assert.equal(hasty.connections(), before + 1, 'each upload has a connection of its own')
      }
    })
