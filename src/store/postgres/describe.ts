/** What `cardea check` says about the servers of a store. */
import type { Client } from 'pg'
import { ignore } from './client.ts'
import { readConnectionLimits, type ServerAllowance } from './limits.ts'
import { describeFailure, findPrimary, isCopy, nameServer, type ServerAttempt, tryServers } from './servers.ts'

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
  /** Whether it has other data than the primary: it is no copy of it. */
  readonly isForeign?: boolean
  /** Whether it is the primary, perhaps at another address. */
  readonly isSamePrimary?: boolean
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
    const starts = await Promise.all(attempts.map(readStart))
    const primaryStart = primary && starts[attempts.indexOf(primary)]
    return {
      servers: attempts.map((attempt, index) => ({
        name: nameServer(attempt.url),
        isPrimary: attempt === primary,
        isReadOnly: attempt.state?.isWritable === false,
        isForeign: attempt.state !== undefined && !isCopy(attempt.state, primary?.state),
        isSamePrimary: primaryStart !== undefined && starts[index] === primaryStart,
        failure: attempt.state ? undefined : describeFailure(attempt),
      })),
      replication: primary && (await readReplication(primary.client)),
      connections: primary && (await readConnectionLimits(primary.client)),
    }
  } finally {
    await Promise.all(attempts.map(({ client }) => client.end().catch(ignore)))
  }
}

/**
 * Which start of which server this is; `undefined`: it does not say. A copy that was started without a promotion has the
 * timeline of the primary, too.
 */
async function readStart({ client, state }: ServerAttempt): Promise<string | undefined> {
  if (!state) return undefined
  const start = await client.query('SELECT pg_postmaster_start_time()::text AS start').then(
    ({ rows }) => rows[0]?.start,
    () => undefined,
  )
  return start && `${state.system} ${state.timeline} ${start}`
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
