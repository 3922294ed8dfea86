import { Argument, Command, Option } from 'commander'
import type { Context } from './context.ts'
import {
  type Explanations,
  type ManageOptions,
  manage,
  readName,
  report,
  withExitCodes,
  withManageOptions,
} from './manage.ts'
import { readSecret } from './passwords.ts'
import { renderTable } from './table.ts'

interface AddOptions extends ManageOptions {
  readonly passwordStdin?: boolean
  readonly replace?: boolean
}

const NAME = new Argument('<name>', 'of the administrator').argParser(readName)

/** `cardea admin`: who may do everything, at both doors. */
export function adminCommand(context: Context): Command {
  const command = withExitCodes(new Command('admin').description('manage administrators'))
  const sub = (name: string, description: string) =>
    withExitCodes(withManageOptions(command.command(name).description(description)))
  sub('add', 'make an administrator; asks for the password')
    .addArgument(NAME)
    .addOption(new Option('--password-stdin', 'read the password from standard input instead of asking for it'))
    .option(
      '--replace',
      'give one that exists a new password; another one than the current ends all sessions of that name',
    )
    .action((name: string, options: AddOptions) => add(context, name, options))
  sub('remove', 'delete an administrator; the last one stays')
    .addArgument(NAME)
    .action((name: string, options: ManageOptions) => remove(context, name, options))
  sub('reset-totp', 'remove the second factor (TOTP)')
    .addArgument(NAME)
    .action((name: string, options: ManageOptions) => resetTotp(context, name, options))
  sub('list', 'print all administrators').action((options: ManageOptions) => list(context, options))
  return command
}

const explain = (name: string): Explanations =>
  new Map([
    ['not_found', `There is no administrator ${name}.`],
    ['conflict', `There is an administrator ${name} already; --replace gives it a new password.`],
  ])

async function add(context: Context, name: string, options: AddOptions): Promise<void> {
  const { passwordStdin = false, replace = false } = options
  const what = `Password of the administrator ${name}`
  const password = await readSecret({ what, fromInput: passwordStdin, flag: '--password-stdin', isNew: true })
  const made = await manage(
    context,
    options,
    (control) =>
      replace
        ? control.call('admin.set', { params: { name }, body: { password } })
        : control.call('admin.add', { body: { name, password } }),
    { explanations: explain(name) },
  )
  report(context, options, made, () => `${name} is an administrator.`)
}

async function remove(context: Context, name: string, options: ManageOptions): Promise<void> {
  const call = { params: { name } }
  const removed = await manage(context, options, (control) => control.call('admin.remove', call), {
    explanations: explain(name),
  })
  report(context, options, removed, () => `${name} is no longer an administrator; all sessions have ended.`)
}

async function resetTotp(context: Context, name: string, options: ManageOptions): Promise<void> {
  const call = { params: { name } }
  const reset = await manage(context, options, (control) => control.call('admin.reset-totp', call), {
    explanations: explain(name),
  })
  report(context, options, reset, () =>
    reset.hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`,
  )
}

async function list(context: Context, options: ManageOptions): Promise<void> {
  const { administrators } = await manage(context, options, (control) => control.call('admin.list'))
  const rows = administrators.map(({ name, password }) => [name, password ?? 'unreadable'])
  report(context, options, administrators, () => renderTable(['NAME', 'PASSWORD'], rows))
}
