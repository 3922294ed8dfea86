// The minimal proxy that the gateway is compared with: undici, few headers, no authentication.
// node baseline-proxy.ts http://127.0.0.1:PORT

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const pool = new Pool(process.argv[2] ?? '', { connections: 128 })

// Connections stay open while other servers are measured.
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const hasNoBody = request.method === 'GET' || request.method === 'HEAD'
  const options = {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: { accept: request.headers.accept ?? '*/*' },
    body: hasNoBody ? null : request,
  }
  const pass = ({ statusCode, headers }) => response.writeHead(statusCode, headers)
  pool.stream(options, pass, (error) => error && response.destroy())
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`),
)
