/**
 * The PostgreSQL engine. Connections are opened on demand and closed when they fail. A failure of the server or the
 * network becomes a refusal for the caller and never ends the process.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Pool, PoolClient, QueryConfig } from 'pg'
import { messageOf, Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { createNotifier } from '../../base/notifier.ts'
import { keepRepeating } from '../../base/sleep.ts'
import { MAX_SESSION_RECORDS } from '../../directory/store-port/sessions.ts'
import type { Engine, Operation, Row, StoreStep } from '../engine.ts'
import { MIGRATIONS } from '../migrations.ts'
import { type RetryRules, toDelayMs, withRetries } from '../retry.ts'
import { STATEMENTS, type StatementName } from '../statements.ts'
import { checkServer, connect, createClient, createPool, ignore, migratePostgres } from './database.ts'
import { explain, isConnectionLost, isRolledBack, isUnreachable } from './errors.ts'

const CHANNEL = 'cardea_changes'

const BACK_OFF = { firstDelayMs: 250, maxDelayMs: 10_000 }

/**
 * Listens for the notifications of other nodes' writes. Reconnects when the connection is lost; polling continues.
 * Returns a function that stops it.
 */
function startListener(connect: () => Client, wake: () => void, log: Log): () => Promise<void> {
  let failures = 0
  const tryToListen = async (stopped: AbortSignal): Promise<boolean> => {
    try {
      return await listenOnce(connect(), wake, stopped)
    } catch (error) {
      // a file that the URL names may be unreadable for a moment
      if (failures < 2) log.warn('changes of other nodes arrive later', { reason: messageOf(error) })
      return false
    }
  }
  return keepRepeating(async (stopped) => {
    const hasListened = await tryToListen(stopped)
    failures = hasListened ? 1 : failures + 1
    if (!stopped.aborted) log.debug('listening for changes was interrupted', { failures })
    return toDelayMs(BACK_OFF, failures)
  })
}

/** Listens until the connection breaks or `signal` aborts. Returns whether it ever listened. Never throws. */
async function listenOnce(client: Client, wake: () => void, signal: AbortSignal): Promise<boolean> {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  client.on('error', end)
  client.on('end', end)
  client.on('notification', wake)
  signal.addEventListener('abort', end)
  const listening = client.connect().then(() => client.query(`LISTEN ${CHANNEL}`))
  try {
    // stopping must not wait for a server that does not respond
    await Promise.race([listening, ended.then(() => Promise.reject(new Error('not listening')))])
    // writes before LISTEN sent no notification to this connection
    wake()
    await ended
    await client.end().catch(() => {})
    return true
  } catch {
    listening.catch(() => {})
    // client.end() would wait for a response
    client.connection.stream.destroy()
    return false
  } finally {
    client.removeListener('notification', wake)
    signal.removeEventListener('abort', end)
  }
}

const DELAYS = { firstDelayMs: 10, maxDelayMs: 200 }

/** A write is repeated only if the server certainly rolled it back. */
const FOR_WRITES: RetryRules = { ...DELAYS, attempts: 8, isRetryable: isRolledBack }

/** A connection lost later than this was not a stale idle one: the server does not respond. */
const STALE_MS = 1000

/** How long `close` waits for a server that does not respond. */
const CLOSE_MS = 6000

