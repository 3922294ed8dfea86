/** Counts the chunks of a body as Node reads them, and skips those that follow. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isInternalUsable, removeBodyCallback } from './probes.ts'

/** A field of Node that its types leave out: the parser of the connection, with its callbacks by number. */
type ParserSocket = Socket & { readonly parser?: Record<string, unknown> | null }

/**
 * Calls `take` with each chunk before the body gets it, and with `null` at its end. If it returns `false`, the body gets
 * no more. Node has no event for chunks of a body that is not read, so `push` is wrapped.
 */
export function filterChunks(request: IncomingMessage, take: (chunk: Buffer | null) => boolean): void {
  if (!isInternalUsable('chunk-count')) {
    filterRead(request, take)
    return
  }
  const push = request.push
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (take(chunk)) return push.call(request, chunk, encoding)
    request.push = () => false
    return false
  }
}

/** The chunks of a body that is read are events. Without a reader Node stops after the first bytes of a body. */
function filterRead(request: IncomingMessage, take: (chunk: Buffer) => boolean): void {
  const count = (chunk: Buffer): void => {
    if (!take(chunk)) request.off('data', count).pause()
  }
  // not earlier: a listener for data would start the reading
  request.once('resume', () => request.on('data', count))
}

/**
 * Removes the parser's callback for chunks until the connection closes: a parser without it skips the chunks that Node
 * has read already, at almost no cost. Nothing else makes Node skip them, not even closing the connection. It takes 2
 * instead of 20 ms of CPU time to reject 64 KiB of one-byte chunks (`npm run test:long -- bodies --ways tiny`).
 */
export function dropBody(socket: ParserSocket): void {
  socket.pause()
  const restore = socket.parser && isInternalUsable('body-drop') && removeBodyCallback(socket.parser)
  // Node reuses the parser for another connection as soon as this one is closed.
  if (restore) socket.prependOnceListener('close', restore)
}
