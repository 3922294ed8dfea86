import { readdirSync, readFileSync } from 'node:fs'

/** How many files and sockets this process may have open; `undefined` where the system does not say. */
export function findOpenFileLimit(): number | undefined {
  const [, limit] = /^Max open files +(\d+)/m.exec(readOrEmpty('/proc/self/limits')) ?? []
  return limit === undefined ? undefined : Number(limit)
}

/** How many it has open now; `undefined` where the system does not say, or has none left to look with. */
export function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

/** Beside connections of clients: the store, files, connections to the upstream servers. */
const RESERVED_FILES = 100

/** Above the limit the system closes new connections without a response, so it is reported at the start. */
export function checkOpenFileLimit(maxConnections: number, limit = findOpenFileLimit()): string | undefined {
  const needed = maxConnections + RESERVED_FILES
  if (limit === undefined || limit >= needed) return undefined
  return `the limit of open files is ${limit}, and door.max-connections (${maxConnections}) needs ${needed}: raise the limit (ulimit -n, or LimitNOFILE of systemd), or lower door.max-connections`
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
