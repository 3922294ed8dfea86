/** How much of what was written to a connection has not reached the client. */
import { readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { isInternalUsable } from './probes.ts'

/** Fields of Node that its types leave out. Each may be missing. */
interface SocketHandle {
  readonly fd?: number
  readonly writeQueueSize?: number
}

const handleOf = (socket: Socket): SocketHandle =>
  (isInternalUsable('unsent-bytes') && (socket as { _handle?: SocketHandle | null })._handle) || {}

/** Bytes of the current write that the system has not accepted; 0 if unknown. Node's own counters count whole writes. */
export const countQueuedBytes = (socket: Socket): number => handleOf(socket).writeQueueSize ?? 0

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
