import { Command } from 'commander'
import { describeSettings, renderSettings } from '../config/describe.ts'
import { ROWS } from '../config/options.ts'
import { findNearest, withSuggestion } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { listOpenKeyFiles, listOutdatedCertificates } from '../live-config/certificates.ts'
import { checkConfiguration } from './check-configuration.ts'
import { type Context, EXIT, ExitError } from './context.ts'
import { loadReadingOf, requireNone } from './own-settings.ts'
import { addSettingCommands } from './setting.ts'

interface ShowOptions {
  readonly json?: boolean
  readonly all?: boolean
}

/** `cardea config`: the configuration a server would start with. */
export function configCommand(context: Context): Command {
  const command = new Command('config').description('show, check and change the configuration')
  command
    .command('show')
    .description('print the settings and their sources, secrets masked')
    .option('--all', 'include defaults')
    .option('--json', 'as JSON')
    .action((options: ShowOptions) => show(context, options))
  command
    .command('get')
    .description('print the value of one option')
    .argument('<section.option>', 'such as chttpd.port')
    .action((name: string) => get(context, name))
  command
    .command('check')
    .description(
      'print every problem that prevents a start, in files, options, secrets, keys, certificates and administrators',
    )
    .action(() => check(context))
  addSettingCommands(command, context)
  return command
}

/** Valid settings; otherwise ends the command. */
async function loadSound(context: Context): Promise<Settings> {
  const { settings, problems, warnings } = await loadReadingOf(context)
  for (const warning of warnings) context.printError(`warning: ${warning}`)
  requireNone(problems)
  return settings
}

async function show(context: Context, { json, all = false }: ShowOptions): Promise<void> {
  const settings = await loadSound(context)
  const shown = describeSettings(settings).filter((setting) => all || !setting.isDefault)
  context.print(json ? JSON.stringify(shown, undefined, 2) : renderSettings(settings, { all }).trimEnd())
}

async function get(context: Context, name: string): Promise<void> {
  const shown = describeSettings(await loadSound(context)).findLast((setting) => setting.name === name)
  if (!shown) throw new ExitError(EXIT.unknownOption, renderUnknown(name))
  context.print(shown.value)
}

function renderUnknown(name: string): string {
  const nearest = findNearest(
    name,
    ROWS.map((row) => row.name),
  )
  return withSuggestion(`unknown option ${name}`, nearest)
}

async function check(context: Context): Promise<void> {
  const { settings, warnings, problems, exitCode } = await checkConfiguration(context)
  // `cardea check` has areas of its own for certificates and files
  const ofTls =
    exitCode === 0
      ? [...listOutdatedCertificates(settings.values, Date.now()), ...listOpenKeyFiles(settings.values)]
      : []
  for (const warning of [...warnings, ...ofTls]) context.print(`warning: ${warning}`)
  if (exitCode !== 0) throw new ExitError(exitCode, problems.join('\n'))
  context.print('The configuration has no problems.')
}
