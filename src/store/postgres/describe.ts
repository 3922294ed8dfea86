/** What `cardea check` says about the servers of a store. */
import type { Client } from 'pg'
import { ignore } from './client.ts'
import { readConnectionLimits, type ServerAllowance } from './limits.ts'
import { describeFailure, findPrimary, nameServer, tryServers } from './servers.ts'

export interface Replication {
  /** How many standbys are connected to the primary. */
  readonly standbys: number
  /** How many of them a commit waits for; `undefined`: the user of the store may not see it. */
  readonly synchronous: number | undefined
  /** The option `synchronous_standby_names`. */
  readonly names: string
  /** The option `synchronous_commit`. */
  readonly commit: string
  /** What a standby lacks now, in bytes of the log; `undefined`: the user of the store may not see it. */
  readonly behindBytes: number | undefined
}

export interface ServerRole {
  readonly name: string
  readonly isPrimary: boolean
  /** Whether it can be reached, and accepts no writes. */
  readonly isReadOnly?: boolean
  /** Why it cannot be reached. */
  readonly failure?: string | undefined
}

export interface ServerReport {
  readonly servers: readonly ServerRole[]
  /** `undefined`: there is no primary, or it does not say. */
  readonly replication: Replication | undefined
  readonly connections: ServerAllowance | undefined
}

export async function describeServers(url: string): Promise<ServerReport> {
  const attempts = await tryServers(url)
  const primary = findPrimary(attempts)
  try {
    return {
      servers: attempts.map((attempt) => ({
        name: nameServer(attempt.url),
        isPrimary: attempt === primary,
        isReadOnly: attempt.state?.isWritable === false,
        failure: attempt.state ? undefined : describeFailure(attempt),
      })),
      replication: primary && (await readReplication(primary.client)),
      connections: primary && (await readConnectionLimits(primary.client)),
    }
  } finally {
    await Promise.all(attempts.map(({ client }) => client.end().catch(ignore)))
  }
}

const REPLICATION = `SELECT current_setting('synchronous_standby_names') AS names,
  current_setting('synchronous_commit') AS commit, (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
  (SELECT CASE WHEN count(sync_state) = count(*) THEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END::int
    FROM pg_stat_replication) AS synchronous,
  (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn))::bigint FROM pg_stat_replication) AS behind`

async function readReplication(client: Client): Promise<Replication | undefined> {
  const row = await client.query(REPLICATION).then(
    ({ rows }) => rows[0],
    () => undefined,
  )
  if (!row) return undefined
  const { standbys, names, commit } = row
  return { standbys, synchronous: row.synchronous ?? undefined, names, commit, behindBytes: row.behind ?? undefined }
}
