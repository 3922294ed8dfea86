/** Closes the connections of clients that do not read their responses. */
import { readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'

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
    const ms = Math.min(this.#timeoutMs() / CHECKS_PER_TIMEOUT, MAX_MS_BETWEEN_CHECKS)
    setTimeout(() => this.#check(), ms).unref()
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
    const queued = handleOf(socket).writeQueueSize ?? 0
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

/** Fields of Node that its types leave out. Each may be missing. */
interface SocketHandle {
  readonly fd?: number
  /** Bytes of the current write that the system has not accepted. */
  readonly writeQueueSize?: number
}

const handleOf = (socket: Socket): SocketHandle => (socket as { _handle?: SocketHandle | null })._handle ?? {}

/** One line per connection; IPv4 and IPv6 have a table each. */
const TCP_TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
const QUEUES_COLUMN = 4
const INODE_COLUMN = 9

/**
 * The bytes that each client has not acknowledged yet.
 *
 * Node counts bytes as written once they are in the system's send buffer, which holds several megabytes. A client on a
 * slow line takes minutes for that, and Node's counters do not move meanwhile: without this number it would be
 * disconnected as stalled. Node has no API for it (`getsockopt(TCP_INFO)`), so it comes from Linux's connection tables.
 * On other systems, and for Unix sockets, the number is unknown; then only Node's counters decide.
 */
export async function loadUnacknowledged(sockets: readonly Socket[]): Promise<ReadonlyMap<Socket, number>> {
  const byInode = new Map<string, Socket>()
  for (const socket of sockets) {
    const inode = await findInode(socket)
    if (inode !== undefined) byInode.set(inode, socket)
  }
  const bytes = new Map<Socket, number>()
  if (byInode.size === 0) return bytes
  for (const table of TCP_TABLES)
    for (const line of (await loadText(table)).split('\n')) {
      const fields = line.trim().split(/\s+/)
      const socket = byInode.get(fields[INODE_COLUMN] ?? '')
      // `<bytes to send>:<bytes to read>`, hexadecimal
      if (socket) bytes.set(socket, Number.parseInt(fields[QUEUES_COLUMN] ?? '', 16))
    }
  return bytes
}

async function findInode(socket: Socket): Promise<string | undefined> {
  const { fd = -1 } = handleOf(socket)
  if (fd < 0) return undefined
  const link = await readlink(`/proc/self/fd/${fd}`).catch(() => '')
  return /^socket:\[(\d+)\]$/.exec(link)?.[1]
}

const loadText = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')
