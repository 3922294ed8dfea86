// The upstream of the benches: returns a small JSON document or a stream of any length, and accepts one.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const BODY = JSON.stringify({ _id: 'doc', _rev: '1-967a00dff5e02add41819138abb3284d', value: 'x'.repeat(150) })
const PIECE = Buffer.alloc(65_536)

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
  const bytes = Number(new URL(request.url ?? '', 'http://a').searchParams.get('bytes') ?? 0)
  if (request.method === 'PUT') request.resume().on('end', () => response.end('{"ok":true}'))
  else if (bytes > 0) pipeTo(response.writeHead(200, { 'Content-Length': bytes }), bytes)
  else response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': BODY.length }).end(BODY)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`),
)
