import { randomUUID } from 'node:crypto'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Store } from '../directory/store-port/store.ts'
import type { StoreOperation } from '../observe/tracing.ts'
import { createDamagedRecords, type DamagedRecords } from './damaged-records.ts'
import {
  type Engine,
  IncompatibleStoreError,
  isRead,
  one,
  type Statement,
  type StoreStep,
  type StoreSteps,
} from './engine.ts'
import { MIGRATIONS } from './migrations.ts'
import { createAuditStore } from './operations/audit.ts'
import { createChangeFeed } from './operations/changes.ts'
import { createJobStore } from './operations/jobs.ts'
import { createNodeStore } from './operations/nodes.ts'
import { createRecoveryCodeStore } from './operations/one-time-secrets.ts'
import { createSessionRecordStore } from './operations/session-records.ts'
import { createSessionStore } from './operations/sessions.ts'
import { createSettingStore } from './operations/settings.ts'
import { createCodeStore, createFailureStore, createSignInStore, createTokenUseStore } from './operations/sign-ins.ts'
import { createTimeStore } from './operations/time.ts'
import { createTotalsStore } from './operations/totals.ts'
import { createUserSearchStore } from './operations/user-search.ts'
import { createUserStore, type OnUserChange, type UserTransactions, type UserTurn } from './operations/users.ts'
import type { PostgresOptions } from './postgres/options.ts'
import { STATEMENTS, toStatements } from './statements.ts'
import { readStoreUrl, type StoreScheme } from './store-url.ts'

/** The options that modules read while a user is written. */
// biome-ignore lint/suspicious/noEmptyInterface: modules extend it
export interface StoreSettings {}

/** What a module keeps in the store. */
export interface StoreRow {
  readonly module: string
  /** Runs with every change of users, in the same transaction. */
  readonly onUserChange?: (changes: readonly UserTurn[], settings: () => StoreSettings) => StoreSteps<void>
}

/** The store, with the engine that runs the statements of modules. */
export interface OpenStore extends Store, UserTransactions {
  readonly statements: Engine
}

export interface StoreOptions {
  readonly log: Log
  /** How long to wait for a PostgreSQL that cannot be reached; left out: not at all. */
  readonly waitMs?: number
  /** How to use a PostgreSQL. */
  readonly postgres?: PostgresOptions | undefined
  /** Called after each operation. */
  readonly onOperation?: ((operation: StoreOperation) => void) | undefined
  /** Called after each operation that other nodes follow, which resolves when this has. */
  readonly announce?: (() => Promise<unknown>) | undefined
  /** What every module keeps. Left out: what modules have stored is neither used nor updated. */
  readonly rows?: readonly StoreRow[]
  /** What these read, called for each use. Left out: a row that reads it fails. */
  readonly settings?: (() => StoreSettings) | undefined
}

/**
 * Opens `sqlite:path`, `sqlite::memory:` or `postgres://…` and migrates its schema. Throws `IncompatibleStoreError` if
 * the store can never be used, and a `Refusal` with `store_unavailable` if it cannot be reached now. The URL may hold a
 * password and is never quoted.
 */
export async function openStore(
  url: string,
  { onOperation, announce, rows, settings = requireSettings, ...options }: StoreOptions,
): Promise<OpenStore> {
  const read = readStoreUrl(url)
  if (!read) throw new IncompatibleStoreError('The address of the store begins with sqlite: or postgres://')
  const engine = await OPEN_ENGINE[read.scheme](url, read.path, options)
  const { log } = options
  const logged = logOutages(engine, log)
  const quiet = onOperation ? observe(logged, onOperation) : logged
  if (rows) await requireModules(quiet, rows)
  const announcing = announce ? announceChanges(quiet, announce) : quiet
  const onUserChange = (rows ?? []).flatMap(({ onUserChange: run }) =>
    run ? (changes: readonly UserTurn[]) => run(changes, settings) : [],
  )
  return createStore(announcing, quiet, createDamagedRecords(log), onUserChange)
}

