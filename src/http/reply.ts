import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasBody } from './body.ts'
import { cutSocket } from './cut-socket.ts'
import type { Dialect, Feed, Reply, RequestContext, ResponseStream, Sink } from './request-context.ts'

/** What is left of a refused body is read and thrown away up to here; then the connection is cut. */
const LINGER = { bytes: 1 << 20, pieces: 1000, pauseMs: 10, ms: 2000 }

/** A declared body up to this size is cheaper to swallow than to open a new connection for. */
const SWALLOWED_BYTES = 65_536

export interface Delivery {
  readonly dialect: Dialect
  readonly context: RequestContext
  readonly reply: Reply
  /** The connection ends with this reply. */
  readonly isLast: boolean
  /** What follows is not HTTP: nothing more of the body can come. */
  readonly isBroken: boolean
  /** How long the rest of a body that nobody wants may take. */
  readonly bodyTimeoutMs: number
}

export interface Delivered {
  /** The connection ends with this reply. */
  readonly isLast: boolean
  readonly isFeed: boolean
}

/** The only writer of replies. */
export function writeReply(request: IncomingMessage, response: ServerResponse, delivery: Delivery): Delivered {
  if (response.headersSent || response.destroyed) return abandon(delivery.reply)
  const { reply, context, dialect } = delivery
  const leavesBody = hasUnreadBody(request, context)
  const headers = headersOf(dialect, context, reply, request)
  const isLast = delivery.isLast || leavesBody
  if (isLast) headers.push('Connection', 'close')
  const reason = reasonOf(reply)
  if (reason === undefined) response.writeHead(reply.status, headers)
  else response.writeHead(reply.status, reason, headers)
  if (isResponseStream(reply.body)) {
    const end = (last?: Uint8Array) => (leavesBody ? endLate(request, response, last) : endNow(response, last))
    reply.body.pipeTo(response, end, breakOff)
    return { isLast, isFeed: reply.body.isFeed }
  }
  const body = request.method === 'HEAD' ? undefined : reply.body
  if (isFeed(body)) {
    void writeFeed(response, body)
    return { isLast, isFeed: true }
  }
  if (!leavesBody || delivery.isBroken) {
    if (!request.complete && hasBody(request)) limitRest(request, delivery.bodyTimeoutMs)
    response.end(body)
    return { isLast, isFeed: false }
  }
  // The reply is out before the connection is cut: a reset while the client still sends would lose it.
  if (body !== undefined) response.write(body)
  else response.flushHeaders()
  linger(request, () => response.end())
  return { isLast, isFeed: false }
}

function abandon({ body }: Reply): Delivered {
  if (isResponseStream(body)) body.discard()
  return { isLast: true, isFeed: false }
}

/** As another server says it, where that is plain text. `undefined`: as everybody says it. */
function reasonOf({ status, reason }: Reply): string | undefined {
  // of a phrase that comes in two packets undici tells the end alone
  if (reason === undefined || STATUS_CODES[status]?.endsWith(reason)) return undefined
  return PLAIN.test(reason) ? reason : undefined
}

const PLAIN = /^[\t\x20-\x7e]*$/

function headersOf(
  dialect: Dialect,
  context: RequestContext | undefined,
  reply: Reply,
  request?: IncomingMessage,
): string[] {
  const flat: string[] = []
  for (const [name, value] of reply.headers)
    if (name.length !== TRAILER.length || !isStrayTrailer(name, reply, request)) flat.push(name, value)
  for (const [name, value] of dialect.defaultHeaders(context, reply)) flat.push(name, value)
  const hasNoBody = reply.status === 204 || reply.status === 304
  if (!hasNoBody && isWhole(reply.body)) flat.push('Content-Length', String(Buffer.byteLength(reply.body ?? '')))
  return flat
}

const TRAILER = 'trailer'

