/**
 * PostgreSQL as an engine. Steps enter, rows leave; connections are made when needed and given up when they fail.
 * Whatever the server or the network does, the caller gets a refusal and the process goes on.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Log } from '../../base/log.ts'
import { MIGRATIONS } from '../migrations/all.ts'
import { createWakers } from '../notifier.ts'
import { type RetryRules, withRetries } from '../retry.ts'
import type { Engine, Operation, Row, Step } from '../steps.ts'
import { createClient, createPool } from './connection.ts'
import { isDisconnected, isUndone, toFailure } from './failures.ts'
import { type Listener, startListener } from './listener.ts'
import { checkServer, migratePostgres } from './migrate.ts'
import { findBulk, toPostgres } from './statements.ts'

const DELAYS = { firstDelayMs: 10, mostDelayMs: 200 }

/** A write is begun again only where it is certain that nothing of it was kept. */
const FOR_WRITES: RetryRules = { ...DELAYS, attempts: 8, isWorthIt: isUndone }

/** The longest a lost connection is thought to have been a stale one, and not a server that does not answer. */
const STALE_MS = 1000

/** How long closing waits for a server that has gone silent. */
const CLOSE_MS = 6000

export async function openPostgres(url: string, log: Log): Promise<Engine> {
  await prepareDatabase(url, log)
  return createPostgresEngine(createPool(url, log), url, log)
}

async function prepareDatabase(url: string, log: Log): Promise<void> {
  const client = createClient(url)
  client.on('error', () => {})
  try {
    await client.connect()
    await checkServer(client, log)
    await migratePostgres(client, MIGRATIONS, log)
  } catch (error) {
    throw toFailure(error)
  } finally {
    await client.end().catch(() => {})
  }
}

function createPostgresEngine(pool: Pool, url: string, log: Log): Engine {
  const wakers = createWakers()
  let listener: Listener | undefined
  let closing: Promise<void> | undefined
  return {
    name: 'postgres',
    ask: (step) => attempt(forReads(), async () => (await pool.query(toQuery(step))).rows),
    transact: (begin) => attempt(FOR_WRITES, () => transact(pool, begin)),
    onWake(next) {
      // a command that follows nothing need not hold a connection for it
      if (!closing) listener ??= startListener({ connect: () => createClient(url), wake: wakers.wake, log })
      return wakers.add(next)
    },
    close() {
      const patience = pause(CLOSE_MS, undefined, { ref: false })
      closing ??= Promise.race([Promise.all([listener?.close(), pool.end()]), patience]).then(() => {})
      return closing
    },
  }
}

/** A single statement may be asked again, so a connection that broke while idle costs nothing. */
function forReads(): RetryRules {
  const startedMs = performance.now()
  const isStale = (error: unknown) => isDisconnected(error) && performance.now() - startedMs < STALE_MS
  return { ...DELAYS, attempts: 3, isWorthIt: (error) => isUndone(error) || isStale(error) }
}

async function attempt<T>(rules: RetryRules, work: () => Promise<T>): Promise<T> {
  try {
    return await withRetries(rules, work)
  } catch (error) {
    throw toFailure(error)
  }
}

const ignore = () => {}

async function transact<T>(pool: Pool, begin: () => Operation<T>): Promise<T> {
  const client = await pool.connect()
  let isWhole = false
  // a connection in use that breaks tells its query and, once more, the process
  client.on('error', ignore)
  try {
    // each statement must see what was committed before it got the lock, whatever the server's default
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    const result = await drive(client, begin())
    const { command } = await client.query('COMMIT')
    // a transaction that has failed before answers COMMIT without an error
    if (command !== 'COMMIT') throw new Error('The store undid a transaction')
    isWhole = true
    return result
  } finally {
    client.removeListener('error', ignore)
    // closing the connection undoes whatever state it was left in
    client.release(!isWhole)
  }
}

async function drive<T>(client: PoolClient, operation: Operation<T>): Promise<T> {
  let turn = operation.next()
  while (!turn.done) {
    const rows: readonly Row[] = (await client.query(toQuery(turn.value))).rows
    turn = operation.next(rows)
  }
  return turn.value
}

/** Named, so that each connection prepares a statement once. */
function toQuery(step: Step): QueryConfig {
  const { name, text } = step.statement
  if (step.kind === 'one') return { name: `cardea_${name}`, text: toPostgres(name, text), values: [...step.values] }
  const width = step.rows[0]?.length ?? 0
  const columns = Array.from({ length: width }, (_, column) => step.rows.map((row) => row[column]))
  return { name: `cardea_${name}_bulk`, text: findBulk(name), values: columns }
}
