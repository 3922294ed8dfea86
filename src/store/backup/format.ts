/**
 * The lines of a backup file, which is compressed with gzip:
 *
 *     {"format":"cardea-backup","version":1,"cardea":"0.1.0","createdAt":"…","engine":"sqlite"}
 *     {"schema":8,"tables":[{"name":"cardea_users","columns":["is_live","name",…],"rows":2},…]}
 *     [1,"ada",…]            one row, in the order of the tables and their columns
 *     {"sha256":"…"}         of all lines between the first and the last
 *
 * Tables and columns are sorted by name and rows by primary key, so equal stores have equal lines, whatever the engine.
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
export const FORMAT_VERSION = 1

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

export function readRow(line: string, { name, columns }: Table): Cells {
  const reading = readJson(line)
  const row = reading.kind === 'json' ? reading.value : undefined
  if (Array.isArray(row) && row.length === columns.length && row.every(isCell)) return row
  throw damaged(`a row of ${name}`)
}

export function renderRow(row: Cells): string {
  if (!row.every(isCell)) throw new TypeError('the store has a value that is neither text nor a whole number')
  return `${JSON.stringify(row)}\n`
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
