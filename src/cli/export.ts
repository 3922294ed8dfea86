import { Command, Option } from 'commander'
import { FORMAT_NAMES } from '../transfer/format-names.ts'
import type { Context } from './context.ts'
import { withExitCodes, withManageOptions } from './manage.ts'
import type { ExportOptions } from './transfer/run-export.ts'

/** `cardea export`: all users, in a form that Cardea or one of the databases reads. */
export function exportCommand(context: Context): Command {
  const command = new Command('export')
    .description('write all users, administrators and run-time settings to a file or standard output')
    .argument('[file]', 'made for its owner alone; standard output unless given')
    .addOption(new Option('--to <form>', 'cardea loses nothing').choices(FORMAT_NAMES).default('cardea'))
    .option('--admins <file>', 'with --to document: the [admins] section for a configuration file')
  return withExitCodes(withManageOptions(command)).action(async (file: string | undefined, options: ExportOptions) => {
    const { runExport } = await import('./transfer/run-export.ts')
    await runExport(context, file, options)
  })
}
