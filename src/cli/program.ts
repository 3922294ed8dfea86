import { styleText } from 'node:util'
import { Command, CommanderError } from 'commander'
import { PRODUCT } from '../base/product.ts'
import { splitFlags } from '../config/flags.ts'
import { renderHelp } from '../config/render.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { type Context, EXIT, EXIT_CODES_HELP, ExitError } from './context.ts'
import { isServing, type Signals } from './signals.ts'

/** Runs one command and returns its exit code. */
export async function runCommand(argv: readonly string[], signals?: Signals): Promise<number> {
  // a reader of the output may close the pipe early; that is not an error of the command
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const flags = splitFlags(toAsked(argv), OPTION_TABLE)
  if (isServing(findCommandName(flags.rest))) signals?.keep()
  else signals?.release()
  const context: Context = {
    flags,
    env: process.env,
    cwd: process.cwd(),
    signals,
    print: (text) => void process.stdout.write(`${text}\n`),
    printError: (text) => void process.stderr.write(`${text}\n`),
  }
  const section = flags.rest.find((word) => word.startsWith('--help-'))?.slice('--help-'.length)
  if (section !== undefined) return printSection(section, context)
  try {
    const program = createProgram(await loadCommands(flags.rest, context))
    await program.parseAsync([...flags.rest], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) {
      const hint = error.code === 'commander.unknownCommand' ? findHint(flags.rest) : undefined
      if (hint !== undefined) context.printError(hint)
      return exitCodeOfUse(error)
    }
    if (!(error instanceof ExitError)) throw error
    if (error.message !== '') context.printError(error.message)
    return error.exitCode
  }
}

interface CommandRow {
  /** The heading in the help. */
  readonly group: string
  /** Only the command that runs is loaded: all of them take 0.3 s, `hash` alone 0.1 s. */
  readonly load: () => Promise<(context: Context) => Command>
}

const SERVER = 'Server:'
const CONFIGURATION = 'Configuration and checks:'
const USERS = 'Users and administrators:'
const STORE = 'Store and audit trail:'
const SECRETS = 'Secrets and tokens:'

/** `help user add` is the help of that command, and `version` the version. */
function toAsked(argv: readonly string[]): readonly string[] {
  const [first, ...rest] = argv
  if (first === 'help') return [...rest, '--help']
  return first === 'version' && rest.length === 0 ? ['--version'] : argv
}

/** What other programs call a command, and what it is called here. Similar spellings are found by `commander`. */
const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ delete: 'remove', del: 'remove', rm: 'remove', create: 'add', new: 'add', ls: 'list', get: 'show' },
  ...{ passwd: 'set-password', password: 'set-password', logout: 'sign-out', lock: 'disable', block: 'disable' },
  ...{
    run: 'start',
    up: 'start',
    restart: 'reload',
    users: 'user',
    admins: 'admin',
    doctor: 'check',
    health: 'status',
  },
  ...{ verify: 'check', dump: 'backup', log: 'audit', logs: 'audit', secrets: 'secret', tokens: 'token' },
}

const STOP = 'A server ends with Ctrl-C or SIGTERM: "cardea status" prints its process.'

function findHint(words: readonly string[]): string | undefined {
  const names = words.filter((word) => !word.startsWith('-'))
  if (names[0] === 'stop') return STOP
  const meant = names.slice(0, 2).find((word) => Object.hasOwn(SYNONYMS, word))
  return meant && `(Did you mean ${SYNONYMS[meant]}?)`
}

