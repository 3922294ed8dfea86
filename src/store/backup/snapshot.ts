/** The content of a store at one moment, read in the same way from every engine. */
import { createHash } from 'node:crypto'
import type { Log } from '../../base/log.ts'
import { IncompatibleStoreError, numberOf, type Row, textOf } from '../engine.ts'
import type { Migration } from '../migrations.ts'
import { type Cells, type CountedTable, FIRST_ROW_LINE, renderRow, type Table } from './format.ts'

/** What saving and restoring need of a database. It is open within one transaction. */
export interface BackupDatabase {
  readonly engine: string
  /** Selects `table`, `column` and `key` of all columns: the place in the primary key from 1, or 0. Sorted by name. */
  readonly columnList: string
  ask(sql: string): Promise<readonly Row[]>
  /** The rows of a query, some at a time. */
  readPages(sql: string): AsyncIterable<readonly Cells[]>
  /** Ends the transaction without a change. */
  close(): Promise<void>
}

/** A new store beside the existing one, or in a transaction. Nothing is replaced before `commit`. */
export interface RestoreTarget extends BackupDatabase {
  insert(table: Table, rows: readonly Cells[]): Promise<void>
  /** To the schema of this version, when all rows are in place. */
  migrate(): Promise<void>
  /** Puts the new store in the place of the existing one. */
  commit(): Promise<void>
}

/** What an engine needs to save and restore a store. */
export interface BackupEngine {
  /** Reads the time of a store. */
  readonly readTime: string
  /** Opens a view that does not change, of a store that a server may be using. */
  openForReading(url: string): Promise<BackupDatabase>
  /**
   * `schema`: that of the backup; the target is migrated further when the rows are in place. `mayReplace`: whether a store
   * that is not empty may be replaced.
   */
  openTarget(url: string, schema: readonly Migration[], mayReplace: boolean, log: Log): Promise<RestoreTarget>
}

/** All tables of a store. Writes that happen later are not seen. */
export interface StoreSnapshot {
  readonly engine: string
  readonly schema: number
  readonly tables: readonly CountedTable[]
  /** The rows of a table, sorted by primary key, some at a time. */
  readPages(table: Table): AsyncIterable<readonly Cells[]>
  close(): Promise<void>
}

export async function readSnapshot(database: BackupDatabase): Promise<StoreSnapshot> {
  const schema = await findSchema(database)
  if (schema === undefined)
    throw new IncompatibleStoreError('The database has no store of Cardea. Name the configuration with --config.')
  const tables: CountedTable[] = []
  const selects = new Map<string, string>()
  for (const { name, columns, keys } of await listTables(database)) {
    const [count] = await database.ask(`SELECT count(*) AS count FROM ${name}`)
    tables.push({ name, columns, rows: numberOf(count, 'count') })
    selects.set(name, `SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${keys.join(', ')}`)
  }
  return {
    engine: database.engine,
    schema,
    tables,
    readPages: ({ name }) => database.readPages(selects.get(name) ?? ''),
    close: () => database.close(),
  }
}

const MIGRATIONS_TABLE = 'cardea_migrations'

/** `undefined`: there is no store yet, as before the first start. */
export async function findSchema(database: BackupDatabase): Promise<number | undefined> {
  const columns = await database.ask(database.columnList)
  if (!columns.some(({ table }) => table === MIGRATIONS_TABLE)) return undefined
  const [schema] = await database.ask(`SELECT coalesce(max(number), 0) AS number FROM ${MIGRATIONS_TABLE}`)
  return numberOf(schema, 'number')
}

/** Not in a backup: a store that is restored has its own migrations, and begins a new history without marks. */
export const OWN_TABLES: readonly string[] = [MIGRATIONS_TABLE, 'cardea_marks']

/** Every table whose rows are saved, with the columns that these are sorted by. */
export async function listTables(database: BackupDatabase) {
  const listed = await database.ask(database.columnList)
  const byTable = Map.groupBy(listed, (row) => textOf(row, 'table'))
  for (const name of OWN_TABLES) byTable.delete(name)
  return [...byTable].map(([name, rows]) => ({
    name,
    columns: rows.map((row) => textOf(row, 'column')),
    keys: rows
      .filter((row) => numberOf(row, 'key') > 0)
      .sort((a, b) => numberOf(a, 'key') - numberOf(b, 'key'))
      .map((row) => textOf(row, 'column')),
  }))
}

/** The rows of one table. Of a table that the store does not have yet there are none. */
export async function* readRows({ tables, readPages }: StoreSnapshot, name: string): AsyncGenerator<Row> {
  const table = tables.find((each) => each.name === name)
  if (!table) return
  for await (const page of readPages(table)) for (const cells of page) yield toRow(table, cells)
}

export const toRow = ({ columns }: Table, cells: Cells): Row =>
  Object.fromEntries(columns.map((column, index) => [column, cells[index]]))

/** The lines of a backup file that the SHA-256 is of. `onRows` gets the number of rows that were just rendered. */
export async function* renderContent(
  { schema, tables, readPages }: StoreSnapshot,
  onRows?: (count: number) => void,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ schema, tables })}\n`
  let line = FIRST_ROW_LINE
  for (const table of tables) {
    for await (const rows of readPages(table)) {
      const first = line
      yield rows.map((row, index) => renderRow(row, first + index)).join('')
      line += rows.length
      onRows?.(rows.length)
    }
  }
}

/** A digest of rows in their order, wherever they come from. */
export function createRowDigest() {
  const hash = createHash('sha256')
  return {
    add: ({ name }: Table, rows: readonly Cells[]): void =>
      void hash.update(rows.map((row) => `${name} ${JSON.stringify(row)}\n`).join('')),
    end: (): string => hash.digest('hex'),
  }
}

export async function digestContent({ tables, readPages }: StoreSnapshot): Promise<string> {
  const digest = createRowDigest()
  for (const table of tables) for await (const rows of readPages(table)) digest.add(table, rows)
  return digest.end()
}
