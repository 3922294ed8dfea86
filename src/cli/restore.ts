import { resolve } from 'node:path'
import { Command, Option } from 'commander'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { toPrintable } from '../base/printable.ts'
import { createAlone } from '../base/siblings.ts'
import type { Config } from '../config/options.ts'
import { requireDestinations } from '../kernel/audit.ts'
import { StartError } from '../kernel/start-error.ts'
import { checkStoreFolder } from '../live-config/load.ts'
import { SECURITY_EVENTS } from '../modules.ts'
import { createLog } from '../observe/log.ts'
import { createSecurityEvents, toLogSink } from '../observe/security-events.ts'
import { loadStoredTime } from '../store/backup/engines.ts'
import { type BackupSummary, countRows } from '../store/backup/format.ts'
import { checkRestorable, restoreBackup } from '../store/backup/restore-backup.ts'
import { createBackupReport, withBackupErrors } from './backup-report.ts'
import { recordInStore, requireStopped } from './client.ts'
import { type Context, commandError } from './context.ts'
import { loadSettingsOf, requireNone } from './own-settings.ts'

interface RestoreCommandOptions {
  readonly replace?: boolean
  readonly check?: boolean
  readonly endSessions?: boolean
  readonly json?: boolean
}

/** `cardea restore`: puts the content of a backup into the store. */
export function restoreCommand(context: Context): Command {
  const command = new Command('restore')
    .description('put the content of a backup into the store, of either engine; the server must be stopped')
    .argument('<file>', 'a file of "cardea backup"')
    .option('--replace', 'replace a store that is not empty')
    .option('--end-sessions', 'end all sessions, tokens, password links and recovery codes of the backup')
    .addOption(
      new Option('--check', 'only check that the file is complete and can be restored').conflicts([
        'replace',
        'endSessions',
      ]),
    )
    .option('--json', 'print JSON')
  return command.action((file: string, options: RestoreCommandOptions) => restore(context, file, options))
}

function restore(context: Context, file: string, options: RestoreCommandOptions): Promise<void> {
  const { check = false, replace = false, endSessions = false, json = false } = options
  const path = resolve(context.cwd, file)
  const report = createBackupReport(context, 'restoring', json)
  return withBackupErrors(json, async () => {
    if (check) return report.end('Checked', file, await checkRestorable(path))
    const settings = loadSettingsOf(context)
    requireNone(checkStoreFolder(settings))
    const { values } = settings
    await requireStopped(context)
    const log = createLog('error')
    await requireRecordable(values, log)
    const { url } = values.store
    const target = { url, mayReplace: replace, ...(endSessions && { endSessionsAt: await findLatestSeconds(url) }) }
    const summary = await restoreBackup(path, { ...target, log, onProgress: report.onProgress })
    report.end('Restored', file, summary)
    if (!json) context.print(endSessions ? ENDED : renderRevived(summary))
    await recordRestore(context, summary)
  })
}

/** The latest time that is known: the clock of this machine may be behind. A store that is damaged may be replaced too. */
async function findLatestSeconds(url: string): Promise<number> {
  const stored = await loadStoredTime(url).catch(() => undefined)
  return Math.ceil(Math.max(SYSTEM_CLOCK.nowMs(), stored?.clockMs ?? 0, stored?.livedMs ?? 0) / 1000)
}

const ENDED = `All sessions and tokens have ended, and password links, access tokens and recovery codes are removed.
Users sign in again with the passwords of the backup. Superuser tokens are valid until their secret is replaced.`

const renderRevived = ({ header: { createdAt } }: BackupSummary): string =>
  `Sessions, tokens and codes that were revoked or used after ${toPrintable(createdAt)} are valid again.
To end all of them, restore again with --replace --end-sessions before the server starts.`

/** With `audit.on-failure = refuse`, no store is replaced while its audit records cannot be written. */
function requireRecordable(values: Config, log: Log): Promise<void> {
  const events = createSecurityEvents({ rows: SECURITY_EVENTS, node: () => values.node.name, sinks: [toLogSink(log)] })
  return requireDestinations({ settings: () => values, events, log, isCommand: true, siblings: createAlone() })
}

async function recordRestore(
  context: Context,
  { header: { createdAt }, tables, sha256 }: BackupSummary,
): Promise<void> {
  const fields = { createdAt, records: countRows(tables), sha256 }
  try {
    await recordInStore(context, (events) => events.record('store.restored', fields))
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    throw commandError(`The store was restored, but this was not recorded: ${error.message}`)
  }
}
