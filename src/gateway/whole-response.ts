import { Writable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply, ResponseStream, Sink } from '../http/request-context.ts'

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
  const fail = (detail: string) => reject(new Refusal('upstream_failed', { detail }))
  const chunks: Uint8Array[] = []
  let bytes = 0
  const keep = (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes <= maxBytes) return void chunks.push(chunk)
    body.discard()
    fail('a response that must be read whole is too large')
  }
  const end = (last?: Uint8Array) => {
    if (last) keep(last)
    resolve(Buffer.concat(chunks))
  }
  body.pipeTo(createSink(keep), end, () => fail('the response broke off'))
  return promise
}

/** Takes the place of the client. */
function createSink(keep: (chunk: Uint8Array) => void): Sink {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      keep(chunk)
      done()
    },
  })
  return Object.assign(sink, { req: { httpVersion: '1.1' }, socket: null, flushHeaders() {}, addTrailers() {} })
}
