import { readdirSync, readFileSync } from 'node:fs'
import { attempt } from '../errors.ts'

/** How many files and sockets this process may have open; `undefined` where the system does not say. */
export function findOpenFileLimit(): number | undefined {
  const limits = attempt(() => readFileSync('/proc/self/limits', 'latin1')) ?? ''
  const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? []
  return limit === undefined ? undefined : Number(limit)
}

/** How many it has open now; `undefined` where the system does not say, or has none left to look with. */
export const countOpenFiles = (): number | undefined => attempt(() => readdirSync('/proc/self/fd').length)

/** Beside connections of clients: the store, files, connections to the upstream servers. */
const RESERVED_FILES = 100

/** Above the limit the system closes new connections without a response, so it is reported at the start. */
export function checkOpenFileLimit(maxConnections: number, limit = findOpenFileLimit()): string | undefined {
  const needed = maxConnections + RESERVED_FILES
  if (limit === undefined || limit >= needed) return undefined
  return `the limit of open files is ${limit}, and door.max-connections (${maxConnections}) needs ${needed}: raise the limit (ulimit -n, or LimitNOFILE of systemd), or lower door.max-connections`
}
