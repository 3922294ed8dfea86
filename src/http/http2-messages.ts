/** A stream of HTTP/2 as a request and a response of `node:http`, so that all other code is the same for both versions. */

import { IncomingMessage } from 'node:http'
import {
  constants,
  type IncomingHttpHeaders as Http2Headers,
  Http2ServerRequest,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import { CONNECTION_HEADERS } from '../base/header-pairs.ts'
import type { HttpResponse } from './request-context.ts'

const { NGHTTP2_NO_ERROR } = constants

/** Resets a stream. Without an error Node would end its body before, and a part of it would look like the whole. */
export const RESET = new Error('the stream was reset')

/** A chunk that Node emits is one frame, or a part of one. */
const FRAME_HEAD_BYTES = 9

/** The head of a stream. */
export interface StreamHead {
  /** By name, with the pseudo-headers. Node has joined repeated ones. */
  readonly headers: Http2Headers
  /** Names and values in turn, with the pseudo-headers. */
  readonly raw: readonly string[]
  /** Names and values of the headers after the body, as soon as they arrive. */
  readonly trailers: string[]
  readonly hasBody: boolean
}

/**
 * A request with the headers that it would have in HTTP/1.1: `Host` from `:authority`, one `Cookie`, and
 * `Transfer-Encoding` before a body of unknown length. The guard then checks both versions by the same rules.
 */
export class Http2Request extends IncomingMessage {
  /** Bytes in the frames of the body that was read. */
  #bytesRead = 0
  #isDiscarded = false
  readonly #stream: ServerHttp2Stream

  constructor(stream: ServerHttp2Stream, { headers, raw, trailers, hasBody }: StreamHead, socket: Socket) {
    super(socket)
    this.#stream = stream
    this.httpVersion = '2.0'
    this.httpVersionMajor = 2
    this.httpVersionMinor = 0
    this.method = headers[':method'] ?? ''
    this.url = headers[':path'] ?? ''
    this.headers = headers
    this.rawHeaders = toRawHeaders(headers, raw, hasBody)
    headers.host ??= headers[':authority']
    if (hasBody && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
    this.headersDistinct = toDistinct(this.rawHeaders)
    this.rawTrailers = trailers
    if (hasBody) this.#readBody()
    else this.complete = true
  }

  #readBody(): void {
    this.#stream
      .on('data', (chunk: Buffer) => {
        this.#bytesRead += FRAME_HEAD_BYTES + chunk.length
        if (!this.#isDiscarded && !this.push(chunk)) this.#stream.pause()
      })
      .on('end', () => this.#endBody())
      .on('close', () => this.destroy())
      .pause()
    // Node ends an empty body as soon as it arrives, before the turn of its request
    if (this.#stream.readableEnded) this.#endBody()
  }

  #endBody(): void {
    // Node ends the body of a stream that was reset, too
    if (this.#isDiscarded || this.#stream.aborted || this.#stream.rstCode !== NGHTTP2_NO_ERROR) return
    this.complete = true
    this.push(null)
  }

  override _read(): void {
    this.#stream.resume()
  }

  /** Reads what has arrived of the body in vain: until then Node keeps a stream that is closed, and its connection. */
  discard(): void {
    this.#isDiscarded = true
    this.#stream.resume()
  }

  /** How much of the body has arrived. */
  get bytesReceived(): number {
    return this.#bytesRead + this.#stream.readableLength
  }

  /** That of IncomingMessage would close the connection. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    done(error)
  }

  /** Ends the stream because of what its client sends. */
  refuse(): void {
    this.#stream.destroy(RESET)
  }
}

/**
 * Whether a connection of HTTP/2 has read the request: of a door, or of a program that uses Cardea. Never ask
 * `httpVersion` for it: a client of HTTP/1 may write `HTTP/2.0` into its request line.
 */
export const isHttp2 = (request: IncomingMessage): boolean =>
  request instanceof Http2Request || request instanceof Http2ServerRequest

/** The headers that such a request would have in HTTP/1.1, with every value. Names and values in turn. */
export function toHttp1Headers(raw: readonly string[]): NodeJS.Dict<string[]> {
  const lower = raw.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text))
  const { ':authority': authority = [], host = [], cookie, ...others } = toDistinct(lower)
  const kept = Object.entries(others).filter(([name]) => !name.startsWith(':'))
  const hosts = [...new Set([...authority, ...host])]
  return { host: hosts, ...(cookie && { cookie: [cookie.join('; ')] }), ...Object.fromEntries(kept) }
}

/** If `Host` is another than `:authority`, both are kept: the guard rejects two of them. */
function toRawHeaders(headers: Http2Headers, raw: readonly string[], hasBody: boolean): string[] {
  const { ':authority': authority, cookie } = headers
  const kept = authority === undefined ? [] : ['host', authority]
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const isReplaced = name.startsWith(':') || name === 'cookie' || (name === 'host' && value === authority)
    if (!isReplaced) kept.push(name, value)
  }
  if (cookie !== undefined) kept.push('cookie', cookie)
  if (hasBody && headers['content-length'] === undefined) kept.push('transfer-encoding', 'chunked')
  return kept
}

function toDistinct(raw: readonly string[]): NodeJS.Dict<string[]> {
  // without a prototype: a header may be named `constructor`
  const distinct: NodeJS.Dict<string[]> = Object.create(null)
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const values = distinct[name]
    if (values) values.push(raw[i + 1] as string)
    else distinct[name] = [raw[i + 1] as string]
  }
  return distinct
}

