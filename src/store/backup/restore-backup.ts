import type { Log } from '../../base/log.ts'
import { describeHolder, lockStore, type StoreLock } from '../lock.ts'
import { MIGRATIONS } from '../migrations.ts'
import { BackupError } from './backup-error.ts'
import { createCounterCheck, listProblems } from './check-records.ts'
import { countRows, digestContent, type TableShape } from './content.ts'
import { openTarget } from './engines.ts'
import { type BackupSummary, damaged } from './format.ts'
import { type BackupPage, type BackupReader, checkBackup, openBackup } from './read-backup.ts'
import type { RestoreTarget } from './restore-target.ts'
import type { BackupProgress } from './write-backup.ts'

export interface RestoreOptions {
  readonly url: string
  readonly mayReplace: boolean
  readonly log: Log
  onProgress?(progress: BackupProgress): void
}

/** Reads the whole file without changing anything. Throws a `BackupError` if this version cannot restore it. */
export async function checkRestorable(file: string): Promise<BackupSummary> {
  const counters = createCounterCheck()
  const summary = await checkBackup(file, (page, backup) => {
    // the reader of this version need not know the records of a newer one
    requireKnownSchema(backup)
    requireReadable(page)
    counters.add(page.table, page.rows)
  })
  requireKnownSchema(summary)
  const problem = counters.findProblem(summary.tables)
  if (problem !== undefined) throw damaged(problem)
  return summary
}

function requireKnownSchema({ schema, header: { cardea } }: Omit<BackupSummary, 'sha256'>): void {
  const newest = MIGRATIONS.at(-1)?.number ?? 0
  if (schema <= newest) return
  throw new BackupError(
    `The backup has schema ${schema}, written by Cardea ${cardea}; this one knows schema ${newest}. Nothing was changed. Restore it with Cardea ${cardea} or newer.`,
  )
}

function requireReadable(page: BackupPage): void {
  const [problem] = listProblems(page)
  if (problem !== undefined) throw damaged(problem)
}

/**
 * Replaces the content of a store with that of a backup. The file is checked as a whole first, and what was written is
 * read back and compared before it takes the place of the existing store.
 */
export async function restoreBackup(file: string, options: RestoreOptions): Promise<BackupSummary> {
  const summary = await checkRestorable(file)
  const lock = await requireLock(options.url)
  try {
    await replaceContent(file, summary, options)
    return summary
  } finally {
    lock.release()
  }
}

/** Commands release the store after a moment; a server does not. */
const LOCK_WAIT_MS = 3000

async function requireLock(url: string): Promise<StoreLock> {
  const lock = await lockStore(url, LOCK_WAIT_MS)
  if (lock) return lock
  const holder = describeHolder(url)
  throw new BackupError(
    `A server or another command${holder} is using the store. Nothing was changed. Stop it, then restore.`,
  )
}

async function replaceContent(file: string, summary: BackupSummary, options: RestoreOptions): Promise<void> {
  const { url, mayReplace, log } = options
  const target = await openTarget(url, { schema: summary.schema, mayReplace, log })
  try {
    const sha256 = await copyRows(await openBackup(file), target, options)
    const written = await digestContent(await target.readBack())
    if (sha256 !== summary.sha256 || written !== summary.sha256)
      throw new BackupError('What was written differs from the backup. Nothing was changed. Try again.')
    await target.commit()
  } finally {
    await target.discard()
  }
}

async function copyRows(backup: BackupReader, target: RestoreTarget, { onProgress }: RestoreOptions): Promise<string> {
  requireSameTables(backup.tables, target.tables)
  const total = countRows(backup.tables)
  const pages = backup.readPages()
  try {
    for (let done = 0; ; ) {
      const page = await pages.next()
      if (page.done) return page.value
      await target.insert(page.value.table, page.value.rows)
      done += page.value.rows.length
      onProgress?.({ done, total })
    }
  } finally {
    await pages.return('')
  }
}

/** Statements are built from the names of the tables and columns, so those of a file are never used unchecked. */
function requireSameTables(found: readonly TableShape[], expected: readonly TableShape[]): void {
  const render = (tables: readonly TableShape[]) => JSON.stringify(tables.map(({ name, columns }) => [name, columns]))
  if (render(found) !== render(expected)) throw damaged('its tables are not those of its schema')
}
