import { Command } from 'commander'
import { act, createAccountCommands, renderResetTotp, renderUnlocked } from './account-commands.ts'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { addManaged, type ManageOptions, perform } from './manage.ts'
import { PASSWORD_STDIN, readNewPassword } from './passwords.ts'
import { renderTable } from './table.ts'

interface PasswordOptions {
  readonly passwordStdin?: boolean
  readonly replace?: boolean
}

/** `cardea admin`: who may do everything, at both doors. */
export function adminCommand(context: Context): Command {
  const command = new Command('admin').description('manage administrators')
  const named = createAccountCommands(command, context, 'administrator', (name) => [
    ['not_found', noSuchAdministrator(name)],
    ['conflict', `There is an administrator ${name} already; set-password gives it a new password.`],
  ])
  named('add', 'make an administrator; asks for the password', add)
    .option(...PASSWORD_STDIN)
    .option('--replace', 'give one that exists a new password, as set-password does')
  named(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of that name',
    async (name, options: PasswordOptions) => {
      const body = { password: await readPassword(name, options) }
      return act('admin.set-password', { params: { name }, body }, () => `${name} has this password from now on.`)
    },
  ).option(...PASSWORD_STDIN)
  named('unlock', 'let clients sign in again after too many failures', (name) => ({
    async work(control) {
      await requireAdministrator(control, name)
      return control.call('user.unlock', { params: { name } })
    },
    render: renderUnlocked(name),
  }))
  named('remove', 'delete an administrator; the last one stays', (name) => {
    const removed = `${name} is no longer an administrator; all sessions have ended.`
    return act('admin.remove', { params: { name } }, () => removed)
  })
  named('reset-totp', 'remove the second factor (TOTP)', (name) =>
    act('admin.reset-totp', { params: { name } }, renderResetTotp(name)),
  )
  addManaged(command, 'list', 'print all administrators').action((options: ManageOptions) => list(context, options))
  return command
}

const noSuchAdministrator = (name: string): string => `There is no administrator ${name}.`

const readPassword = (name: string, options: PasswordOptions): Promise<string> =>
  readNewPassword(`Password of the administrator ${name}`, options)

async function add(name: string, options: PasswordOptions) {
  const password = await readPassword(name, options)
  return {
    work: (control: Control): Promise<unknown> =>
      options.replace
        ? control.call('admin.set', { params: { name }, body: { password } })
        : control.call('admin.add', { body: { name, password } }),
    render: () => `${name} is an administrator.`,
  }
}

/** The operation unlocks users as well. */
async function requireAdministrator(control: Control, name: string): Promise<void> {
  const { ControlFailure } = await import('./client.ts')
  const { administrators } = await control.call('admin.list')
  if (!administrators.some((each) => each.name === name))
    throw new ControlFailure('not_found', noSuchAdministrator(name))
}

const list = (context: Context, options: ManageOptions): Promise<void> =>
  perform(context, options, async (control) => (await control.call('admin.list')).administrators, {
    render: (administrators) =>
      renderTable(
        ['NAME', 'PASSWORD'],
        administrators.map(({ name, password }) => [name, password ?? 'unreadable']),
      ),
  })
