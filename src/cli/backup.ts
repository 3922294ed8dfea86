import { Command } from 'commander'
import type { Context } from './context.ts'
import { withExitCodes } from './manage.ts'
import type { BackupOptions } from './run-backup.ts'

/** `cardea backup`: everything in the store, in a file for either engine. */
export function backupCommand(context: Context): Command {
  const command = new Command('backup')
    .description('save everything in the store to a file; a server may be running')
    .argument('<file>', 'only its owner can read it; an existing file is replaced when the new one is complete')
    .option('--json', 'print JSON')
  return withExitCodes(command).action(async (file: string, options: BackupOptions) => {
    const { runBackup } = await import('./run-backup.ts')
    await runBackup(context, file, options)
  })
}
