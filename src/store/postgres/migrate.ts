import type { Client } from 'pg'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError } from '../incompatible-store.ts'
import { MIGRATION_TABLE, type Migration, pendingMigrations } from '../migrations/migration.ts'

/** Any number that is always the same; the lock it names is per database. */
const LOCK = 0x43617264

/** Brings the schema up to date. Of several nodes one does it, the others wait and find it done. */
export async function migratePostgres(client: Client, known: readonly Migration[], log: Log): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const pending = pendingMigrations(await findApplied(client), known)
    for (const migration of pending) await applyMigration(client, migration)
    await client.query('COMMIT')
    for (const { number, name } of pending) log.info('store migrated', { number, name })
  } catch (error) {
    // the connection may be what failed; the server then undoes by itself
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Refuses what would lose names, warns of what would lose writes. */
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
