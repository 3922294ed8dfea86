/** Connections of HTTP/2: their requests are served side by side. */
import type { IncomingMessage } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { stopReadingAtEnd } from '../base/node-internals/session-start.ts'
import { Connection, rememberConnection } from './connections.ts'
import type { Door, DoorLimits } from './door.ts'
import { Http2Request, Http2Response, RESET, type StreamHead } from './http2-messages.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { waitForTurn, waitToStart } from './pipelining.ts'
import { msBetweenChecks } from './slow-clients.ts'

export interface IdleLimits {
  /** Until the first request of a connection. */
  readonly headerTimeoutMs: number
  /** After a request. */
  readonly keepAliveTimeoutMs: number
}

type Http2Door = Pick<Door, 'handle' | 'limits' | 'logFailure'>

const { NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } = constants

const MAX_STREAMS = 100
/** What a client may send of one body before it is read: memory that 100 streams may take. */
const STREAM_WINDOW_BYTES = 131_072
const CONNECTION_WINDOW_BYTES = 1_048_576

/**
 * Streams that a client may reset at once, and in each second after that; with more of them the connection is closed.
 * PouchDB resets a stream when it cancels a long poll, some in a minute. An attacker resets thousands at once.
 */
const STREAM_RESETS = { streamResetBurst: 500, streamResetRate: 50 }

/**
 * Node reads a head that is too large or invalid to its end, refuses it, and says nothing of it. With more of them the
 * connection is closed. While 100 connections sent only such heads, turns of the event loop took 108 ms (p99 of CPU
 * time), and take 27 ms now (test/long/attacks/http2.ts).
 */
const MAX_REFUSED_STREAMS = 50
const MS_BETWEEN_COUNTS = 250
/** A connection that sent less since the last count is not counted again: idle ones cost nothing. */
const BYTES_BETWEEN_COUNTS = 32_768

/** Serves the requests of a connection whose client speaks HTTP/2. */
export const serveHttp2 = (socket: Socket, door: Http2Door, idle: IdleLimits): void =>
  waitToStart(() => socket.destroyed || startSession(socket, door, idle))

function startSession(socket: Socket, door: Http2Door, idle: IdleLimits): void {
  const session = performServerHandshake(socket, toSessionOptions(door.limits()))
  stopReadingAtEnd(session, socket)
  const connection = new Http2Connection(socket, session, {
    ...idle,
    writeTimeoutMs: () => door.limits().writeTimeoutMs,
  })
  rememberConnection(socket, connection)
  countStreams(connection, socket)
  session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
  // 'close' follows
  session.on('error', () => {})
  // The server accepts half-open connections, because that of HTTP/1.1 closes them itself.
  socket.once('end', () => socket.destroy())
  session.on('stream', (stream: ServerHttp2Stream, headers, flags, raw: readonly string[] = []) => {
    // A client may reset the stream at any time. 'close' follows, and says all there is to say.
    stream.on('error', () => {})
    const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0
    try {
      void door.handle(...connection.open(stream, { headers, raw, hasBody }))
    } catch (error) {
      door.logFailure(error)
      stream.destroy(RESET)
    }
  })
}

const counted = new Set<Http2Connection>()
let counting: NodeJS.Timeout | undefined

/** Closes it if too many of its streams are refused. One timer counts those of all connections. */
function countStreams(connection: Http2Connection, socket: Socket): void {
  counted.add(connection)
  counting ??= setInterval(() => {
    for (const each of counted) each.endIfRefused()
  }, MS_BETWEEN_COUNTS).unref()
  socket.once('close', () => {
    counted.delete(connection)
    if (counted.size > 0) return
    clearInterval(counting)
    counting = undefined
  })
}

/** The limits of headers are above those of the guard, so that slightly too large headers get an error of the dialect. */
const toSessionOptions = ({ maxHeaders, maxHeaderBytes }: DoorLimits) => ({
  maxHeaderListPairs: maxHeaders * 2,
  settings: {
    maxConcurrentStreams: MAX_STREAMS,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: maxHeaderBytes * 2,
  },
  ...STREAM_RESETS,
  // an upstream may repeat any header
  strictSingleValueFields: false,
})

