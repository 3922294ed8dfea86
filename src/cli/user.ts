import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { codeOf } from '../base/errors.ts'
import { USER_STATUSES } from '../dialects/admin-api/schemas/users.ts'
import { GRANT_LEVELS } from '../directory/users/fields.ts'
import type { UserCommand } from '../modules/module.ts'
import { USER_COMMANDS } from '../modules.ts'
import {
  type AccountAction,
  type AddAccountCommand,
  act,
  createAccountCommands,
  renderResetTotp,
  renderUnlocked,
} from './account-commands.ts'
import { type Context, usageError } from './context.ts'
import { addManaged, collect, manage, parseName, readLimit } from './manage.ts'
import { PASSWORD_STDIN, readNewPassword } from './passwords.ts'
import {
  printUsers,
  renderAccess,
  renderDetails,
  renderSessions,
  renderUser,
  type UserListFlags,
} from './shown-users.ts'
import { addFieldOptions, addSet, readFieldOptions } from './user-fields.ts'

const MUST_CHANGE = new Option('--must-change', 'the user must change the password at the next sign-in')
const LEVELS: readonly string[] = GRANT_LEVELS
const STATUSES = USER_STATUSES.filter((status) => status !== '')
const OF_ANY = 'of the user or administrator'

/** `cardea user`: the users of both doors. */
export function userCommand(context: Context): Command {
  const command = new Command('user').description('manage users')
  const named = createAccountCommands(command, context, 'user', (name) => [
    noSuchUser(name),
    ['conflict', `The name ${name} is taken, by a user or an administrator.`],
  ])
  addAdd(named)
  named('show', 'print one user', (name) => act('user.show', { params: { name } }, renderDetails))
  addManaged(command, 'list', 'print all users, or those that match, in the order of their names')
    .option('--limit <count>', 'no more than these', readLimit)
    .option('--search <text>', 'a part of the name, or the beginning of a role')
    .option('--role <role>', 'with this role')
    .option('--database <name>', 'with a grant on this database')
    .addOption(new Option('--status <status>', 'in this state').choices(STATUSES))
    .action((options: UserListFlags) => manage(context, options, (control) => printUsers(control, context, options)))
  addPasswords(named)
  addSet(named)
  addRights(named)
  addSessions(named)
  addRemove(named)
  for (const row of USER_COMMANDS) addOfModule(named, row)
  return command
}

function addOfModule(named: AddAccountCommand, row: UserCommand): void {
  const command = named(row.name, row.description, (name, ...given: string[]) => {
    const { params, body } = row.toInput?.(...given.slice(0, row.arguments?.length ?? 0)) ?? {}
    return {
      ...act(
        row.operation,
        { params: { name, ...params }, ...(body && { body: row.namesUser ? { name, ...body } : body }) },
        (result) => row.print(result, name),
      ),
      ...(row.note && { note: row.note }),
      ...(row.explainsConflict && { explanations: [noSuchUser(name)] }),
    }
  })
  for (const [flags, help] of row.arguments ?? []) command.argument(flags, help)
}

const noSuchUser = (name: string) => ['not_found', `There is no user ${name}.`] as const

interface PasswordOptions {
  readonly passwordStdin?: boolean
  readonly mustChange?: boolean
}

interface AddOptions extends PasswordOptions {
  /** `false` with `--no-password`. */
  readonly password: boolean
  readonly role?: readonly string[]
  readonly grant?: readonly Grant[]
}

interface Grant {
  readonly database: string
  readonly level: string
}

const addAdd = (named: AddAccountCommand): Command =>
  addFieldOptions(
    named('add', 'create a user; prompts for the password', async (name, options: AddOptions) => {
      const password = options.password ? await readNewPassword(`Password of ${name}`, options) : undefined
      const body = {
        name,
        ...(password !== undefined && { password }),
        ...(options.role && { roles: options.role }),
        ...(options.grant && { grants: options.grant }),
        ...readFieldOptions(options),
      }
      return act('user.add', { body }, () => `Made ${name}.`)
    }),
  )
    .option(...PASSWORD_STDIN)
    .option('--no-password', 'create the user without a password')
    .option('--role <role>', 'may be repeated', collect)
    .option('--grant <database=level>', `${LEVELS.join(', ')}; may be repeated`, collectGrants)

function collectGrants(text: string, before: readonly Grant[] | undefined): readonly Grant[] {
  const at = text.lastIndexOf('=')
  const [database, level] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || !LEVELS.includes(level)) throw new InvalidArgumentError(`database=level, one of ${LEVELS.join(', ')}.`)
  return [...(before ?? []), { database, level }]
}

function addPasswords(named: AddAccountCommand): void {
  named(
    'set-password',
    'asks for a new password; another one than the current ends all sessions of the user',
    async (name, options: PasswordOptions) => {
      const password = await readNewPassword(`Password of ${name}`, options)
      const body = { password, ...(options.mustChange && { mustChangePassword: true }) }
      return act('user.set-password', { params: { name }, body }, ({ passwordChanged }) => {
        if (passwordChanged) return `${name} has a new password; all sessions have ended.`
        const kept = options.mustChange ? 'it must be changed' : 'nothing was changed'
        return `${name} has this password already; ${kept}.`
      })
    },
  )
    .option(...PASSWORD_STDIN)
    .addOption(MUST_CHANGE)
  named(
    'require-password-change',
    'the user can do nothing but change the password',
    (name, { off = false }: { readonly off?: boolean }) => {
      const done = off ? `${name} need not change the password.` : `${name} must change the password.`
      return act('user.set-password-change', { params: { name }, body: { required: !off } }, () => done)
    },
  ).option('--off', 'take the mark away')
}

