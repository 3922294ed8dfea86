import type { Client } from 'pg'
import {
  type KeyedTable,
  type ListedColumn,
  type OpenSnapshot,
  PAGE_ROWS,
  type StoreSnapshot,
  toTables,
} from '../backup/content.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { createClient } from './database.ts'
import { toStoreError } from './errors.ts'

const ignore = () => {}

/** One transaction whose view does not change. It neither waits for a writer nor blocks one. */
export async function openPostgresSnapshot(url: string): Promise<OpenSnapshot> {
  const client = createClient(url)
  client.on('error', ignore)
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return { ...(await readPostgres(client)), close: () => client.end() }
  } catch (error) {
    await client.end().catch(ignore)
    throw toStoreError(error)
  }
}

/** Must be called within a transaction. */
export async function readPostgres(client: Client): Promise<StoreSnapshot> {
  const schema = await readSchema(client)
  const tables = await listTables(client)
  const keyed = new Map(tables.map((table) => [table.name, table]))
  const counted = []
  for (const { name, columns } of tables) counted.push({ name, columns, rows: await countRows(client, name) })
  return {
    engine: 'postgres',
    schema,
    tables: counted,
    async *readPages({ name }) {
      const table = keyed.get(name)
      try {
        if (table) yield* readPages(client, table)
      } catch (error) {
        throw toStoreError(error)
      }
    },
  }
}

async function readSchema(client: Client): Promise<number> {
  const { rows } = await client.query(`SELECT to_regclass('cardea_migrations') IS NOT NULL AS is_there`)
  if (rows[0]?.is_there !== true)
    throw new IncompatibleStoreError('The database has no store of Cardea. Name the configuration with --config.')
  const applied = await client.query('SELECT coalesce(max(number), 0) AS number FROM cardea_migrations')
  return Number(applied.rows[0]?.number)
}

const LIST_COLUMNS = `SELECT item.relname AS "table", item_column.attname AS "column",
    coalesce(array_position(primary_key.indkey::int[], item_column.attnum::int) + 1, 0) AS "key"
  FROM pg_class item
  JOIN pg_attribute item_column ON item_column.attrelid = item.oid AND item_column.attnum > 0
  LEFT JOIN pg_index primary_key ON primary_key.indrelid = item.oid AND primary_key.indisprimary
  WHERE item.relkind = 'r' AND item.relnamespace = current_schema()::regnamespace
    AND starts_with(item.relname, 'cardea_') AND item.relname <> 'cardea_migrations' AND NOT item_column.attisdropped
  ORDER BY item.relname COLLATE "C", item_column.attname COLLATE "C"`

export const listTables = async (client: Client): Promise<readonly KeyedTable[]> =>
  toTables((await client.query<ListedColumn>(LIST_COLUMNS)).rows)

const countRows = async (client: Client, table: string): Promise<number> =>
  Number((await client.query(`SELECT count(*) AS count FROM ${table}`)).rows[0]?.count)

/** Text in primary keys has the collation "C", so the order is that of SQLite. */
async function* readPages(client: Client, { name, columns, keys }: KeyedTable) {
  const select = `SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${keys.join(', ')}`
  await client.query(`DECLARE cardea_rows NO SCROLL CURSOR FOR ${select}`)
  for (;;) {
    const { rows } = await client.query({ text: `FETCH ${PAGE_ROWS} FROM cardea_rows`, rowMode: 'array' })
    if (rows.length > 0) yield rows
    if (rows.length < PAGE_ROWS) break
  }
  await client.query('CLOSE cardea_rows')
}