/** Whether trailers are announced where none can follow. Node would refuse to write such a head at all. */
function isStrayTrailer(name: string, { status, headers }: Reply, request: IncomingMessage | undefined): boolean {
  if (name.toLowerCase() !== TRAILER) return false
  const hasBody = request?.method !== 'HEAD' && status !== 204 && status !== 304
  const isChunked = request?.httpVersion === '1.1' && !headers.some(([other]) => CONTENT_LENGTH.test(other))
  return !hasBody || !isChunked
}

const CONTENT_LENGTH = /^content-length$/i

const isFeed = (body: Reply['body']): body is Feed => typeof body === 'object' && Symbol.asyncIterator in body

const isResponseStream = (body: Reply['body']): body is ResponseStream => typeof body === 'object' && 'pipeTo' in body

const isWhole = (body: Reply['body']): body is string | Uint8Array | undefined =>
  !isFeed(body) && !isResponseStream(body)

/** Pieces go out as the client takes them. A feed that fails breaks the connection: the client must not take it for whole. */
async function writeFeed(response: ServerResponse, feed: Feed): Promise<void> {
  response.flushHeaders()
  try {
    await pipeline(Readable.from(feed, { objectMode: true, highWaterMark: 1 }), response)
  } catch {
    breakOff(response)
  }
}

/** Ends the connection so that nobody takes what was sent for the whole. */
function breakOff(sink: Sink): void {
  // to a client of HTTP/1.0 a close is the end of a body
  if (sink.req.httpVersion === '1.0' && sink.socket) cutSocket(sink.socket)
  else sink.destroy()
}

function hasUnreadBody(request: IncomingMessage, { isCut }: RequestContext): boolean {
  if (request.complete || !hasBody(request)) return false
  if (isCut) return true
  const declared = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return request.headers.expect !== undefined || declared > SWALLOWED_BYTES
}

/** What is small goes out in one piece with the head: as text of one character a byte, which Node can put together. */
function endNow(response: ServerResponse, last: Uint8Array | undefined): void {
  const isSmall = last !== undefined && last.length <= SMALL_BYTES
  if (isSmall) response.end(Buffer.from(last.buffer, last.byteOffset, last.length).toString('latin1'), 'latin1')
  else response.end(last)
}

const SMALL_BYTES = 16_384

/** As below: the answer was whole before the client had sent everything. */
function endLate(request: IncomingMessage, response: ServerResponse, last: Uint8Array | undefined): void {
  if (request.readableEnded || request.destroyed) {
    response.end(last)
    return
  }
  if (last !== undefined) response.write(last)
  linger(request, () => response.end())
}

/** The answer is out and the body is still to come: a client that never sends it must not keep the connection. */
function limitRest(request: IncomingMessage, ms: number): void {
  const { socket } = request
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, ms)
  const stop = () => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  // a request that broke off is closed no more; its connection is
  request.once('end', stop)
  socket.once('close', stop)
  if (socket.destroyed) stop()
}

/**
 * Throws away what comes of a refused body, a little at a time: clients that send as fast as they can must not take the
 * time of other requests.
 */
function linger(request: IncomingMessage, done: () => void): void {
  let bytes = LINGER.bytes
  let pieces = LINGER.pieces
  let next: NodeJS.Timeout | undefined
  const finish = () => {
    clearTimeout(timer)
    clearTimeout(next)
    request.off('data', onData).off('end', finish).off('close', finish)
    done()
  }
  const onData = (chunk: Buffer) => {
    bytes -= chunk.length
    pieces -= 1
    if (bytes < 0 || pieces < 0) return finish()
    if (next !== undefined) return
    request.pause()
    next = setTimeout(resume, LINGER.pauseMs)
  }
  const resume = () => {
    next = undefined
    request.resume()
  }
  const timer = setTimeout(finish, LINGER.ms)
  // it may have been paused by a reader before
  request.on('data', onData).once('end', finish).once('close', finish).resume()
}

/** A reply to what could not be read as a request: straight to the socket, which it ends. */
export function writeRawReply(socket: Socket, dialect: Dialect, reply: Reply): void {
  const lines = [`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}`, `Date: ${new Date().toUTCString()}`]
  const headers = headersOf(dialect, undefined, reply)
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${typeof reply.body === 'string' ? reply.body : ''}`)
}
