/**
 * Searches users by the beginning of a name or role, and by role or status, without reading them all. Every user has
 * some entries in the store, sorted by their keys; a search reads a range of them and checks each user that it finds.
 */
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { badRequest } from '../../base/errors.ts'
import { isJsonObject, readJson } from '../../base/json.ts'
import { SEARCH_ROWS, type SearchEntry, type SearchRange, type UserSearchStore } from '../store-port/users.ts'
import { isExpired, type User } from './user.ts'

/** Case is ignored, and how an accented letter is composed. */
export const foldCase = (text: string): string => text.normalize('NFC').toLowerCase()

/** The entries of a user, as the store keeps them. */
export function listEntries({ name, isActive, expiresAt, document }: User): readonly SearchEntry[] {
  const roles = new Set(document.roles.map(foldCase))
  return [
    { kind: 'name', key: foldCase(name) },
    ...[...roles].map((key) => ({ kind: 'role', key }) as const),
    ...(isActive ? [] : [{ kind: 'disabled', key: foldCase(name) } as const]),
    ...(expiresAt === undefined ? [] : [{ kind: 'expires', key: toTimeKey(expiresAt) } as const]),
  ]
}

const TIME_DIGITS = 12
const toTimeKey = (seconds: number): string => String(Math.max(0, Math.trunc(seconds))).padStart(TIME_DIGITS, '0')

/** Sorted after every other text that begins alike. */
const LAST = '\u{10ffff}'

/** Users that are looked at for one page: a page may have fewer than it asks for, and still not be the last one. */
const MAX_EXAMINED = 10 * SEARCH_ROWS

export interface UserQuery {
  /** The beginning of the name or of a role, in any case. */
  readonly prefix?: string
  /** A role, in any case. */
  readonly role?: string
  readonly status?: 'disabled' | 'expired'
  /** `next` of the previous page. */
  readonly after?: string
  readonly limit: number
}

/** Without `next`, this was the last page. */
export interface FoundPage {
  readonly users: readonly User[]
  readonly next: string | undefined
}

export const createUserSearch = (store: UserSearchStore, clock: Clock) => ({
  /** Users that match all conditions, those with a matching name first. A short page need not be the last one. */
  async searchUsers(query: UserQuery): Promise<FoundPage> {
    const now = nowSeconds(clock)
    const ranges = toRanges(query, now)
    const isMatch = createMatch(query, now)
    const after = query.after === undefined ? startOf(ranges, 0) : readPosition(query.after)
    return collect({ after, limit: query.limit }, (position) => readOn(store, ranges, position), isMatch)
  },
})

/** Where a page begins: behind this entry of this range. */
interface Position {
  readonly range: number
  readonly key: string
  readonly name: string
}

interface FoundEntry extends Position {
  readonly user: User
}

/** The ranges that contain all results: that of the status or role; otherwise names, then roles, with this beginning. */
function toRanges({ prefix, role, status }: UserQuery, now: number): readonly SearchRange[] {
  if (status === 'disabled') return [{ kind: 'disabled', from: '', to: LAST }]
  if (status === 'expired') return [{ kind: 'expires', from: '', to: toTimeKey(now) }]
  if (role !== undefined) return [{ kind: 'role', from: foldCase(role), to: foldCase(role) }]
  const from = foldCase(prefix ?? '')
  return (['name', 'role'] as const).map((kind) => ({ kind, from, to: `${from}${LAST}` }))
}

type Match = (found: FoundEntry) => boolean

function createMatch({ prefix, role, status }: UserQuery, now: number): Match {
  const beginning = foldCase(prefix ?? '')
  const wanted = role === undefined ? undefined : foldCase(role)
  const isByBeginning = role === undefined && status === undefined
  return ({ user, range, key }) => {
    const roles = user.document.roles.map(foldCase)
    const isNamed = foldCase(user.name).startsWith(beginning)
    const byRole = roles.filter((each) => each.startsWith(beginning)).sort()[0]
    // a user with several entries in the ranges is found by the first of them
    if (isByBeginning) return range === 0 || (!isNamed && byRole === key)
    if (wanted !== undefined && !roles.includes(wanted)) return false
    if (status === 'disabled' && user.isActive) return false
    if (status === 'expired' && !isExpired(user, now)) return false
    return isNamed || byRole !== undefined
  }
}

interface Read {
  readonly found: readonly FoundEntry[]
  readonly isLast: boolean
}

/** The next entries; at the end of a range, the first of the next one. */
async function readOn(store: UserSearchStore, ranges: readonly SearchRange[], after: Position): Promise<Read> {
  const range = ranges[after.range]
  if (!range) return { found: [], isLast: true }
  const page = await store.searchUsers(range, after)
  const found = page.map(({ key, record }) => ({ range: after.range, key, name: record.name, user: record }))
  if (page.length === SEARCH_ROWS || after.range === ranges.length - 1)
    return { found, isLast: page.length < SEARCH_ROWS }
  const next = await readOn(store, ranges, startOf(ranges, after.range + 1))
  return { found: [...found, ...next.found], isLast: next.isLast }
}

const startOf = (ranges: readonly SearchRange[], range: number): Position => ({
  range,
  key: ranges[range]?.from ?? '',
  name: '',
})

async function collect(
  { after, limit }: { readonly after: Position; readonly limit: number },
  read: (after: Position) => Promise<Read>,
  isMatch: Match,
): Promise<FoundPage> {
  const users: User[] = []
  let position = after
  for (let examined = 0; examined < MAX_EXAMINED; ) {
    const { found, isLast } = await read(position)
    for (const [index, entry] of found.entries()) {
      position = entry
      if (isMatch(entry)) users.push(entry.user)
      if (users.length < limit) continue
      const isEnd = isLast && index === found.length - 1
      return { users, next: isEnd ? undefined : renderPosition(entry) }
    }
    if (isLast) return { users, next: undefined }
    examined += found.length
  }
  return { users, next: renderPosition(position) }
}

const renderPosition = ({ range, key, name }: Position): string =>
  Buffer.from(JSON.stringify({ range, key, name })).toString('base64url')

function readPosition(text: string): Position {
  const reading = readJson(Buffer.from(text, 'base64url').toString())
  const value = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  const { range, key, name } = value
  if (Number.isInteger(range) && typeof key === 'string' && typeof name === 'string')
    return { range: Number(range), key, name }
  throw badRequest('after must be the `next` of the previous page.')
}
