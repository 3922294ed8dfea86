import { Command, Option } from 'commander'
import { FORMAT_NAMES } from '../transfer/format-names.ts'
import type { Context } from './context.ts'
import { withExitCodes, withManageOptions } from './manage.ts'
import type { ImportOptions } from './transfer/run-import.ts'

/** `cardea import`: users from elsewhere, with the passwords and rights they have. */
export function importCommand(context: Context): Command {
  const command = new Command('import')
    .description('take over users from a dump or a document database')
    .argument('<source>', 'a file, - for standard input, or the address of a document database')
    .addOption(new Option('--from <form>', 'what is read; unless given, guessed').choices(FORMAT_NAMES))
    .option('--admins <place>', 'administrators too: an ini file, the JSON of _config/admins, or an address')
    .addOption(new Option('--keep', 'who is here already stays as it is (default)').conflicts('replace'))
    .option('--replace', 'who is here already becomes what the source says')
    .option('--dry-run', 'judge everything, write nothing')
    .option('--source-as <name>', 'the administrator to sign in as at the document database (default: admin)')
    .option('--source-credentials <file>', 'holds name:password for it; unless given, it is asked for')
  return withExitCodes(withManageOptions(command)).action(async (source: string, options: ImportOptions) => {
    const { runImport } = await import('./transfer/run-import.ts')
    await runImport(context, source, options)
  })
}
