import { resolve } from 'node:path'
import { Command } from 'commander'
import { readStore } from '../store/backup/engines.ts'
import { countRows } from '../store/backup/format.ts'
import { writeBackup } from '../store/backup/write-backup.ts'
import { findStoreFile } from '../store/store-url.ts'
import { createBackupReport, withBackupErrors } from './backup-report.ts'
import { recordAtServer } from './client.ts'
import { type Context, commandError, usageError } from './context.ts'
import type { JsonOption } from './manage.ts'
import { loadSettingsOf } from './own-settings.ts'

/** `cardea backup`: everything in the store, in a file for either engine. */
export function backupCommand(context: Context): Command {
  const command = new Command('backup')
    .description('save everything in the store to a file; a server may be running')
    .argument('<file>', 'only its owner can read it; an existing file is replaced when the new one is complete')
    .option('--json', 'print JSON')
  return command.action((file: string, options: JsonOption) => backup(context, file, options))
}

const backup = (context: Context, file: string, { json = false }: JsonOption): Promise<void> =>
  withBackupErrors(json, async () => {
    const { url } = loadSettingsOf(context).values.store
    const path = resolve(context.cwd, file)
    // the backup would take the place of the store
    if (findStoreFile(`sqlite:${path}`) === findStoreFile(url))
      throw usageError(`${path} is the store itself. Name another file for the backup.`)
    const report = createBackupReport(context, 'saving', json)
    const options = { nowMs: Date.now(), onProgress: report.onProgress }
    const { problems, ...summary } = await readStore(url, (snapshot) => writeBackup(snapshot, path, options))
    report.end('Saved', file, summary)
    await recordAtServer(context, { event: 'store.saved', records: countRows(summary.tables) })
    if (problems.length > 0) throw commandError(renderDamage(problems))
  })

const renderDamage = ([first = '', ...others]: readonly string[]): string =>
  `Warning: the store has damaged records (${first}${others.length > 0 ? `; ${others.length} more` : ''}). "cardea restore" refuses this file. "cardea check" names the users. Keep the last good backup.`
