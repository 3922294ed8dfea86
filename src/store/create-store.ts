import { randomUUID } from 'node:crypto'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Store } from '../directory/store-port/store.ts'
import type { StoreOperation } from '../observe/tracing.ts'
import { createDamagedRecords, type DamagedRecords } from './damaged-records.ts'
import { type Engine, IncompatibleStoreError, isRead, type Operation, one, type Statement } from './engine.ts'
import { MIGRATIONS } from './migrations.ts'
import { createAuditStore } from './operations/audit.ts'
import { createChangeFeed } from './operations/changes.ts'
import { createNodeStore } from './operations/nodes.ts'
import { createPasswordLinkStore, createRecoveryCodeStore } from './operations/one-time-secrets.ts'
import { createSessionRecordStore } from './operations/session-records.ts'
import { createSessionStore } from './operations/sessions.ts'
import { createSettingStore } from './operations/settings.ts'
import { createCodeStore, createFailureStore, createSignInStore, createTokenUseStore } from './operations/sign-ins.ts'
import { createTimeStore } from './operations/time.ts'
import { createTotalsStore } from './operations/totals.ts'
import { createUserSearchStore } from './operations/user-search.ts'
import { createUserStore } from './operations/users.ts'
import { STATEMENTS } from './statements.ts'
import { readStoreUrl, type StoreScheme } from './store-url.ts'

export interface StoreOptions {
  readonly log: Log
  /** How long to wait for a PostgreSQL that cannot be reached; left out: not at all. */
  readonly waitMs?: number
  /** Called after each operation. */
  readonly onOperation?: ((operation: StoreOperation) => void) | undefined
}

/**
 * Opens `sqlite:path`, `sqlite::memory:` or `postgres://…` and migrates its schema. Throws `IncompatibleStoreError` if
 * the store can never be used, and a `Refusal` with `store_unavailable` if it cannot be reached now. The URL may hold a
 * password and is never quoted.
 */
export async function openStore(url: string, { log, waitMs = 0, onOperation }: StoreOptions): Promise<Store> {
  const read = readStoreUrl(url)
  if (!read) throw new IncompatibleStoreError('The address of the store begins with sqlite: or postgres://')
  const engine = await OPEN_ENGINE[read.scheme](url, read.path, { log, waitMs })
  const logged = logOutages(engine, log)
  return createStore(onOperation ? observe(logged, onOperation) : logged, createDamagedRecords(log))
}

type EngineOptions = Required<Pick<StoreOptions, 'log' | 'waitMs'>>

/** An engine is loaded only when it is used. */
const OPEN_ENGINE: Readonly<
  Record<StoreScheme, (url: string, path: string, options: EngineOptions) => Promise<Engine>>
> = {
  sqlite: async (_url, path, { log }) => (await import('./sqlite/engine.ts')).openSqlite(path, log),
  postgres: async (url, _path, options) => (await import('./postgres/engine.ts')).openPostgres(url, options),
}

const createStore = (engine: Engine, damaged: DamagedRecords): Store =>
  Object.freeze({
    engine: engine.name,
    ...createUserStore(engine, damaged),
    ...createUserSearchStore(engine, damaged),
    ...createSessionStore(engine),
    ...createSessionRecordStore(engine),
    ...createTokenUseStore(engine),
    ...createCodeStore(engine),
    ...createRecoveryCodeStore(engine),
    ...createPasswordLinkStore(engine),
    ...createFailureStore(engine),
    ...createSignInStore(engine),
    ...createTotalsStore(engine),
    ...createNodeStore(engine),
    ...createSettingStore(engine),
    ...createAuditStore(engine),
    ...createTimeStore(engine),
    ...createChangeFeed(engine),
    checkWrites: () => engine.transact(() => tryToWrite(randomUUID())),
    close: () => engine.close(),
  })

function observe(engine: Engine, onOperation: NonNullable<StoreOptions['onOperation']>): Engine {
  const watch = async <T>(access: StoreOperation['access'], run: () => Promise<T>): Promise<T> => {
    const startMs = performance.now()
    let isFailed = false
    try {
      return await run()
    } catch (error) {
      isFailed = isUnavailable(error)
      throw error
    } finally {
      onOperation({ access, isFailed, durationMs: performance.now() - startMs })
    }
  }
  return watchEngine(engine, watch)
}

const watchEngine = (
  engine: Engine,
  watch: <T>(access: StoreOperation['access'], run: () => Promise<T>) => Promise<T>,
): Engine => ({
  ...engine,
  ask: (step) => watch(isRead(step.statement) ? 'read' : 'write', () => engine.ask(step)),
  transact: (begin) => watch('write', () => engine.transact(begin)),
})

const isUnavailable = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.code === 'store_unavailable'

/** Reported separately: with a full disk or a lock, reads still succeed. */
type Access = 'read' | 'written' | 'found at its path'

/** How often the file is looked for. */
const PLACE_MS = 500

/** Logs once when the engine becomes unavailable, with the reason, and once when it is available again. */
export function logOutages(engine: Engine, log: Log): Engine {
  const failing = new Set<Access>()
  let isClosed = false
  const report = (access: Access, error: unknown) => {
    if (!isUnavailable(error) || isClosed || failing.has(access)) return
    failing.add(access)
    log.error(`the store cannot be ${access}`, { store: engine.name, reason: error.detail })
  }
  const watch = async <T>(access: Access, run: () => Promise<T>): Promise<T> => {
    try {
      const result = await run()
      if (failing.delete(access)) log.info(`the store can be ${access} again`, { store: engine.name })
      return result
    } catch (error) {
      report(access, error)
      throw error
    }
  }
  const look = async () => watch('found at its path', async () => engine.requirePlace?.()).catch(() => {})
  const timer = engine.requirePlace && setInterval(look, PLACE_MS).unref()
  return {
    ...watchEngine(engine, (access, run) => watch(access === 'read' ? 'read' : 'written', run)),
    close() {
      isClosed = true
      clearInterval(timer)
      return engine.close()
    },
  }
}

/** Every table of the schema. */
const TABLES = MIGRATIONS.flatMap(({ postgres }) => postgres.match(/(?<=CREATE TABLE )\w+/g) ?? [])

/** Reads no row, but fails if a table is missing or must not be read. */
const FIND_TABLES: Statement = {
  name: 'findTables',
  text: `SELECT 1 FROM ${TABLES.join(', ')} WHERE 1 = 0`,
}

/** Reads every table, and writes a row that it removes again: SQLite does not write a page that stays the same. */
function* tryToWrite(id: string): Operation<void> {
  yield one(FIND_TABLES)
  yield one(STATEMENTS.putNode, id, id, 0, '{}')
  yield one(STATEMENTS.removeNode, id)
}
