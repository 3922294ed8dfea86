/** A connection of HTTP/2: its requests are served side by side. */
import type { IncomingMessage } from 'node:http'
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Connection } from './connections.ts'
import type { Door } from './door.ts'
import { Http2Request, Http2Response, RESET, type StreamHead } from './http2-messages.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { msBetweenChecks } from './slow-clients.ts'
import { waitForTurn } from './turns.ts'
import { SHORT_MS, WASTE_MS } from './wasted-work.ts'

export interface IdleLimits {
  /** Until the first request of a connection, in milliseconds. */
  readonly 'header-timeout': number
  /** After a request, in milliseconds. */
  readonly 'keep-alive-timeout': number
}

const { NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM } = constants

export const MAX_STREAMS = 100
/** What a client may send of one body before it is read: memory that 100 streams may take. */
export const STREAM_WINDOW_BYTES = 131_072
export const CONNECTION_WINDOW_BYTES = 1_048_576

/**
 * Streams that a client may reset at once, and in each second after that; with more of them the connection is closed.
 * PouchDB resets a stream when it cancels a long poll, some in a minute. An attacker resets thousands at once.
 */
export const STREAM_RESETS = { streamResetBurst: 500, streamResetRate: 50 }
/** With TLS, Node reads more of them before it closes the connection. */
const MAX_WAITING = MAX_STREAMS + STREAM_RESETS.streamResetBurst

/** A client whose frames lead to nothing is disconnected: see `endIfWasteful`. */
const MAX_WASTED_BYTES = 40_960
const WASTED_BYTES_PER_SECOND = 65_536
/** `PING` and `SETTINGS` within `CONTROL_MS`. */
const MAX_CONTROL_FRAMES = 200
const CONTROL_MS = 50
/** A connection that sent less since the last count is not counted again: idle ones cost nothing. */
const BYTES_BETWEEN_COUNTS = 16_384

const countBytesOf = ({ raw }: StreamHead): number => raw.reduce((bytes, text) => bytes + text.length, 0)

/** A request whose turn has not come. */
type Waiting = [ServerHttp2Stream, StreamHead]

export class Http2Connection extends Connection {
  override readonly isMultiplexed = true
  /** How many of the first bytes Node has not got. */
  unreadBytes = (): number => 0
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #door: Door
  readonly #idle: IdleLimits
  /** Requests that keep the connection from closing: all but feeds. */
  readonly #current = new Set<IncomingRequest>()
  readonly #responses = new Set<Http2Response>()
  readonly #waiting: Waiting[] = []
  readonly #takeTurn = () => this.#serveNext()
  #hasServed = false
  #control = { sinceMs: 0, frames: 0 }
  /** Bytes of heads, and of the bodies of requests that are over. */
  #usefulBytes = 0
  /** Bytes of bodies that ended before their clients knew: what the windows allow may still arrive. */
  #lateBytes = 0
  /** At the last count. */
  #counted = { atMs: performance.now(), bytes: 0, wasted: 0 }
  /** Bytes that were wasted, less those that time has paid. */
  #unpaidBytes = 0
  #idleSinceMs = performance.now()

  constructor(socket: Socket, session: ServerHttp2Session, door: Door, idle: IdleLimits) {
    super(socket)
    this.#socket = socket
    this.#session = session
    this.#door = door
    this.#idle = idle
    const shortestMs = Math.min(idle['header-timeout'], idle['keep-alive-timeout'], door.limits()['write-timeout'])
    const timer = setInterval(() => this.#check(), msBetweenChecks(shortestMs)).unref()
    const startedMs = performance.now()
    this.#addWaste(WASTE_MS.session)
    socket.once('close', () => {
      clearInterval(timer)
      if (performance.now() - startedMs < SHORT_MS) this.#addWaste(WASTE_MS.shortSession)
    })
  }

  #addWaste(ms: number): void {
    this.#door.connections.addWaste(this.#socket, ms)
  }

  #open(stream: ServerHttp2Stream, head: StreamHead): [Http2Request, Http2Response] {
    const request = new Http2Request(stream, head, this.#socket)
    const response = new Http2Response(stream, request)
    this.#responses.add(response)
    response.once('close', () => this.#forget(response))
    return [request, response]
  }

  #forget(response: Http2Response): void {
    this.#responses.delete(response)
    this.#usefulBytes += response.req.bytesReceived
    if (!response.req.complete) {
      // those that have arrived do not wait for the timer: many requests may end before it
      this.endIfWasteful()
      this.#lateBytes = Math.min(CONNECTION_WINDOW_BYTES, this.#lateBytes + STREAM_WINDOW_BYTES)
    }
    if (!response.writableFinished) this.#addWaste(WASTE_MS.abortedRequest)
    this.#hasServed = true
    this.#idleSinceMs = performance.now()
  }

