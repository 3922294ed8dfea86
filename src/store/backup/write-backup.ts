import { createHash, randomBytes } from 'node:crypto'
import { realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { openNewStream, syncFolder } from '../../base/files.ts'
import { PRODUCT } from '../../base/product.ts'
import { BackupError } from './backup-error.ts'
import { listProblems } from './check-records.ts'
import { countRows, renderContent, type StoreSnapshot } from './content.ts'
import { BACKUP_FORMAT, type BackupHeader, type BackupSummary, FORMAT_VERSION } from './format.ts'
import { checkBackup } from './read-backup.ts'

export interface BackupProgress {
  readonly done: number
  readonly total: number
}

export interface WriteOptions {
  readonly nowMs: number
  onProgress?(progress: BackupProgress): void
}

export interface WrittenBackup extends BackupSummary {
  /** Records that were damaged in the store already. The file has them as they are and cannot be restored. */
  readonly problems: readonly string[]
}

/**
 * Writes a file that only its owner can read. It is written under another name, read back and compared, and only then
 * renamed: a file under the given name is always complete.
 */
export async function writeBackup(
  snapshot: StoreSnapshot,
  file: string,
  options: WriteOptions,
): Promise<WrittenBackup> {
  const path = requireTarget(file)
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await pipeline(Readable.from(renderFile(snapshot, options)), createGzip(), openNewStream(temporary))
    const problems: string[] = []
    const summary = await checkBackup(temporary, (page) => problems.push(...listProblems(page)))
    renameSync(temporary, path)
    syncFolder(dirname(path))
    return { ...summary, problems }
  } catch (error) {
    rmSync(temporary, { force: true })
    throw isSystemError(error) ? new BackupError(`${file} cannot be written: ${error.message}`) : error
  }
}

/** Links are followed, so that the file they lead to is replaced. */
function requireTarget(file: string): string {
  const path = resolve(file)
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return path
  if (found.isFile()) return realpathSync(path)
  throw new BackupError(`${file} is not a regular file. Name a file for the backup.`)
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

async function* renderFile(snapshot: StoreSnapshot, { nowMs, onProgress }: WriteOptions): AsyncGenerator<string> {
  const total = countRows(snapshot.tables)
  const hash = createHash('sha256')
  let done = 0
  const header: BackupHeader = {
    format: BACKUP_FORMAT,
    version: FORMAT_VERSION,
    cardea: PRODUCT.version,
    createdAt: new Date(nowMs).toISOString(),
    engine: snapshot.engine,
  }
  yield `${JSON.stringify(header)}\n`
  const counted = countPages(snapshot, (rows) => {
    done += rows
    onProgress?.({ done, total })
  })
  for await (const text of renderContent(counted)) {
    hash.update(text)
    yield text
  }
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`
}

const countPages = (snapshot: StoreSnapshot, count: (rows: number) => void): StoreSnapshot => ({
  ...snapshot,
  async *readPages(table) {
    for await (const rows of snapshot.readPages(table)) {
      yield rows
      count(rows.length)
    }
  },
})
