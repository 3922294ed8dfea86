import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import { dropBody, filterChunks } from '../base/node-internals/body-chunks.ts'
import { Http2Request } from './http2-messages.ts'
import type { HttpResponse } from './request-context.ts'

export interface BodyLimits {
  readonly 'max-body-bytes': number
  /** Members and elements of a JSON body, all of them together. */
  readonly 'max-json-items': number
  /** For a body that is forwarded as it arrives. No limit if absent. */
  readonly maxPassedBytes?: number
  /** Longest time without data from the client, in milliseconds. */
  readonly 'body-timeout': number
  /** Longest time for the whole body, in milliseconds. */
  readonly 'body-deadline': number
  /** Called with the length of each chunk before it is kept. Throws a Refusal if there is no room for it. */
  readonly take?: (bytes: number) => void
}

/** A request whose body is to be read. `broken` is aborted when the client sends bytes that are not HTTP. */
export interface BodySource {
  readonly request: IncomingMessage
  readonly response: HttpResponse
  readonly broken: AbortSignal
}

export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0

/** Reads a whole body within its limits. */
export async function readWholeBody(source: BodySource, limits: BodyLimits): Promise<Buffer> {
  const { 'max-body-bytes': maxBytes, 'body-timeout': silenceMs, 'body-deadline': deadlineMs, take } = limits
  const stream = openBodyStream(source, silenceMs, maxBytes)
  const deadline = setTimeout(() => stream.destroy(new Refusal('request_timeout')), deadlineMs)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream) {
      bytes += chunk.length
      take?.(chunk.length)
      chunks.push(chunk)
    }
  } finally {
    clearTimeout(deadline)
  }
  return Buffer.concat(chunks, bytes)
}

/**
 * A body as a stream. It is separate from the request, because destroying the request would close the connection before
 * the reply is sent. If the client expects `100 Continue`, it is sent when the stream is first read: the request is
 * authorised then. `silenceMs` is the longest time without data from the client: the timer stops while the reader is
 * slow.
 */
export function openBodyStream(source: BodySource, silenceMs: number, maxBytes: number): Readable {
  if (Number(source.request.headers['content-length'] ?? 0) > maxBytes) throw new Refusal('body_too_large')
  return new BodyStream(source, silenceMs, maxBytes)
}

class BodyStream extends Readable {
  readonly #source: BodySource
  readonly #silenceMs: number
  readonly #maxBytes: number
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #isOpen = false

  constructor(source: BodySource, silenceMs: number, maxBytes: number) {
    super()
    this.#source = source
    this.#silenceMs = silenceMs
    this.#maxBytes = maxBytes
  }

  override _read(): void {
    if (!this.#isOpen) this.#open()
    // Broken before it was opened: do not start a timer that no event would stop.
    if (this.destroyed) return
    this.#timer ??= setTimeout(() => this.destroy(new Refusal('request_timeout')), this.#silenceMs)
    this.#source.request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#close()
    const { request } = this.#source
    if (this.#isOpen && !request.complete) request.pause()
    done(error)
  }

  #open(): void {
    this.#isOpen = true
    const { request, response, broken } = this.#source
    if (broken.aborted) {
      this.#onBroken()
      return
    }
    if (isWaitingForContinue(request)) response.writeContinue()
    request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onBroken)
    broken.addEventListener('abort', this.#onBroken)
  }

  #close(): void {
    const { request, broken } = this.#source
    clearTimeout(this.#timer)
    request.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onBroken)
    broken.removeEventListener('abort', this.#onBroken)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#timer?.refresh()
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) return void this.destroy(new Refusal('body_too_large'))
    if (this.push(chunk)) return
    this.#source.request.pause()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #onEnd = (): void => {
    this.#close()
    this.push(null)
  }

  readonly #onBroken = (): void =>
    void this.destroy(new Refusal('malformed_request', { detail: 'the body ended early' }))
}

/** A client that already sends its body does not wait. */
const isWaitingForContinue = (request: IncomingMessage): boolean =>
  request.headers.expect !== undefined && request.readableLength === 0 && !request.complete

/** A body may have `freeChunks` of any size. With more of them, they must have an average of `averageBytes`. */
const FORWARDED = { freeChunks: 1000, averageBytes: 3 }
/** Bodies for Cardea itself and of clients that are not authenticated, or not yet. */
const OTHER = { freeChunks: 250, averageBytes: 32 }

/**
 * Counts the chunks of a body. Node runs a callback for each one, so 64 KiB of one-byte chunks, which Node reads at
 * once, took 20 ms of CPU time; with this limit 2 ms (`npm run test:long -- bodies --ways tiny`). `isForwarded`:
 * whether the client is authenticated and its body is forwarded as it arrives. `reject` is called once, when there are
 * too many chunks; no more of the body is delivered.
 */
export function limitTinyChunks(request: IncomingMessage, isForwarded: () => boolean, reject: () => void): void {
  let chunks = 0
  let bytes = 0
  filterChunks(request, (chunk) => {
    chunks += 1
    bytes += chunk?.length ?? 0
    const { freeChunks, averageBytes } = isForwarded() ? FORWARDED : OTHER
    if (chunk === null || chunks <= freeChunks + bytes / averageBytes) return true
    if (request instanceof Http2Request) request.refuse()
    else dropBody(request.socket)
    reject()
    return false
  })
}