  /**
   * Serves a request when it is the turn of its stream: the requests of all connections take turns, so that one with many
   * of them does not delay the others. A client may reset a stream before.
   */
  wait(stream: ServerHttp2Stream, head: StreamHead): void {
    if (this.#waiting.length >= MAX_WAITING) this.#endFlood()
    this.#usefulBytes += countBytesOf(head)
    this.#waiting.push([stream, head])
    waitForTurn(this.#takeTurn)
  }

  #serveNext(): void {
    let next = this.#waiting.shift()
    while (next && !this.#serve(...next)) next = this.#waiting.shift()
    if (this.#waiting.length > 0) waitForTurn(this.#takeTurn)
  }

  /** Returns `false` if its client has reset it. */
  #serve(stream: ServerHttp2Stream, head: StreamHead): boolean {
    if (stream.destroyed) {
      this.#usefulBytes += stream.readableLength - countBytesOf(head)
      this.#addWaste(WASTE_MS.abortedRequest)
      return false
    }
    try {
      void this.#door.handle(...this.#open(stream, head))
    } catch (error) {
      this.#door.logFailure(error)
      stream.destroy(RESET)
    }
    return true
  }

  /** Its turn has come before. */
  override serveInTurn(_request: IncomingMessage, serve: () => Promise<void>): Promise<void> {
    return serve()
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

  /** Feeds too. */
  get hasRequests(): boolean {
    return this.#responses.size > 0 || this.#waiting.length > 0
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

  countControlFrame(): void {
    const nowMs = performance.now()
    if (nowMs - this.#control.sinceMs > CONTROL_MS) this.#control = { sinceMs: nowMs, frames: 0 }
    this.#control.frames += 1
    if (this.#control.frames > MAX_CONTROL_FRAMES) this.#endFlood()
  }

  /**
   * A client may send frames that lead to nothing: heads that Node reads to their end and refuses without a word, empty
   * pieces of bodies, windows that grow by a byte. Node has no event for most of them. So what is neither a head nor a
   * body counts as wasted, except for acknowledging what was sent.
   */
  endIfWasteful(): void {
    const { bytesWritten } = this.#socket
    const bytesRead = this.#socket.bytesRead - this.unreadBytes()
    const last = this.#counted
    if (bytesRead - last.bytes < BYTES_BETWEEN_COUNTS || this.#session.destroyed) return
    let wasted = bytesRead - this.#usefulBytes - bytesWritten / 4
    for (const { req } of this.#responses) wasted -= req.bytesReceived
    for (const [stream] of this.#waiting) wasted -= stream.readableLength
    this.#counted = { atMs: performance.now(), bytes: bytesRead, wasted }
    const late = Math.max(0, Math.min(this.#lateBytes, wasted - last.wasted))
    this.#lateBytes -= late
    const paid = ((this.#counted.atMs - last.atMs) / 1000) * WASTED_BYTES_PER_SECOND
    this.#unpaidBytes = Math.max(0, this.#unpaidBytes + wasted - last.wasted - late - paid)
    if (this.#unpaidBytes > MAX_WASTED_BYTES) this.#endFlood()
  }

  #endFlood(): void {
    if (this.#session.destroyed) return
    this.#addWaste(WASTE_MS.flood)
    this.#session.destroy(RESET, NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #check(): void {
    // the client did not close its side after the last stream
    if (this.#session.destroyed) this.#socket.destroy()
    const nowMs = performance.now()
    const timeoutMs = this.#door.limits()['write-timeout']
    for (const response of this.#responses)
      if (nowMs - (response.stalledSinceMs ?? nowMs) >= timeoutMs) response.destroy()
    const idleMs = this.#responses.size > 0 ? 0 : nowMs - this.#idleSinceMs
    if (idleMs < this.#idle[this.#hasServed ? 'keep-alive-timeout' : 'header-timeout']) return
    // half of a head keeps a closed session from ending
    if (this.#session.closed) this.#socket.destroy()
    else this.end()
  }
}
