// What each command of `cardea user` does.
import { renderUtcTime } from '../base/clock.ts'
import type { Control } from './client.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { type ManageOptions, manage, perform, report } from './manage.ts'
import { readNewPassword } from './passwords.ts'
import { renderDetails, renderLockout, renderSessions, renderUser } from './shown-users.ts'

/** Runs one operation and prints the result. */
export type Action = (context: Context, options: ManageOptions) => Promise<void>

export interface PasswordOptions extends ManageOptions {
  readonly passwordStdin?: boolean
  readonly mustChange?: boolean
}

export interface AddOptions extends PasswordOptions {
  /** `false` with `--no-password`. */
  readonly password: boolean
  readonly role?: readonly string[]
  readonly grant?: readonly Grant[]
  readonly disabled?: boolean
  readonly expires?: string
}

export interface RolesOptions extends ManageOptions {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
  readonly none?: boolean
}

export interface Grant {
  readonly database: string
  readonly level: string
}

const noSuchUser = (name: string) => ['not_found', `There is no user ${name}.`] as const

const act =
  <T>(name: string, work: (control: Control) => Promise<T>, render: (result: T) => string): Action =>
  (context, options) => {
    const taken = ['conflict', `The name ${name} is taken, by a user or an administrator.`] as const
    return perform(context, options, work, { explanations: [noSuchUser(name), taken], render })
  }

export async function add(name: string, options: AddOptions): Promise<Action> {
  const password = options.password ? await readNewPassword(`Password of ${name}`, options) : undefined
  const body = {
    name,
    ...(password !== undefined && { password }),
    ...(options.role && { roles: options.role }),
    ...(options.grant && { grants: options.grant }),
    ...(options.disabled && { active: false }),
    ...(options.mustChange && { mustChangePassword: true }),
    ...(options.expires && { expires: options.expires }),
  }
  const work = (control: Control) => control.call('user.add', { body })
  return act(name, work, () => `Made ${name}.`)
}

export const show = (name: string): Action =>
  act(name, (control) => control.call('user.show', { params: { name } }), renderDetails)

export async function setPassword(name: string, options: PasswordOptions): Promise<Action> {
  const password = await readNewPassword(`Password of ${name}`, options)
  const call = { params: { name }, body: { password, ...(options.mustChange && { mustChangePassword: true }) } }
  const work = (control: Control) => control.call('user.set-password', call)
  return act(name, work, ({ passwordChanged }) => {
    if (passwordChanged) return `${name} has a new password; all sessions have ended.`
    return `${name} has this password already; ${options.mustChange ? 'it must be changed' : 'nothing was changed'}.`
  })
}

/** A conflict has its own explanation: without a URL of the server there is no link. */
export const createPasswordLink =
  (name: string): Action =>
  async (context, options) => {
    const work = (control: Control) => control.call('user.create-password-link', { params: { name } })
    const link = await manage(context, options, work, { explanations: [noSuchUser(name)] })
    report(context, options, link, () => link.url)
    if (!options.json) context.printError(`Valid once, until ${renderUtcTime(link.expiresAt)}. Treat it as a password.`)
  }

export const setPasswordChange = (name: string, required: boolean): Action =>
  act(
    name,
    (control) => control.call('user.set-password-change', { params: { name }, body: { required } }),
    () => (required ? `${name} must change the password.` : `${name} need not change the password.`),
  )

export const setExpiry = (name: string, time: string): Action =>
  act(
    name,
    (control) =>
      control.call('user.set-expiry', { params: { name }, body: { expires: time === 'never' ? null : time } }),
    ({ expires }) =>
      expires ? `${name} cannot sign in from ${expires} on.` : `${name} can sign in without a time limit.`,
  )

export function setRoles(name: string, roles: readonly string[], options: RolesOptions): Action {
  requireOneMeaning(roles, options)
  const isChange = roles.length > 0 || options.none || options.add || options.remove
  const body = {
    ...((roles.length > 0 || options.none) && { roles }),
    ...(options.add && { add: options.add }),
    ...(options.remove && { remove: options.remove }),
  }
  const params = { name }
  return act(
    name,
    (control): Promise<{ readonly roles: readonly string[] }> =>
      isChange ? control.call('user.set-roles', { params, body }) : control.call('user.show', { params }),
    (user) => user.roles.join('\n') || `${name} has no roles.`,
  )
}

/** Contradicting arguments are invalid usage. */
function requireOneMeaning(roles: readonly string[], { add = [], remove = [], none }: RolesOptions): void {
  const both = add.find((role) => remove.includes(role))
  if (none && roles.length > 0) throw new ExitError(EXIT.usage, 'Give roles or --none, not both.')
  if (both !== undefined) throw new ExitError(EXIT.usage, `${both} cannot be added and removed at once.`)
}

export function setGrant(name: string, { database, level }: Grant, collection: string | undefined): Action {
  const body = { database, level: level === 'remove' ? null : level, ...(collection && { collection }) }
  return act(name, (control) => control.call('user.set-grant', { params: { name }, body }), renderUser)
}

export const setActive = (name: string, active: boolean): Action =>
  act(
    name,
    (control) => control.call('user.set-active', { params: { name }, body: { active } }),
    () => (active ? `${name} can sign in.` : `${name} can no longer sign in; all sessions have ended.`),
  )

export const listSessions = (name: string): Action =>
  act(
    name,
    async (control) => (await control.call('user.sessions', { params: { name } })).sessions,
    (sessions) => (sessions.length === 0 ? `${name} has no sessions.` : renderSessions(sessions)),
  )

export const endSession =
  (name: string, id: string): Action =>
  (context, options) =>
    perform(context, options, (control) => control.call('user.end-session', { params: { name, id } }), {
      explanations: [['not_found', `${name} has no session ${id}.`]],
      render: ({ door }) => `The session of ${name} at the door ${door} has ended.`,
    })

export const signOut = (name: string): Action =>
  act(
    name,
    (control) => control.call('user.sign-out', { params: { name } }),
    () => `All sessions of ${name} have ended.`,
  )

export const unlock = (name: string): Action =>
  act(name, (control) => control.call('user.unlock', { params: { name } }), renderUnlocked(name))

export const renderUnlocked =
  (name: string) =>
  ({ lockout }: { readonly lockout: Parameters<typeof renderLockout>[0] }): string =>
    lockout ? `${name} is unlocked (it was locked: ${renderLockout(lockout)}).` : `${name} was not locked.`

export const resetTotp = (name: string): Action =>
  act(name, (control) => control.call('user.reset-totp', { params: { name } }), renderResetTotp(name))

export const renderResetTotp =
  (name: string) =>
  ({ hadTotp }: { readonly hadTotp: boolean }): string =>
    hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`

export const remove = (name: string): Action =>
  act(
    name,
    (control) => control.call('user.remove', { params: { name } }),
    () => `Deleted ${name}.`,
  )

/** Also replaces the name in the audit trail. A user that was deleted before may still be named there. */
export const erase = (name: string): Action =>
  act(
    name,
    async (control) => {
      const missing = await control.call('user.remove', { params: { name } }).then(() => undefined, toMissing)
      const erased = await control.call('audit.erase', { body: { name } })
      if (missing && erased.records === 0) throw missing
      return { name, ...erased }
    },
    ({ records, pseudonym }) =>
      `Deleted ${name}. ${records === 0 ? 'No audit record named it.' : `${records} audit records show ${pseudonym} instead.`}`,
  )

function toMissing(error: unknown): Error {
  if (error instanceof Error && 'code' in error && error.code === 'not_found') return error
  throw error
}