function requireSettings(): never {
  throw new TypeError('The store was opened without settings')
}

/** Whether a module has stored rows, which only this module can update. */
const MODULE_DATA = toStatements({
  'password-links': 'SELECT 1 FROM cardea_links LIMIT 1',
  mail: "SELECT 1 FROM cardea_user_entries WHERE kind = 'address' LIMIT 1",
  'user-databases': 'SELECT 1 FROM cardea_own_databases LIMIT 1',
  'couchdb-users': 'SELECT 1 FROM cardea_mirror',
  // those of an administrator are a list, which is empty after the last is removed
  passkeys: `SELECT 1 FROM cardea_user_entries WHERE kind = 'passkey' UNION ALL
    SELECT 1 FROM cardea_settings WHERE section = '[admins] passkeys' AND value LIKE '%"publicKey"%' LIMIT 1`,
  providers: "SELECT 1 FROM cardea_user_entries WHERE kind = 'external' LIMIT 1",
})

/** Throws if a module has stored something and this build is without it. */
async function requireModules(engine: Engine, rows: readonly StoreRow[]): Promise<void> {
  const known = new Set(rows.map(({ module }) => module))
  for (const statement of Object.values(MODULE_DATA)) {
    if (known.has(statement.name) || (await engine.ask(one(statement))).length === 0) continue
    await engine.close()
    throw new IncompatibleStoreError(
      `It has data of the module ${statement.name}, which this build of Cardea does not have`,
    )
  }
}

type EngineOptions = Pick<StoreOptions, 'log' | 'waitMs' | 'postgres'>

/** An engine is loaded only when it is used. */
const OPEN_ENGINE: Readonly<
  Record<StoreScheme, (url: string, path: string, options: EngineOptions) => Promise<Engine>>
> = {
  sqlite: async (_url, path, { log }) => (await import('./sqlite/engine.ts')).openSqlite(path, log),
  postgres: async (url, _path, options) => (await import('./postgres/engine.ts')).openPostgres(url, options),
}

const createStore = (
  engine: Engine,
  quiet: Engine,
  damaged: DamagedRecords,
  onUserChange: readonly OnUserChange[],
): OpenStore =>
  Object.freeze({
    engine: engine.name,
    statements: engine,
    ...createUserStore(engine, damaged, onUserChange),
    ...createUserSearchStore(engine, damaged),
    ...createSessionStore(engine),
    ...createSessionRecordStore(engine),
    ...createTokenUseStore(engine),
    ...createCodeStore(engine),
    ...createRecoveryCodeStore(engine),
    ...createFailureStore(engine),
    ...createSignInStore(engine),
    ...createTotalsStore(engine),
    ...createNodeStore(engine),
    ...createJobStore(engine),
    ...createSettingStore(engine),
    ...createAuditStore(engine),
    ...createTimeStore(engine),
    ...createChangeFeed(engine),
    unannounced: createSettingStore(quiet),
    checkWrites: () => engine.transact(() => tryToWrite(randomUUID())),
    findProblem: () => engine.findProblem?.(),
    close: () => engine.close(),
  })

const announceChanges = (engine: Engine, announce: () => Promise<unknown>): Engine => ({
  ...engine,
  async transact(begin) {
    let isFollowed = false
    const result = await engine.transact(() => {
      // an engine may begin an operation again
      isFollowed = false
      return watchSteps(begin(), ({ statement }) => {
        isFollowed ||= statement === STATEMENTS.writeCounters
      })
    })
    if (isFollowed) await announce()
    return result
  },
})

function* watchSteps<T>(operation: StoreSteps<T>, onStep: (step: StoreStep) => void): StoreSteps<T> {
  let turn = operation.next()
  while (!turn.done) {
    onStep(turn.value)
    turn = operation.next(yield turn.value)
  }
  return turn.value
}

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
function* tryToWrite(id: string): StoreSteps<void> {
  yield one(FIND_TABLES)
  yield one(STATEMENTS.putNode, id, id, 0, '{}')
  yield one(STATEMENTS.removeNode, id)
}