/** Node puts names and values between zero bytes, and checks only the names. */
const INVALID_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** Node sends no higher one. In HTTP/1.1 an upstream may use three digits as it likes. */
const MAX_STATUS = 599

/** A client that is slow takes at least this much at a time: see `stalledSinceMs`. */
const PIECE_BYTES = 16_384

/** The response on a stream. */
export class Http2Response extends Writable implements HttpResponse {
  statusCode = 200
  readonly req: Http2Request
  readonly socket: Socket
  /** Bytes of the head, before compression, and of the body. */
  bytesSent = 0
  /** Since when a piece of the body waits for the client, in milliseconds of `performance.now()`; `undefined`: none. */
  stalledSinceMs: number | undefined
  readonly #stream: ServerHttp2Stream
  #headers: string[] | undefined
  #trailers: [string, string][] = []
  /** The next piece is the last one. */
  #isLast = false

  constructor(stream: ServerHttp2Stream, request: Http2Request) {
    super({ decodeStrings: false })
    this.#stream = stream
    this.req = request
    this.socket = request.socket
    stream.on('close', () => this.destroy())
    this.on('error', () => {})
  }

  get headersSent(): boolean {
    return this.#headers !== undefined
  }

  /** HTTP/2 has no reason phrase. */
  writeHead(status: number, ...[first, second]: [headers: string[]] | [reason: string, headers: string[]]): this {
    if (status > MAX_STATUS) throw new Refusal('upstream_failed', { detail: `status ${status}` })
    const headers = typeof first === 'string' ? (second ?? []) : first
    const sent = [':status', String(status)]
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = (headers[i] as string).toLowerCase()
      const value = headers[i + 1] as string
      if (INVALID_IN_VALUE.test(value)) throw new TypeError(`invalid character in the header ${name}`)
      if (CONNECTION_HEADERS.has(name)) continue
      sent.push(name, value)
      this.bytesSent += name.length + value.length + 4
    }
    this.statusCode = status
    this.#headers = sent
    return this
  }

  flushHeaders(): void {
    this.#respond({ waitForTrailers: this.#mayHaveTrailers })
  }

  /** Sends the head, once. */
  #respond(options: ServerStreamResponseOptions): void {
    const stream = this.#stream
    if (stream.headersSent || stream.closed || stream.destroyed) return
    if (options.waitForTrailers)
      stream.on('wantTrailers', () => stream.sendTrailers(Object.fromEntries(this.#trailers)))
    stream.respond(this.#headers ?? [], options)
  }

  /** As in HTTP/1.1, only a body of unknown length has trailers. */
  get #mayHaveTrailers(): boolean {
    return !this.#headers?.some((text, index) => index % 2 === 0 && text === 'content-length')
  }

  addTrailers(trailers: [string, string][]): void {
    const named = trailers.map(([name, value]): [string, string] => [name.toLowerCase(), value])
    this.#trailers = named.filter(([name]) => !CONNECTION_HEADERS.has(name))
  }

  writeContinue(): void {
    if (!this.#stream.headersSent && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 })
  }

  // the parameters of Writable, which has three signatures for them
  override end(chunk?: unknown, encoding?: unknown, onEnd?: () => void): this {
    this.#isLast = this.writableLength === 0
    return super.end(chunk, encoding as BufferEncoding, onEnd)
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.flushHeaders()
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    this.bytesSent += bytes.length
    this.#writePiece(bytes, done)
  }

  #writePiece(bytes: Buffer, done: (error?: Error | null) => void): void {
    const stream = this.#stream
    // a response to HEAD has no body, and a stream that is closed takes none
    if (stream.writableEnded || stream.destroyed) return void done()
    this.stalledSinceMs = performance.now()
    const isWhole = bytes.length <= PIECE_BYTES
    const onSent = () => {
      this.stalledSinceMs = undefined
      if (isWhole) done()
      else this.#writePiece(bytes.subarray(PIECE_BYTES), done)
    }
    if (!isWhole) stream.write(bytes.subarray(0, PIECE_BYTES), onSent)
    else if (this.#isLast) stream.end(bytes, onSent)
    else stream.write(bytes, onSent)
  }

  override _final(done: (error?: Error | null) => void): void {
    const stream = this.#stream
    this.#respond({ endStream: this.#trailers.length === 0, waitForTrailers: this.#trailers.length > 0 })
    if (stream.writableEnded || stream.destroyed) done()
    else stream.end(() => done())
  }

  /** After a whole response, the client may stop to send its body. After a part of one, the stream is reset. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.writableFinished) this.#stream.destroy(RESET)
    else if (!this.req.complete) {
      this.#stream.close(NGHTTP2_NO_ERROR)
      this.req.discard()
    }
    done(error)
  }
}
