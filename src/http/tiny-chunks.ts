/** Rejects bodies in many chunks of a few bytes. */
import type { IncomingMessage } from 'node:http'
import { dropBody } from '../base/node-internals/drop-body.ts'
import { Http2Request } from './http2-messages.ts'

/** A body may have `freeChunks` of any size. With more of them, they must have an average of `averageBytes`. */
const FORWARDED = { freeChunks: 1000, averageBytes: 3 }
/** Bodies for Cardea itself and of clients that are not authenticated, or not yet. */
const OTHER = { freeChunks: 250, averageBytes: 32 }

/**
 * Counts the chunks of a body. Node runs a callback for each one, so 64 KiB of one-byte chunks, which Node reads at
 * once, took 20 ms of CPU time; with this limit 2 ms (`npm run test:long -- bodies --ways tiny`). Node has no
 * limit for this, so `push` is wrapped. `isForwarded`: whether the client is authenticated and its body is forwarded as
 * it arrives. `reject` is called once, when there are too many chunks; no more of the body is delivered.
 */
export function limitTinyChunks(request: IncomingMessage, isForwarded: () => boolean, reject: () => void): void {
  const push = request.push
  let chunks = 0
  let bytes = 0
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    chunks += 1
    bytes += chunk?.length ?? 0
    const { freeChunks, averageBytes } = isForwarded() ? FORWARDED : OTHER
    if (chunk === null || chunks <= freeChunks + bytes / averageBytes) return push.call(request, chunk, encoding)
    request.push = () => false
    if (request instanceof Http2Request) request.refuse()
    else dropBody(request.socket)
    reject()
    return false
  }
}
