/** Connects to the server, checks it and migrates the schema. */
import { EventEmitter } from 'node:events'
import { Client, type ClientBase, type ClientConfig, Pool, types } from 'pg'
import { codeOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { logMigrations, MIGRATION_TABLE, type Migration, pendingMigrations } from '../migrations.ts'
import { toStoreError } from './errors.ts'

const INT8 = 20
const MAX_CONNECTIONS = 10
const STATEMENT_MS = 5000

/** Sequences and times fit a number; by default the driver returns 64-bit integers as text. */
const NUMBERS: ClientConfig['types'] = {
  // the driver's overloads are narrower than its function
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
}

const COMMON: ClientConfig = {
  application_name: 'cardea',
  connectionTimeoutMillis: 5000,
  keepAlive: true,
  types: NUMBERS,
}

/**
 * The connections for all operations. Every wait has a timeout: on the server for statements, locks and abandoned
 * transactions, in the driver for a server that does not respond.
 */
export function createPool(url: string, log: Log): Pool {
  const pool = withReadableUrl(
    () =>
      new Pool({
        ...COMMON,
        Client: PoolClient,
        connectionString: url,
        max: MAX_CONNECTIONS,
        idleTimeoutMillis: 30_000,
        statement_timeout: STATEMENT_MS,
        lock_timeout: STATEMENT_MS - 1000,
        idle_in_transaction_session_timeout: STATEMENT_MS,
        query_timeout: STATEMENT_MS + 1000,
      }),
  )
  // Without a listener, a connection that breaks would end the process. The pool has one for idle connections only.
  pool.on('connect', (client) => client.on('error', ignore))
  pool.on('error', (error) => log.warn('a connection to the store broke', { reason: error.message }))
  return pool
}

/**
 * For every connection the driver reads the files that the URL names, such as `sslrootcert`. The pool creates clients
 * within handlers of events, where an error would end the process: one that fails to connect takes their place.
 */
const PoolClient = function createPoolClient(config: ClientConfig): Client | UnreadableClient {
  try {
    return new Client(config)
  } catch (error) {
    return new UnreadableClient(error)
  }
  // the types leave out that the pool passes its options
} as unknown as new () => ClientBase

class UnreadableClient extends EventEmitter {
  readonly #error: unknown

  constructor(error: unknown) {
    super()
    this.#error = error
  }

  connect(done: (error: unknown) => void): void {
    process.nextTick(done, this.#error)
  }
}

/** A connection outside the pool, without timeouts for its statements. */
export const createClient = (url: string): Client =>
  withReadableUrl(() => new Client({ ...COMMON, connectionString: url }))

export const ignore = () => {}

/** A client that is connected and has done `begin`. A broken connection does not end the process. */
export async function connect(url: string, begin: (client: Client) => Promise<unknown>): Promise<Client> {
  const client = createClient(url)
  client.on('error', ignore)
  try {
    await client.connect()
    await begin(client)
    return client
  } catch (error) {
    await client.end().catch(ignore)
    throw toStoreError(error)
  }
}

function withReadableUrl<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    // the driver's message may quote the URL, and with it a password
    const code = codeOf(error) && ` (${codeOf(error)})`
    throw new IncompatibleStoreError(`The address of the store cannot be used as a postgres:// URL${code}.`)
  }
}

/** Rejects an encoding that cannot store every name, and warns of a setting that may lose writes. */
export async function checkServer(client: Client, log: Log): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS commit`,
  )
  if (rows[0]?.encoding !== 'UTF8') {
    throw new IncompatibleStoreError(
      'The database of the store has an encoding other than UTF8, which cannot hold every name.',
    )
  }
  if (rows[0]?.commit === 'off') log.warn('synchronous_commit is off: the store may forget changes when it crashes')
}

/** A fixed number; PostgreSQL scopes the lock to the database. */
const MIGRATION_LOCK = 0x43617264

/** Migrates the schema. If several nodes start at once, one migrates and the others wait and find nothing to do. */
export async function migratePostgres(client: Client, known: readonly Migration[], log: Log): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
  try {
    const pending = await applyPending(client, known)
    await client.query('COMMIT')
    logMigrations(pending, log)
  } catch (error) {
    // if the connection itself failed, the server rolls back on its own
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Migrates within the caller's transaction. Returns what was applied. */
export async function applyPending(client: Client, known: readonly Migration[]): Promise<readonly Migration[]> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  const pending = pendingMigrations(await findApplied(client), known)
  for (const migration of pending) await applyMigration(client, migration)
  return pending
}

async function findApplied(client: Client): Promise<number> {
  const { rows } = await client.query(`SELECT to_regclass('cardea_migrations') IS NOT NULL AS is_there`)
  if (rows[0]?.is_there !== true) await client.query(MIGRATION_TABLE)
  const applied = await client.query('SELECT coalesce(max(number), 0) AS number FROM cardea_migrations')
  return Number(applied.rows[0]?.number)
}

async function applyMigration(client: Client, { number, name, postgres }: Migration): Promise<void> {
  await client.query(postgres)
  await client.query('INSERT INTO cardea_migrations (number, name) VALUES ($1, $2)', [number, name])
}
