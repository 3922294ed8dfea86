import { Writable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import type { Reply, ResponseStream, Sink } from '../http/request-context.ts'

/** Takes the place of the client, and keeps what comes up to a bound. */
class Gathering extends Writable implements Sink {
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

const isResponseStream = (body: Reply['body']): body is ResponseStream => typeof body === 'object' && 'pipeTo' in body

const tooLarge = (): Refusal =>
  new Refusal('upstream_failed', { detail: 'a response that must be read whole is too large' })

/** The response with its whole body in memory. One that is larger than `maxBytes`, or breaks off, is `upstream_failed`. */
export async function readWholeResponse(reply: Reply, maxBytes: number): Promise<Reply> {
  const { body } = reply
  if (!isResponseStream(body)) return reply
  const gathered = await new Promise<Buffer>((resolve, reject) => {
    const sink = new Gathering(maxBytes, () => {
      body.discard()
      reject(tooLarge())
    })
    const end = (last?: Uint8Array) => {
      const whole = Buffer.concat(last ? [...sink.chunks, last] : sink.chunks)
      if (whole.length > maxBytes) reject(tooLarge())
      else resolve(whole)
    }
    const breakOff = () => reject(new Refusal('upstream_failed', { detail: 'the response broke off' }))
    body.pipeTo(sink, end, breakOff)
  })
  return { ...reply, headers: reply.headers.filter(([name]) => !OF_THE_FORM.has(name.toLowerCase())), body: gathered }
}

/** Headers that describe the body as it was on the wire. */
const OF_THE_FORM: ReadonlySet<string> = new Set(['content-length', 'etag', 'trailer', 'content-md5', 'digest'])