interface Limits extends IdleLimits {
  /** Longest time in which a client may take none of the data that waits for it. */
  writeTimeoutMs(): number
}

class Http2Connection extends Connection {
  override readonly isMultiplexed = true
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #limits: Limits
  /** Requests that keep the connection from closing: all but feeds. */
  readonly #current = new Set<IncomingRequest>()
  readonly #responses = new Set<Http2Response>()
  readonly #waiting: (() => void)[] = []
  readonly #takeTurn = () => this.#serveNext()
  #hasServed = false
  #streams = 0
  #countedBytes = 0
  #idleSinceMs = performance.now()

  constructor(socket: Socket, session: ServerHttp2Session, limits: Limits) {
    super(socket)
    this.#socket = socket
    this.#session = session
    this.#limits = limits
    const { headerTimeoutMs, keepAliveTimeoutMs, writeTimeoutMs } = limits
    const shortestMs = Math.min(headerTimeoutMs, keepAliveTimeoutMs, writeTimeoutMs())
    const timer = setInterval(() => this.#check(), msBetweenChecks(shortestMs)).unref()
    socket.once('close', () => clearInterval(timer))
  }

  open(stream: ServerHttp2Stream, head: StreamHead): [Http2Request, Http2Response] {
    this.#streams += 1
    const request = new Http2Request(stream, head, this.#socket)
    const response = new Http2Response(stream, request)
    this.#responses.add(response)
    response.once('close', () => this.#forget(response))
    return [request, response]
  }

  #forget(response: Http2Response): void {
    this.#responses.delete(response)
    this.#hasServed = true
    this.#idleSinceMs = performance.now()
  }

  /** The requests of all connections take turns, so that one with many of them does not delay the others. */
  override serveInTurn(request: IncomingMessage, serve: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    waitForTurn(this.#takeTurn)
    // a client may reset a stream before its turn comes
    return promise.then(() => (request instanceof Http2Request && request.isGone ? undefined : serve()))
  }

  #serveNext(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) waitForTurn(this.#takeTurn)
  }

  override endTurn(): void {}

  override add(request: IncomingRequest): void {
    this.#current.add(request)
  }

  override remove(request: IncomingRequest): void {
    this.#current.delete(request)
  }

  override get isIdle(): boolean {
    return this.#current.size === 0 && this.#waiting.length === 0
  }

  /** Tells the client to open no more streams. */
  override retire(): void {
    if (!this.#session.closed) this.#session.close()
  }

  /** Those that are open are finished, except feeds. */
  override end(): void {
    this.retire()
    this.endIfIdle()
  }

  override endIfIdle(): void {
    if (this.isIdle && this.#responses.size > 0) this.#session.destroy(undefined, NGHTTP2_NO_ERROR)
  }

  endIfRefused(): void {
    const { bytesRead } = this.#socket
    if (bytesRead - this.#countedBytes < BYTES_BETWEEN_COUNTS || this.#session.destroyed) return
    this.#countedBytes = bytesRead
    // clients use the odd numbers
    const begun = ((this.#session.state.lastProcStreamID ?? 0) + 1) / 2
    if (begun - this.#streams > MAX_REFUSED_STREAMS) this.#session.destroy(RESET, NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #check(): void {
    // the client did not close its side after the last stream
    if (this.#session.destroyed) this.#socket.destroy()
    const nowMs = performance.now()
    const timeoutMs = this.#limits.writeTimeoutMs()
    for (const response of this.#responses)
      if (nowMs - (response.stalledSinceMs ?? nowMs) >= timeoutMs) response.destroy()
    const { headerTimeoutMs, keepAliveTimeoutMs } = this.#limits
    const idleMs = this.#responses.size > 0 ? 0 : nowMs - this.#idleSinceMs
    if (idleMs < (this.#hasServed ? keepAliveTimeoutMs : headerTimeoutMs)) return
    // half of a head keeps a closed session from ending
    if (this.#session.closed) this.#socket.destroy()
    else this.end()
  }
}
