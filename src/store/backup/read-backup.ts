import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { BackupError } from './backup-error.ts'
import { type Cells, type CountedTable, PAGE_ROWS } from './content.ts'
import {
  type BackupHeader,
  type BackupSummary,
  type ContentLine,
  damaged,
  notABackup,
  readContentLine,
  readHeader,
  readRow,
  readTrailer,
} from './format.ts'

/** Rows of one table. */
export interface BackupPage {
  readonly table: CountedTable
  readonly rows: readonly Cells[]
}

export interface BackupReader extends ContentLine {
  readonly header: BackupHeader
  /** Ends with the SHA-256 of the content, or throws a `BackupError` if the file is not complete and unchanged. */
  readPages(): AsyncGenerator<BackupPage, string>
}

/** Reads the first two lines. `readPages` must be called next: the file stays open until it ends. */
export async function openBackup(path: string): Promise<BackupReader> {
  const lines = readLines(path)
  const hash = createHash('sha256')
  const next = async (): Promise<string | undefined> => (await lines.next()).value
  const nextHashed = async (): Promise<string | undefined> => {
    const line = await next()
    if (line !== undefined) hash.update(line).update('\n')
    return line
  }
  const header = readHeader(await next())
  const content = readContentLine(await nextHashed())
  return {
    header,
    ...content,
    async *readPages() {
      try {
        for (const table of content.tables) yield* readTablePages(table, nextHashed)
        const sha256 = readTrailer(await next())
        if (sha256 !== hash.digest('hex')) throw damaged('its content does not match its SHA-256')
        if ((await next()) !== undefined) throw damaged('something follows its last line')
        return sha256
      } finally {
        await lines.return(undefined)
      }
    },
  }
}

async function* readTablePages(
  table: CountedTable,
  next: () => Promise<string | undefined>,
): AsyncGenerator<BackupPage, void> {
  for (let left = table.rows; left > 0; left -= PAGE_ROWS) {
    const rows: Cells[] = []
    while (rows.length < Math.min(left, PAGE_ROWS)) rows.push(readRow(await next(), table))
    yield { table, rows }
  }
}

/** Reads the whole file and compares counts and digest. */
export async function checkBackup(path: string): Promise<BackupSummary> {
  const { header, schema, tables, readPages } = await openBackup(path)
  const pages = readPages()
  for (;;) {
    const page = await pages.next()
    if (page.done) return { header, schema, tables, sha256: page.value }
  }
}

/** A longer line is not written by Cardea: it would fill the memory. */
const MAX_LINE_CHARS = 64 * 1024 * 1024

/** The lines of a gzip file, without their ends. */
async function* readLines(path: string): AsyncGenerator<string, undefined> {
  const text = createGunzip()
  // the reader of `text` gets every error, so the callback has nothing to do
  pipeline(createReadStream(path), text, () => {})
  let rest = ''
  try {
    for await (const chunk of text.setEncoding('utf8')) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE_CHARS) throw damaged('a line is too long')
      yield* lines
    }
  } catch (error) {
    throw explainFailure(error)
  } finally {
    text.destroy()
  }
  if (rest !== '') throw damaged('it ends early')
  return undefined
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
