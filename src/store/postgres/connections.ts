/** The connections of one process to the server in use. When another server takes its place, they are closed. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { CONNECT_MS, cancelStatement, createPool, ignore, STATEMENT_MS } from './client.ts'
import { LastingProblem } from './errors.ts'
import type { PostgresOptions } from './options.ts'
import { renderLimits } from './pooler.ts'
import { listServers, type Primary, readState } from './servers.ts'
import { ServerWatch } from './watch.ts'

export interface ConnectionOptions extends PostgresOptions {
  /** The server in use at first, and what it was then. */
  readonly primary: Primary
  /** Called when other nodes may have written. */
  readonly wake: () => void
  readonly log: Log
}

/** How long `close` waits for a server that does not respond. */
const CLOSE_MS = 6000

export class StoreConnections {
  readonly #pool: Pool
  readonly #max: number
  readonly #open = new Set<PoolClient>()
  /** Connections whose last commit may be missing at the standby. */
  readonly #unreplicated = new WeakSet<PoolClient>()
  readonly #watches: readonly ServerWatch[]
  /** Limits of the server for each transaction. */
  readonly #limits: string
  #closing: Promise<void> | undefined

  constructor(url: string, { maxConnections, pooling, listenUrl, primary, wake, log }: ConnectionOptions) {
    const isPooled = pooling === 'transaction'
    const listens = !isPooled && listenUrl === ''
    const servers = new ServerWatch({ urls: listServers(url), primary, listens, wake, leave: () => this.#leave(), log })
    this.#watches = listenUrl === '' ? [servers] : [servers, createListener(listenUrl, wake, log)]
    this.#limits = isPooled ? renderLimits(url, true) : ''
    this.#max = Math.max(1, maxConnections - 1)
    const limits = isPooled ? '' : renderLimits(url, false)
    const check = async (client: PoolClient) => servers.requireUsable(await readState(client, { select: limits }))
    const verify = (client: PoolClient, done: (error?: Error) => void) => void check(client).then(() => done(), done)
    this.#pool = createPool({ url: servers.current, log, max: this.#max, verify })
    this.#pool.on('connect', (client) => this.#follow(client))
    this.#pool.on('remove', (client) => this.#open.delete(client))
  }

  read(config: QueryConfig): Promise<QueryResult> {
    // with a pooler, the server has no limits for a statement outside of a transaction
    return this.#use((client) => (this.#limits === '' ? client.query(config) : cancelLate(client, config)))
  }

  /** A single statement, which commits. */
  write(config: QueryConfig): Promise<QueryResult> {
    return this.#use((client) => this.#commit(client, config))
  }

  /** Calls `work` with a connection within a transaction. */
  transact<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#use(async (client) => {
      // each statement must see what was committed before it got the lock, also if the server's default differs
      const limits = this.#limits && `; SELECT 1${this.#limits}`
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE${limits}`)
      const result = await work(client)
      const { command } = await this.#commit(client, { text: 'COMMIT' })
      // COMMIT of a failed transaction succeeds, but reports ROLLBACK
      if (command !== 'COMMIT') throw new Error('The store rolled back a transaction')
      return result
    })
  }

  /** Follows which server to use, and what other nodes write. */
  watch(): void {
    if (!this.#closing) for (const watch of this.#watches) watch.start()
  }

  close(): Promise<void> {
    const timeout = sleep(CLOSE_MS, undefined, { ref: false })
    const stopped = this.#watches.map((watch) => watch.stop())
    this.#closing ??= Promise.race([Promise.all([...stopped, this.#pool.end()]), timeout]).then(ignore)
    return this.#closing
  }

  async #use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#acquire()
    let isDone = false
    try {
      const result = await work(client)
      if (this.#unreplicated.has(client)) throw unavailable(NOT_REPLICATED)
      isDone = true
      return result
    } finally {
      // closing the connection rolls back an open transaction
      client.release(!isDone)
    }
  }

  /**
   * Runs a statement that may commit. The server waits for a synchronous standby without any timeout, even after the
   * connection is closed, so each such commit would keep one more connection. A request to cancel ends the wait.
   */
  #commit(client: PoolClient, config: QueryConfig): Promise<QueryResult> {
    return cancelLate(client, config, () => this.#unreplicated.add(client))
  }

  async #acquire(): Promise<PoolClient> {
    const isFull = () => this.#pool.totalCount >= this.#max && this.#pool.idleCount === 0
    const wasFull = isFull()
    return this.#pool.connect().catch((error: unknown) => {
      throw wasFull && isFull() ? unavailable(renderBusy(this.#max)) : error
    })
  }

  #follow(client: PoolClient): void {
    this.#open.add(client)
    // the server stopped waiting for a synchronous standby, and reports success
    client.on('notice', ({ routine }) => routine === 'SyncRepWaitForLSN' && this.#unreplicated.add(client))
  }

  #leave(): void {
    for (const client of this.#open) client.connection.stream.destroy()
  }
}

/** Runs a statement, and asks the server to cancel it when it takes too long. */
async function cancelLate(client: PoolClient, config: QueryConfig, onLate: () => unknown = ignore) {
  const timer = setTimeout(() => {
    onLate()
    cancelStatement(client)
  }, STATEMENT_MS)
  try {
    return await client.query(config)
  } finally {
    clearTimeout(timer)
  }
}

/** Only listens: through a pooler that keeps no connection for a client, notifications do not arrive. */
const createListener = (url: string, wake: () => void, log: Log): ServerWatch =>
  new ServerWatch({ urls: listServers(url), listens: true, wake, leave: ignore, log })

const unavailable = (detail: string): Refusal =>
  new Refusal('store_unavailable', { detail, cause: new LastingProblem(detail), retryAfterSeconds: 1 })

const NOT_REPLICATED =
  'the synchronous standby did not confirm the change in time: a failover would lose it. See synchronous_standby_names'

const renderBusy = (max: number): string =>
  `all ${max} connections of this process were busy for ${CONNECT_MS / 1000} s. See store.max-connections`
