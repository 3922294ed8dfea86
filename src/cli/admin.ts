import { Argument, Command } from 'commander'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { type ManageOptions, perform, readName, withExitCodes, withManageOptions } from './manage.ts'
import { PASSWORD_STDIN, readNewPassword } from './passwords.ts'
import { renderTable } from './table.ts'
import { type Action, renderResetTotp, renderUnlocked } from './user-actions.ts'

interface PasswordOptions extends ManageOptions {
  readonly passwordStdin?: boolean
  readonly replace?: boolean
}

const NAME = new Argument('<name>', 'of the administrator').argParser(readName)

/** `cardea admin`: who may do everything, at both doors. */
export function adminCommand(context: Context): Command {
  const command = withExitCodes(new Command('admin').description('manage administrators'))
  const sub = (name: string, description: string) =>
    withExitCodes(withManageOptions(command.command(name).description(description)))
  const named = (
    name: string,
    description: string,
    toAction: (name: string, options: PasswordOptions) => Action | Promise<Action>,
  ) =>
    sub(name, description)
      .addArgument(NAME)
      .action(async (administrator: string, options: PasswordOptions) =>
        (await toAction(administrator, options))(context, options),
      )
  named('add', 'make an administrator; asks for the password', add)
    .option(...PASSWORD_STDIN)
    .option('--replace', 'give one that exists a new password, as set-password does')
  named(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of that name',
    setPassword,
  ).option(...PASSWORD_STDIN)
  named('unlock', 'let clients sign in again after too many failures', unlock)
  named('remove', 'delete an administrator; the last one stays', remove)
  named('reset-totp', 'remove the second factor (TOTP)', resetTotp)
  sub('list', 'print all administrators').action((options: ManageOptions) => list(context, options))
  return command
}

const act =
  <T>(name: string, work: (control: Control) => Promise<T>, render: (result: T) => string): Action =>
  (context, options) =>
    perform(context, options, work, {
      explanations: [
        ['not_found', noSuchAdministrator(name)],
        ['conflict', `There is an administrator ${name} already; set-password gives it a new password.`],
      ],
      render,
    })

const noSuchAdministrator = (name: string): string => `There is no administrator ${name}.`

async function add(name: string, options: PasswordOptions): Promise<Action> {
  const password = await readNewPassword(`Password of the administrator ${name}`, options)
  const work = (control: Control) =>
    options.replace
      ? control.call('admin.set', { params: { name }, body: { password } })
      : control.call('admin.add', { body: { name, password } })
  return act(name, work, () => `${name} is an administrator.`)
}

async function setPassword(name: string, options: PasswordOptions): Promise<Action> {
  const password = await readNewPassword(`Password of the administrator ${name}`, options)
  const work = (control: Control) => control.call('admin.set-password', { params: { name }, body: { password } })
  return act(name, work, () => `${name} has this password from now on.`)
}

const unlock = (name: string): Action =>
  act(
    name,
    async (control) => {
      await requireAdministrator(control, name)
      return control.call('user.unlock', { params: { name } })
    },
    renderUnlocked(name),
  )

/** The operation unlocks users as well. */
async function requireAdministrator(control: Control, name: string): Promise<void> {
  const { ControlFailure } = await import('./client.ts')
  const { administrators } = await control.call('admin.list')
  if (!administrators.some((each) => each.name === name))
    throw new ControlFailure('not_found', noSuchAdministrator(name))
}

const remove = (name: string): Action =>
  act(
    name,
    (control) => control.call('admin.remove', { params: { name } }),
    () => `${name} is no longer an administrator; all sessions have ended.`,
  )

const resetTotp = (name: string): Action =>
  act(name, (control) => control.call('admin.reset-totp', { params: { name } }), renderResetTotp(name))

const list = (context: Context, options: ManageOptions): Promise<void> =>
  perform(context, options, async (control) => (await control.call('admin.list')).administrators, {
    render: (administrators) =>
      renderTable(
        ['NAME', 'PASSWORD'],
        administrators.map(({ name, password }) => [name, password ?? 'unreadable']),
      ),
  })
