import { renderUtcTime } from '../base/clock.ts'
import type { UserSession } from '../dialects/admin-api/schemas/account.ts'
import type { User, UserDetails } from '../dialects/admin-api/schemas/users.ts'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { printJson } from './json-output.ts'
import { listPages, type ManageOptions } from './manage.ts'
import { renderFacts, renderTable } from './table.ts'

export const renderUser = (user: User): string => renderFacts(listFacts(user))

export const renderDetails = ({ lastSignIn, ...user }: UserDetails): string =>
  renderFacts([
    ...listFacts(user),
    ['one-time code', user.totp ? 'required (TOTP)' : 'no'],
    ['last sign-in', lastSignIn ? `${lastSignIn.at}${lastSignIn.peer && ` from ${lastSignIn.peer}`}` : 'unknown'],
    ['sessions', String(user.sessions)],
    ['lockout', renderLockout(user.lockout)],
  ])

export function renderLockout(lockout: UserDetails['lockout']): string {
  if (!lockout) return 'none'
  const addresses = lockout.addresses === 1 ? '1 address' : `${lockout.addresses} addresses`
  return `${lockout.addresses === 0 ? 'all addresses' : addresses}, until ${lockout.until}`
}

const listFacts = (user: User): readonly (readonly [name: string, value: string])[] => [
  ['name', user.name],
  ['can sign in', renderSignIn(user)],
  ['password', user.password ?? 'none'],
  ...(user.mustChangePassword ? ([['password change', 'required']] as const) : []),
  ...(user.expires ? ([['expires', user.expires]] as const) : []),
  ['roles', user.roles.join(', ') || 'none'],
  ['grants', renderGrants(user) || 'none'],
  ['access tokens', String(user.accessTokens)],
  ['revision', user.revision],
]

function renderSignIn({ active, expires }: User): string {
  if (!active) return 'no: disabled'
  return expires !== undefined && Date.parse(expires) <= Date.now() ? 'no: expired' : 'yes'
}

const renderGrants = ({ grants }: User): string =>
  Object.entries(grants)
    .flatMap(([database, { level, collections = {} }]) => [
      ...(level ? [`${database} ${level}`] : []),
      ...Object.entries(collections).map(([collection, each]) => `${database}/${collection} ${each}`),
    ])
    .join(', ')

const HEADINGS = ['NAME', 'ACTIVE', 'ROLES', 'GRANTS']

const toRow = (user: User): readonly string[] => [
  user.name,
  user.active ? 'yes' : 'no',
  user.roles.join(','),
  renderGrants(user),
]

export const renderSessions = (sessions: readonly UserSession[]): string =>
  renderTable(
    ['ID', 'DOOR', 'OPENED', 'LAST USED', 'ADDRESS', 'CLIENT'],
    sessions.map(({ id, door, createdAt, seenAt, peer, userAgent }) => [
      id,
      door,
      renderUtcTime(createdAt),
      renderUtcTime(seenAt),
      peer,
      userAgent,
    ]),
  )

const MAX_AT_ONCE = 1000

/** The filters are those of the console. */
export interface UserListOptions extends ManageOptions {
  readonly limit?: number
  readonly search?: string
  readonly role?: string
  readonly database?: string
  readonly status?: string
}

/** Prints page by page, so that memory does not grow with the number of users. */
export async function printUsers(
  control: Control,
  { print }: Context,
  { json, limit = Number.POSITIVE_INFINITY, search, role, database, status }: UserListOptions,
): Promise<void> {
  let count = 0
  const filter: Readonly<Record<string, string>> = {
    ...(search !== undefined && { search }),
    ...(role !== undefined && { role }),
    ...(database !== undefined && { database }),
    ...(status !== undefined && { status }),
  }
  const toQuery = () => ({ ...filter, limit: String(Math.min(limit - count, MAX_AT_ONCE)) })
  for await (const { users } of listPages(control, 'user.list', toQuery)) {
    if (json) printJson({ print }, users)
    else print(renderTablePage(users, count === 0))
    count += users.length
    if (count >= limit) break
  }
}

function renderTablePage(users: readonly User[], isFirst: boolean): string {
  const lines = renderTable(HEADINGS, users.map(toRow)).split('\n')
  return (isFirst ? lines : lines.slice(1)).join('\n')
}
