/**
 * SQLite as an engine. Steps enter, rows leave. Calls are synchronous, so a transaction begins and ends within one
 * turn of the event loop: nothing may ever be awaited between the two.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { MIGRATIONS } from '../migrations/all.ts'
import { createWakers } from '../notifier.ts'
import { type RetryRules, withRetries } from '../retry.ts'
import type { Engine, Operation, Row, Statement, Step } from '../steps.ts'
import { isBusy, toFailure } from './failures.ts'
import { openFile, tuneConnection } from './file.ts'
import { migrateSqlite } from './migrate.ts'

/** With the time SQLite itself waits, about ten seconds. */
const WHEN_BUSY: RetryRules = { attempts: 60, firstDelayMs: 5, mostDelayMs: 100, isWorthIt: isBusy }

export async function openSqlite(path: string, log: Log): Promise<Engine> {
  let database: DatabaseSync | undefined
  try {
    const opened = openFile(path, log)
    database = opened
    await withRetries(WHEN_BUSY, () => tuneConnection(opened))
    await withRetries(WHEN_BUSY, () => migrateSqlite(opened, MIGRATIONS, log))
    return createSqliteEngine(opened)
  } catch (error) {
    database?.close()
    throw toFailure(error)
  }
}

function createSqliteEngine(database: DatabaseSync): Engine {
  const runStep = createRunner(database)
  const wakers = createWakers()
  const attempt = async <T>(work: () => T): Promise<T> => {
    try {
      return await withRetries(WHEN_BUSY, () => {
        if (!database.isOpen) throw new Refusal('store_unavailable', { detail: 'the store is closed' })
        return work()
      })
    } catch (error) {
      throw toFailure(error)
    }
  }
  return {
    name: 'sqlite',
    ask: (step) => attempt(() => runStep(step)),
    async transact(begin) {
      const result = await attempt(() => transact(database, () => drive(begin(), runStep)))
      wakers.wake()
      return result
    },
    onWake: (listener) => wakers.add(listener),
    async close() {
      if (database.isOpen) database.close()
    },
  }
}

type StepRunner = (step: Step) => readonly Row[]

/** Statements are prepared when first used and kept. */
function createRunner(database: DatabaseSync): StepRunner {
  const prepared = new Map<string, StatementSync>()
  const prepare = ({ name, text }: Statement): StatementSync => {
    const known = prepared.get(name)
    if (known) return known
    const fresh = database.prepare(toSqlite(text))
    prepared.set(name, fresh)
    return fresh
  }
  return (step) => {
    const statement = prepare(step.statement)
    if (step.kind === 'one') return statement.all(...step.values)
    return step.rows.flatMap((values) => statement.all(...values))
  }
}

export const toSqlite = (text: string): string => text.replaceAll(/\$(\d+)/g, '?$1')

function transact<T>(database: DatabaseSync, work: () => T): T {
  // IMMEDIATE takes the one writer's place at once, so that a read inside cannot be out of date when it writes
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function drive<T>(operation: Operation<T>, runStep: StepRunner): T {
  let turn = operation.next()
  while (!turn.done) turn = operation.next(runStep(turn.value))
  return turn.value
}
