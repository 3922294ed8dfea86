import { Client, type ClientConfig, Pool, types } from 'pg'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../incompatible-store.ts'

const INT8 = 20
const MAX_CONNECTIONS = 10
const STATEMENT_MS = 5000

/** Sequences and times fit a number; the driver gives 64-bit integers as text unless told. */
const NUMBERS: ClientConfig['types'] = {
  // the driver's own overloads say less than its function does
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
 * Connections for the work. Every wait has an end: on the server for statements, locks and forgotten transactions,
 * here for a server that no longer answers.
 */
export function createPool(url: string, log: Log): Pool {
  const pool = readAddress(
    () =>
      new Pool({
        ...COMMON,
        connectionString: url,
        max: MAX_CONNECTIONS,
        idleTimeoutMillis: 30_000,
        statement_timeout: STATEMENT_MS,
        lock_timeout: STATEMENT_MS - 1000,
        idle_in_transaction_session_timeout: STATEMENT_MS,
        query_timeout: STATEMENT_MS + 1000,
      }),
  )
  // without a listener a connection that breaks while idle would end the process
  pool.on('error', (error) => log.warn('a connection to the store broke', { reason: error.message }))
  return pool
}

/** A connection outside the pool, without limits of time for what it runs. */
export const createClient = (url: string): Client => readAddress(() => new Client({ ...COMMON, connectionString: url }))

function readAddress<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    // the driver's message may quote the address, and with it a password
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new IncompatibleStoreError(`The address of the store cannot be used as a postgres:// URL${code}.`)
  }
}
