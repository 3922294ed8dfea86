// What `cardea backup` and `cardea restore` print.
import { Refusal } from '../base/errors.ts'
import { toPrintable } from '../base/printable.ts'
import { reasonOf, StartError } from '../kernel/start-error.ts'
import { BackupError, type BackupSummary, countRows } from '../store/backup/format.ts'
import type { OnProgress } from '../store/backup/write-backup.ts'
import { IncompatibleStoreError } from '../store/engine.ts'
import { type Context, commandError, ExitError } from './context.ts'
import { createProgress, renderCount } from './transfer/progress.ts'

export function createBackupReport(context: Context, what: string, isJson: boolean) {
  const progress = createProgress(what)
  return {
    onProgress: ({ done, total }: Parameters<OnProgress>[0]) => progress.update({ done, total, records: done }),
    /** `verb`: Saved, Restored or Checked. */
    end(verb: string, file: string, summary: BackupSummary): void {
      progress.clear()
      context.print(isJson ? JSON.stringify(toJson(file, summary), undefined, 2) : renderSummary(verb, file, summary))
    },
  }
}

const toJson = (file: string, { header, schema, tables, sha256 }: BackupSummary) => ({
  file,
  createdAt: header.createdAt,
  cardea: header.cardea,
  schema,
  records: Object.fromEntries(tables.map(({ name, rows }) => [toLabel(name), rows])),
  sha256,
})

const toLabel = (table: string): string => table.replace(/^cardea_/, '')

function renderSummary(verb: string, file: string, { header, schema, tables, sha256 }: BackupSummary): string {
  const filled = tables.filter(({ rows }) => rows > 0)
  const counts = filled.map(({ name, rows }) => `${toLabel(name).replaceAll('_', ' ')} ${renderCount(rows)}`)
  return [
    `${verb} ${renderCount(countRows(tables))} records: ${counts.join(', ')}.`,
    `file     ${toPrintable(file)}`,
    `created  ${toPrintable(header.createdAt)} by Cardea ${toPrintable(header.cardea)}, schema ${schema}`,
    `sha256   ${toPrintable(sha256)}`,
  ].join('\n')
}

/** Runs the work of a command. An expected failure ends it with a sentence, or with JSON if asked for. */
export async function withBackupErrors<T>(isJson: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const expected = findExpected(error)
    if (!expected) throw error
    const reason = expected.message
    throw new ExitError(expected.exitCode, isJson ? JSON.stringify({ error: 'failed', reason }) : reason)
  }
}

const EXPECTED = [BackupError, IncompatibleStoreError, Refusal, StartError]

function findExpected(error: unknown): ExitError | undefined {
  if (error instanceof ExitError) return error
  const isExpected = EXPECTED.some((kind) => error instanceof kind)
  return isExpected ? commandError(toPrintable(reasonOf(error))) : undefined
}
