/** Bodies that are held whole in memory, and the limits for them. */
import { Writable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply, ResponseStream, Sink } from '../http/request-context.ts'

export interface SpoolLimits {
  /** For one request body. */
  readonly bodyBytes: number
  /** For all request bodies together. */
  readonly totalBytes: number
}

/** The memory one request body uses. */
interface SpoolShare {
  /** Throws `spool_full` if the total would exceed its limit. */
  reserve(bytes: number): void
  /** Gives back everything reserved. */
  release(): void
}

const RETRY_SECONDS = 1

/** Counts the memory of all spooled request bodies, so that slow clients cannot fill it. */
export function createSpool(): (totalBytes: number) => SpoolShare {
  let used = 0
  return (totalBytes) => {
    let own = 0
    return {
      reserve(bytes) {
        if (used + bytes > totalBytes) throw new Refusal('spool_full', { retryAfterSeconds: RETRY_SECONDS })
        used += bytes
        own += bytes
      },
      release() {
        used -= own
        own = 0
      },
    }
  }
}

/** The reply with its whole body in memory. A body larger than `maxBytes`, or broken off, is `upstream_failed`. */
export async function readWholeResponse(reply: Reply, maxBytes: number): Promise<Reply> {
  const { body } = reply
  if (!isResponseStream(body)) return reply
  const whole = await readWholeBody(body, maxBytes)
  return { ...reply, headers: reply.headers.filter(([name]) => !DESCRIBES_BODY.has(name.toLowerCase())), body: whole }
}

/** Headers that describe the body as it was sent. */
const DESCRIBES_BODY: ReadonlySet<string> = new Set(['content-length', 'etag', 'trailer', 'content-md5', 'digest'])

function readWholeBody(body: ResponseStream, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const sink = new BufferSink(maxBytes, () => {
    body.discard()
    reject(createTooLarge())
  })
  const end = (last?: Uint8Array) => {
    const whole = Buffer.concat(last ? [...sink.chunks, last] : sink.chunks)
    if (whole.length > maxBytes) reject(createTooLarge())
    else resolve(whole)
  }
  body.pipeTo(sink, end, () => reject(new Refusal('upstream_failed', { detail: 'the response broke off' })))
  return promise
}

const createTooLarge = (): Refusal =>
  new Refusal('upstream_failed', { detail: 'a response that must be read whole is too large' })

/** Takes the place of the client and keeps what it is sent. */
class BufferSink extends Writable implements Sink {
  readonly req = { httpVersion: '1.1' }
  readonly socket = null
  readonly chunks: Buffer[] = []
  #bytes = 0
  readonly #maxBytes: number
  readonly #onTooLarge: () => void

  constructor(maxBytes: number, onTooLarge: () => void) {
    super()
    this.#maxBytes = maxBytes
    this.#onTooLarge = onTooLarge
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) this.#onTooLarge()
    else this.chunks.push(chunk)
    done()
  }

  flushHeaders(): void {}
  addTrailers(): void {}
}
