import type { Socket } from 'node:net'
import { cutSocket } from './cut-socket.ts'

interface Waiting {
  /** Bytes that are out, and those of the piece under way that are not. */
  out: number
  queued: number
  sinceMs: number
}

/** How often is looked within the time a client is given. */
const LOOKS = 4
const MOST_MS_BETWEEN = 5000

/**
 * Cuts the connections of clients that take nothing of what waits for them: each holds memory, and a connection to the
 * server behind. Looked for from time to time, so that nobody else pays for it.
 */
export function createStallWatch(sockets: ReadonlySet<Socket>, timeoutMs: () => number) {
  const waiting = new WeakMap<Socket, Waiting>()
  let isLooking = false
  const isStalled = (socket: Socket, nowMs: number): boolean => {
    if (socket.writableLength === 0) {
      waiting.delete(socket)
      return false
    }
    const out = socket.bytesWritten - socket.writableLength
    const queued = queuedOf(socket)
    const before = waiting.get(socket)
    if (before?.out === out && before.queued === queued) return nowMs - before.sinceMs >= timeoutMs()
    waiting.set(socket, { out, queued, sinceMs: nowMs })
    return false
  }
  const look = () => {
    const nowMs = performance.now()
    for (const socket of sockets) if (isStalled(socket, nowMs)) cutSocket(socket)
    isLooking = sockets.size > 0
    if (isLooking) lookLater()
  }
  const lookLater = () => setTimeout(look, Math.min(timeoutMs() / LOOKS, MOST_MS_BETWEEN)).unref()
  return {
    /** To be told of each new connection. */
    begin(): void {
      if (isLooking) return
      isLooking = true
      lookLater()
    },
  }
}

/** What of the piece under way the system has not taken yet. Node tells that to nobody but its own time limit. */
function queuedOf(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { readonly writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
