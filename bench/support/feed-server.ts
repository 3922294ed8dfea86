// As much of CouchDB as the copy of users needs: node feed-server.ts <users>. Prints its URL.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { toDocument } from './users.ts'

const count = Number(process.argv[2])
const PATH = '/_users/'
/** By their paths. */
const checkpoints = new Map<string, object>()

const renderRow = (index: number): string => {
  const doc = toDocument(index)
  return JSON.stringify({ seq: index + 1, id: doc._id, changes: [{ rev: doc._rev }], doc })
}

function readChanges({ searchParams }: URL): string {
  const since = Number(searchParams.get('since'))
  const rows = Math.max(0, Math.min(Number(searchParams.get('limit')), count - since))
  const results = Array.from({ length: rows }, (_, offset) => renderRow(since + offset))
  return `{"results":[${results.join(',')}],"last_seq":${since + rows},"pending":${count - since - rows}}`
}

/** Cardea looks whether the identities are accepted that it signs. */
function readIdentity({ headers }: IncomingMessage): object {
  const [, payload] = headers.authorization?.split('.') ?? []
  return { name: payload ? JSON.parse(Buffer.from(payload, 'base64url').toString()).sub : null, roles: [] }
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', 'http://localhost')
  const reply = (status: number, body: string) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body)
  if (url.pathname === `${PATH}_changes`) {
    const waitMs = Number(url.searchParams.get('since')) < count ? 0 : Number(url.searchParams.get('timeout') ?? 0)
    setTimeout(() => reply(200, readChanges(url)), waitMs)
  } else if (request.method === 'PUT') {
    checkpoints.set(url.pathname, (await json(request)) as object)
    reply(201, JSON.stringify({ ok: true, rev: `1-${'a'.repeat(32)}` }))
  } else if (checkpoints.has(url.pathname)) reply(200, JSON.stringify(checkpoints.get(url.pathname)))
  else if (url.pathname.startsWith(PATH)) reply(404, '{"error":"not_found","reason":"missing"}')
  else if (url.pathname === '/_session') reply(200, JSON.stringify({ userCtx: readIdentity(request), ok: true }))
  else reply(200, '{"couchdb":"Welcome","version":"3.5.0","status":"ok"}')
}

const server = createServer((request, response) => void handle(request, response))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
