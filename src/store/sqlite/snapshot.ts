import { DatabaseSync } from 'node:sqlite'
import {
  type Cells,
  type KeyedTable,
  type ListedColumn,
  type OpenSnapshot,
  PAGE_ROWS,
  type StoreSnapshot,
  toTables,
} from '../backup/content.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { toStoreError } from './errors.ts'

/** This process does nothing else meanwhile, so it may block. */
const BUSY_MS = 5000

/** With a write-ahead log, a read transaction keeps its view, and neither waits for a writer nor blocks one. */
export function openSqliteSnapshot(path: string): OpenSnapshot {
  let database: DatabaseSync | undefined
  try {
    const opened = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
    database = opened
    opened.exec('BEGIN')
    return { ...readSqlite(opened), close: async () => opened.close() }
  } catch (error) {
    database?.close()
    throw toStoreError(error)
  }
}

export function readSqlite(database: DatabaseSync): StoreSnapshot {
  const schema = readSchema(database)
  const tables = listTables(database)
  const keyed = new Map(tables.map((table) => [table.name, table]))
  return {
    engine: 'sqlite',
    schema,
    tables: tables.map(({ name, columns }) => ({ name, columns, rows: countRows(database, name) })),
    async *readPages({ name }) {
      const table = keyed.get(name)
      try {
        if (table) yield* readPages(database, table)
      } catch (error) {
        throw toStoreError(error)
      }
    },
  }
}

function readSchema(database: DatabaseSync): number {
  const found = database.prepare(`SELECT name FROM sqlite_schema WHERE name = 'cardea_migrations'`).get()
  if (!found) throw new IncompatibleStoreError('The file is not a store of Cardea.')
  return Number(database.prepare('SELECT coalesce(max(number), 0) AS number FROM cardea_migrations').get()?.['number'])
}

const LIST_COLUMNS = `SELECT item.name AS "table", item_column.name AS "column", item_column.pk AS "key"
  FROM sqlite_schema item JOIN pragma_table_info(item.name) item_column
  WHERE item.type = 'table' AND item.name GLOB 'cardea_*' AND item.name <> 'cardea_migrations'
  ORDER BY item.name, item_column.name`

export const listTables = (database: DatabaseSync): readonly KeyedTable[] =>
  // the statement names the columns as the type does
  toTables(database.prepare(LIST_COLUMNS).all() as unknown as readonly ListedColumn[])

const countRows = (database: DatabaseSync, table: string): number =>
  Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'])

function* readPages(database: DatabaseSync, { name, columns, keys }: KeyedTable): Generator<readonly Cells[]> {
  const statement = database.prepare(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${keys.join(', ')}`)
  statement.setReturnArrays(true)
  let rows: Cells[] = []
  // rows are arrays now, which the type does not say
  for (const row of statement.iterate() as Iterable<unknown> as Iterable<Cells>) {
    rows.push(row)
    if (rows.length < PAGE_ROWS) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}
