import { Argument, Command, Option } from 'commander'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { type ManageOptions, manage, readName, report, withExitCodes, withManageOptions } from './manage.ts'
import { readSecret } from './passwords.ts'
import { renderLockout } from './shown-users.ts'
import { renderTable } from './table.ts'

interface PasswordOptions extends ManageOptions {
  readonly passwordStdin?: boolean
  readonly replace?: boolean
}

const NAME = new Argument('<name>', 'of the administrator').argParser(readName)
const STDIN = new Option('--password-stdin', 'read the password from standard input instead of asking for it')

/** `cardea admin`: who may do everything, at both doors. */
export function adminCommand(context: Context): Command {
  const command = withExitCodes(new Command('admin').description('manage administrators'))
  const sub = (name: string, description: string) =>
    withExitCodes(withManageOptions(command.command(name).description(description)))
  const named = (name: string, description: string, run: Run) =>
    sub(name, description)
      .addArgument(NAME)
      .action((administrator: string, options: ManageOptions) => run(context, administrator, options))
  named('add', 'make an administrator; asks for the password', add)
    .addOption(STDIN)
    .option('--replace', 'give one that exists a new password, as set-password does')
  named(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of that name',
    setPassword,
  ).addOption(STDIN)
  named('unlock', 'let clients sign in again after too many failures', unlock)
  named('remove', 'delete an administrator; the last one stays', remove)
  named('reset-totp', 'remove the second factor (TOTP)', resetTotp)
  sub('list', 'print all administrators').action((options: ManageOptions) => list(context, options))
  return command
}

type Run = (context: Context, name: string, options: ManageOptions) => Promise<void>

/** Runs one operation on one administrator and prints the result. */
async function change<T>(
  [context, name, options]: Parameters<Run>,
  work: (control: Control) => Promise<T>,
  sentence: (result: T) => string,
): Promise<void> {
  const explanations = new Map([
    ['not_found', noSuchAdministrator(name)],
    ['conflict', `There is an administrator ${name} already; set-password gives it a new password.`],
  ])
  const result = await manage(context, options, work, { explanations })
  report(context, options, result, () => sentence(result))
}

const noSuchAdministrator = (name: string): string => `There is no administrator ${name}.`

const readPassword = (name: string, { passwordStdin = false }: PasswordOptions): Promise<string> => {
  const what = `Password of the administrator ${name}`
  return readSecret({ what, fromInput: passwordStdin, flag: '--password-stdin', isNew: true })
}

async function add(context: Context, name: string, options: PasswordOptions): Promise<void> {
  const password = await readPassword(name, options)
  const work = (control: Control) =>
    options.replace
      ? control.call('admin.set', { params: { name }, body: { password } })
      : control.call('admin.add', { body: { name, password } })
  await change([context, name, options], work, () => `${name} is an administrator.`)
}

async function setPassword(context: Context, name: string, options: PasswordOptions): Promise<void> {
  const call = { params: { name }, body: { password: await readPassword(name, options) } }
  const work = (control: Control) => control.call('admin.set-password', call)
  await change([context, name, options], work, () => `${name} has this password from now on.`)
}

const unlock: Run = (context, name, options) =>
  change(
    [context, name, options],
    async (control) => {
      await requireAdministrator(control, name)
      return control.call('user.unlock', { params: { name } })
    },
    ({ lockout }) =>
      lockout ? `${name} is unlocked (it was locked: ${renderLockout(lockout)}).` : `${name} was not locked.`,
  )

/** The operation unlocks users as well. */
async function requireAdministrator(control: Control, name: string): Promise<void> {
  const { ControlFailure } = await import('./client.ts')
  const { administrators } = await control.call('admin.list')
  if (!administrators.some((each) => each.name === name))
    throw new ControlFailure('not_found', noSuchAdministrator(name))
}

const remove: Run = (context, name, options) =>
  change(
    [context, name, options],
    (control) => control.call('admin.remove', { params: { name } }),
    () => `${name} is no longer an administrator; all sessions have ended.`,
  )

const resetTotp: Run = (context, name, options) =>
  change(
    [context, name, options],
    (control) => control.call('admin.reset-totp', { params: { name } }),
    ({ hadTotp }) => (hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`),
  )

async function list(context: Context, options: ManageOptions): Promise<void> {
  const { administrators } = await manage(context, options, (control) => control.call('admin.list'))
  const rows = administrators.map(({ name, password }) => [name, password ?? 'unreadable'])
  report(context, options, administrators, () => renderTable(['NAME', 'PASSWORD'], rows))
}
