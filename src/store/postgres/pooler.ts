/** What Cardea may expect of a connection: a pooler between it and the server may share connections among clients. */
import type { Client } from 'pg'
import { IncompatibleStoreError } from '../engine.ts'
import { createClient, ignore, SERVER_LIMITS } from './client.ts'

/** Columns that set the limits of the server for a connection, or with `isLocal` for a transaction. */
export const renderLimits = (url: string, isLocal: boolean): string =>
  Object.entries(SERVER_LIMITS)
    .filter(([name]) => !new RegExp(`[?&]${name}=`).test(url))
    .map(([name, ms]) => `, set_config('${name}', '${ms}', ${isLocal})`)
    .join('')

const TRANSACTION_MODE = `There is a pooler before PostgreSQL that gives each transaction another connection, so prepared statements and LISTEN fail. Use its session mode, or set store.pooling = transaction, and store.listen-url to the address of PostgreSQL itself`

/** Throws if a pooler shares the connection of this client with others. */
export async function requireSessions(client: Client, url: string): Promise<void> {
  const first = await findPid(client)
  // a pooler invents the number that it tells a client that connects; the types of the driver leave it out
  if (first === (client as Client & { readonly processID?: number }).processID) return
  const other = createClient(url)
  other.on('error', ignore)
  try {
    await other.connect()
    await other.query('BEGIN')
    // the transaction takes the connection that was used last
    const isShared = (await findPid(other)) === first || (await findPid(client)) !== first
    if (isShared) throw new IncompatibleStoreError(TRANSACTION_MODE)
  } finally {
    await other.end().catch(ignore)
  }
}

const findPid = async (client: Client): Promise<unknown> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
