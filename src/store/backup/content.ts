/**
 * The content of a store as lines of JSON, the same for every engine: one line that describes the tables, then one line
 * for each row. Tables and columns are sorted by name and rows by primary key, so equal stores have equal lines.
 */
import { createHash } from 'node:crypto'

export type Cell = string | number | null

/** The values of one row, in the order of the columns. */
export type Cells = readonly Cell[]

export interface TableShape {
  readonly name: string
  readonly columns: readonly string[]
}

export interface CountedTable extends TableShape {
  readonly rows: number
}

/** All tables of a store at one moment. Writes that happen later are not seen. */
export interface StoreSnapshot {
  readonly engine: string
  readonly schema: number
  readonly tables: readonly CountedTable[]
  /** The rows of a table, sorted by primary key, some at a time. */
  readPages(table: TableShape): AsyncIterable<readonly Cells[]>
}

/** A snapshot that holds a connection. */
export interface OpenSnapshot extends StoreSnapshot {
  close(): Promise<void>
}

/** Rows that are in memory at one time. */
export const PAGE_ROWS = 500

export async function* renderContent(snapshot: StoreSnapshot): AsyncGenerator<string> {
  const { schema, tables } = snapshot
  yield `${JSON.stringify({ schema, tables: tables.map(toCounted) })}\n`
  for (const table of tables) {
    for await (const rows of snapshot.readPages(table)) yield rows.map(renderRow).join('')
  }
}

const toCounted = ({ name, columns, rows }: CountedTable): CountedTable => ({ name, columns, rows })

function renderRow(row: Cells): string {
  if (!row.every(isCell)) throw new TypeError('the store has a value that is neither text nor a whole number')
  return `${JSON.stringify(row)}\n`
}

export const isCell = (value: unknown): value is Cell =>
  value === null || typeof value === 'string' || Number.isSafeInteger(value)

/** The SHA-256 of all lines of the content. */
export async function digestContent(snapshot: StoreSnapshot): Promise<string> {
  const hash = createHash('sha256')
  for await (const text of renderContent(snapshot)) hash.update(text)
  return hash.digest('hex')
}

export const countRows = (tables: readonly CountedTable[]): number =>
  tables.reduce((total, { rows }) => total + rows, 0)

/** A column of a table, as both engines list them: sorted by table, then by column. */
export interface ListedColumn {
  readonly table: string
  readonly column: string
  /** The place of the column in the primary key, from 1; 0 if it is not part of it. */
  readonly key: number
}

export interface KeyedTable extends TableShape {
  /** The columns that the rows are sorted by. */
  readonly keys: readonly string[]
}

export function toTables(listed: readonly ListedColumn[]): readonly KeyedTable[] {
  const byTable = Map.groupBy(listed, ({ table }) => table)
  return [...byTable].map(([name, columns]) => ({
    name,
    columns: columns.map(({ column }) => column),
    keys: columns
      .filter(({ key }) => key > 0)
      .sort((a, b) => a.key - b.key)
      .map(({ column }) => column),
  }))
}
