// The upstream of the benches: returns a small JSON document or a stream of any length, and accepts one. For `/_session`
// it is the minimal server that Cardea is compared with: it returns what Cardea returns to an anonymous client.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const BODY = JSON.stringify({ _id: 'doc', _rev: '1-967a00dff5e02add41819138abb3284d', value: 'x'.repeat(150) })
const PIECE = Buffer.alloc(65_536)

const SESSION =
  '{"ok":true,"userCtx":{"name":null,"roles":[]},"info":{"authentication_handlers":["jwt","proxy","cookie","default"]}}\n'
const SESSION_HEADERS = {
  'Cache-Control': 'must-revalidate',
  'Content-Type': 'application/json',
  Server: 'CouchDB/3.5.2 (Cardea/0.1.0)',
  'X-Content-Type-Options': 'nosniff',
  'X-Couch-Request-ID': '75ddd74ec1',
  'X-CouchDB-Body-Time': '0',
  'Content-Length': SESSION.length,
}

function pipeTo(response, bytes) {
  let left = bytes
  const more = () => {
    while (left > 0) {
      const piece = left < PIECE.length ? PIECE.subarray(0, left) : PIECE
      left -= piece.length
      if (!response.write(piece)) return
    }
    response.end()
  }
  response.on('drain', more)
  more()
}

const server = createServer({ requestTimeout: 0 }, (request, response) => {
  if (request.url === '/_session') {
    response.writeHead(200, SESSION_HEADERS).end(SESSION)
    return
  }
  const bytes = Number(new URL(request.url ?? '', 'http://a').searchParams.get('bytes') ?? 0)
  if (request.method === 'PUT') request.resume().on('end', () => response.end('{"ok":true}'))
  else if (bytes > 0) pipeTo(response.writeHead(200, { 'Content-Length': bytes }), bytes)
  else response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': BODY.length }).end(BODY)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`),
)
