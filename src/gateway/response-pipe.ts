import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { isConnectionReset } from '../base/node-internals/connection-reset.ts'
import type { ResponseStream, Sink } from '../http/request-context.ts'
import { filterResponseTrailers, type ParsedHeaders, type RawHeaders } from './response-headers.ts'
import { UPSTREAM_SILENT } from './upstream-errors.ts'

type Controller = Dispatcher.DispatchController

export interface ResponseHead {
  readonly status: number
  /** The reason phrase. */
  readonly reason: string
  readonly headers: RawHeaders
  readonly parsed: ParsedHeaders
}

interface PipeOptions {
  /** Whether the response may be silent for any time: no timeout applies. */
  readonly isFeed: boolean
  /** Longest time in which the server accepts nothing of the request or sends nothing of the response; 0: any. */
  readonly idleMs: number
  /** Longest time from the last byte of the request to the head of the response; 0: any. */
  readonly firstByteMs: number
  /** The request body, if it is streamed to the server as it arrives. */
  readonly requestBody: Readable | undefined
}

/** Buffered before `pipeTo` is called; then the server is paused. */
const MAX_BUFFERED_BYTES = 65_536

const DISCARDED = new Error('the response was discarded')

/**
 * One response on its way from an upstream server to the client. undici calls the `on…` methods.
 * The server is paused while the client does not read. If the response breaks off, the client's connection is broken
 * too, so that the client does not take half a response for a whole one.
 */
export class ResponsePipe implements ResponseStream, Dispatcher.DispatchHandler {
  readonly kind = 'response-stream'
  readonly isFeed: boolean
  /** Whether a byte of the response has arrived. */
  hasBegun = false
  /** Called when nothing more will happen: with the error if the server broke off the body. */
  onClosed: ((error: Error | undefined) => void) | undefined
  readonly #options: PipeOptions
  readonly #head = Promise.withResolvers<ResponseHead | Error>()
  #state: 'waiting' | 'head' | 'complete' | 'closed' = 'waiting'
  #controller: Controller | undefined
  #timer: NodeJS.Timeout | undefined
  #buffered: Buffer[] = []
  #bufferedBytes = 0
  #trailers: [string, string][] = []
  #sink: Sink | undefined
  #end: ((last?: Uint8Array) => void) | undefined
  #breakOff: ((sink: Sink) => void) | undefined
  #observer: { onChunk(chunk: Uint8Array): void; onClosed(): void } | undefined

  constructor(options: PipeOptions) {
    this.#options = options
    this.isFeed = options.isFeed
  }

  /** The head of the response, or why there is none. */
  get head(): Promise<ResponseHead | Error> {
    return this.#head.promise
  }

