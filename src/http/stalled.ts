import type { Socket } from 'node:net'
import { cutSocket } from './cut-socket.ts'
import { handleOf } from './socket-handle.ts'
import { loadUnacknowledged } from './unacknowledged.ts'

interface Waiting {
  /** Bytes that are out, and those of the piece under way that are not. */
  out: number
  queued: number
  /** Those that are out and not taken by the client. `undefined`: the system does not tell. */
  unacknowledged: number | undefined
  sinceMs: number
}

/** How often is looked within the time a client is given. */
const LOOKS = 4
const MAX_MS_BETWEEN = 5000

/**
 * Cuts the connections of clients that take nothing of what waits for them: each holds memory, and a connection to the
 * server behind. Looked for from time to time, so that nobody else pays for it.
 */
export function createStallWatch(sockets: ReadonlySet<Socket>, timeoutMs: () => number) {
  const waiting = new WeakMap<Socket, Waiting>()
  let isLooking = false
  /** Whether Node has moved nothing since the last look, though something waits. */
  const isStill = (socket: Socket, nowMs: number): boolean => {
    if (socket.writableLength === 0) {
      waiting.delete(socket)
      return false
    }
    const out = socket.bytesWritten - socket.writableLength
    const queued = handleOf(socket)?.writeQueueSize ?? 0
    const before = waiting.get(socket)
    if (before?.out === out && before.queued === queued) return true
    waiting.set(socket, { out, queued, unacknowledged: undefined, sinceMs: nowMs })
    return false
  }
  const isStalled = (socket: Socket, unacknowledged: number | undefined, nowMs: number): boolean => {
    const before = waiting.get(socket)
    // Node may have moved something in the meantime
    if (before === undefined || !isStill(socket, nowMs)) return false
    if (before.unacknowledged === unacknowledged) return nowMs - before.sinceMs >= timeoutMs()
    // the first number is none less than another
    if (before.unacknowledged !== undefined) before.sinceMs = nowMs
    before.unacknowledged = unacknowledged
    return false
  }
  const judge = async (suspects: readonly Socket[]): Promise<void> => {
    const unacknowledged = await loadUnacknowledged(suspects)
    const nowMs = performance.now()
    for (const socket of suspects) if (isStalled(socket, unacknowledged.get(socket), nowMs)) cutSocket(socket)
  }
  const look = async (): Promise<void> => {
    const nowMs = performance.now()
    const suspects: Socket[] = []
    for (const socket of sockets) if (isStill(socket, nowMs)) suspects.push(socket)
    if (suspects.length > 0) await judge(suspects)
    isLooking = sockets.size > 0
    if (isLooking) lookLater()
  }
  const lookLater = () => setTimeout(look, Math.min(timeoutMs() / LOOKS, MAX_MS_BETWEEN)).unref()
  return {
    /** To be told of each new connection. */
    begin(): void {
      if (isLooking) return
      isLooking = true
      lookLater()
    },
  }
}
