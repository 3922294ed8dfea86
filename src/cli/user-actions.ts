// What each command of `cardea user` does.
import { renderUtcTime } from '../base/clock.ts'
import type { Control } from './client.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { type Explanations, type ManageOptions, manage, report } from './manage.ts'
import { readSecret } from './passwords.ts'
import { listUsers, renderDetails, renderLockout, renderUser } from './shown-users.ts'

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

export interface GrantOptions extends ManageOptions {
  readonly collection?: string
}

export interface Grant {
  readonly database: string
  readonly level: string
}

const noSuchUser = (name: string): string => `There is no user ${name}.`

export const explain = (name: string): Explanations =>
  new Map([
    ['not_found', noSuchUser(name)],
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

export async function add(context: Context, name: string, options: AddOptions): Promise<void> {
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

export const show = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.show', { params: { name } })).say(renderDetails)

export const list = (context: Context, options: ManageOptions & { readonly limit?: number }): Promise<void> =>
  manage(context, options, (control) => listUsers(control, context, options))

export async function setPassword(context: Context, name: string, options: PasswordOptions): Promise<void> {
  const password = await readPassword(name, options)
  const call = { params: { name }, body: { password, ...(options.mustChange && { mustChangePassword: true }) } }
  await change(context, name, options, (control) => control.call('user.set-password', call)).say(
    ({ passwordChanged }) => {
      if (passwordChanged) return `${name} has a new password; all sessions have ended.`
      return `${name} has this password already; ${options.mustChange ? 'it must be changed' : 'nothing was changed'}.`
    },
  )
}

/** Without `console.public-url` the server returns a path; `--url` is then the URL before it. */
export async function createPasswordLink(context: Context, name: string, options: ManageOptions): Promise<void> {
  const explanations = new Map([['not_found', noSuchUser(name)]])
  const create = (control: Control) => control.call('user.create-password-link', { params: { name } })
  const made = await manage(context, options, create, { explanations })
  const link = options.url === undefined ? made : { ...made, url: new URL(made.url, options.url).href }
  report(context, options, link, () => link.url)
  if (options.json) return
  if (link.url.startsWith('/')) context.printError('Put the URL of the server before it, or set console.public-url.')
  context.printError(`Valid once, until ${renderUtcTime(link.expiresAt)}. Treat it as a password.`)
}

export const setPasswordChange = (
  context: Context,
  name: string,
  options: ManageOptions & { readonly off?: boolean },
): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-password-change', { params: { name }, body: { required: !options.off } }),
  ).say(() => (options.off ? `${name} need not change the password.` : `${name} must change the password.`))

export const setExpiry = (
  context: Context,
  name: string,
  { time, options }: { readonly time: string; readonly options: ManageOptions },
): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-expiry', { params: { name }, body: { expires: time === 'never' ? null : time } }),
  ).say(({ expires }) =>
    expires ? `${name} cannot sign in from ${expires} on.` : `${name} can sign in without a time limit.`,
  )

export async function setRoles(
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

export async function setGrant(
  context: Context,
  name: string,
  { database, level }: Grant,
  { collection, ...options }: GrantOptions,
): Promise<void> {
  const body = { database, level: level === 'remove' ? null : level, ...(collection && { collection }) }
  const call = { params: { name }, body }
  await change(context, name, options, (control) => control.call('user.set-grant', call)).say(renderUser)
}

export const setActive = (context: Context, name: string, options: ManageOptions, active: boolean): Promise<void> =>
  change(context, name, options, (control) =>
    control.call('user.set-active', { params: { name }, body: { active } }),
  ).say(() => (active ? `${name} can sign in.` : `${name} can no longer sign in; all sessions have ended.`))

export const signOut = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.sign-out', { params: { name } })).say(
    () => `All sessions of ${name} have ended.`,
  )

export const unlock = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.unlock', { params: { name } })).say(({ lockout }) =>
    lockout ? `${name} is unlocked (it was locked: ${renderLockout(lockout)}).` : `${name} was not locked.`,
  )

export const resetTotp = (context: Context, name: string, options: ManageOptions): Promise<void> =>
  change(context, name, options, (control) => control.call('user.reset-totp', { params: { name } })).say(
    ({ hadTotp }) => (hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`),
  )
