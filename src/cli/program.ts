import { Command, CommanderError } from 'commander'
import { PRODUCT } from '../base/product.ts'
import { splitFlags } from '../config/flags.ts'
import { renderHelp } from '../config/render.ts'
import { adminCommand } from './admin.ts'
import { backupCommand } from './backup.ts'
import { checkCommand } from './check.ts'
import { configCommand } from './config.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT, EXIT_CODES_HELP } from './exit-codes.ts'
import { exportCommand } from './export.ts'
import { hashCommand } from './hash.ts'
import { importCommand } from './import.ts'
import { initCommand } from './init.ts'
import { reloadCommand } from './reload.ts'
import { restoreCommand } from './restore.ts'
import { secretCommand } from './secret.ts'
import { serveCommand } from './serve.ts'
import { isServing, type Signals } from './signals.ts'
import { startCommand } from './start.ts'
import { statusCommand } from './status.ts'
import { tokenCommand } from './token.ts'
import { userCommand } from './user.ts'

/** Runs one command and returns its exit code. */
export async function runCommand(argv: readonly string[], signals?: Signals): Promise<number> {
  // a reader of the output may close the pipe early; that is not an error of the command
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const flags = splitFlags(argv)
  if (isServing(flags.rest.find((word) => !word.startsWith('-')))) signals?.keep()
  else signals?.release()
  const context: Context = {
    flags,
    env: process.env,
    cwd: process.cwd(),
    signals,
    print: (text) => void process.stdout.write(`${text}\n`),
    printError: (text) => void process.stderr.write(`${text}\n`),
  }
  const section = findHelpSection(flags.rest)
  if (section !== undefined) return printSection(section, context)
  try {
    await createProgram(context).parseAsync([...flags.rest], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return exitCodeOfUse(error)
    if (!(error instanceof ExitError)) throw error
    context.printError(error.message)
    return error.exitCode
  }
}

const COMMANDS = [
  startCommand,
  serveCommand,
  initCommand,
  userCommand,
  adminCommand,
  importCommand,
  exportCommand,
  backupCommand,
  restoreCommand,
  hashCommand,
  secretCommand,
  tokenCommand,
  configCommand,
  checkCommand,
  statusCommand,
  reloadCommand,
]

/**
 * Flags of the configuration are parsed by `splitFlags` only. In a spelling that `splitFlags` does not know, they are
 * unknown options here and are reported.
 */
function createProgram(context: Context): Command {
  const program = new Command('cardea')
    .description('Authentication server and gateway for CouchDB and ArangoDB.')
    .version(`${PRODUCT.name} ${PRODUCT.version}`, '--version')
    .addHelpText('after', HELP_TAIL)
    .exitOverride()
  for (const command of COMMANDS) {
    program.addCommand(command(context).exitOverride())
  }
  return program
}

/** Requested help is a success; help because of a missing command is an error. */
function exitCodeOfUse({ code, exitCode }: CommanderError): number {
  if (exitCode === 0) return 0
  return code === 'commander.unknownOption' ? EXIT.unknownOption : EXIT.usage
}

const HELP_TAIL = `
Configuration:
  -c, --config <path>  read this file, or the *.ini files of this folder; may be repeated

Every option of the configuration is a flag as well: [section] option in a file is --section.option here and
CARDEA_SECTION__OPTION in the environment.
  --help-<section>     the options of one section (--help-server, --help-chttpd, …)
  --help-all           every option

${EXIT_CODES_HELP}`

const findHelpSection = (words: readonly string[]): string | undefined =>
  words.find((word) => word.startsWith('--help-'))?.slice('--help-'.length)

function printSection(section: string, context: Context): number {
  const help = section === 'all' ? renderHelp() : renderHelp(section)
  if (help === undefined) {
    context.printError(`There is no section ${section}. --help-all prints every section.`)
    return 3
  }
  context.print(help.trimEnd())
  return 0
}
