// The baseline of HTTP/2: minimal servers of `node:http` and `node:http2` in one process. A POST is not answered. Prints
// their ports.
import { once } from 'node:events'
import { createServer as createHttp1Server } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

const body = '{"ok":true,"userCtx":{"name":null,"roles":[]},"info":{"authentication_handlers":["cookie","default"]}}\n'
const headers = { 'content-type': 'application/json', 'content-length': body.length }

const http1 = createHttp1Server((_request, response) => response.writeHead(200, headers).end(body))
const http2 = createHttp2Server()
http2.on('stream', (stream: ServerHttp2Stream, { ':method': method }) => {
  stream.on('error', () => {})
  if (method === 'POST') return
  stream.respond({ ':status': 200, ...headers })
  stream.end(body)
})

const ports: number[] = []
for (const server of [http1, http2]) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ports.push((server.address() as AddressInfo).port)
}
process.stdout.write(`${JSON.stringify({ ports })}\n`)
