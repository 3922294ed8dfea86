/**
 * The SQLite engine. Its calls are synchronous, so a transaction begins and ends within one turn of the event loop.
 * Nothing may be awaited between the two.
 */
import { type BigIntStats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { attempt, Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { createNotifier } from '../../base/notifier.ts'
import { type Engine, isRead, type Row, type Statement, type StoreStep, type StoreSteps } from '../engine.ts'
import { MIGRATIONS } from '../migrations.ts'
import { type RetryRules, withRetries } from '../retry.ts'
import { MEMORY } from '../store-url.ts'
import { configureConnection, inTransaction, migrateSqlite, openFile, requireIntact } from './database.ts'
import { createMisplaced, isBusy, isDamaged, readSqliteError } from './errors.ts'
import { createWriteTurns, type WriteTurns } from './write-turns.ts'

/** About ten seconds. */
const WHEN_BUSY: RetryRules = { attempts: 140, firstDelayMs: 5, maxDelayMs: 100, isRetryable: isBusy }

const retry = <T>(work: () => T): Promise<T> => withRetries(WHEN_BUSY, work)

export async function openSqlite(path: string, log: Log): Promise<Engine> {
  let database: DatabaseSync | undefined
  try {
    const opened = openFile(path, log)
    database = opened
    await retry(() => configureConnection(opened))
    await retry(() => requireIntact(opened))
    await retry(() => migrateSqlite(opened, MIGRATIONS, log))
    return createSqliteEngine(opened, createPlace(path), log)
  } catch (error) {
    database?.close()
    throw readSqliteError(error)
  }
}

function createSqliteEngine(database: DatabaseSync, place: PlaceKeeper, log: Log): Engine {
  const runStep = createStepRunner(database)
  const takeTurn = createWriteTurns(database)
  const wake = createNotifier(log)
  const checkpoints = createCheckpoints(database, log)
  // migrations, or what a killed process left in the log
  checkpoints.schedule()
  // From the first sign of damage nothing is read or written: a damaged page may hide that a session was revoked, and a
  // write may be lost with it.
  let damage: unknown
  const guard = async <T>(run: WriteTurns, work: () => T): Promise<T> => {
    try {
      return await run(() => {
        if (!database.isOpen) throw new Refusal('store_unavailable', { detail: 'the store is closed' })
        if (damage !== undefined) throw damage
        return work()
      })
    } catch (error) {
      if (isDamaged(error)) damage ??= error
      throw readSqliteError(error)
    }
  }
  const write = <T>(work: () => T): Promise<T> =>
    guard(takeTurn, () => {
      place.requirePlace?.()
      return work()
    })
  return {
    name: 'sqlite',
    ...place,
    ask: (step) => (isRead(step.statement) ? guard(retry, () => runStep(step)) : write(() => runStep(step))),
    async transact(begin) {
      const result = await write(() => inTransaction(database, () => runOperation(begin(), runStep)))
      wake.notify()
      checkpoints.schedule()
      return result
    },
    onWake: (listener) => wake.add(listener),
    async close() {
      checkpoints.stop()
      if (database.isOpen) database.close()
    },
  }
}

/** How long writes may be in the log only: a copy of the database file alone lacks at most these. */
const CHECKPOINT_MS = 10_000

/** Copies the write-ahead log into the file. `PASSIVE` never waits for another connection. */
function createCheckpoints(database: DatabaseSync, log: Log) {
  let timer: NodeJS.Timeout | undefined
  const run = (mode: 'PASSIVE' | 'TRUNCATE') => {
    timer = undefined
    if (!database.isOpen) return
    try {
      database.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch (error) {
      log.debug('the write-ahead log could not be copied into the store; the next write tries again', { error })
    }
  }
  return {
    schedule(): void {
      timer ??= setTimeout(() => run('PASSIVE'), CHECKPOINT_MS).unref()
    },
    stop(): void {
      clearTimeout(timer)
      run('TRUNCATE')
    },
  }
}

type StepRunner = (step: StoreStep) => readonly Row[]

/** Each statement is prepared once. */
function createStepRunner(database: DatabaseSync): StepRunner {
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

function runOperation<T>(operation: StoreSteps<T>, runStep: StepRunner): T {
  let turn = operation.next()
  while (!turn.done) turn = operation.next(runStep(turn.value))
  return turn.value
}

type PlaceKeeper = Pick<Engine, 'requirePlace'>

/**
 * Whether the open files of the database are still the ones at their paths. Call it when the database is open. The
 * write-ahead log is looked for too: it holds the last writes.
 */
function createPlace(location: string): PlaceKeeper {
  if (location === MEMORY) return {}
  const path = resolve(location)
  const opened = [path, `${path}-wal`].map((file) => ({ file, stats: findStats(file) }))
  return {
    requirePlace() {
      for (const { file, stats } of opened) if (stats && !isSame(stats, findStats(file))) throw createMisplaced(file)
    },
  }
}

const isSame = (opened: BigIntStats, found: BigIntStats | undefined): boolean =>
  opened.ino === found?.ino && opened.dev === found.dev

const findStats = (file: string): BigIntStats | undefined => attempt(() => statSync(file, { bigint: true }))
