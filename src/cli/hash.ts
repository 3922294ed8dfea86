import { Command, InvalidArgumentError, Option } from 'commander'
import { tryParse } from '../config/codecs.ts'
import { CORE_OPTIONS } from '../config/option-table.ts'
import { toHashParameters } from '../live-config/password-settings.ts'
import { maxIterationsOf } from '../passwords/hash-policy.ts'
import { createHasher } from '../passwords/hasher.ts'
import { checkPasswordText, isPrf, PRFS } from '../passwords/password-digest.ts'
import { renderAdminPassword, toDocumentMembers } from '../passwords/schemes.ts'
import { type Context, commandError } from './context.ts'
import { loadSettingsOf } from './own-settings.ts'
import { PASSWORD_STDIN, readNewPassword } from './passwords.ts'

/** `document`: members of a user document. `admin`: for `[admins]` of Cardea. `prf`: for `[admins]` of CouchDB. */
const HASH_FORMS = ['document', 'admin', 'prf'] as const
type HashForm = (typeof HASH_FORMS)[number]

const HASH_PRFS: readonly string[] = Object.keys(PRFS)

interface Options {
  readonly form: HashForm
  readonly prf?: string
  readonly iterations?: number
  readonly passwordStdin?: boolean
  readonly json?: boolean
}

/** `cardea hash`: a password as it is stored, to be put into a file or document by hand. */
export const hashCommand = (context: Context): Command =>
  new Command('hash')
    .description('print a password as it is stored; asks for it')
    .addOption(new Option('--form <form>', FORM_HELP).choices(HASH_FORMS).default('admin'))
    .addOption(
      new Option('--prf <name>', 'pseudo-random function (default: from the configuration)').choices(HASH_PRFS),
    )
    .option('--iterations <count>', 'number of PBKDF2 iterations (default: from the configuration)', readIterations)
    .option(...PASSWORD_STDIN)
    .option('--json', 'print JSON')
    .action((options: Options) => hash(context, options))

const FORM_HELP =
  'admin: for [admins] of Cardea; prf: for [admins] of the document database; document: members of a user document'

/** By the rule of the option. */
function readIterations(text: string): number {
  const read = tryParse(CORE_OPTIONS.chttpd_auth.iterations.codec, text)
  if ('value' in read) return read.value
  throw new InvalidArgumentError(`Expected ${read.expected}.`)
}

async function hash(context: Context, options: Options): Promise<void> {
  const { values } = loadSettingsOf(context)
  const password = await readNewPassword('Password', options)
  // why a text can never be a password, whatever the password rules
  const flaw = checkPasswordText(password)
  if (flaw !== undefined) throw commandError(flaw)
  const configured = toHashParameters(values)
  const { prf = configured.prf, iterations = configured.iterations, form, json } = options
  if (!isPrf(prf)) throw new TypeError('There is no such pseudo-random function')
  if (iterations > maxIterationsOf(prf))
    throw commandError(`A hash with more than ${maxIterationsOf(prf)} iterations of ${prf} would never be verified.`)
  const stored = await createHasher({ queue: () => 1 }).hash(password, { scheme: 'pbkdf2', prf, iterations })
  if (form === 'document') return context.print(JSON.stringify(toDocumentMembers(stored), undefined, 2))
  const text = renderAdminPassword(stored, form === 'prf' ? 'prf' : 'plain-prefix')
  context.print(json ? JSON.stringify(text) : text)
}