function addRights(named: AddAccountCommand): void {
  named('expire', 'set when a user can no longer sign in', (name, time: string) => {
    const body = { expires: time === 'never' ? null : time }
    return act('user.set-expiry', { params: { name }, body }, ({ expires }) =>
      expires ? `${name} cannot sign in from ${expires} on.` : `${name} can sign in without a time limit.`,
    )
  }).argument('<time>', 'a day or a time in UTC, as 2030-12-31T18:00:00Z, or never')
  named('roles', 'print the roles of a user, or change them', setRoles)
    .argument('[roles...]', 'replace the current ones')
    .option('--add <role>', 'beside those there are; may be repeated', collect)
    .option('--remove <role>', 'may be repeated', collect)
    .option('--none', 'take all away')
  named(
    'grant',
    'what a user may do with a database, at the document door with document.grants = enforce',
    (name, database: string, level: string, { collection }: { readonly collection?: string }) => {
      const body = { database, level: level === 'remove' ? null : level, ...(collection && { collection }) }
      return act('user.set-grant', { params: { name }, body }, renderUser)
    },
  )
    .argument('<database>', '* for all', parseName)
    .addArgument(
      new Argument('<level>', 'remove leaves it to the grants that are more general').choices([...LEVELS, 'remove']),
    )
    .option('--collection <name>', 'on this collection alone; * for all', parseName)
  named(
    'may',
    'print what a user may reach at each door, and why',
    (name, database?: string) =>
      act('user.access', { params: { name }, query: database === undefined ? {} : { database } }, renderAccess),
    OF_ANY,
  ).argument('[database]', 'and what it may do with this one; _system if it is left out', parseName)
  named('disable', 'no sign-in any longer; ends all sessions', (name) => {
    const done = `${name} can no longer sign in; all sessions have ended.`
    return act('user.set-active', { params: { name }, body: { active: false } }, () => done)
  })
  named('enable', 'sign-in again', (name) =>
    act('user.set-active', { params: { name }, body: { active: true } }, () => `${name} can sign in.`),
  )
}

interface RolesOptions {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
  readonly none?: boolean
}

function setRoles(
  name: string,
  roles: readonly string[],
  options: RolesOptions,
): AccountAction<{ readonly roles: readonly string[] }> {
  const { add, remove, none } = options
  requireOneMeaning(roles, options)
  const isReplaced = roles.length > 0 || none
  const body = { ...(isReplaced && { roles }), ...(add && { add }), ...(remove && { remove }) }
  const params = { name }
  return {
    work: (control) =>
      isReplaced || add || remove
        ? control.call('user.set-roles', { params, body })
        : control.call('user.show', { params }),
    render: (user) => user.roles.join('\n') || `${name} has no roles.`,
  }
}

/** Contradicting arguments are invalid usage. */
function requireOneMeaning(roles: readonly string[], { add = [], remove = [], none }: RolesOptions): void {
  const both = add.find((role) => remove.includes(role))
  if (none && roles.length > 0) throw usageError('Give roles or --none, not both.')
  if (both !== undefined) throw usageError(`${both} cannot be added and removed at once.`)
}

function addSessions(named: AddAccountCommand): void {
  const sessionsOf = (name: string): AccountAction<Parameters<typeof renderSessions>[0]> => ({
    work: async (control) => (await control.call('user.sessions', { params: { name } })).sessions,
    render: (sessions) => (sessions.length === 0 ? `${name} has no sessions.` : renderSessions(sessions)),
  })
  named('sessions', 'print the sessions of a user, the newest first', sessionsOf, OF_ANY)
  const endSession = (name: string, id: string) => ({
    ...act('user.end-session', { params: { name, id } }, ({ door }) => {
      return `The session of ${name} at the door ${door} has ended.`
    }),
    explanations: [['not_found', `${name} has no session ${id}.`]] as const,
  })
  named('end-session', 'end one session of a user', endSession, OF_ANY).argument('<id>', 'as sessions prints it')
  named('sign-out', 'end all sessions and tokens of a user', (name) =>
    act('user.sign-out', { params: { name } }, () => `All sessions of ${name} have ended.`),
  )
  named('unlock', 'let clients sign in again after too many failures', (name) =>
    act('user.unlock', { params: { name } }, renderUnlocked(name)),
  )
  named('reset-totp', 'remove the second factor (TOTP)', (name) =>
    act('user.reset-totp', { params: { name } }, renderResetTotp(name)),
  )
}

const addRemove = (named: AddAccountCommand): Command =>
  named(
    'remove',
    'delete a user',
    (name, { erase: isErased }: { readonly erase?: boolean }): AccountAction<unknown> =>
      isErased ? erase(name) : act('user.remove', { params: { name } }, () => `Deleted ${name}.`),
  ).option('--erase', 'replace the name in the audit trail, too; also of a user that was deleted before')

/** Also replaces the name in the audit trail. A user that was deleted before may still be named there. */
const erase = (name: string): AccountAction<{ readonly records: number; readonly pseudonym: string }> => ({
  async work(control) {
    const missing = await control.call('user.remove', { params: { name } }).then(() => undefined, toMissing)
    const erased = await control.call('audit.erase', { body: { name } })
    if (missing && erased.records === 0) throw missing
    return { name, ...erased }
  },
  render: ({ records, pseudonym }) =>
    `Deleted ${name}. ${records === 0 ? 'No audit record named it.' : `${records} audit records show ${pseudonym} instead.`}`,
})

function toMissing(error: unknown): Error {
  if (error instanceof Error && codeOf(error) === 'not_found') return error
  throw error
}
