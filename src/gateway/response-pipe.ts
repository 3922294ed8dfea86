import type { Dispatcher } from 'undici'
import type { ResponseStream, Sink } from '../http/request-context.ts'
import { isBreaking } from './breaks.ts'
import { filterResponseTrailers, type RawHeaders, type ReadHeaders } from './response-headers.ts'
import { createSilence } from './upstream-errors.ts'

/** Whoever asked. */
export interface PipeOwner {
  readonly isFeed: boolean
  /** Longest silence within the body of what is no feed, and the longest nothing of the request's is taken; 0: any. */
  readonly idleMs: number
  /** Longest time from the last byte of the request to the head of what is no feed; 0: any. */
  readonly firstByteMs: number
  /**
   * The head is there: what follows can be poured. `reason` is what stands behind the number; of the headers those of
   * `read` need not be read again.
   */
  onHead(status: number, reason: string, raw: RawHeaders, read: ReadHeaders): void
  /** There will be no head. */
  onFailure(error: Error): void
  /** The server broke off the body, or fell silent within it. */
  onBroken(error: Error): void
  /** All is over, one way or another. */
  onClose(): void
}

/** What may wait here before the door takes the answer. */
const MAX_WAITING_BYTES = 65_536

const GONE = new Error('nobody waits for the answer')

/**
 * One answer of an upstream on its way to the client, without a stream in between: the upstream is held back as long as
 * the client does not take what it has. An answer that breaks off breaks the client's connection, so that nobody takes
 * half of it for the whole.
 */
export class ResponsePipe implements ResponseStream, Dispatcher.DispatchHandler {
  readonly kind = 'response-stream'
  readonly isFeed: boolean
  /** Whether a byte of the answer was seen. */
  hasBegun = false
  readonly #owner: PipeOwner
  #controller: Dispatcher.DispatchController | undefined
  #sink: Sink | undefined
  #end: ((last?: Uint8Array) => void) | undefined
  #break: ((sink: Sink) => void) | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #trailers: [string, string][] | undefined
  #state: 'asked' | 'head' | 'whole' | 'over' = 'asked'
  #idle: NodeJS.Timeout | undefined

  constructor(owner: PipeOwner) {
    this.#owner = owner
    this.isFeed = owner.isFeed
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#state === 'over') controller.abort(GONE)
  }

  onResponseStarted(): void {
    this.hasBegun = true
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: ReadHeaders,
    reason: string | undefined,
  ): void {
    if (this.#state !== 'asked') return
    if (status < 200) {
      this.onEarly(controller)
      return
    }
    this.#state = 'head'
    if (this.#idle !== undefined) this.#stopIdle()
    this.#owner.onHead(status, reason ?? '', toRaw(controller.rawHeaders), headers)
  }

  /** Something came before the answer. undici would give the server all of its time anew, again and again. */
  protected onEarly(controller: Dispatcher.DispatchController): void {
    const { firstByteMs } = this.#owner
    if (firstByteMs > 0 && !this.isFeed)
      this.#idle ??= setTimeout(() => controller.abort(createSilence()), firstByteMs).unref()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#sink === undefined) {
      this.#waiting.push(chunk)
      this.#waitingBytes += chunk.length
      if (this.#waitingBytes > MAX_WAITING_BYTES) controller.pause()
      return
    }
    this.#idle?.refresh()
    if (!this.#sink.write(chunk)) this.#pause(controller)
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    const trailers = toRaw(controller.rawTrailers)
    if (trailers.length > 0) this.#trailers = filterResponseTrailers(trailers)
    if (this.#state !== 'head') return
    if (isBreaking()) {
      this.cut()
      return
    }
    this.#state = 'whole'
    if (this.#sink) this.#finish()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#state === 'over') return
    const wasAsked = this.#state === 'asked'
    this.#close()
    if (wasAsked) {
      this.#owner.onFailure(error)
      return
    }
    this.#owner.onBroken(error)
    this.#breakOff()
  }

  pipeTo(sink: Sink, end: (last?: Uint8Array) => void, breakOff: (sink: Sink) => void): void {
    this.#sink = sink
    this.#end = end
    this.#break = breakOff
    if (this.#state === 'over')
      breakOff(sink) // between head and here
    else if (this.#state === 'whole') this.#pourWhole(sink)
    else this.#pourOn(sink)
  }

  #pourWhole(sink: Sink): void {
    const last = this.#waiting.pop()
    for (const chunk of this.#waiting) sink.write(chunk)
    this.#finish(last)
  }

  /** The rest comes as the client takes it. */
  #pourOn(sink: Sink): void {
    sink.on('drain', () => this.#resume())
    if (this.#waiting.length === 0) sink.flushHeaders()
    for (const chunk of this.#waiting) sink.write(chunk)
    this.#waiting = []
    this.#watchSilence()
    if (sink.writableNeedDrain) this.#pause(this.#controller)
    else this.#controller?.resume()
  }

  /** Nobody takes it: the upstream need not go on. */
  discard(): void {
    if (this.#state === 'over') return
    const wasAsked = this.#state === 'asked'
    this.#close()
    this.#controller?.abort(GONE)
    if (wasAsked) this.#owner.onFailure(GONE)
  }

  /** Ends it for the client too. */
  cut(): void {
    this.discard()
    this.#breakOff()
  }

  #breakOff(): void {
    if (this.#sink) this.#break?.(this.#sink)
  }

  #finish(last?: Buffer): void {
    if (this.#trailers) this.#sink?.addTrailers(this.#trailers)
    this.#close()
    this.#end?.(last)
  }

  #pause(controller: Dispatcher.DispatchController | undefined): void {
    // a client that takes its time is not the upstream's silence
    this.#stopIdle()
    controller?.pause()
  }

  #resume(): void {
    if (this.#state !== 'head') return
    this.#watchSilence()
    this.#controller?.resume()
  }

  #watchSilence(): void {
    const { idleMs } = this.#owner
    if (idleMs > 0 && !this.isFeed) this.#idle ??= setTimeout(() => this.#endSilence(), idleMs).unref()
  }

  #endSilence(): void {
    this.#owner.onBroken(createSilence())
    this.cut()
  }

  #stopIdle(): void {
    clearTimeout(this.#idle)
    this.#idle = undefined
  }

  #close(): void {
    this.#state = 'over'
    clearTimeout(this.#idle)
    this.#owner.onClose()
  }
}

/** Its type allows for an object too, which it never is for HTTP/1. */
const toRaw = (raw: unknown): RawHeaders => (Array.isArray(raw) ? raw : NONE)

const NONE: RawHeaders = Object.freeze([])
