import { Command, CommanderError } from 'commander'
import { PRODUCT } from '../base/product.ts'
import { splitFlags } from '../config/flags.ts'
import { renderHelp } from '../config/render.ts'
import { configCommand } from './config.ts'
import { type Context, ExitError } from './context.ts'
import { initCommand } from './init.ts'
import { serveCommand } from './serve.ts'
import { startCommand } from './start.ts'

/** Runs one command and gives its exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  // Who reads the output may leave early; that is no failure of the command.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const flags = splitFlags(argv)
  const context: Context = {
    flags,
    env: process.env,
    cwd: process.cwd(),
    print: (text) => void process.stdout.write(`${text}\n`),
    printError: (text) => void process.stderr.write(`${text}\n`),
  }
  const section = findHelpSection(flags.rest)
  if (section !== undefined) return printSection(section, context)
  try {
    await createProgram(context).parseAsync([...flags.rest], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.code === 'commander.unknownOption' ? 3 : error.exitCode
    if (!(error instanceof ExitError)) throw error
    context.printError(error.message)
    return error.exitCode
  }
}

function createProgram(context: Context): Command {
  const program = new Command('cardea')
    .description('Authentication server and gateway for document and multi-model databases.')
    .version(`${PRODUCT.name} ${PRODUCT.version}`, '--version')
    .option('-c, --config <path>', 'read this file, or the *.ini files of this folder; may be repeated')
    .addHelpText('after', HELP_TAIL)
    .exitOverride()
  for (const command of [startCommand, serveCommand, initCommand, configCommand]) {
    program.addCommand(command(context).exitOverride())
  }
  return program
}

const HELP_TAIL = `
Every option of the configuration is a flag as well: [section] option in a file is --section.option here and
CARDEA_SECTION__OPTION in the environment.
  --help-<section>     the options of one section (--help-server, --help-chttpd, …)
  --help-all           every option

Exit codes: 0 well, 1 something else, 3 an unknown option, 4 a bad value, 6 a bad configuration file.`

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
