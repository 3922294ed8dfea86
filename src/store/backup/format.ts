/**
 * The lines of a backup file, which is compressed with gzip:
 *
 *     {"format":"cardea-backup","version":2,"cardea":"0.1.0","createdAt":"…","engine":"sqlite"}
 *     {"schema":8,"tables":[{"name":"cardea_users","columns":["is_live","name",…],"rows":2},…]}
 *     [3,1,"ada",…]          the number of the line, and the values of one row, in the order of the tables and columns
 *     {"sha256":"…"}         of all lines between the first and the last
 *
 * Tables and columns are sorted by name and rows by primary key, so equal stores have equal lines, whatever the engine.
 * In version 1 a row has no number, so two of them could be exchanged.
 */
import { isJsonObject, readJson, readJsonObject } from '../../base/json.ts'

export type Cell = string | number | null

/** The values of one row, in the order of the columns. */
export type Cells = readonly Cell[]

export interface Table {
  readonly name: string
  readonly columns: readonly string[]
}

export interface CountedTable extends Table {
  readonly rows: number
}

/** Rows that are in memory at one time. */
export const PAGE_ROWS = 500

export const BACKUP_FORMAT = 'cardea-backup'
export const FORMAT_VERSION = 2
const FIRST_NUMBERED_VERSION = 2

/** After the header and the description of the tables. */
export const FIRST_ROW_LINE = 3

export interface BackupHeader {
  readonly format: typeof BACKUP_FORMAT
  readonly version: number
  /** The version of Cardea that wrote the file. */
  readonly cardea: string
  readonly createdAt: string
  readonly engine: string
}

/** What a backup file contains. */
export interface BackupSummary {
  readonly header: BackupHeader
  readonly schema: number
  readonly tables: readonly CountedTable[]
  readonly sha256: string
}

export const countRows = (tables: readonly CountedTable[]): number =>
  tables.reduce((total, { rows }) => total + rows, 0)

export function readHeader(line: string | undefined): BackupHeader {
  const { format, version, cardea, createdAt, engine } = readJsonObject(line ?? '') ?? {}
  if (format !== BACKUP_FORMAT) throw notABackup()
  if (!isCount(version) || !isText(cardea) || !isText(createdAt) || !isText(engine)) throw damaged('its first line')
  if (version <= FORMAT_VERSION) return { format, version, cardea, createdAt, engine }
  throw new BackupError(
    `The backup has format ${version}, which this Cardea does not know. Restore it with Cardea ${cardea} or newer.`,
  )
}

export function readContentLine(line: string): Pick<BackupSummary, 'schema' | 'tables'> {
  const { schema, tables } = readJsonObject(line) ?? {}
  if (!isCount(schema) || !Array.isArray(tables) || !tables.every(isCountedTable)) throw damaged('its second line')
  return { schema, tables }
}

function isCountedTable(value: unknown): value is CountedTable {
  if (!isJsonObject(value)) return false
  const { name, columns, rows } = value
  return isText(name) && isCount(rows) && Array.isArray(columns) && columns.every(isText)
}

/** Reads the rows of a file of this version. */
export const createRowReader =
  ({ version }: BackupHeader) =>
  (text: string, { name, columns }: Table, line: number): Cells => {
    const reading = readJson(text)
    const values = reading.kind === 'json' && Array.isArray(reading.value) ? reading.value : []
    const row = version < FIRST_NUMBERED_VERSION ? values : values.slice(1)
    if (row.length !== columns.length || !row.every(isCell)) throw damaged(`a row of ${name}`)
    if (row !== values && values[0] !== line) throw damaged(`line ${line} is not in its place`)
    return row
  }

export function renderRow(row: Cells, line: number): string {
  if (!row.every(isCell)) throw new TypeError('the store has a value that is neither text nor a whole number')
  return `${JSON.stringify([line, ...row])}\n`
}

export function readTrailer(line: string): string {
  const { sha256 } = readJsonObject(line) ?? {}
  if (isText(sha256)) return sha256
  throw damaged('its last line')
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

const isCell = (value: unknown): value is Cell =>
  value === null || typeof value === 'string' || Number.isSafeInteger(value)

/** A backup cannot be made, read or restored. The message is for the operator and says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const damaged = (detail: string): BackupError =>
  new BackupError(`The backup is damaged: ${detail}. Nothing was changed. Use another copy of it, or an older backup.`)

export const notABackup = (): BackupError =>
  new BackupError('The file is not a backup of Cardea. "cardea backup" makes one; "cardea import" reads other files.')

/** The database refused a row of a backup. */
export const refusedRow = (table: string, conflict: 'duplicate' | 'value'): BackupError =>
  damaged(
    conflict === 'duplicate'
      ? `two rows of ${table} have the same key`
      : `a row of ${table} has a value of the wrong kind`,
  )

export const notEmpty = (): BackupError =>
  new BackupError(
    'The store is not empty. Nothing was changed. Save it with "cardea backup" if it matters, then restore with --replace.',
  )
