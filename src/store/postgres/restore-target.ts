import type { Client } from 'pg'
import { migrationsUpTo, notEmpty, type OpenTarget, type RestoreTarget, refusedRow } from '../backup/restore-target.ts'
import { MIGRATIONS } from '../migrations.ts'
import { applyPending, checkServer, createClient } from './database.ts'
import { findConflict, toStoreError } from './errors.ts'
import { listTables, readPostgres } from './snapshot.ts'

const ignore = () => {}

/** Replaces all tables in one transaction. */
export const openPostgresTarget: OpenTarget = async (url, { schema, mayReplace, log }) => {
  const client = createClient(url)
  client.on('error', ignore)
  try {
    await client.connect()
    await checkServer(client, log)
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
    if (!mayReplace && !(await isEmpty(client))) throw notEmpty()
    for (const { name } of await listTables(client)) await client.query(`DROP TABLE ${name}`)
    await client.query('DROP TABLE IF EXISTS cardea_migrations')
    await applyPending(client, migrationsUpTo(schema))
    return await createTarget(client)
  } catch (error) {
    await client.end().catch(ignore)
    throw toStoreError(error)
  }
}

async function createTarget(client: Client): Promise<RestoreTarget> {
  const tables = await listTables(client)
  // migrations insert first rows, which the backup has as well
  for (const { name } of tables) await client.query(`DELETE FROM ${name}`)
  return {
    tables,
    insert: async ({ name, columns }, rows) => {
      const list = columns.join(', ')
      const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
      const text = `INSERT INTO ${name} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${name}, $1)`
      try {
        await client.query(text, [JSON.stringify(objects)])
      } catch (error) {
        const conflict = findConflict(error)
        throw conflict ? refusedRow(name, conflict === 'duplicate') : toStoreError(error)
      }
    },
    readBack: () => explain(() => readPostgres(client)),
    commit: () =>
      explain(async () => {
        await applyPending(client, MIGRATIONS)
        await client.query('COMMIT')
      }),
    // closing the connection rolls back what is not committed
    discard: () => client.end().catch(ignore),
  }
}

async function explain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toStoreError(error)
  }
}

/** A store without a single change of users, settings or sessions. */
async function isEmpty(client: Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT to_regclass('cardea_state') IS NOT NULL AS is_there`)
  if (rows[0]?.is_there !== true) return true
  const state = await client.query('SELECT sequence FROM cardea_state')
  return state.rows[0]?.sequence === 0
}
