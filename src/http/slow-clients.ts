/** Closes the connections of clients that do not read their responses. */
import type { Socket } from 'node:net'
import { countQueuedBytes, loadUnacknowledged } from '../base/node-internals/unsent-bytes.ts'

/** The last look at a connection with unsent data. */
interface Progress {
  /** Bytes that Node handed to the system, and those of the current write that the system has not accepted. */
  readonly written: number
  readonly queued: number
  /** Bytes in the system's send buffer that the client has not acknowledged. `undefined` if unknown. */
  unacknowledged: number | undefined
  sinceMs: number
}

const CHECKS_PER_TIMEOUT = 4
const MAX_MS_BETWEEN_CHECKS = 5000

/** How often to look whether a timeout has passed. */
export const msBetweenChecks = (timeoutMs: number): number =>
  Math.min(timeoutMs / CHECKS_PER_TIMEOUT, MAX_MS_BETWEEN_CHECKS)

/**
 * Watches a set of connections and closes those on which a client takes no data for `timeoutMs` although some is
 * waiting: each holds memory and a connection to the upstream. All connections are checked from one timer, so requests
 * cost nothing extra.
 */
export class SlowClientWatch {
  readonly #sockets: ReadonlySet<Socket>
  readonly #timeoutMs: () => number
  readonly #progress = new WeakMap<Socket, Progress>()
  #isRunning = false

  constructor(sockets: ReadonlySet<Socket>, timeoutMs: () => number) {
    this.#sockets = sockets
    this.#timeoutMs = timeoutMs
  }

  /** To be called for each new connection. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#checkLater()
  }

  #checkLater(): void {
    setTimeout(() => this.#check(), msBetweenChecks(this.#timeoutMs())).unref()
  }

  async #check(): Promise<void> {
    const startMs = performance.now()
    const suspects = [...this.#sockets].filter((socket) => this.#hasNotMoved(socket, startMs))
    if (suspects.length > 0) {
      const unacknowledged = await loadUnacknowledged(suspects)
      const nowMs = performance.now()
      for (const socket of suspects) if (this.#isStalled(socket, unacknowledged.get(socket), nowMs)) resetSocket(socket)
    }
    this.#isRunning = this.#sockets.size > 0
    if (this.#isRunning) this.#checkLater()
  }

  /** Whether data is waiting and Node has sent none of it since the last check. */
  #hasNotMoved(socket: Socket, nowMs: number): boolean {
    if (socket.writableLength === 0) {
      this.#progress.delete(socket)
      return false
    }
    const written = socket.bytesWritten - socket.writableLength
    const queued = countQueuedBytes(socket)
    const before = this.#progress.get(socket)
    if (before?.written === written && before.queued === queued) return true
    this.#progress.set(socket, { written, queued, unacknowledged: undefined, sinceMs: nowMs })
    return false
  }

  #isStalled(socket: Socket, unacknowledged: number | undefined, nowMs: number): boolean {
    const before = this.#progress.get(socket)
    // Node may have sent something while the system's tables were read.
    if (before === undefined || !this.#hasNotMoved(socket, nowMs)) return false
    if (before.unacknowledged === unacknowledged) return nowMs - before.sinceMs >= this.#timeoutMs()
    // The first known number is no progress: there is none to compare it with.
    if (before.unacknowledged !== undefined) before.sinceMs = nowMs
    before.unacknowledged = unacknowledged
    return false
  }
}

/** Closes a connection at once, with a TCP reset where possible: the client cannot take what it got for complete. */
export function resetSocket(socket: Socket): void {
  // TLS has its own end-of-data mark and Unix sockets have no reset; Node would throw for both.
  if (socket.remoteAddress === undefined || 'encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}
