import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { Context } from './context.ts'
import { collect, type ManageOptions, readLimit, readName, withExitCodes, withManageOptions } from './manage.ts'
import {
  type AddOptions,
  add,
  createPasswordLink,
  explain,
  type Grant,
  type GrantOptions,
  list,
  type RolesOptions,
  resetTotp,
  setActive,
  setExpiry,
  setGrant,
  setPassword,
  setPasswordChange,
  setRoles,
  show,
  signOut,
  unlock,
} from './user-actions.ts'
import { type RemoveOptions, removeUser } from './user-remove.ts'
import { addSessions } from './user-sessions.ts'

const NAME = new Argument('<name>', 'of the user').argParser(readName)
const STDIN = new Option('--password-stdin', 'read the password from standard input instead of asking for it')
const MUST_CHANGE = new Option('--must-change', 'the user must change the password at the next sign-in')
const LEVELS = ['rw', 'ro', 'none']
const LEVEL = new Argument('<level>', 'remove leaves it to the grants that are more general').choices([
  ...LEVELS,
  'remove',
])

type Sub = (name: string, description: string) => Command

/** `cardea user`: the users of both doors. */
export function userCommand(context: Context): Command {
  const command = withExitCodes(new Command('user').description('manage users'))
  const sub: Sub = (name, description) =>
    withExitCodes(withManageOptions(command.command(name).description(description)))
  const simple = (name: string, description: string, run: Simple) =>
    sub(name, description)
      .addArgument(NAME)
      .action((user: string, options: ManageOptions) => run(context, user, options))

  addAdd(sub, context)
  simple('show', 'print one user', show)
  sub('list', 'print all users, in the order of their names')
    .option('--limit <count>', 'no more than these', readLimit)
    .action((options: ManageOptions & { readonly limit?: number }) => list(context, options))
  simple(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of the user',
    setPassword,
  )
    .addOption(STDIN)
    .addOption(MUST_CHANGE)
  simple('password-link', 'print a one-time link with which the user sets a password', createPasswordLink)
  addPasswordChange(sub, context)
  addExpire(sub, context)
  addRoles(sub, context)
  addGrant(sub, context)
  simple('disable', 'no sign-in any longer; ends all sessions', (...given) => setActive(...given, false))
  simple('enable', 'sign-in again', (...given) => setActive(...given, true))
  addSessions(sub, context)
  simple('sign-out', 'end all sessions and tokens of a user', signOut)
  simple('unlock', 'let clients sign in again after too many failures', unlock)
  simple('reset-totp', 'remove the second factor (TOTP)', resetTotp)
  sub('remove', 'delete a user')
    .addArgument(NAME)
    .option('--erase', 'replace the name in the audit trail, too; also of a user that was deleted before')
    .action((user: string, options: RemoveOptions) =>
      removeUser(context, user, { ...options, explanations: explain(user) }),
    )
  return command
}

type Simple = (context: Context, name: string, options: ManageOptions) => Promise<void>

const addAdd = (sub: Sub, context: Context): Command =>
  sub('add', 'create a user; prompts for the password')
    .addArgument(NAME)
    .addOption(STDIN)
    .addOption(MUST_CHANGE)
    .option('--expires <time>', 'no sign-in from then on: a day or a time in UTC, as 2030-12-31T18:00:00Z')
    .option('--no-password', 'create the user without a password')
    .option('--role <role>', 'may be repeated', collect)
    .option(
      '--grant <database=level>',
      `at the multi-model door: ${LEVELS.join(', ')}; may be repeated; _system=rw makes a manager of all users`,
      collectGrants,
    )
    .option('--disabled', 'create the user disabled')
    .action((name: string, options: AddOptions) => add(context, name, options))

const addPasswordChange = (sub: Sub, context: Context): Command =>
  sub('require-password-change', 'the user can do nothing but change the password')
    .addArgument(NAME)
    .option('--off', 'take the mark away')
    .action((name: string, options: ManageOptions & { readonly off?: boolean }) =>
      setPasswordChange(context, name, options),
    )

const addExpire = (sub: Sub, context: Context): Command =>
  sub('expire', 'set when a user can no longer sign in')
    .addArgument(NAME)
    .argument('<time>', 'a day or a time in UTC, as 2030-12-31T18:00:00Z, or never')
    .action((name: string, time: string, options: ManageOptions) => setExpiry(context, name, { time, options }))

const addRoles = (sub: Sub, context: Context): Command =>
  sub('roles', 'print the roles of a user, or change them')
    .addArgument(NAME)
    .argument('[roles...]', 'replace the current ones')
    .option('--add <role>', 'beside those there are; may be repeated', collect)
    .option('--remove <role>', 'may be repeated', collect)
    .option('--none', 'take all away')
    .action((name: string, roles: readonly string[], options: RolesOptions) => setRoles(context, name, roles, options))

const addGrant = (sub: Sub, context: Context): Command =>
  sub('grant', 'what a user may do at the multi-model door; rw on _system makes a manager of all users')
    .addArgument(NAME)
    .argument('<database>', '* for all', readName)
    .addArgument(LEVEL)
    .option('--collection <name>', 'on this collection alone; * for all', readName)
    .action((name: string, database: string, level: string, options: GrantOptions) =>
      setGrant(context, name, { database, level }, options),
    )

function collectGrants(text: string, before: readonly Grant[] | undefined): readonly Grant[] {
  const at = text.lastIndexOf('=')
  const [database, level] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || !LEVELS.includes(level)) throw new InvalidArgumentError(`database=level, one of ${LEVELS.join(', ')}.`)
  return [...(before ?? []), { database, level }]
}
