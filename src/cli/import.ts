import { Command, Option } from 'commander'
import { IMPORT_FORMATS } from '../transfer/format-names.ts'
import type { Context } from './context.ts'
import { withManageOptions } from './manage.ts'
import type { ImportOptions } from './transfer/run-import.ts'

/** `cardea import`: users of another system, with their passwords and rights. */
export function importCommand(context: Context): Command {
  const command = new Command('import')
    .description('import users from a dump, a list or a CouchDB server')
    .argument('[source]', 'a file, - for standard input, or the URL of a CouchDB server, whose format is document')
    .option(
      '--from-upstream',
      'import from the CouchDB server behind the document door, with the secret that it shares',
    )
    .addOption(
      new Option('--from <form>', 'format of the file (default: cardea, as "cardea export" writes it)').choices(
        IMPORT_FORMATS,
      ),
    )
    .option(
      '--admins [place]',
      'import administrators too: an ini file, the JSON of _config/admins, or a URL (default: the CouchDB server of the source)',
    )
    .addOption(new Option('--keep', 'keep existing users unchanged (default)').conflicts('replace'))
    .option('--replace', 'replace existing users with those of the source')
    .option('--dry-run', 'check everything, write nothing')
    .option('--source-as <name>', 'the administrator to sign in as at the CouchDB server (default: admin)')
    .option('--source-credentials <file>', 'file with its name:password (default: prompt)')
  return withManageOptions(command).action(async (source: string | undefined, options: ImportOptions) => {
    const { runImport } = await import('./transfer/run-import.ts')
    await runImport(context, source, options)
  })
}
