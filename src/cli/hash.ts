import { Command, InvalidArgumentError, Option } from 'commander'
import { findOption } from '../config/options.ts'
import { exitCodeOf, renderProblem } from '../config/problems.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { chooseConfigs } from './choose-configs.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { checkHashable, HASH_FORMS, HASH_PRFS, type HashForm, hashPassword } from './hash-password.ts'
import { withExitCodes } from './manage.ts'
import { readSecret } from './passwords.ts'

interface Options {
  readonly form: HashForm
  readonly prf?: string
  readonly iterations?: number
  readonly passwordStdin?: boolean
  readonly json?: boolean
}

/** `cardea hash`: a password as it is stored, to be put into a file or document by hand. */
export function hashCommand(context: Context): Command {
  return withExitCodes(
    new Command('hash')
      .description('print a password as it is stored; asks for it')
      .addOption(new Option('--form <form>', FORM_HELP).choices(HASH_FORMS).default('admin'))
      .addOption(
        new Option('--prf <name>', 'pseudo-random function (default: from the configuration)').choices(HASH_PRFS),
      )
      .option('--iterations <count>', 'number of PBKDF2 iterations (default: from the configuration)', readIterations)
      .option('--password-stdin', 'read the password from standard input instead of asking for it')
      .option('--json', 'print JSON')
      .action((options: Options) => hash(context, options)),
  )
}

const FORM_HELP =
  'admin: for [admins] of Cardea; prf: for [admins] of the document database; document: members of a user document'

/** By the rule of the option. */
function readIterations(text: string): number {
  try {
    return Number(findOption('chttpd_auth', 'iterations')?.option.codec.parse(text))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new InvalidArgumentError(`Expected ${error.message}.`)
  }
}

async function hash(context: Context, { form, prf, iterations, passwordStdin = false, json }: Options): Promise<void> {
  const { env, cwd } = context
  const reading = loadConfiguration({ flags: { ...context.flags, configs: chooseConfigs(context) }, env, cwd })
  const { problems, settings } = reading
  if (problems.length > 0) throw new ExitError(exitCodeOf(problems), problems.map(renderProblem).join('\n'))
  const secret = { what: 'Password', fromInput: passwordStdin, flag: '--password-stdin', isNew: true }
  const password = await readSecret(secret)
  const flaw = checkHashable(password)
  if (flaw !== undefined) throw new ExitError(EXIT.failed, flaw)
  const stored = await hashPassword(password, { form, prf, iterations }, settings.values)
  context.print(json || typeof stored !== 'string' ? JSON.stringify(stored, undefined, 2) : stored)
}
