// Apart from what uses the driver: a program with the library need not have the types of the driver.

export interface PostgresOptions {
  /** How many connections this process may open to the server in use, with the one that watches it. */
  readonly maxConnections: number
  /** How many processes of this node open as many, for the log. Left out: nothing is logged. */
  readonly processes?: number | undefined
  /** What a pooler keeps for a client: its connection, or that only within a transaction. */
  readonly pooling: 'session' | 'transaction'
  /** Where to listen for changes; empty: at the URL of the store, or with pooling by transactions nowhere. */
  readonly listenUrl: string
}

export const DEFAULTS: PostgresOptions = Object.freeze({ maxConnections: 10, pooling: 'session', listenUrl: '' })
