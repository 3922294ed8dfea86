import type { Client } from 'pg'
import { notEmpty, PAGE_ROWS, refusedRow } from '../backup/format.ts'
import {
  type BackupDatabase,
  type BackupEngine,
  listTables,
  OWN_TABLES,
  type RestoreTarget,
} from '../backup/snapshot.ts'
import { MIGRATIONS } from '../migrations.ts'
import { withRetries } from '../retry.ts'
import { STATEMENTS } from '../statements.ts'
import { ignore } from './client.ts'
import { applyPending, checkServer, connect } from './database.ts'
import { FOR_WRITES, toPostgres } from './engine.ts'
import { explain, findPostgresConflict, readPostgresError } from './errors.ts'

export const POSTGRES_BACKUP: BackupEngine = {
  openForReading,
  openTarget,
  readTime: toPostgres('readTime', STATEMENTS.readTime.text),
}

/** Text in primary keys has the collation "C", so the order of rows is that of SQLite. */
const COLUMN_LIST = `SELECT item.relname AS "table", item_column.attname AS "column",
    coalesce(array_position(primary_key.indkey::int[], item_column.attnum::int) + 1, 0) AS "key"
  FROM pg_class item
  JOIN pg_attribute item_column ON item_column.attrelid = item.oid AND item_column.attnum > 0
  LEFT JOIN pg_index primary_key ON primary_key.indrelid = item.oid AND primary_key.indisprimary
  WHERE item.relkind = 'r' AND item.relnamespace = current_schema()::regnamespace
    AND starts_with(item.relname, 'cardea_') AND NOT item_column.attisdropped
  ORDER BY item.relname COLLATE "C", item_column.attname COLLATE "C"`

const toBackupDatabase = (client: Client): BackupDatabase => ({
  engine: 'postgres',
  columnList: COLUMN_LIST,
  ask: (sql) => explain(async () => (await client.query(sql)).rows),
  async *readPages(sql) {
    await explain(() => client.query(`DECLARE cardea_rows NO SCROLL CURSOR FOR ${sql}`))
    const fetchPage = () => client.query({ text: `FETCH ${PAGE_ROWS} FROM cardea_rows`, rowMode: 'array' })
    for (;;) {
      const { rows } = await explain(fetchPage)
      if (rows.length > 0) yield rows
      if (rows.length < PAGE_ROWS) break
    }
    await explain(() => client.query('CLOSE cardea_rows'))
  },
  // what is not committed is rolled back
  close: () => client.end().catch(ignore),
})

/** One transaction whose view does not change. It neither waits for a writer nor blocks one. */
async function openForReading(url: string): Promise<BackupDatabase> {
  const { client } = await connect(url, (client) => client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'))
  return toBackupDatabase(client)
}

/** Replaces all tables in one transaction. */
async function openTarget(
  ...[url, schema, mayReplace, log]: Parameters<BackupEngine['openTarget']>
): Promise<RestoreTarget> {
  const { client } = await connect(url, async (client) => {
    await checkServer(client, log)
    await withRetries(FOR_WRITES, async () => {
      await client.query('ROLLBACK; BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
      if (!mayReplace && !(await isEmpty(client))) throw notEmpty()
      // a server that is running may use a table and wait for one that is dropped here: a deadlock
      for (const { name } of await listTables(toBackupDatabase(client))) await client.query(`DROP TABLE ${name}`)
      await client.query(`DROP TABLE IF EXISTS ${OWN_TABLES.join(', ')}`)
      await applyPending(client, schema)
    })
  })
  return {
    ...toBackupDatabase(client),
    async insert({ name, columns }, rows) {
      const list = columns.join(', ')
      const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))
      const text = `INSERT INTO ${name} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${name}, $1)`
      try {
        await client.query(text, [JSON.stringify(objects)])
      } catch (error) {
        const conflict = findPostgresConflict(error)
        throw conflict ? refusedRow(name, conflict) : readPostgresError(error)
      }
    },
    migrate: () => explain(async () => void (await applyPending(client, MIGRATIONS))),
    commit: () => explain(async () => void (await client.query('COMMIT'))),
  }
}

/** A store without a single change of users, settings or sessions. */
async function isEmpty(client: Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT to_regclass('cardea_state') IS NOT NULL AS is_there`)
  if (rows[0]?.is_there !== true) return true
  const state = await client.query('SELECT sequence FROM cardea_state')
  return state.rows[0]?.sequence === 0
}
