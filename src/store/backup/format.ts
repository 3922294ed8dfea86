/**
 * The lines of a backup file, which is compressed with gzip:
 *
 *     {"format":"cardea-backup","version":1,"cardea":"0.1.0","createdAt":"…","engine":"sqlite"}
 *     {"schema":8,"tables":[{"name":"cardea_users","columns":["is_live","name",…],"rows":2},…]}
 *     [1,"ada",…]            one row, in the order of the tables and their columns
 *     {"sha256":"…"}         of all lines between the first and the last
 */
import { isJsonObject, readJson } from '../../base/json.ts'
import { BackupError } from './backup-error.ts'
import { type Cells, type CountedTable, isCell } from './content.ts'

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

export interface ContentLine {
  readonly schema: number
  readonly tables: readonly CountedTable[]
}

/** What a backup file contains. */
export interface BackupSummary extends ContentLine {
  readonly header: BackupHeader
  readonly sha256: string
}

export const damaged = (detail: string): BackupError =>
  new BackupError(`The backup is damaged: ${detail}. Nothing was changed. Use another copy of it, or an older backup.`)

export const notABackup = (): BackupError =>
  new BackupError('The file is not a backup of Cardea. "cardea backup" makes one; "cardea import" reads other files.')

export function readHeader(line: string | undefined): BackupHeader {
  const value = line === undefined ? undefined : findObject(line)
  if (value?.['format'] !== BACKUP_FORMAT) throw notABackup()
  const { version, cardea, createdAt, engine } = value
  if (!isCount(version) || !isText(cardea) || !isText(createdAt) || !isText(engine)) throw damaged('its first line')
  if (version <= FORMAT_VERSION) return { format: BACKUP_FORMAT, version, cardea, createdAt, engine }
  throw new BackupError(
    `The backup has format ${version}, which this Cardea does not know. Restore it with Cardea ${cardea} or newer.`,
  )
}

export function readContentLine(line: string | undefined): ContentLine {
  const value = line === undefined ? undefined : findObject(line)
  const tables = value?.['tables']
  if (!isCount(value?.['schema']) || !Array.isArray(tables)) throw damaged('its second line')
  return { schema: value['schema'], tables: tables.map(readTable) }
}

function readTable(value: unknown): CountedTable {
  if (!isJsonObject(value)) throw damaged('its second line')
  const { name, columns, rows } = value
  const hasColumns = Array.isArray(columns) && columns.every(isText)
  if (!isText(name) || !isCount(rows) || !hasColumns) throw damaged('its second line')
  return { name, columns, rows }
}

export function readRow(line: string | undefined, { name, columns }: CountedTable): Cells {
  const reading = readJson(line ?? '')
  const row = reading.kind === 'json' ? reading.value : undefined
  if (Array.isArray(row) && row.length === columns.length && row.every(isCell)) return row
  throw damaged(line === undefined ? 'it ends early' : `a row of ${name}`)
}

export function readTrailer(line: string | undefined): string {
  const sha256 = line === undefined ? undefined : findObject(line)?.['sha256']
  if (isText(sha256)) return sha256
  throw damaged(line === undefined ? 'it ends early' : 'its last line')
}

function findObject(line: string): Readonly<Record<string, unknown>> | undefined {
  const reading = readJson(line)
  return reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : undefined
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
