/** Request bodies that are still arriving when the reply is written. */
import type { IncomingMessage } from 'node:http'
import { hasBody } from './body.ts'
import { isRelayed } from './relay.ts'

/** A declared body up to this size is read and discarded, which costs less than a new connection. */
const MAX_DISCARDED_BYTES = 65_536

/**
 * Whether so much of the body is unread that the connection cannot be kept. `isCut`: no more of it is accepted. In HTTP/2
 * the reply ends the body of its stream, and the connection goes on.
 */
export function hasUnreadBody(request: IncomingMessage, isCut: boolean): boolean {
  if (request.httpVersionMajor === 2) return false
  if (request.complete || !hasBody(request)) return false
  if (isCut) return true
  // the worker thread has it, and decides
  if (isRelayed(request.socket)) return false
  const declared = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return request.headers.expect !== undefined || declared > MAX_DISCARDED_BYTES
}

/** Discards the rest of a body. Closes the connection if that takes longer than `timeoutMs`. */
export function limitDrainTime(request: IncomingMessage, timeoutMs: number): void {
  const { socket } = request
  if (request.httpVersionMajor === 2) return
  if (request.complete || !hasBody(request) || socket.destroyed) return
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, timeoutMs)
  // Node does so itself only for a body of which nothing was read. A reader of a part has paused it.
  request.resume()
  const stop = () => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  // A request that was broken off emits no 'close' any more, so the socket is watched.
  request.once('end', stop)
  socket.once('close', stop)
}

const DRAIN = { maxBytes: 1 << 20, maxChunks: 1000, pauseMs: 10, timeoutMs: 2000 }

/**
 * Reads and discards a part of a rejected body, then calls `done`. It pauses between chunks, so that clients that send
 * as fast as they can do not take time from other requests.
 */
export function drainSlowly(request: IncomingMessage, done: () => void): void {
  let bytes = 0
  let chunks = 0
  let pause: NodeJS.Timeout | undefined
  const finish = () => {
    clearTimeout(timeout)
    clearTimeout(pause)
    request.off('data', onData).off('end', finish).off('close', finish)
    done()
  }
  const resume = () => {
    pause = undefined
    request.resume()
  }
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    chunks += 1
    if (bytes > DRAIN.maxBytes || chunks > DRAIN.maxChunks) return finish()
    if (pause !== undefined) return
    request.pause()
    pause = setTimeout(resume, DRAIN.pauseMs)
  }
  const timeout = setTimeout(finish, DRAIN.timeoutMs)
  // A reader of the body may have paused it.
  request.on('data', onData).once('end', finish).once('close', finish).resume()
}
