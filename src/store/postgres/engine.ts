/**
 * The PostgreSQL engine. Connections are opened on demand and closed when they fail. A failure of the server or the
 * network becomes a refusal for the caller and never ends the process.
 */
import type { PoolClient, QueryConfig } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { createNotifier, type Notifier } from '../../base/notifier.ts'
import { MAX_SESSION_RECORDS } from '../../directory/store-port/sessions.ts'
import { type Engine, isRead, type Row, type Statement, type StoreStep, type StoreSteps } from '../engine.ts'
import { MIGRATIONS } from '../migrations.ts'
import { type RetryRules, withRetries } from '../retry.ts'
import { STATEMENTS, type StatementName } from '../statements.ts'
import { ignore } from './client.ts'
import { StoreConnections } from './connections.ts'
import { checkServer, connect, migratePostgres } from './database.ts'
import { isConnectionLost, isRolledBack, isUnreachable, ProblemMemory, readPostgresError } from './errors.ts'
import { reportConnections } from './limits.ts'
import { DEFAULTS, type PostgresOptions } from './options.ts'
import { requireSessions } from './pooler.ts'
import type { Primary } from './servers.ts'
import { CHANNEL } from './watch.ts'

const DELAYS = { firstDelayMs: 10, maxDelayMs: 200 }

/** A write is repeated only if the server certainly rolled it back. */
export const FOR_WRITES: RetryRules = { ...DELAYS, attempts: 8, isRetryable: isRolledBack }

/** A connection lost later than this was not a stale idle one: the server does not respond. */
const STALE_MS = 1000

interface OpenOptions {
  readonly log: Log
  readonly waitMs?: number
  readonly postgres?: PostgresOptions | undefined
}

export async function openPostgres(
  url: string,
  { log, waitMs = 0, postgres = DEFAULTS }: OpenOptions,
): Promise<Engine> {
  const prepare = async (): Promise<Primary> => {
    const primary = await connect(url, async (client, server) => {
      if (postgres.pooling === 'session') await requireSessions(client, server)
      await checkServer(client, log)
      await reportConnections(client, postgres, log)
      await migratePostgres(client, MIGRATIONS, log)
    })
    await primary.client.end().catch(ignore)
    return primary
  }
  const primary = await withRetries(untilReached(waitMs, log), prepare)
  const wake = createNotifier(log)
  const connections = new StoreConnections(url, { ...postgres, primary, wake: wake.notify, log })
  return createPostgresEngine(connections, wake, postgres.pooling === 'session')
}

/** At the start of a machine, the server and PostgreSQL often start at the same time. */
function untilReached(waitMs: number, log: Log): RetryRules {
  const untilMs = performance.now() + waitMs
  let isFirst = true
  return {
    attempts: Number.POSITIVE_INFINITY,
    firstDelayMs: 250,
    maxDelayMs: 2000,
    isRetryable(error) {
      if (performance.now() >= untilMs || !isUnreachable(error)) return false
      if (isFirst)
        log.warn('the store cannot be reached yet: trying again', { seconds: waitMs / 1000, reason: reasonOf(error) })
      isFirst = false
      return true
    },
  }
}

const reasonOf = (error: unknown): string | undefined => (error instanceof Refusal ? error.detail : undefined)

function createPostgresEngine(connections: StoreConnections, wake: Notifier, isNamed: boolean): Engine {
  const problems = new ProblemMemory()
  const retry = async <T>(rules: RetryRules, work: () => Promise<T>): Promise<T> => {
    try {
      return await withRetries(rules, work)
    } catch (error) {
      problems.note(error)
      throw readPostgresError(error)
    }
  }
  const toQuery = isNamed ? toNamedQuery : toUnnamedQuery
  return {
    name: 'postgres',
    ask: (step) =>
      retry(forReads(), async () => {
        const access = isRead(step.statement) ? 'read' : 'write'
        return (await connections[access](toQuery(step))).rows
      }),
    transact: (begin) =>
      retry(FOR_WRITES, () => connections.transact((client) => runOperation(client, begin(), toQuery))),
    onWake(next) {
      // started with the first listener: a command that does not follow changes needs no connection for them
      connections.watch()
      return wake.add(next)
    },
    findProblem: () => problems.find(),
    close: () => connections.close(),
  }
}

/** A single statement is repeated on a new connection if its idle connection had broken. */
function forReads(): RetryRules {
  const startedMs = performance.now()
  const isStale = (error: unknown) => isConnectionLost(error) && performance.now() - startedMs < STALE_MS
  return { ...DELAYS, attempts: 3, isRetryable: (error) => isRolledBack(error) || isStale(error) }
}

