/** How many connections a server allows, and how many nodes can share them. */
import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import type { PostgresOptions } from './options.ts'

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

/** `needed`: how many connections a node opens to PostgreSQL itself at most. */
function countConnections({ maxConnections, processes = 1, pooling, listenUrl }: PostgresOptions) {
  const atUrl = maxConnections * processes
  const toListen = listenUrl === '' ? 0 : processes
  return { atUrl, toListen, needed: toListen + (pooling === 'transaction' ? 0 : atUrl) }
}

/** A pooler decides by itself how many connections it shares among the nodes. */
export function renderConnections({ allowed, open }: ServerAllowance, options: PostgresOptions): string {
  const { atUrl, toListen, needed } = countConnections(options)
  const text = `PostgreSQL allows ${allowed} connections and has ${open}`
  if (options.pooling === 'session')
    return `${text}. A node uses up to ${needed} of them, so ${Math.floor(allowed / needed)} such nodes fit`
  const listening = toListen > 0 ? `, and ${toListen} of PostgreSQL to listen` : ''
  return `${text}. A node uses up to ${atUrl} connections of the pooler${listening}`
}

export async function reportConnections(client: Client, options: PostgresOptions, log: Log): Promise<void> {
  const limits = options.processes === undefined ? undefined : await readConnectionLimits(client)
  if (!limits) return
  const text = renderConnections(limits, options)
  // the connection that asks is closed before others are opened
  if (limits.allowed - limits.open + 1 >= countConnections(options).needed) log.info(text)
  else log.warn(`${text}; too few are left for this one. Raise max_connections, or lower store.max-connections`)
}
