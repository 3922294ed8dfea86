import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { LineSplitter } from '../../base/lines.ts'
import { NEWEST_SCHEMA } from '../migrations.ts'
import {
  BackupError,
  type BackupSummary,
  type Cells,
  type CountedTable,
  createRowReader,
  damaged,
  FIRST_ROW_LINE,
  notABackup,
  PAGE_ROWS,
  readContentLine,
  readHeader,
  readTrailer,
} from './format.ts'

/** Rows of one table. */
export interface BackupPage {
  readonly table: CountedTable
  readonly rows: readonly Cells[]
  /** The line of the first row. */
  readonly line: number
}

/**
 * Reads a whole file page by page. Throws a `BackupError` if it is not complete and unchanged, which is known only at
 * its end, or if a newer version wrote it.
 */
export async function readBackup(
  path: string,
  onPage: (page: BackupPage) => Promise<void> | void,
): Promise<BackupSummary> {
  const lines = readLines(path)
  const hash = createHash('sha256')
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next()
    if (done) throw damaged('it ends early')
    return value
  }
  const nextHashed = async (): Promise<string> => {
    const line = await nextLine()
    hash.update(line).update('\n')
    return line
  }
  try {
    const header = readHeader((await lines.next()).value)
    const { schema, tables } = readContentLine(await nextHashed())
    requireKnownSchema(schema, header.cardea)
    const readRow = createRowReader(header)
    let line = FIRST_ROW_LINE
    for (const table of tables) {
      for (let left = table.rows; left > 0; ) {
        const read = (text: string, index: number) => readRow(text, table, line + index)
        const rows = await readPage(read, Math.min(left, PAGE_ROWS), nextHashed)
        await onPage({ table, rows, line })
        left -= rows.length
        line += rows.length
      }
    }
    const sha256 = readTrailer(await nextLine())
    if (sha256 !== hash.digest('hex')) throw damaged('its content does not match its SHA-256')
    if (!(await lines.next()).done) throw damaged('something follows its last line')
    return { header, schema, tables, sha256 }
  } finally {
    await lines.return(undefined)
  }
}

/** The reader of this version need not know the records of a newer one. */
function requireKnownSchema(schema: number, cardea: string): void {
  if (schema <= NEWEST_SCHEMA) return
  throw new BackupError(
    `The backup has schema ${schema}, written by Cardea ${cardea}; this one knows schema ${NEWEST_SCHEMA}. Nothing was changed. Restore it with Cardea ${cardea} or newer.`,
  )
}

/** The longest line that is kept in memory. Pages are not much longer. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

async function readPage(
  read: (text: string, index: number) => Cells,
  most: number,
  next: () => Promise<string>,
): Promise<readonly Cells[]> {
  const rows: Cells[] = []
  for (let length = 0; rows.length < most && length < MAX_LINE_BYTES; ) {
    const line = await next()
    rows.push(read(line, rows.length))
    length += line.length
  }
  return rows
}

/** The lines of a gzip file, without their ends. */
async function* readLines(path: string): AsyncGenerator<string, undefined> {
  requireFile(path)
  const splitter = new LineSplitter(MAX_LINE_BYTES)
  const bytes = createGunzip()
  // the reader of `bytes` gets every error, so the callback has nothing to do
  pipeline(createReadStream(path), bytes, () => {})
  try {
    for await (const chunk of bytes) {
      for (const line of splitter.push(chunk)) {
        if ('flaw' in line) throw damaged(LINE_FLAWS[line.flaw])
        yield line.text
      }
      if (splitter.isTooLong()) throw damaged(LINE_FLAWS.too_long)
    }
  } catch (error) {
    throw explainFailure(error)
  } finally {
    bytes.destroy()
  }
  if (splitter.end()) throw damaged('it ends early')
  return undefined
}

const LINE_FLAWS = {
  too_long: `a line has more than ${MAX_LINE_BYTES} bytes`,
  not_utf8: 'a line is not UTF-8',
} as const

/** A pipe or a device could wait forever or never end, and the file is read twice. */
function requireFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw new BackupError('The backup cannot be read: it is not a file.')
}

const UNREADABLE: ReadonlyMap<unknown, () => BackupError> = new Map([
  ['Z_DATA_ERROR', () => damaged('it cannot be decompressed')],
  ['Z_BUF_ERROR', () => damaged('it ends early')],
])

function explainFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  if (error.message === 'incorrect header check') return notABackup()
  const explained = UNREADABLE.get(error.code)
  return explained ? explained() : new BackupError(`The backup cannot be read: ${error.message}`)
}
