import { Command, Option } from 'commander'
import type { Context } from './context.ts'
import { withExitCodes } from './manage.ts'
import type { RestoreCommandOptions } from './run-restore.ts'

/** `cardea restore`: puts the content of a backup into the store. */
export function restoreCommand(context: Context): Command {
  const command = new Command('restore')
    .description('put the content of a backup into the store, of either engine; the server must be stopped')
    .argument('<file>', 'a file of "cardea backup"')
    .option('--replace', 'replace a store that is not empty')
    .addOption(new Option('--check', 'only check that the file is complete and can be restored').conflicts('replace'))
    .option('--json', 'print JSON')
  return withExitCodes(command).action(async (file: string, options: RestoreCommandOptions) => {
    const { runRestore } = await import('./run-restore.ts')
    await runRestore(context, file, options)
  })
}
