/**
 * Serves requests without a connection of their own by a door: over one in memory, so that the door's parser and checks
 * are the same.
 */
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { Http2ServerRequest } from 'node:http2'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CONNECTION_HEADERS } from '../base/header-pairs.ts'
import { toHttp1Headers } from '../http/http2-messages.ts'

export type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** `path` replaces that of the request. `peer` is the address of the client, or of the proxy before this program. */
interface Target {
  readonly peer: string
  readonly path: string
  readonly serve: Serve
}

export async function fetchFrom(request: Request, target: Target): Promise<Response> {
  const { method, url, headers: sent, body: content, signal } = request
  const { host, protocol } = new URL(url)
  const headers = { host, ...Object.fromEntries(sent) }
  // the types of web streams differ between the two platforms
  const stream = content && Readable.fromWeb(content as Parameters<typeof Readable.fromWeb>[0])
  const response = await exchange({ method, headers, signal, protocol }, stream, target)
  const { statusCode: status = 500, headersDistinct } = response
  const received = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    if (!CONNECTION_HEADERS.has(name)) for (const value of values) received.append(name, value)
  // a Node stream of bytes: the types of the two platforms differ
  const body = hasBody(request, status) ? (Readable.toWeb(response) as ReadableStream) : null
  if (body === null) response.resume()
  return new Response(body, { status, headers: received })
}

const hasBody = ({ method }: Request, status: number): boolean => method !== 'HEAD' && ![204, 304].includes(status)

/**
 * For a request of HTTP/2, or one that a framework has made for a test, as `fastify.inject` does. `parsed` is sent in place
 * of a body that was read before.
 */
export async function serveInMemory(
  request: IncomingMessage,
  response: ServerResponse,
  serve: Serve,
  parsed?: Buffer,
): Promise<void> {
  const { method, url: path = '/', socket } = request
  const isLost = parsed === undefined && isBodyTaken(request)
  const headers = toHttp1Headers(request.rawHeaders)
  if (parsed || isLost) {
    delete headers['content-length']
    delete headers['transfer-encoding']
    // else Node would say that there is no body
    if (isLost) headers['transfer-encoding'] = ['chunked']
  }
  const target = { peer: socket.remoteAddress ?? '127.0.0.1', path, serve: isLost ? withoutBody(serve) : serve }
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const protocol = 'encrypted' in socket ? 'https:' : 'http:'
  const body = parsed ? Readable.from([parsed]) : request
  const answer = await exchange({ method, headers, protocol, signal: gone.signal }, body, target)
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    if (!CONNECTION_HEADERS.has(name)) response.setHeader(name, values)
  response.statusCode = answer.statusCode ?? 500
  await pipeline(answer, response)
}

const isBodyTaken = (request: IncomingMessage | Http2ServerRequest): boolean =>
  request.readableDidRead && !(request instanceof Http2ServerRequest && request.stream.endAfterHeaders)

/** The doors then say that the body was read before, and do not take it for an empty one. */
const withoutBody =
  (serve: Serve): Serve =>
  (request, response) =>
    serve(Object.defineProperty(request, 'readableDidRead', { value: true }), response)

async function exchange(sent: RequestOptions, body: Readable | null, target: Target): Promise<IncomingMessage> {
  const [near, far] = duplexPair()
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const server = createServer((incoming, response) => void target.serve(incoming, response).catch(reject))
  server.emit('connection', withPeer(far, target.peer, sent.protocol === 'https:'))
  const { method, headers, signal } = sent
  const request = openRequest({
    method,
    path: target.path,
    headers: { ...headers, connection: 'close' },
    createConnection: () => near,
    ...(signal && { signal }),
  })
  request.once('response', resolve).once('error', reject)
  // the door may reject a body before it has read it: the response says so
  if (body) {
    // else Node would send the body of a DELETE without its length
    request.useChunkedEncodingByDefault = true
    pipeline(body, request).catch(() => {})
  } else request.end()
  return promise
}

/** What the doors read of a socket. */
const withPeer = (connection: Duplex, peer: string, isSecure: boolean): Duplex =>
  Object.assign(connection, {
    remoteAddress: peer,
    ...(isSecure && { encrypted: true }),
    bytesWritten: 0,
    destroySoon: () => connection.end(),
  })
