// The baseline of the start: two minimal node:http servers in one process. Arguments: their ports.
import { createServer } from 'node:http'

const body = '{"status":"ok"}\n'
const headers = { 'content-type': 'application/json', 'content-length': body.length }
for (const port of process.argv.slice(2)) {
  createServer((_request, response) => response.writeHead(200, headers).end(body)).listen(Number(port), '127.0.0.1')
}
