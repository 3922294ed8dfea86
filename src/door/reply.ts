import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { hasBody } from './body.ts'
import type { Dialect, Exchange, Reply } from './exchange.ts'

/** What is left of a refused body is read and thrown away up to here; then the connection is cut. */
const LINGER = { bytes: 1 << 20, ms: 2000 }

/** A declared body up to this size is cheaper to swallow than to open a new connection for. */
const SWALLOWED_BYTES = 65_536

export interface Delivery {
  readonly dialect: Dialect
  readonly exchange: Exchange
  readonly reply: Reply
  /** The connection ends with this reply. */
  readonly isLast: boolean
}

/** The only writer of replies. Gives whether the connection ends with this one. */
export function writeReply(request: IncomingMessage, response: ServerResponse, delivery: Delivery): boolean {
  if (response.headersSent || response.destroyed) return true
  const { reply, exchange, dialect } = delivery
  const leavesBody = hasUnreadBody(request)
  const headers = headersOf(dialect, exchange, reply)
  const isLast = delivery.isLast || leavesBody
  if (isLast) headers.push('Connection', 'close')
  response.writeHead(reply.status, headers)
  const body = request.method === 'HEAD' ? undefined : reply.body
  if (!leavesBody) {
    response.end(body)
    return isLast
  }
  // The reply is out before the connection is cut: a reset while the client still sends would lose it.
  if (body !== undefined) response.write(body)
  else response.flushHeaders()
  linger(request, () => response.end())
  return isLast
}

function headersOf(dialect: Dialect, exchange: Exchange | undefined, reply: Reply): string[] {
  const flat: string[] = []
  for (const [name, value] of reply.headers) flat.push(name, value)
  for (const [name, value] of dialect.standingHeaders(exchange, reply)) flat.push(name, value)
  const hasNoBody = reply.status === 204 || reply.status === 304
  if (!hasNoBody) flat.push('Content-Length', String(Buffer.byteLength(reply.body ?? '')))
  return flat
}

function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return false
  const declared = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return request.headers.expect !== undefined || declared > SWALLOWED_BYTES
}

function linger(request: IncomingMessage, done: () => void): void {
  let left = LINGER.bytes
  const finish = () => {
    clearTimeout(timer)
    request.off('data', onData)
    done()
  }
  const onData = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) finish()
  }
  const timer = setTimeout(finish, LINGER.ms)
  request.on('data', onData).once('end', finish).once('close', finish)
}

/** A reply to what could not be read as a request: straight to the socket, which it ends. */
export function writeRawReply(socket: Socket, dialect: Dialect, reply: Reply): void {
  const lines = [`HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}`, `Date: ${new Date().toUTCString()}`]
  const headers = headersOf(dialect, undefined, reply)
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${reply.body ?? ''}`)
}
