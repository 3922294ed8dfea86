/** Connects to the server, checks it and migrates the schema. */
import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { logMigrations, MIGRATION_TABLE, type Migration, pendingMigrations } from '../migrations.ts'
import { ignore } from './client.ts'
import { readPostgresError } from './errors.ts'
import { type ConnectedPrimary, connectPrimary } from './servers.ts'

/** A client of the server that accepts writes, which has done `begin`. A broken connection does not end the process. */
export async function connect(
  url: string,
  begin: (client: Client, server: string) => Promise<unknown>,
): Promise<ConnectedPrimary> {
  const primary = await connectPrimary(url)
  const { client } = primary
  try {
    await begin(client, primary.url)
    return primary
  } catch (error) {
    await client.end().catch(ignore)
    throw readPostgresError(error)
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