  /** Whether the request may have been sent. Before that, there was no connection, or its TLS handshake had failed. */
  get wasStarted(): boolean {
    return this.#controller !== undefined
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#state === 'closed') controller.abort(DISCARDED)
    else if (this.#options.requestBody) this.#startTimer(this.#options.idleMs, () => this.#checkUpload())
  }

  onBodySent(): void {
    if (this.#state === 'waiting') this.#timer?.refresh()
  }

  onRequestSent(): void {
    if (this.#state === 'waiting')
      this.#startTimer(this.#options.firstByteMs, () => this.#timeOut('first-byte-timeout'))
  }

  onResponseStarted(): void {
    this.hasBegun = true
  }

  onResponseStart(controller: Controller, status: number, parsed: ParsedHeaders, reason: string | undefined): void {
    // 1xx responses are not forwarded, and do not give the server more time
    if (this.#state !== 'waiting' || status < 200) return
    this.#state = 'head'
    this.#stopTimer()
    this.#head.resolve({ status, reason: reason ?? '', headers: toRaw(controller.rawHeaders), parsed })
  }

  observe(onChunk: (chunk: Uint8Array) => void, onClosed: () => void): void {
    for (const chunk of this.#buffered) onChunk(chunk)
    if (this.#state === 'closed') onClosed()
    else this.#observer = { onChunk, onClosed }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#observer?.onChunk(chunk)
    if (this.#sink === undefined) {
      this.#buffered.push(chunk)
      this.#bufferedBytes += chunk.length
      if (this.#bufferedBytes > MAX_BUFFERED_BYTES) controller.pause()
      return
    }
    this.#timer?.refresh()
    if (!this.#sink.write(chunk)) this.#pause()
  }

  onResponseEnd(controller: Controller): void {
    if (this.#state !== 'head') return
    if (isConnectionReset()) {
      this.cut()
      return
    }
    this.#trailers = filterResponseTrailers(toRaw(controller.rawTrailers))
    this.#state = 'complete'
    if (this.#sink) this.#finish(this.#sink)
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#fail(error)
  }

  pipeTo(sink: Sink, end: (last?: Uint8Array) => void, breakOff: (sink: Sink) => void): void {
    this.#sink = sink
    this.#end = end
    this.#breakOff = breakOff
    if (this.#state === 'closed') breakOff(sink)
    else if (this.#state === 'complete') this.#writeComplete(sink)
    else this.#writeFirst(sink)
  }

  #writeComplete(sink: Sink): void {
    const last = this.#buffered.pop()
    for (const chunk of this.#buffered) sink.write(chunk)
    this.#finish(sink, last)
  }

  /** Writes what has arrived. The rest follows as the client reads. */
  #writeFirst(sink: Sink): void {
    sink.on('drain', () => this.#resume())
    if (this.#buffered.length === 0) sink.flushHeaders()
    for (const chunk of this.#buffered) sink.write(chunk)
    this.#buffered = []
    if (sink.writableNeedDrain) this.#pause()
    else this.#resume()
  }

  /** The response is not wanted any more: the server can stop sending. Without a head, `reason` takes its place. */
  discard(reason: Error = DISCARDED): void {
    if (this.#state === 'closed') return
    const isWaiting = this.#state === 'waiting'
    this.#close()
    if (isWaiting) this.#head.resolve(reason)
    this.#controller?.abort(DISCARDED)
  }

  /** Discards the response and breaks the client's connection. */
  cut(reason?: Error): void {
    this.discard(reason)
    if (this.#sink) this.#breakOff?.(this.#sink)
  }

  /** The server failed. */
  #fail(error: Error): void {
    if (this.#state === 'closed') return
    const isWaiting = this.#state === 'waiting'
    this.#close(isWaiting ? undefined : error)
    if (isWaiting) this.#head.resolve(error)
    else if (this.#sink) this.#breakOff?.(this.#sink)
  }

  #timeOut(option: 'first-byte-timeout' | 'idle-timeout'): void {
    const { firstByteMs, idleMs } = this.#options
    const error = createTimeout(option, option === 'idle-timeout' ? idleMs : firstByteMs)
    this.#fail(error)
    this.#controller?.abort(error)
  }

  #finish(sink: Sink, last?: Buffer): void {
    if (this.#trailers.length > 0) sink.addTrailers(this.#trailers)
    this.#close()
    this.#end?.(last)
  }

  #close(error?: Error): void {
    this.#state = 'closed'
    this.#stopTimer()
    this.onClosed?.(error)
    this.#observer?.onClosed()
  }

  #pause(): void {
    // a slow client must not count as a silent server
    this.#stopTimer()
    this.#controller?.pause()
  }

  #resume(): void {
    if (this.#state !== 'head') return
    this.#startTimer(this.#options.idleMs, () => this.#timeOut('idle-timeout'))
    this.#controller?.resume()
  }

  /** If the body is paused, the server is not reading. Otherwise the client is not sending, which the body itself limits. */
  #checkUpload(): void {
    if (this.#options.requestBody?.isPaused()) this.#timeOut('idle-timeout')
    else this.#timer?.refresh()
  }

  #startTimer(ms: number, onExpired: () => void): void {
    this.#stopTimer()
    if (ms > 0 && !this.isFeed) this.#timer = setTimeout(onExpired, ms).unref()
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

const createTimeout = (option: string, ms: number): Error =>
  Object.assign(new Error(`The upstream server sent nothing for ${ms / 1000} s (upstream.${option}).`), {
    code: UPSTREAM_SILENT,
  })

/** The type also allows an object, which undici uses for HTTP/2 only. */
const toRaw = (raw: unknown): RawHeaders => (Array.isArray(raw) ? raw : [])
