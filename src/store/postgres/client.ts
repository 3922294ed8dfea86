/** Connections to one server, and the pool of those that operations use. */
import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
import { Client, type ClientBase, type ClientConfig, Pool, type PoolConfig, types } from 'pg'
import { codeOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../engine.ts'

const INT8 = 20
/** How long a statement may take. The driver gives up a second later. */
export const STATEMENT_MS = 5000
/** How long a request waits for a connection. */
export const CONNECT_MS = 5000

/** Sequences and times fit a number; by default the driver returns 64-bit integers as text. */
const NUMBERS: ClientConfig['types'] = {
  // the driver's overloads are narrower than its function
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
}

const COMMON: ClientConfig = {
  application_name: 'cardea',
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  types: NUMBERS,
}

/** What the server limits for each connection of the pool. A value of the URL takes precedence. */
export const SERVER_LIMITS: Readonly<Record<string, number>> = {
  statement_timeout: STATEMENT_MS,
  lock_timeout: STATEMENT_MS - 1000,
  idle_in_transaction_session_timeout: STATEMENT_MS,
}

export interface PoolOptions extends Pick<PoolConfig, 'max' | 'verify'> {
  /** The URL of the server that new connections lead to. */
  readonly url: () => string
  readonly log: Log
}

/**
 * The connections for all operations. Every wait has a timeout: `verify` sets those on the server for statements, locks and
 * abandoned transactions, the driver has one for a server that does not respond.
 */
export function createPool({ url, log, ...rest }: PoolOptions): Pool {
  const pool = new Pool({
    ...COMMON,
    ...rest,
    // the types leave out that the pool passes its options
    Client: function create(config: ClientConfig) {
      return createPoolClient({ ...config, connectionString: url() })
    } as unknown as new () => ClientBase,
    idleTimeoutMillis: 30_000,
    query_timeout: STATEMENT_MS + 1000,
  })
  // Without a listener, a connection that breaks would end the process. The pool has one for idle connections only.
  pool.on('connect', (client) => client.on('error', ignore))
  pool.on('error', (error) => log.warn('a connection to the store broke', { reason: error.message }))
  return pool
}

/**
 * For every connection the driver reads the files that the URL names, such as `sslrootcert`. The pool creates clients
 * within handlers of events, where an error would end the process: one that fails to connect takes their place.
 */
function createPoolClient(config: ClientConfig): Client | UnreadableClient {
  try {
    return new Client(config)
  } catch (error) {
    return new UnreadableClient(error)
  }
}

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
export const createClient = (url: string, config: ClientConfig = {}): Client =>
  withReadableUrl(() => new Client({ ...COMMON, ...config, connectionString: url }))

/** What the driver knows of a connection; its types leave it out. */
interface Addressed {
  readonly host: string
  readonly port: number
  readonly processID: number
  readonly secretKey: number
}

const CANCEL_REQUEST = 80_877_102

/**
 * Cancels what the server does for a client. This is a request of the protocol and not a statement: the server accepts it
 * even if all its connections are in use, and a pooler forwards it.
 */
export function cancelStatement(client: ClientBase): void {
  const { host, port, processID, secretKey } = client as unknown as Addressed
  const request = Buffer.alloc(16)
  for (const [index, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries())
    request.writeInt32BE(value, index * 4)
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
  socket.on('error', ignore).setTimeout(CONNECT_MS, () => socket.destroy())
  socket.unref().resume().write(request)
}

export const ignore = () => {}

function withReadableUrl<T>(create: () => T): T {
  try {
    return create()
  } catch (error) {
    // the driver's message may quote the URL, and with it a password
    const code = codeOf(error) && ` (${codeOf(error)})`
    throw new IncompatibleStoreError(`The address of the store cannot be used as a postgres:// URL${code}.`)
  }
}
