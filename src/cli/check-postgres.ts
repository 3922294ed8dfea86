// What `cardea check` finds out about the PostgreSQL servers of a store: which is the primary, and what a failover loses.
import { countWorkers } from '../config/workers.ts'
import { toPostgresOptions } from '../kernel/kernel.ts'
import { reasonOf } from '../kernel/start-error.ts'
import { describeServers, type Replication, type ServerReport, type ServerRole } from '../store/postgres/describe.ts'
import { renderConnections } from '../store/postgres/limits.ts'
import type { PostgresOptions } from '../store/postgres/options.ts'
import type { AreaFindings, Machine } from './check-store.ts'

export async function checkPostgres({ settings: { values } }: Machine): Promise<AreaFindings> {
  try {
    const options = toPostgresOptions(values.store, { count: countWorkers(values), place: 1 }, false)
    return renderServers(await describeServers(values.store.url), options)
  } catch (error) {
    return [{ level: 'problem', message: reasonOf(error) }]
  }
}

export function renderServers(
  { servers, replication, connections }: ServerReport,
  options: PostgresOptions,
): AreaFindings {
  const primary = servers.find(({ isPrimary }) => isPrimary)
  return [
    primary ? { level: 'ok', message: `${primary.name} is the primary` } : NO_PRIMARY,
    ...servers.filter(({ isPrimary }) => !isPrimary).map(describeOther),
    ...(replication ? [describeReplication(replication)] : []),
    ...(connections ? [{ level: 'ok', message: renderConnections(connections, options) } as const] : []),
  ]
}

const NO_PRIMARY: AreaFindings[number] = {
  level: 'problem',
  message: 'no server accepts writes',
  advice: 'Start the primary, promote a standby, or set default_transaction_read_only to off.',
}

/** A server that is not the primary. */
function describeOther({ name, failure, isReadOnly, isForeign, isSamePrimary }: ServerRole): AreaFindings[number] {
  if (failure !== undefined) return { level: 'warning', message: `${name} cannot be used: ${failure}` }
  if (isForeign) return { level: 'problem', message: `${name} is not a copy of the primary`, advice: NAME_COPIES }
  if (isReadOnly) return { level: 'ok', message: `${name} is a standby, or set to read-only` }
  if (isSamePrimary) return { level: 'ok', message: `${name} is another address of the primary` }
  return { level: 'warning', message: `${name} accepts writes, too`, advice: STOP_OLD }
}

const NAME_COPIES = 'Name only a primary and its standbys in store.url. This server has another store.'
const STOP_OLD = 'There are two primaries. Stop the one that was replaced before it is used again.'

/** The values of `synchronous_commit` with which a commit waits for the standby. */
const WAITING = new Set(['on', 'remote_apply', 'remote_write'])

function describeReplication({ standbys, synchronous, names, commit, behindBytes }: Replication): AreaFindings[number] {
  if (names === '' && standbys === 0) return { level: 'ok', message: 'no standby is connected' }
  if (names === '' || !WAITING.has(commit)) {
    const lag = behindBytes === undefined ? 'grant pg_monitor to see how many' : `now ${behindBytes} bytes of the log`
    return {
      level: 'warning',
      message: `replication is asynchronous: a failover loses the last changes, revocations too (${lag})`,
      advice: 'Set synchronous_standby_names if no acknowledged change may be lost.',
    }
  }
  if (standbys === 0 || synchronous === 0)
    return {
      level: 'problem',
      message: `no standby that synchronous_standby_names names is connected: every change fails`,
      advice: 'Start the standby, or correct or empty synchronous_standby_names.',
    }
  if (synchronous === undefined)
    return { level: 'ok', message: 'replication should be synchronous; grant pg_monitor to see whether it is' }
  return { level: 'ok', message: `replication is synchronous: a failover loses no acknowledged change` }
}