async function runOperation<T>(
  client: PoolClient,
  operation: StoreSteps<T>,
  toQuery: (step: StoreStep) => QueryConfig,
): Promise<T> {
  let turn = operation.next()
  while (!turn.done) {
    const rows: Row[] = []
    for (const step of splitStep(turn.value)) rows.push(...(await client.query(toQuery(step))).rows)
    turn = operation.next(rows)
  }
  return turn.value
}

/** A statement without a text for many rows runs once for each of them. */
const splitStep = (step: StoreStep): readonly StoreStep[] =>
  step.kind === 'one' || findBulk(step.statement) !== undefined
    ? [step]
    : step.rows.map((values) => ({ kind: 'one', statement: step.statement, values }))

/** Named, so that each connection prepares a statement once. */
function toNamedQuery(step: StoreStep): QueryConfig {
  const { name } = step.statement
  return { ...toUnnamedQuery(step), name: step.kind === 'one' ? `cardea_${name}` : `cardea_${name}_bulk` }
}

/** For connections that others use in between. */
function toUnnamedQuery(step: StoreStep): QueryConfig {
  const { name, text } = step.statement
  if (step.kind === 'one') return { text: toPostgres(name, text), values: [...step.values] }
  const width = step.rows[0]?.length ?? 0
  const columns = Array.from({ length: width }, (_, column) => step.rows.map((row) => row[column]))
  return { text: findBulk(step.statement) ?? text, values: columns }
}

/** The server's own clock. `now()` would be the beginning of the transaction. */
const CLOCK_MS = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)'

/** Statements whose text differs from SQLite's. The row locks are held until the transaction ends. */
const OWN: ReadonlyMap<string, string> = new Map<StatementName, string>([
  ['lockCounters', `${STATEMENTS.lockCounters.text} FOR UPDATE`],
  ['lockFailureSequence', `${STATEMENTS.lockFailureSequence.text} FOR UPDATE`],
  ['lockAuditChain', `${STATEMENTS.lockAuditChain.text} FOR UPDATE`],
  ...(['listSignIns', 'findUsers'] as const).map(
    (name) =>
      [
        name,
        STATEMENTS[name].text.replace('SELECT value FROM json_each($1)', 'SELECT jsonb_array_elements_text($1::jsonb)'),
      ] as const,
  ),
  // the order of the index; the column has that of the database
  ['searchSessionsByPeer', STATEMENTS.searchSessionsByPeer.text.replaceAll('peer', 'peer COLLATE "C"')],
  ...(['readTime', 'keepTime'] as const).map(
    (name) => [name, STATEMENTS[name].text.replace('NULL', CLOCK_MS)] as const,
  ),
  ['writeCounters', `${STATEMENTS.writeCounters.text} RETURNING pg_notify('${CHANNEL}', '')`],
])

/** Inserts of many rows at once: the type of each column. */
const BULK_INSERTS = {
  putUser: 'text, bigint, smallint, text, text, bigint',
  putTokenUse: 'text, text, bigint',
  putSession: 'text, text, bigint, text, bigint, bigint, bigint, text, text, text',
  putSignIn: 'text, bigint, text',
  putTotals: 'integer, bigint, text, text',
  putRecoveryCode: 'text, text, text',
  putEntry: 'text, text, text',
  putJob: 'bigint, text, text, text, bigint',
  putAudit: 'text, bigint, bigint, text, text, text, text, text, text, text, text, text',
} as const satisfies Partial<Record<StatementName, string>>

const toBulkInsert = (text: string, types: string): string => {
  const arrays = types.split(', ').map((type, index) => `$${index + 1}::${type}[]`)
  return text.replace(/VALUES \([^)]*\)/, () => `SELECT * FROM unnest(${arrays.join(', ')})`)
}

/** Statements for many rows at once: every parameter is an array with one element per row. */
const BULK: ReadonlyMap<string, string> = new Map<string, string>([
  ...Object.entries(BULK_INSERTS).map(
    ([name, types]) => [name, toBulkInsert(STATEMENTS[name as StatementName].text, types)] as const,
  ),
  [
    'trimSessions',
    `DELETE FROM cardea_sessions WHERE id IN (SELECT surplus.id FROM unnest($1::text[]) AS owner (name),
      LATERAL (SELECT id FROM cardea_sessions WHERE name = owner.name
        ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ${MAX_SESSION_RECORDS}) AS surplus) RETURNING id`,
  ],
])

export const toPostgres = (name: string, text: string): string => OWN.get(name) ?? text

/** A statement with one parameter compares it with a key. `undefined`: it is for one row. */
export function findBulk({ name, text }: Statement): string | undefined {
  const bulk = BULK.get(name) ?? (text.includes('$2') ? text : text.replace('= $1', '= ANY ($1::text[])'))
  return bulk === text ? undefined : bulk
}
