import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
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
  /** The line of the first row. */
  readonly line: number
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
        let line = FIRST_ROW_LINE
        for (const table of content.tables) {
          for await (const rows of readTablePages(table, nextHashed)) {
            yield { table, rows, line }
            line += rows.length
          }
        }
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

/** After the header and the description of the tables. */
const FIRST_ROW_LINE = 3

/** Lines are kept in memory up to this length, and pages that are not much longer. */
const MAX_LINE_CHARS = 16 * 1024 * 1024

async function* readTablePages(
  table: CountedTable,
  next: () => Promise<string | undefined>,
): AsyncGenerator<readonly Cells[], void> {
  for (let left = table.rows; left > 0; ) {
    const rows: Cells[] = []
    let chars = 0
    while (rows.length < Math.min(left, PAGE_ROWS) && chars < MAX_LINE_CHARS) {
      const line = await next()
      rows.push(readRow(line, table))
      chars += line?.length ?? 0
    }
    left -= rows.length
    yield rows
  }
}

/** Throws a `BackupError` if the page cannot be used. */
export type CheckPage = (page: BackupPage, backup: BackupReader) => void

/** Reads the whole file and compares counts and digest. */
export async function checkBackup(path: string, checkPage?: CheckPage): Promise<BackupSummary> {
  const backup = await openBackup(path)
  const { header, schema, tables } = backup
  const pages = backup.readPages()
  try {
    for (;;) {
      const page = await pages.next()
      if (page.done) return { header, schema, tables, sha256: page.value }
      checkPage?.(page.value, backup)
    }
  } finally {
    await pages.return('')
  }
}

/** The lines of a gzip file, without their ends. */
async function* readLines(path: string): AsyncGenerator<string, undefined> {
  requireFile(path)
  const text = createGunzip()
  // the reader of `text` gets every error, so the callback has nothing to do
  pipeline(createReadStream(path), text, () => {})
  let rest = ''
  try {
    for await (const chunk of text.setEncoding('utf8')) {
      const [end = '', ...lines] = chunk.split('\n')
      // appending copies nothing until the text is used, so a long line is not scanned again with every chunk
      rest += end
      if (rest.length > MAX_LINE_CHARS) throw damaged(`a line has more than ${MAX_LINE_CHARS} characters`)
      for (const line of lines) {
        yield rest
        rest = line
      }
    }
  } catch (error) {
    throw explainFailure(error)
  } finally {
    text.destroy()
  }
  if (rest !== '') throw damaged('it ends early')
  return undefined
}

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
