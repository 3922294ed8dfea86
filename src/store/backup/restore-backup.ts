import type { Log } from '../../base/log.ts'
import { describeHolder, lockStore, type StoreLock } from '../lock.ts'
import { MIGRATIONS } from '../migrations.ts'
import { createCounterCheck, createOwnerCheck, listProblems } from './check-records.ts'
import { endSessionsIn, endSessionsOfAdministrators } from './end-sessions.ts'
import { findEngine } from './engines.ts'
import { BackupError, type BackupSummary, countRows, damaged, type Table } from './format.ts'
import { readBackup } from './read-backup.ts'
import { createRowDigest, digestContent, listTables, type RestoreTarget, readSnapshot } from './snapshot.ts'
import type { OnProgress } from './write-backup.ts'

export interface RestoreOptions {
  readonly url: string
  readonly mayReplace: boolean
  /** End everything that may have been revoked since the backup, at this time in seconds. */
  readonly endSessionsAt?: number | undefined
  readonly log: Log
  readonly onProgress?: OnProgress
}

/** Reads the whole file without changing anything. Throws a `BackupError` if this version cannot restore it. */
export async function checkRestorable(file: string): Promise<BackupSummary> {
  const checks = [createCounterCheck(), createOwnerCheck()]
  const summary = await readBackup(file, (page) => {
    const [problem] = listProblems(page)
    if (problem !== undefined) throw damaged(problem)
    for (const check of checks) check.add(page)
  })
  const [problem] = checks.flatMap((check) => check.findProblem(summary.tables) ?? [])
  if (problem !== undefined) throw damaged(problem)
  return summary
}

/**
 * Replaces the content of a store with that of a backup. The file is checked as a whole first, and what was written is
 * read back and compared before it takes the place of the existing store.
 */
export async function restoreBackup(file: string, options: RestoreOptions): Promise<BackupSummary> {
  const summary = await checkRestorable(file)
  const { url, mayReplace, log } = options
  const lock = await requireLock(url)
  try {
    const schema = MIGRATIONS.filter(({ number }) => number <= summary.schema)
    const target = await (await findEngine(url)).openTarget(url, schema, mayReplace, log)
    try {
      // the clock of this machine may be behind the one that made the backup
      const createdAt = Math.ceil((Date.parse(summary.header.createdAt) || 0) / 1000)
      const endSessionsAt = options.endSessionsAt && Math.max(options.endSessionsAt, createdAt)
      await fill(target, file, summary, { ...options, endSessionsAt })
      await target.migrate()
      if (endSessionsAt !== undefined) await endSessionsOfAdministrators(target, endSessionsAt)
      await target.commit()
      return summary
    } finally {
      await target.close()
    }
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

async function fill(
  target: RestoreTarget,
  file: string,
  { tables, sha256 }: BackupSummary,
  { onProgress, endSessionsAt }: RestoreOptions,
): Promise<void> {
  const expected = await listTables(target)
  requireSameTables(tables, expected)
  // migrations insert first rows, which the backup has as well
  for (const { name } of expected) await target.ask(`DELETE FROM ${name}`)
  const total = countRows(tables)
  let done = 0
  const digest = createRowDigest()
  const read = await readBackup(file, async ({ table, rows }) => {
    const kept = endSessionsAt === undefined ? rows : endSessionsIn(table, rows, endSessionsAt)
    await target.insert(table, kept)
    digest.add(table, kept)
    done += rows.length
    onProgress?.({ done, total })
  })
  const written = await digestContent(await readSnapshot(target))
  if (read.sha256 === sha256 && written === digest.end()) return
  throw new BackupError('What was written differs from the backup. Nothing was changed. Try again.')
}

/** Statements are built from the names of the tables and columns, so those of a file are never used unchecked. */
function requireSameTables(found: readonly Table[], expected: readonly Table[]): void {
  const render = (tables: readonly Table[]) => JSON.stringify(tables.map(({ name, columns }) => [name, columns]))
  if (render(found) !== render(expected)) throw damaged('its tables are not those of its schema')
}
