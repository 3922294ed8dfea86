import { Command, InvalidArgumentError } from 'commander'
import { findNearest } from '../base/nearest.ts'
import { hasSecretName } from '../config/compatibility.ts'
import { describeSettings, renderSettings } from '../config/describe.ts'
import { splitName } from '../config/options.ts'
import { withSuggestion } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { checkCertificates, listOpenKeyFiles } from '../live-config/certificates.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { checkConfiguration } from './check-configuration.ts'
import { type Context, EXIT, ExitError, usageError } from './context.ts'
import { printJson } from './json-output.ts'
import { addManaged, type ManageOptions, manage, perform, report } from './manage.ts'
import { loadReadingOf, requireNone } from './own-settings.ts'
import { readTypedSecret } from './passwords.ts'

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
    .description('print the value of one option: that of the running server, if there is one')
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
  if (json) printJson(context, shown)
  else context.print(renderSettings(settings, { all }).trimEnd())
}

async function get(context: Context, name: string): Promise<void> {
  const running = await findRunningValue(context, name)
  if (running !== undefined) return context.print(running)
  const shown = describeSettings(await loadSound(context)).findLast((setting) => setting.name === name)
  if (shown) return context.print(shown.value)
  const names = OPTION_TABLE.rows.map((row) => row.name)
  throw new ExitError(EXIT.unknownOption, withSuggestion(`unknown option ${name}`, findNearest(name, names)))
}

/** What the running server uses, which differs from its files while they wait for a reload or a restart. */
async function findRunningValue(context: Context, name: string): Promise<string | undefined> {
  const { findRunning } = await import('./client.ts')
  const server = await findRunning(context)
  const option = (await server?.call('option.list'))?.options.find((each) => each.name === name)
  return option?.running ?? option?.value
}

async function check(context: Context): Promise<void> {
  const { settings, warnings, problems, exitCode } = await checkConfiguration(context)
  // `cardea check` has areas of its own for certificates and files
  const ofTls =
    exitCode === 0
      ? [
          ...checkCertificates(settings.values, Date.now()).map(({ message }) => message),
          ...listOpenKeyFiles(settings.values),
        ]
      : []
  for (const warning of [...warnings, ...ofTls]) context.print(`warning: ${warning}`)
  if (exitCode !== 0) throw new ExitError(exitCode, problems.join('\n'))
  context.print('The configuration has no problems.')
}

interface SetOptions extends ManageOptions {
  readonly valueStdin?: boolean
  readonly now?: boolean
}

interface OptionPlace {
  readonly section: string
  readonly key: string
}

/** `cardea config set` and `unset`: the run-time layer, which is kept in the store and wins over files. */
function addSettingCommands(command: Command, context: Context): void {
  addManaged(command, 'set', 'set an option at run time: kept in the store, wins over files')
    .argument('<section.option>', 'its name, as in chttpd_auth.timeout', readPlace)
    .argument('[value]', 'of a secret left out: it is asked for')
    .option('--value-stdin', 'read the value from standard input')
    .option('--now', 'with chttpd_auth.secret: refuse cookies made with the old secret at once')
    .action((place: OptionPlace, value: string | undefined, options: SetOptions) => set(context, place, value, options))
  addManaged(command, 'unset', 'back to what files and defaults say')
    .argument('<section.option>', 'its name', readPlace)
    .action((place: OptionPlace, options: ManageOptions) => unset(context, place, options))
}

function readPlace(text: string): OptionPlace {
  const { section, key } = splitName(text)
  if (!text.includes('.') || section === '' || key === '')
    throw new InvalidArgumentError('It is written section.option.')
  return { section, key }
}

const nameOf = ({ section, key }: OptionPlace): string => `${section}.${key}`

const isSecret = ({ section, key }: OptionPlace): boolean => {
  const row = OPTION_TABLE.find(section, key)
  return section === 'jwt_keys' || (row ? row.option.secret === true : hasSecretName(key))
}

async function readValue(
  place: OptionPlace,
  value: string | undefined,
  { valueStdin = false }: SetOptions,
): Promise<string> {
  const name = nameOf(place)
  if (value !== undefined && valueStdin) throw usageError('Give the value once: as an argument or on standard input.')
  if (value !== undefined && isSecret(place)) {
    throw usageError(
      `${name} is a secret, and arguments are seen by others: leave it out to be asked, or use --value-stdin.`,
    )
  }
  if (value === undefined && !valueStdin && !isSecret(place)) throw usageError(`The value of ${name} is missing.`)
  return (
    value ?? readTypedSecret({ what: `Value of ${name}`, fromInput: valueStdin, flag: '--value-stdin', isNew: true })
  )
}

function requireSetting({ section, key }: OptionPlace): void {
  if (section === 'admins') throw usageError(`Administrators are managed with cardea admin: cardea admin add ${key}`)
}

const explain = (place: OptionPlace) => [['option_not_found', `${nameOf(place)} is not set at run time.`]] as const

async function set(context: Context, place: OptionPlace, text: string | undefined, options: SetOptions): Promise<void> {
  requireSetting(place)
  const value = await readValue(place, text, options)
  const call = { params: { ...place }, body: { value, ...(options.now && { now: true }) } }
  const change = await manage(context, options, (control) => control.call('setting.set', call), {
    explanations: explain(place),
  })
  for (const warning of change.warnings) context.printError(`warning: ${warning}`)
  report(context, options, change, () => `${change.name} = ${change.value}${whenOf(change)}`)
}

async function unset(context: Context, place: OptionPlace, options: ManageOptions): Promise<void> {
  requireSetting(place)
  const call = { params: { ...place } }
  await perform(context, options, (control) => control.call('setting.unset', call), {
    explanations: explain(place),
    render: (change) => `${change.name} is no longer set at run time${whenOf(change)}`,
  })
}

const whenOf = ({ needsRestart }: { readonly needsRestart: boolean }): string =>
  needsRestart ? '  (from the next start on)' : ''
