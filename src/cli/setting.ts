import { type Command, InvalidArgumentError } from 'commander'
import { hasSecretName } from '../config/compatibility.ts'
import { findOption, splitName } from '../config/options.ts'
import { type Context, EXIT, ExitError } from './context.ts'
import { addManaged, type ManageOptions, manage, perform, report } from './manage.ts'
import { readSecret } from './passwords.ts'

interface SetOptions extends ManageOptions {
  readonly valueStdin?: boolean
  readonly now?: boolean
}

interface Place {
  readonly section: string
  readonly key: string
}

/** `cardea config set` and `unset`: the run-time layer, which is kept in the store and wins over files. */
export function addSettingCommands(command: Command, context: Context): void {
  addManaged(command, 'set', 'set an option at run time: kept in the store, wins over files')
    .argument('<section.option>', 'its name, as in chttpd_auth.timeout', readPlace)
    .argument('[value]', 'of a secret left out: it is asked for')
    .option('--value-stdin', 'read the value from standard input')
    .option('--now', 'with chttpd_auth.secret: refuse cookies made with the old secret at once')
    .action((place: Place, value: string | undefined, options: SetOptions) => set(context, place, value, options))
  addManaged(command, 'unset', 'back to what files and defaults say')
    .argument('<section.option>', 'its name', readPlace)
    .action((place: Place, options: ManageOptions) => unset(context, place, options))
}

function readPlace(text: string): Place {
  const { section, key } = splitName(text)
  if (!text.includes('.') || section === '' || key === '')
    throw new InvalidArgumentError('It is written section.option.')
  return { section, key }
}

const nameOf = ({ section, key }: Place): string => `${section}.${key}`

const isSecret = ({ section, key }: Place): boolean => {
  const row = findOption(section, key)
  return section === 'jwt_keys' || (row ? row.option.secret === true : hasSecretName(key))
}

const usage = (message: string): ExitError => new ExitError(EXIT.usage, message)

async function readValue(place: Place, value: string | undefined, { valueStdin = false }: SetOptions): Promise<string> {
  const name = nameOf(place)
  if (value !== undefined && valueStdin) throw usage('Give the value once: as an argument or on standard input.')
  if (value !== undefined && isSecret(place)) {
    throw usage(
      `${name} is a secret, and arguments are seen by others: leave it out to be asked, or use --value-stdin.`,
    )
  }
  if (value === undefined && !valueStdin && !isSecret(place)) throw usage(`The value of ${name} is missing.`)
  return value ?? readSecret({ what: `Value of ${name}`, fromInput: valueStdin, flag: '--value-stdin', isNew: true })
}

function requireSetting({ section, key }: Place): void {
  if (section === 'admins') throw usage(`Administrators are managed with cardea admin: cardea admin add ${key}`)
}

const explain = (place: Place) => [['option_not_found', `${nameOf(place)} is not set at run time.`]] as const

async function set(context: Context, place: Place, text: string | undefined, options: SetOptions): Promise<void> {
  requireSetting(place)
  const value = await readValue(place, text, options)
  const call = { params: { ...place }, body: { value, ...(options.now && { now: true }) } }
  const change = await manage(context, options, (control) => control.call('setting.set', call), {
    explanations: explain(place),
  })
  for (const warning of change.warnings) context.printError(`warning: ${warning}`)
  report(context, options, change, () => `${change.name} = ${change.value}${whenOf(change)}`)
}

async function unset(context: Context, place: Place, options: ManageOptions): Promise<void> {
  requireSetting(place)
  const call = { params: { ...place } }
  await perform(context, options, (control) => control.call('setting.unset', call), {
    explanations: explain(place),
    render: (change) => `${change.name} is no longer set at run time${whenOf(change)}`,
  })
}

const whenOf = ({ needsRestart }: { readonly needsRestart: boolean }): string =>
  needsRestart ? '  (from the next start on)' : ''
