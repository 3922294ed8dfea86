/** Gives the bytes of connections to Node's parser, one request at a time. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { divert, hasParser } from '../base/node-internals/parser-input.ts'
import { isWaitingForTurn, waitForTurn } from './turns.ts'

/** While this many bytes wait, no more are read from the connection. Below it, a disconnect is still noticed. */
const MAX_WAITING_BYTES = 16_384
/** The parser gets at most this many slices in one turn. */
const MAX_SLICES = 64
const END_OF_HEAD = '\r\n\r\n'
const END_BYTES = Buffer.from(END_OF_HEAD)
/** The shortest head, `GET / HTTP/1.1`, has this many bytes before its end. */
const MIN_HEAD_BYTES = 14
/** Slices of a body of unknown length are longer than this, because the parser's callback for a slice costs 1 µs. */
const MIN_BODY_BYTES = 1024
const NONE = Buffer.alloc(0)

/** What may happen with the next bytes of a connection. `drop`: no further request is served. */
export type NextBytes = 'parse' | 'wait' | 'drop'

/**
 * The bytes of one connection that the parser has not got.
 *
 * Node's parser emits every request that it finds in the 64 KiB of one read, and nothing stops it in between: that is
 * up to 3600 requests at once. So it gets the bytes in slices that end with the head or the body of a request, and the
 * rest waits as bytes until the request is answered. The slices decide only how many requests are found at once: what a
 * request is, the parser decides.
 */
export class RequestBytes {
  readonly #socket: Socket
  readonly #next: () => NextBytes
  readonly #parse: (bytes: Buffer) => void
  readonly #takeTurn = () => this.#parseNext()
  #waiting: Buffer = NONE
  /** The last bytes that the parser got of a head it does not have the end of. */
  #tail = ''
  /** The request that the parser found last. */
  #last: IncomingMessage | undefined
  /** Bytes of its body that the parser has not got; `undefined`: unknown. */
  #bodyBytes: number | undefined = 0
  /** Whether the connection is paused here, and not by Node because a body is not read. */
  #isPaused = false

  constructor(socket: Socket, next: () => NextBytes) {
    this.#socket = socket
    this.#next = next
    this.#parse = divert(socket, (bytes) => this.#take(bytes))
    // Node resumes the connection at the end of each message.
    socket.on('resume', () => this.#pauseIfFull())
  }

  /** To be called when the parser has found a request. */
  onRequest(request: IncomingMessage): void {
    this.#last = request
    const { 'content-length': length = 0, 'transfer-encoding': coding } = request.headers
    this.#bodyBytes = coding === undefined ? Number(length) : undefined
  }

  /** To be called when a request is answered. */
  continue(): void {
    if (this.#waiting.length > 0) waitForTurn(this.#takeTurn)
  }

  /** `bytes` may be overwritten after this call. */
  #take(bytes: Buffer): void {
    const isFirst = this.#waiting.length === 0
    this.#waiting = isFirst ? bytes : Buffer.concat([this.#waiting, bytes])
    if (isWaitingForTurn(this.#takeTurn)) this.#pauseIfFull()
    else this.#parseNext()
    if (isFirst && this.#waiting.length > 0) this.#waiting = Buffer.from(this.#waiting)
  }

  /** Gives the parser the bytes up to the end of the next request. */
  #parseNext(): void {
    for (let slices = 0; this.#waiting.length > 0; slices += 1) {
      const next = hasParser(this.#socket) ? this.#next() : 'drop'
      if (next === 'drop') this.#keep(NONE)
      if (next !== 'parse') break
      if (slices === MAX_SLICES) {
        waitForTurn(this.#takeTurn)
        break
      }
      this.#parseSlice()
    }
    this.#pauseIfFull()
  }

  #parseSlice(): void {
    const isBody = this.#last?.complete === false
    if (!isBody) this.#parseHead()
    else if (this.#bodyBytes === undefined) this.#parseBody(this.#findEnd(MIN_BODY_BYTES))
    else {
      const end = Math.min(this.#bodyBytes, this.#waiting.length)
      this.#bodyBytes -= end
      this.#parseBody(end)
    }
  }

  #parseHead(): void {
    const end = this.#findEndAfterTail() ?? this.#findEnd(MIN_HEAD_BYTES)
    const slice = this.#cut(end ?? this.#waiting.length)
    this.#tail =
      end === undefined ? (this.#tail + slice.toString('latin1', Math.max(0, slice.length - 3))).slice(-3) : ''
    this.#parse(slice)
  }

  #parseBody(end: number | undefined): void {
    const request = this.#last
    this.#parse(this.#cut(end ?? this.#waiting.length))
    // The slice had more than the body: a part of the body of this next request may be in it.
    if (this.#last !== request) this.#bodyBytes = undefined
  }

  #cut(end: number): Buffer {
    const all = this.#waiting
    this.#keep(end === all.length ? NONE : all.subarray(end))
    return end === all.length ? all : all.subarray(0, end)
  }

  /** Called before the parser gets a slice: Node pauses the connection again if the body in the slice is not read. */
  #keep(rest: Buffer): void {
    this.#waiting = rest
    if (!this.#isPaused || this.#isFull) return
    this.#isPaused = false
    this.#socket.resume()
  }

  /** The end of a head or of a chunked body, at least `from` bytes away. */
  #findEnd(from: number): number | undefined {
    const at = this.#waiting.indexOf(END_BYTES, from)
    return at < 0 ? undefined : at + END_OF_HEAD.length
  }

  /** The end of a head whose last four bytes did not arrive together. */
  #findEndAfterTail(): number | undefined {
    if (this.#tail === '') return undefined
    const at = (this.#tail + this.#waiting.toString('latin1', 0, 3)).indexOf(END_OF_HEAD)
    return at < 0 ? undefined : at + END_OF_HEAD.length - this.#tail.length
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING_BYTES
  }

  #pauseIfFull(): void {
    if (!this.#isFull) return
    this.#isPaused = true
    this.#socket.pause()
  }
}
