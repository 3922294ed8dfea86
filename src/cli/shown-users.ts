import { renderUtcTime } from '../base/clock.ts'
import { findMember } from '../base/json.ts'
import type { UserSessionView } from '../dialects/admin-api/schemas/account.ts'
import { toName } from '../dialects/admin-api/schemas/schema.ts'
import type { AccessReportView, UserDetailsView, UserView } from '../dialects/admin-api/schemas/users.ts'
import { FIELD_ROWS, type Field } from '../directory/users/fields.ts'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import { printJson } from './json-output.ts'
import { listPages, type ManageOptions } from './manage.ts'
import { renderFacts, renderTable } from './table.ts'

export const renderUser = (user: UserView): string => renderFacts(listFacts(user))

export const renderDetails = ({ lastSignIn, ...user }: UserDetailsView): string =>
  renderFacts([
    ...listFacts(user),
    ['one-time code', user.totp ? 'required (TOTP)' : 'no'],
    ['last sign-in', lastSignIn ? `${lastSignIn.at}${lastSignIn.peer && ` from ${lastSignIn.peer}`}` : 'unknown'],
    ['sessions', String(user.sessions)],
    ['lockout', renderLockout(user.lockout)],
  ])

export function renderLockout(lockout: UserDetailsView['lockout']): string {
  if (!lockout) return 'none'
  const addresses = lockout.addresses === 1 ? '1 address' : `${lockout.addresses} addresses`
  return `${lockout.addresses === 0 ? 'all addresses' : addresses}, until ${lockout.until}`
}

const listFacts = (user: UserView): readonly (readonly [name: string, value: string])[] => [
  ['name', user.name],
  ['can sign in', renderSignIn(user)],
  ...FIELD_ROWS.flatMap(([, { type, shown, label }]) => {
    const value: unknown = shown && findMember(user, toName(shown))
    if (label === undefined || value === undefined) return []
    // the function is that of the type of the field, which the compiler cannot see
    return [[label, (RENDERED[type] ?? String)(value as never)] as const]
  }),
]

/** How values of these types are written. */
const RENDERED: Readonly<Partial<Record<Field['type'], (value: never) => string>>> = {
  flag: (value: boolean) => (value ? 'yes' : 'no'),
  grants: (grants: UserView['grants']) => renderGrants(grants) || 'none',
  password: (scheme: string | null) => scheme ?? 'none',
  roles: (roles: readonly string[]) => roles.join(', ') || 'none',
}

function renderSignIn({ active, expires }: UserView): string {
  if (!active) return 'no: disabled'
  return expires !== undefined && Date.parse(expires) <= Date.now() ? 'no: expired' : 'yes'
}

const renderGrants = (grants: UserView['grants']): string =>
  Object.entries(grants)
    .flatMap(([database, { level, collections = {} }]) => [
      ...(level ? [`${database} ${level}`] : []),
      ...Object.entries(collections).map(([collection, each]) => `${database}/${collection} ${each}`),
    ])
    .join(', ')

const HEADINGS = ['NAME', 'ACTIVE', 'ROLES', 'GRANTS']

const toRow = (user: UserView): readonly string[] => [
  user.name,
  user.active ? 'yes' : 'no',
  user.roles.join(','),
  renderGrants(user.grants),
]

export const renderSessions = (sessions: readonly UserSessionView[]): string =>
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
export interface UserListFlags extends ManageOptions {
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
  { json, limit = Number.POSITIVE_INFINITY, search, role, database, status }: UserListFlags,
): Promise<void> {
  let count = 0
  const toQuery = () => ({ search, role, database, status, limit: String(Math.min(limit - count, MAX_AT_ONCE)) })
  for await (const { users } of listPages(control, 'user.list', toQuery)) {
    if (json) printJson({ print }, users)
    else print(renderTablePage(users, count === 0))
    count += users.length
    if (count >= limit) break
  }
}

function renderTablePage(users: readonly UserView[], isFirst: boolean): string {
  const lines = renderTable(HEADINGS, users.map(toRow)).split('\n')
  return (isFirst ? lines : lines.slice(1)).join('\n')
}

/** One rule on each line; `?`: the database behind the door decides. */
export const renderAccess = ({ signIn, doors }: AccessReportView): string =>
  [renderRule(signIn), ...doors.flatMap(({ door, rules }) => [`\n${door} door`, ...rules.map(renderRule)])].join('\n')

const renderRule = ({ what, isAllowed, because }: AccessReportView['signIn']): string =>
  `${isAllowed === null ? '?  ' : isAllowed ? 'yes' : 'no '} ${what}: ${because}`
