import { Command } from 'commander'
import { describeSettings, renderNotices, renderSettings } from '../config/describe.ts'
import { ROWS } from '../config/options.ts'
import { exitCodeOf, findNearest, renderProblem, withSuggestion } from '../config/problems.ts'
import { renderOptionsPage } from '../config/render-page.ts'
import type { Settings } from '../config/settings.ts'
import { loadStoredConfiguration, type StoredReading } from '../live-config/load.ts'
import { checkAdministrators } from '../live-config/snapshot.ts'
import { checkNamed } from './check-referenced-files.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { addSettingCommands } from './setting.ts'

interface ShowOptions {
  readonly json?: boolean
  readonly all?: boolean
}

/** `cardea config`: what a server started with these flags, files and variables would read. */
export function configCommand(context: Context): Command {
  const command = new Command('config').description('show, check and change the configuration').exitOverride()
  command
    .command('show')
    .description('print what was set and where, secrets masked')
    .option('--all', 'defaults too')
    .option('--json', 'as JSON')
    .action((options: ShowOptions) => show(context, options))
  command
    .command('get')
    .description('print one value')
    .argument('<section.option>', 'its name, as in chttpd.port')
    .action((name: string) => get(context, name))
  command
    .command('check')
    .description(
      'print every problem and warning, of secrets, keys and certificates too; ends with 6 for a bad file, 3 for an unknown option, 4 for a bad value, 1 for what does not go together',
    )
    .action(() => check(context))
  command
    .command('docs')
    .description('print the page of all options')
    .action(() => context.print(renderOptionsPage().trimEnd()))
  addSettingCommands(command, context)
  return command
}

const load = ({ flags, env, cwd }: Context): Promise<StoredReading> => loadStoredConfiguration({ flags, env, cwd })

/** Settings without problems, or the end of the command. */
async function loadSound(context: Context): Promise<Settings> {
  const { settings, problems, warnings } = await load(context)
  for (const warning of warnings) context.printError(`warning: ${warning}`)
  if (problems.length > 0) throw new ExitError(exitCodeOf(problems), problems.map(renderProblem).join('\n'))
  return settings
}

async function show(context: Context, { json, all = false }: ShowOptions): Promise<void> {
  const settings = await loadSound(context)
  const shown = describeSettings(settings).filter((setting) => all || !setting.isDefault)
  context.print(json ? JSON.stringify(shown, undefined, 2) : renderSettings(settings, { all }).trimEnd())
}

async function get(context: Context, name: string): Promise<void> {
  // Of an administrator given in several layers the last is shown, as of everything else.
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
  const { settings, warnings, ...reading } = await load(context)
  for (const line of [...warnings, ...renderNotices(settings)]) context.print(`warning: ${line}`)
  // what cannot be read says nothing of which files it means
  const problems = reading.problems.length > 0 ? reading.problems : await checkNamed(settings)
  if (problems.length > 0) throw new ExitError(exitCodeOf(problems), problems.map(renderProblem).join('\n'))
  const flaw = reading.isStoreRead ? checkAdministrators(settings) : undefined
  if (flaw !== undefined) throw new ExitError(EXIT.failed, flaw)
  context.print('The configuration has no problems.')
}
