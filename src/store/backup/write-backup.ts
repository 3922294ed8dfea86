import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { openNewStream, replaceByWriting } from '../../base/files.ts'
import { PRODUCT } from '../../base/product.ts'
import { listProblems } from './check-records.ts'
import { BACKUP_FORMAT, BackupError, type BackupHeader, countRows, FORMAT_VERSION } from './format.ts'
import { readBackup } from './read-backup.ts'
import { renderContent, type StoreSnapshot } from './snapshot.ts'

interface WriteOptions {
  readonly nowMs: number
  readonly onProgress?: OnProgress
}

/** Called with the number of rows. */
export type OnProgress = (progress: { readonly done: number; readonly total: number }) => void

/**
 * Writes a file that only its owner can read. It is read back and compared before it gets its name. `problems`: records
 * that were damaged in the store already. The file has them as they are and cannot be restored.
 */
export async function writeBackup(snapshot: StoreSnapshot, file: string, options: WriteOptions) {
  const path = resolve(file)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile()) throw new BackupError(`${file} is not a regular file. Name a file for the backup.`)
  try {
    return await replaceByWriting(path, async (temporary) => {
      await pipeline(renderFile(snapshot, options), createGzip(), openNewStream(temporary))
      const problems: string[] = []
      const summary = await readBackup(temporary, (page) => void problems.push(...listProblems(page)))
      return { ...summary, problems }
    })
  } catch (error) {
    const isOfSystem = error instanceof Error && 'syscall' in error
    throw isOfSystem ? new BackupError(`${file} cannot be written: ${error.message}`) : error
  }
}

async function* renderFile(snapshot: StoreSnapshot, { nowMs, onProgress }: WriteOptions): AsyncGenerator<string> {
  const header: BackupHeader = {
    format: BACKUP_FORMAT,
    version: FORMAT_VERSION,
    cardea: PRODUCT.version,
    createdAt: new Date(nowMs).toISOString(),
    engine: snapshot.engine,
  }
  yield `${JSON.stringify(header)}\n`
  const hash = createHash('sha256')
  const total = countRows(snapshot.tables)
  let done = 0
  const onRows = (count: number) => {
    done += count
    onProgress?.({ done, total })
  }
  for await (const text of renderContent(snapshot, onRows)) {
    hash.update(text)
    yield text
  }
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`
}
