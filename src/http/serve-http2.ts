/** Starts connections of HTTP/2, and closes those whose frames lead to nothing. */
import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { codeOf } from '../base/errors.ts'
import { destroyInTurn, hasEnded, readInPieces } from '../base/node-internals/session-start.ts'
import { rememberConnection } from './connections.ts'
import type { Door, DoorLimits } from './door.ts'
import {
  CONNECTION_WINDOW_BYTES,
  Http2Connection,
  type IdleLimits,
  MAX_STREAMS,
  STREAM_RESETS,
  STREAM_WINDOW_BYTES,
} from './http2-connection.ts'
import type { StreamHead } from './http2-messages.ts'
import { waitToEnd, waitToStart } from './turns.ts'
import { WASTE_MS } from './wasted-work.ts'

const { NGHTTP2_FLAG_END_STREAM } = constants

/** New connections of clients that have to wait; each may have sent 64 KiB. Of more, the first are closed. */
const MAX_DELAYED = 500
const delayed = new Set<Socket>()

/** Serves the requests of a connection whose client speaks HTTP/2. */
export function serveHttp2(socket: Socket, door: Door, idle: IdleLimits): void {
  waitToStart(door.connections.clientOf(socket), () => {
    if (hasEnded(socket)) socket.destroy()
    if (socket.destroyed) return false
    // asked when its turn comes: of connections that begin together, the first ones may show that their client attacks
    const ms = door.connections.delayMs(socket)
    if (ms === 0) return startSession(socket, door, idle)
    delayed.add(socket)
    const [first] = delayed
    if (delayed.size > MAX_DELAYED) first?.destroy()
    if (first?.destroyed) delayed.delete(first)
    setTimeout(() => {
      delayed.delete(socket)
      serveHttp2(socket, door, idle)
    }, ms).unref()
    return false
  })
}

function startSession(socket: Socket, door: Door, idle: IdleLimits): void {
  const session = performServerHandshake(socket, toSessionOptions(door.limits()))
  const connection = new Http2Connection(socket, session, door, idle)
  rememberConnection(socket, connection)
  countBytes(connection, socket)
  connection.unreadBytes = readInPieces(session, socket, (readPiece) => {
    waitToStart(door.connections.clientOf(socket), readPiece)
    countSoon(connection, FIRST_COUNTS)
  })
  countSoon(connection, FIRST_COUNTS)
  session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
  // 'close' follows
  session.on('error', (error) => {
    if (codeOf(error) === 'ERR_HTTP2_ERROR') door.connections.addWaste(socket, WASTE_MS.flood)
  })
  session.on('ping', () => connection.countControlFrame()).on('remoteSettings', () => connection.countControlFrame())
  // The server accepts half-open connections, because that of HTTP/1.1 closes them itself.
  socket.once('end', () => socket.destroy())
  // It takes some milliseconds to end a hundred requests, so connections that end together take turns.
  destroyInTurn(socket, (destroy) => {
    if (connection.hasRequests) waitToEnd(destroy)
    else destroy()
  })
  session.on('stream', (stream: ServerHttp2Stream, headers, flags, raw: readonly string[] = []) => {
    // A client may reset the stream at any time. 'close' follows, and says all there is to say.
    stream.on('error', () => {})
    const head: StreamHead = { headers, raw, trailers: [], hasBody: (flags & NGHTTP2_FLAG_END_STREAM) === 0 }
    if (head.hasBody) stream.on('trailers', (_trailers, _flags, pairs: string[] = []) => head.trailers.push(...pairs))
    connection.wait(stream, head)
  })
}

const MS_BETWEEN_COUNTS = 50
const counted = new Set<Http2Connection>()
let counting: NodeJS.Timeout | undefined

/** Closes it if its frames lead to nothing. One timer counts for all connections. */
function countBytes(connection: Http2Connection, socket: Socket): void {
  counted.add(connection)
  counting ??= setInterval(() => {
    for (const each of counted) each.endIfWasteful()
  }, MS_BETWEEN_COUNTS).unref()
  socket.once('close', () => {
    counted.delete(connection)
    if (counted.size > 0) return
    clearInterval(counting)
    counting = undefined
  })
}

const FIRST_COUNTS = 8

/** Counts in the next iterations of the event loop: floods of many new connections must not add up until the timer. */
function countSoon(connection: Http2Connection, times: number): void {
  setImmediate(() => {
    connection.endIfWasteful()
    if (times > 1) countSoon(connection, times - 1)
  })
}

/** The limits of headers are above those of the guard, so that slightly too large headers get an error of the dialect. */
const toSessionOptions = (limits: DoorLimits) => ({
  maxHeaderListPairs: limits['max-headers'] * 2,
  settings: {
    maxConcurrentStreams: MAX_STREAMS,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: limits['max-header-bytes'] * 2,
  },
  ...STREAM_RESETS,
  // an upstream may repeat any header
  strictSingleValueFields: false,
})
