/**
 * What the system holds of a connection until the other end has taken it. Node counts bytes as gone when the system has
 * room for them, which it makes by the megabyte; only the system knows of those that a slow client takes in between.
 */
import { readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { handleOf } from './socket-handle.ts'

/** Linux alone tells: a line for each connection, addresses of either kind in a table of its own. */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
const QUEUES = 4
const INODE = 9

/** Bytes by connection. One the system says nothing of is left out. */
export async function loadUnacknowledged(sockets: readonly Socket[]): Promise<ReadonlyMap<Socket, number>> {
  const byInode = new Map<string, Socket>()
  for (const socket of sockets) {
    const inode = await findInode(socket)
    if (inode !== undefined) byInode.set(inode, socket)
  }
  const bytes = new Map<Socket, number>()
  if (byInode.size === 0) return bytes
  for (const table of TABLES)
    for (const line of (await loadText(table)).split('\n')) {
      const fields = line.trim().split(/\s+/)
      const socket = byInode.get(fields[INODE] ?? '')
      // `<bytes to send>:<bytes to read>`, hexadecimal
      if (socket) bytes.set(socket, Number.parseInt(fields[QUEUES] ?? '', 16))
    }
  return bytes
}

async function findInode(socket: Socket): Promise<string | undefined> {
  const { fd = -1 } = handleOf(socket) ?? {}
  if (fd < 0) return undefined
  const link = await readlink(`/proc/self/fd/${fd}`).catch(() => '')
  return /^socket:\[(\d+)\]$/.exec(link)?.[1]
}

const loadText = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')
