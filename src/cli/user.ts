import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { Control } from './client.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import {
  collect,
  type Explanations,
  type ManageOptions,
  manage,
  readLimit,
  readName,
  report,
  withExitCodes,
  withManageOptions,
} from './manage.ts'
import { readSecret } from './passwords.ts'
import { listUsers, renderDetails, renderLockout, renderUser } from './shown-users.ts'
import { addSessions } from './user-sessions.ts'

interface PasswordOptions extends ManageOptions {
  readonly passwordStdin?: boolean
  readonly mustChange?: boolean
}

interface AddOptions extends PasswordOptions {
  /** `false` with `--no-password`. */
  readonly password: boolean
  readonly role?: readonly string[]
  readonly grant?: readonly Grant[]
  readonly disabled?: boolean
  readonly expires?: string
}

interface RolesOptions extends ManageOptions {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
  readonly none?: boolean
}

interface GrantOptions extends ManageOptions {
  readonly collection?: string
}

interface Grant {
  readonly database: string
  readonly level: string
}

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
  const command = withExitCodes(new Command('user').description('manage users').exitOverride())
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
  simple('remove', 'delete a user', remove)
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
    .option('--grant <database=level>', `at the multi-model door: ${LEVELS.join(', ')}; may be repeated`, collectGrants)
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
  sub('grant', 'what a user may do at the multi-model door')
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

const explain = (name: string): Explanations =>
  new Map([
    ['not_found', `There is no user ${name}.`],
    ['conflict', `The name ${name} is taken, by a user or an administrator.`],
  ])

/** Runs one operation on one user and prints the result. */
function change<U>(
  context: Context,
  name: string,
  options: ManageOptions,
  work: (control: Control) => Promise<U>,
): { say(sentence: (user: U) => string): Promise<void> } {
  return {
    async say(sentence) {
      const user = await manage(context, options, work, { explanations: explain(name) })
      report(context, options, user, () => sentence(user))
    },
  }
}

const readPassword = (name: string, { passwordStdin = false }: PasswordOptions): Promise<string> =>
  readSecret({
    what: `Password of ${name}`,
    fromInput: passwordStdin,
    flag: '--password-stdin',
    isNew: true,
  })

async function add(context: Context, name: string, options: AddOptions): Promise<void> {
  const password = options.password ? await readPassword(name, options) : undefined
  const body = {
    name,
    ...(password !== undefined && { password }),
    ...(options.role && { roles: options.role }),
    ...(options.grant && { grants: options.grant }),
    ...(options.disabled && { active: false }),
    ...(options.mustChange && { mustChangePassword: true }),
    ...(options.expires && { expires: options.expires }),
  }
  await change(context, name, options, (control) => control.call('user.add', { body })).say(() => `Made ${name}.`)
}

const show = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.show', { params: { name } })).say(renderDetails)

const list = (context: Context, options: ManageOptions & { readonly limit?: number }): Promise<void> =>
  manage(context, options, (control) => listUsers(control, context, options))

async function setPassword(context: Context, name: string, options: PasswordOptions): Promise<void> {
  const password = await readPassword(name, options)
  const call = { params: { name }, body: { password, ...(options.mustChange && { mustChangePassword: true }) } }
  await change(context, name, options, (control) => control.call('user.set-password', call)).say(
    ({ passwordChanged }) => {
      if (passwordChanged) return `${name} has a new password; all sessions have ended.`
      return `${name} has this password already; ${options.mustChange ? 'it must be changed' : 'nothing was changed'}.`
    },
  )
}

const setPasswordChange = (
  context: Context,
  name: string,
  options: ManageOptions & { readonly off?: boolean },
): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-password-change', { params: { name }, body: { required: !options.off } }),
  ).say(() => (options.off ? `${name} need not change the password.` : `${name} must change the password.`))

const setExpiry = (
  context: Context,
  name: string,
  { time, options }: { readonly time: string; readonly options: ManageOptions },
): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-expiry', { params: { name }, body: { expires: time === 'never' ? null : time } }),
  ).say(({ expires }) =>
    expires ? `${name} cannot sign in from ${expires} on.` : `${name} can sign in without a time limit.`,
  )

async function setRoles(
  context: Context,
  name: string,
  roles: readonly string[],
  options: RolesOptions,
): Promise<void> {
  requireOneMeaning(roles, options)
  const isChange = roles.length > 0 || options.none || options.add || options.remove
  const body = {
    ...((roles.length > 0 || options.none) && { roles }),
    ...(options.add && { add: options.add }),
    ...(options.remove && { remove: options.remove }),
  }
  const params = { name }
  await change(context, name, options, (control) =>
    isChange ? control.call('user.set-roles', { params, body }) : control.call('user.show', { params }),
  ).say((user) => user.roles.join('\n') || `${name} has no roles.`)
}

/** Contradicting arguments are invalid usage. */
function requireOneMeaning(roles: readonly string[], { add = [], remove = [], none }: RolesOptions): void {
  const both = add.find((role) => remove.includes(role))
  if (none && roles.length > 0) throw new ExitError(EXIT.usage, 'Give roles or --none, not both.')
  if (both !== undefined) throw new ExitError(EXIT.usage, `${both} cannot be added and removed at once.`)
}

async function setGrant(
  context: Context,
  name: string,
  { database, level }: Grant,
  { collection, ...options }: GrantOptions,
): Promise<void> {
  const body = { database, level: level === 'remove' ? null : level, ...(collection && { collection }) }
  const call = { params: { name }, body }
  await change(context, name, options, (control) => control.call('user.set-grant', call)).say(renderUser)
}

const setActive = (context: Context, name: string, options: ManageOptions, active: boolean): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-active', { params: { name }, body: { active } }),
  ).say(() => (active ? `${name} can sign in.` : `${name} can no longer sign in; all sessions have ended.`))

const signOut = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.sign-out', { params: { name } })).say(
    () => `All sessions of ${name} have ended.`,
  )

const unlock = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.unlock', { params: { name } })).say(({ lockout }) =>
    lockout ? `${name} is unlocked (it was locked: ${renderLockout(lockout)}).` : `${name} was not locked.`,
  )

const resetTotp = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.reset-totp', { params: { name } })).say(
    ({ hadTotp }) => (hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`),
  )

async function remove(context: Context, name: string, options: ManageOptions): Promise<void> {
  const call = { params: { name } }
  const removed = await manage(context, options, (control) => control.call('user.remove', call), {
    explanations: explain(name),
  })
  report(context, options, removed, () => `Deleted ${name}.`)
}
