/** How many connections a server allows, and how many nodes can share them. */
import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'

export interface ServerAllowance {
  /** For all programs together, without those that are reserved for superusers. */
  readonly allowed: number
  readonly open: number
}

const LIMITS = `SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS allowed,
  (SELECT sum(numbackends)::int FROM pg_stat_database) AS open`

/** `undefined`: the server does not say. */
export async function readConnectionLimits(client: Client): Promise<ServerAllowance | undefined> {
  const row = await client.query(LIMITS).then(
    ({ rows }) => rows[0],
    () => undefined,
  )
  return row && { allowed: row.allowed, open: row.open }
}

/** `ofNode`: how many a node opens at most. */
export const renderConnections = ({ allowed, open }: ServerAllowance, ofNode: number): string =>
  `PostgreSQL allows ${allowed} connections and has ${open}. A node uses up to ${ofNode} of them, so ${Math.floor(allowed / ofNode)} such nodes fit`

export async function reportConnections(client: Client, ofNode: number, log: Log): Promise<void> {
  const limits = await readConnectionLimits(client)
  if (!limits) return
  const text = renderConnections(limits, ofNode)
  // the connection that asks is closed before others are opened
  if (limits.allowed - limits.open + 1 >= ofNode) log.info(text)
  else log.warn(`${text}; too few are left for this one. Raise max_connections, or lower store.max-connections`)
}