/** In the order of the help. */
const COMMANDS: Readonly<Record<string, CommandRow>> = {
  start: { group: SERVER, load: async () => (await import('./start.ts')).startCommand },
  serve: { group: SERVER, load: async () => (await import('./serve.ts')).serveCommand },
  init: { group: SERVER, load: async () => (await import('./init.ts')).initCommand },
  status: { group: SERVER, load: async () => (await import('./status.ts')).statusCommand },
  reload: { group: SERVER, load: async () => (await import('./reload.ts')).reloadCommand },
  config: { group: CONFIGURATION, load: async () => (await import('./config.ts')).configCommand },
  check: { group: CONFIGURATION, load: async () => (await import('./check.ts')).checkCommand },
  user: { group: USERS, load: async () => (await import('./user.ts')).userCommand },
  admin: { group: USERS, load: async () => (await import('./admin.ts')).adminCommand },
  databases: { group: USERS, load: async () => (await import('./module-commands.ts')).databasesCommand },
  livesync: { group: USERS, load: async () => (await import('./module-commands.ts')).livesyncCommand },
  directory: { group: USERS, load: async () => (await import('./module-commands.ts')).directoryCommand },
  import: { group: USERS, load: async () => (await import('./import.ts')).importCommand },
  export: { group: USERS, load: async () => (await import('./export.ts')).exportCommand },
  backup: { group: STORE, load: async () => (await import('./backup.ts')).backupCommand },
  restore: { group: STORE, load: async () => (await import('./restore.ts')).restoreCommand },
  audit: { group: STORE, load: async () => (await import('./audit.ts')).auditCommand },
  secret: { group: SECRETS, load: async () => (await import('./secret.ts')).secretCommand },
  token: { group: SECRETS, load: async () => (await import('./token.ts')).tokenCommand },
  hash: { group: SECRETS, load: async () => (await import('./hash.ts')).hashCommand },
  completion: { group: 'Help:', load: async () => (await import('./completion.ts')).completionCommand(loadProgram) },
}

/** The command that these words name; otherwise all, for the help and for a hint at a similar name. */
async function loadCommands(words: readonly string[], context: Context): Promise<readonly Command[]> {
  const name = findCommandName(words)
  if (name === undefined && words.some((word) => word === '--version' || word === '-V')) return []
  const row = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  const rows = row ? [row] : Object.values(COMMANDS)
  return Promise.all(rows.map(async ({ group, load }) => (await load())(context).helpGroup(group)))
}

const findCommandName = (words: readonly string[]): string | undefined => words.find((word) => !word.startsWith('-'))

/**
 * Flags of the configuration are parsed by `splitFlags` only. In a spelling that `splitFlags` does not know, they are
 * unknown options here and are reported.
 */
function createProgram(commands: readonly Command[]): Command {
  const program = new Command('cardea')
    .description('Authentication server and gateway for CouchDB and ArangoDB.')
    .version(`${PRODUCT.name} ${PRODUCT.version}`, '-V, --version')
    .addHelpText('after', HELP_TAIL)
    .commandsGroup('Help:')
    .helpCommand(true)
  for (const command of commands) program.addCommand(command)
  return withCommon(program)
}

/** With all commands. Its actions are not run. */
export async function loadProgram(): Promise<Command> {
  const context = { flags: splitFlags([], OPTION_TABLE), env: {}, cwd: '', print: () => {}, printError: () => {} }
  return createProgram(await loadCommands([], context))
}

/**
 * What every command has, at any depth. `--config` is parsed by `splitFlags`: it is named here for the help, and for a
 * hint at a misspelt one. A wrong use is thrown, where `commander` would exit with 1.
 */
function withCommon(command: Command): Command {
  for (const each of command.commands) withCommon(each)
  return command
    .option('-c, --config <path>', 'read this file, or the *.ini files of this folder; may be repeated')
    .addHelpText('after', `\n${EXIT_CODES_HELP}`)
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { stream: process.stdout }) })
    .exitOverride()
}

/** Requested help is a success; help because of a missing command is an error. */
function exitCodeOfUse({ code, exitCode }: CommanderError): number {
  if (exitCode === 0) return 0
  return code === 'commander.unknownOption' ? EXIT.unknownOption : EXIT.usage
}

const HELP_TAIL = `
Every option of the configuration is a flag as well: [section] option in a file is --section.option here and
CARDEA_SECTION__OPTION in the environment.
  --help-<section>     the options of one section (--help-server, --help-chttpd, …)
  --help-all           every option`

function printSection(section: string, context: Context): number {
  const help = renderHelp(OPTION_TABLE, section === 'all' ? undefined : section)
  if (help === undefined) {
    context.printError(`There is no section ${section}. --help-all prints every section.`)
    return 3
  }
  context.print(help.trimEnd())
  return 0
}