export async function openPostgres(
  url: string,
  { log, waitMs = 0 }: { readonly log: Log; readonly waitMs?: number },
): Promise<Engine> {
  const prepare = async () => {
    const client = await connect(url, async (client) => {
      await checkServer(client, log)
      await migratePostgres(client, MIGRATIONS, log)
    })
    await client.end().catch(ignore)
  }
  await withRetries(untilReached(waitMs, log), prepare)
  return createPostgresEngine(createPool(url, log), url, log)
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

function createPostgresEngine(pool: Pool, url: string, log: Log): Engine {
  const wake = createNotifier(log)
  let stopListener: (() => Promise<void>) | undefined
  let closing: Promise<void> | undefined
  return {
    name: 'postgres',
    ask: (step) => retry(forReads(), async () => (await pool.query(toQuery(step))).rows),
    transact: (begin) => retry(FOR_WRITES, () => inTransaction(pool, begin)),
    onWake(next) {
      // started with the first listener: a command that does not follow changes needs no connection for them
      if (!closing) stopListener ??= startListener(() => createClient(url), wake.notify, log)
      return wake.add(next)
    },
    close() {
      const timeout = sleep(CLOSE_MS, undefined, { ref: false })
      closing ??= Promise.race([Promise.all([stopListener?.(), pool.end()]), timeout]).then(ignore)
      return closing
    },
  }
}

/** A single statement is repeated on a new connection if its idle connection had broken. */
function forReads(): RetryRules {
  const startedMs = performance.now()
  const isStale = (error: unknown) => isConnectionLost(error) && performance.now() - startedMs < STALE_MS
  return { ...DELAYS, attempts: 3, isRetryable: (error) => isRolledBack(error) || isStale(error) }
}

const retry = <T>(rules: RetryRules, work: () => Promise<T>): Promise<T> => explain(() => withRetries(rules, work))

async function inTransaction<T>(pool: Pool, begin: () => Operation<T>): Promise<T> {
  const client = await pool.connect()
  let isCommitted = false
  try {
    // each statement must see what was committed before it got the lock, also if the server's default differs
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    const result = await runOperation(client, begin())
    const { command } = await client.query('COMMIT')
    // COMMIT of a failed transaction succeeds, but reports ROLLBACK
    if (command !== 'COMMIT') throw new Error('The store rolled back a transaction')
    isCommitted = true
    return result
  } finally {
    // closing the connection rolls back an open transaction
    client.release(!isCommitted)
  }
}

async function runOperation<T>(client: PoolClient, operation: Operation<T>): Promise<T> {
  let turn = operation.next()
  while (!turn.done) {
    const rows: readonly Row[] = (await client.query(toQuery(turn.value))).rows
    turn = operation.next(rows)
  }
  return turn.value
}

/** Named, so that each connection prepares a statement once. */
function toQuery(step: StoreStep): QueryConfig {
  const { name, text } = step.statement
  if (step.kind === 'one') return { name: `cardea_${name}`, text: toPostgres(name, text), values: [...step.values] }
  const width = step.rows[0]?.length ?? 0
  const columns = Array.from({ length: width }, (_, column) => step.rows.map((row) => row[column]))
  return { name: `cardea_${name}_bulk`, text: findBulk(name), values: columns }
}

/** The server's own clock. `now()` would be the beginning of the transaction. */
const CLOCK_MS = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)'

/** Statements whose text differs from SQLite's. The row locks are held until the transaction ends. */
const OWN: ReadonlyMap<string, string> = new Map<StatementName, string>([
  ['lockCounters', `${STATEMENTS.lockCounters.text} FOR UPDATE`],
  ['lockFailureSequence', `${STATEMENTS.lockFailureSequence.text} FOR UPDATE`],
  ['lockAuditChain', `${STATEMENTS.lockAuditChain.text} FOR UPDATE`],
  [
    'listSignIns',
    STATEMENTS.listSignIns.text.replace(
      'SELECT value FROM json_each($1)',
      'SELECT jsonb_array_elements_text($1::jsonb)',
    ),
  ],
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
  ...(
    [
      'findVersion',
      'findExternal',
      'findFold',
      'removeSignIn',
      'removeRecoveryCodes',
      'removeCodeSteps',
      'removeEarlierCodeStep',
      'removePasswordLinkOf',
      'removeEntries',
      'removeChangingEntries',
    ] as const
  ).map((name) => [name, STATEMENTS[name].text.replace('= $1', '= ANY ($1::text[])')] as const),
  [
    'trimSessions',
    `DELETE FROM cardea_sessions WHERE id IN (SELECT surplus.id FROM unnest($1::text[]) AS owner (name),
      LATERAL (SELECT id FROM cardea_sessions WHERE name = owner.name
        ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ${MAX_SESSION_RECORDS}) AS surplus) RETURNING id`,
  ],
])

export const toPostgres = (name: string, text: string): string => OWN.get(name) ?? text

export function findBulk(name: string): string {
  const text = BULK.get(name)
  if (text === undefined) throw new TypeError(`There is no statement for many rows of ${name}`)
  return text
}
