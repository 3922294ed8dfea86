import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { Context } from './context.ts'
import { collect, type ManageOptions, manage, readLimit, readName, withExitCodes, withManageOptions } from './manage.ts'
import { PASSWORD_STDIN } from './passwords.ts'
import { listUsers } from './shown-users.ts'
import * as actions from './user-actions.ts'

const NAME = new Argument('<name>', 'of the user').argParser(readName)
const NAME_OF_ANY = new Argument('<name>', 'of the user or administrator').argParser(readName)
const MUST_CHANGE = new Option('--must-change', 'the user must change the password at the next sign-in')
const LEVELS = ['rw', 'ro', 'none']
const LEVEL = new Argument('<level>', 'remove leaves it to the grants that are more general').choices([
  ...LEVELS,
  'remove',
])

type Sub = (name: string, description: string) => Command

/** Makes the action of a command from its arguments and options. */
type ToAction<O> = (name: string, options: O) => actions.Action | Promise<actions.Action>

/** `cardea user`: the users of both doors. */
export function userCommand(context: Context): Command {
  const command = withExitCodes(new Command('user').description('manage users'))
  const sub: Sub = (name, description) =>
    withExitCodes(withManageOptions(command.command(name).description(description)))
  const named = <O extends ManageOptions>(name: string, description: string, toAction: ToAction<O>) =>
    sub(name, description)
      .addArgument(NAME)
      .action(async (user: string, options: O) => (await toAction(user, options))(context, options))

  addAdd(named('add', 'create a user; prompts for the password', actions.add))
  named('show', 'print one user', actions.show)
  sub('list', 'print all users, in the order of their names')
    .option('--limit <count>', 'no more than these', readLimit)
    .action((options: ManageOptions & { readonly limit?: number }) =>
      manage(context, options, (control) => listUsers(control, context, options)),
    )
  named(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of the user',
    actions.setPassword,
  )
    .option(...PASSWORD_STDIN)
    .addOption(MUST_CHANGE)
  named('password-link', 'print a one-time link with which the user sets a password', actions.createPasswordLink)
  named<ManageOptions & { readonly off?: boolean }>(
    'require-password-change',
    'the user can do nothing but change the password',
    (user, { off = false }) => actions.setPasswordChange(user, !off),
  ).option('--off', 'take the mark away')
  addExpire(sub, context)
  addRoles(sub, context)
  addGrant(sub, context)
  named('disable', 'no sign-in any longer; ends all sessions', (user) => actions.setActive(user, false))
  named('enable', 'sign-in again', (user) => actions.setActive(user, true))
  addSessions(sub, context)
  named('sign-out', 'end all sessions and tokens of a user', actions.signOut)
  named('unlock', 'let clients sign in again after too many failures', actions.unlock)
  named('reset-totp', 'remove the second factor (TOTP)', actions.resetTotp)
  named<ManageOptions & { readonly erase?: boolean }>('remove', 'delete a user', (user, { erase }) =>
    erase ? actions.erase(user) : actions.remove(user),
  ).option('--erase', 'replace the name in the audit trail, too; also of a user that was deleted before')
  return command
}

const addAdd = (command: Command): Command =>
  command
    .option(...PASSWORD_STDIN)
    .addOption(MUST_CHANGE)
    .option('--expires <time>', 'no sign-in from then on: a day or a time in UTC, as 2030-12-31T18:00:00Z')
    .option('--no-password', 'create the user without a password')
    .option('--role <role>', 'may be repeated', collect)
    .option('--grant <database=level>', `at the multi-model door: ${LEVELS.join(', ')}; may be repeated`, collectGrants)
    .option('--disabled', 'create the user disabled')

const addExpire = (sub: Sub, context: Context): Command =>
  sub('expire', 'set when a user can no longer sign in')
    .addArgument(NAME)
    .argument('<time>', 'a day or a time in UTC, as 2030-12-31T18:00:00Z, or never')
    .action((name: string, time: string, options: ManageOptions) => actions.setExpiry(name, time)(context, options))

const addRoles = (sub: Sub, context: Context): Command =>
  sub('roles', 'print the roles of a user, or change them')
    .addArgument(NAME)
    .argument('[roles...]', 'replace the current ones')
    .option('--add <role>', 'beside those there are; may be repeated', collect)
    .option('--remove <role>', 'may be repeated', collect)
    .option('--none', 'take all away')
    .action((name: string, roles: readonly string[], options: actions.RolesOptions) =>
      actions.setRoles(name, roles, options)(context, options),
    )

const addGrant = (sub: Sub, context: Context): Command =>
  sub('grant', 'what a user may do at the multi-model door')
    .addArgument(NAME)
    .argument('<database>', '* for all', readName)
    .addArgument(LEVEL)
    .option('--collection <name>', 'on this collection alone; * for all', readName)
    .action((name: string, database: string, level: string, options: ManageOptions & { collection?: string }) =>
      actions.setGrant(name, { database, level }, options.collection)(context, options),
    )

function addSessions(sub: Sub, context: Context): void {
  sub('sessions', 'print the sessions of a user, the newest first')
    .addArgument(NAME_OF_ANY)
    .action((name: string, options: ManageOptions) => actions.listSessions(name)(context, options))
  sub('end-session', 'end one session of a user')
    .addArgument(NAME_OF_ANY)
    .argument('<id>', 'as sessions prints it')
    .action((name: string, id: string, options: ManageOptions) => actions.endSession(name, id)(context, options))
}

function collectGrants(text: string, before: readonly actions.Grant[] | undefined): readonly actions.Grant[] {
  const at = text.lastIndexOf('=')
  const [database, level] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || !LEVELS.includes(level)) throw new InvalidArgumentError(`database=level, one of ${LEVELS.join(', ')}.`)
  return [...(before ?? []), { database, level }]
}
