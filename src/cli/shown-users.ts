import { renderUtcTime } from '../base/clock.ts'
import type { UserSession } from '../dialects/admin-api/schemas/account.ts'
import type { User, UserDetails } from '../dialects/admin-api/schemas/users.ts'
import type { Control } from './client.ts'
import type { Context } from './context.ts'
import type { ManageOptions } from './manage.ts'
import { renderFacts, renderTable } from './table.ts'

export const renderUser = (user: User): string => renderFacts(listFacts(user))

export const renderDetails = (user: UserDetails): string =>
  renderFacts([
    ...listFacts(user),
    ['one-time code', user.totp ? 'required (TOTP)' : 'no'],
    ['last sign-in', user.lastSignIn ? `${user.lastSignIn.at}${renderPeer(user.lastSignIn.peer)}` : 'unknown'],
    ['sessions', String(user.sessions)],
    ['lockout', renderLockout(user.lockout)],
  ])

const renderPeer = (peer: string): string => (peer === '' ? '' : ` from ${peer}`)

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

/** Prints page by page, so that memory does not grow with the number of users. */
export async function listUsers(
  control: Control,
  context: Context,
  { json, limit }: ManageOptions & { readonly limit?: number },
): Promise<void> {
  const printer = json ? createJsonPrinter(context) : createTablePrinter(context)
  let left = limit ?? Number.POSITIVE_INFINITY
  let after: string | undefined
  do {
    const query = { limit: String(Math.min(left, MAX_AT_ONCE)), ...(after !== undefined && { after }) }
    const { users, next } = await control.call('user.list', { query })
    printer.page(users)
    left -= users.length
    after = left > 0 ? next : undefined
  } while (after !== undefined)
  printer.end()
}

interface Printer {
  page(users: readonly User[]): void
  end(): void
}

function createTablePrinter({ print }: Context): Printer {
  let pages = 0
  return {
    page(users) {
      const lines = renderTable(HEADINGS, users.map(toRow)).split('\n')
      pages += 1
      print((pages === 1 ? lines : lines.slice(1)).join('\n'))
    },
    end: () => {},
  }
}

/** Prints the pages as one JSON array. */
function createJsonPrinter({ print }: Context): Printer {
  let isFirst = true
  return {
    page(users) {
      if (users.length === 0) return
      print(`${isFirst ? '[' : ','}${users.map((user) => JSON.stringify(user)).join(',\n')}`)
      isFirst = false
    },
    end: () => print(isFirst ? '[]' : ']'),
  }
}
