/** Serves a web `Request` by a door: over a connection in memory, so that the door's parser and checks are the same. */
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** `path` replaces that of the request. `peer` is the address of the client, or of the proxy before this program. */
export interface WebTarget {
  readonly peer: string
  readonly path: string
  readonly serve: Serve
}

export async function fetchFrom(request: Request, target: WebTarget): Promise<Response> {
  const [near, far] = duplexPair()
  const failed = Promise.withResolvers<never>()
  const server = createServer((incoming, response) => void target.serve(incoming, response).catch(failed.reject))
  server.emit('connection', withPeer(far, request, target.peer))
  const response = await Promise.race([send(request, target.path, near), failed.promise])
  const { statusCode: status = 500, headersDistinct } = response
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    if (!HOP_BY_HOP.has(name)) for (const value of values) headers.append(name, value)
  // a Node stream of bytes: the types of the two platforms differ
  const body = hasBody(request, status) ? (Readable.toWeb(response) as ReadableStream) : null
  if (body === null) response.resume()
  return new Response(body, { status, headers })
}

/** They describe the connection in memory. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])

const hasBody = ({ method }: Request, status: number): boolean => method !== 'HEAD' && ![204, 304].includes(status)

/** What the doors read of a socket. */
function withPeer(connection: Duplex, { url }: Request, peer: string): Duplex {
  const isSecure = url.startsWith('https:')
  return Object.assign(connection, {
    remoteAddress: peer,
    ...(isSecure && { encrypted: true }),
    bytesWritten: 0,
    destroySoon: () => connection.end(),
  })
}

async function send(request: Request, path: string, connection: Duplex): Promise<IncomingMessage> {
  const { method, url, headers, body, signal } = request
  const sent = openRequest({
    method,
    path,
    headers: { host: new URL(url).host, ...Object.fromEntries(headers), connection: 'close' },
    createConnection: () => connection,
    signal,
  })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  sent.once('response', resolve).once('error', reject)
  // the door may reject a body before it has read it: the response says so. The types of web streams differ.
  if (body) pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), sent).catch(() => {})
  else sent.end()
  return promise
}
