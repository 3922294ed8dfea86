/**
 * Searches users by a part of the name or the beginning of a role, and by role or status, without reading them all.
 * Every user has some entries in the store, sorted by their keys; a search reads a range of them and checks each user
 * that it finds. A part of a name is the beginning of one of its ends, which are entries too.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { badRequest } from '../../base/errors.ts'
import { readJsonObject } from '../../base/json.ts'
import {
  type KeyCount,
  MAX_COUNTED_USERS,
  SEARCH_ROWS,
  type SearchRange,
  type UserSearchStore,
} from '../store-port/users.ts'
import type { StoreReader } from '../writes.ts'
import { toAddressKey } from './address.ts'
import {
  BREAK,
  FIRST,
  foldCase,
  hasFactor,
  KEYS,
  LAST,
  MAX_PART,
  MIN_PART,
  roleOf,
  toEnd,
  toIssuerMark,
  toTimeKey,
} from './search-entries.ts'
import { isExpired, listRoles, type RoleIssuers, type User } from './user.ts'

/** Users that are looked at for one page: a page may have fewer than it asks for, and still not be the last one. */
const MAX_EXAMINED = 10 * SEARCH_ROWS

/** What a user must be to have a status. The times of sign-ins are not in the record, so their page decides. */
const STATUSES = {
  disabled: ({ isActive }: User) => !isActive,
  expired: isExpired,
  idle: () => true,
  'second-factor': hasFactor,
  'no-second-factor': (user: User) => !hasFactor(user),
}

type UserStatus = keyof typeof STATUSES

export interface UserQuery {
  /** A part of the name or the beginning of a role, in any case. One character is the beginning of the name too. */
  readonly text?: string
  /** A role, in any case. */
  readonly role?: string
  /** Only users without a second factor; with `role`. */
  readonly hasNoFactor?: true
  /** A database that the user has a grant on, its own or one of its collections. */
  readonly database?: string
  /** `idle`: without a sign-in for 90 days; without other conditions, the longest ago first. */
  readonly status?: UserStatus
  /** `next` of the previous page. */
  readonly after?: string
  readonly limit: number
}

/** Without `next`, this was the last page. */
export interface FoundPage {
  readonly users: readonly User[]
  readonly next: string | undefined
  /** How many match in all, on the first page; `undefined`: too many to count. */
  readonly total?: number | undefined
}

const IDLE_SECONDS = 90 * 24 * 60 * 60

/** The user with this verified address. */
export async function findAddressOwner(
  store: Pick<StoreReader, 'searchUsers'>,
  address: string,
): Promise<User | undefined> {
  const key = toAddressKey(address)
  const [found] = await store.searchUsers({ kind: 'address', from: key, to: key }, { key, name: '' })
  return found?.record.kind === 'user' ? found.record : undefined
}

export const createUserSearch = (store: StoreReader, clock: Clock, roleIssuers: () => RoleIssuers) => ({
  findAddressOwner: (address: string) => findAddressOwner(store, address),
  /** Users that match all conditions, those with a matching name first. A short page need not be the last one. */
  async searchUsers(query: UserQuery): Promise<FoundPage> {
    const now = nowSeconds(clock)
    const ranges = toRanges(query, now)
    const isMatch = createMatch(query, ranges, now, roleIssuers())
    const read = async (position: Position) => {
      const page = await readOn(store, ranges, position)
      return query.status === 'idle' ? dropActive(store, page, now - IDLE_SECONDS) : page
    }
    const after = query.after === undefined ? startOf(ranges, 0) : readPosition(query.after)
    let page = await collect(after, query.limit, read, isMatch)
    // it may be full of users whose issuers give the role no longer; with a status, an empty page limits the work
    while (page.users.length === 0 && page.next !== undefined && query.status === undefined)
      page = await collect(readPosition(page.next), query.limit, read, isMatch)
    if (query.after !== undefined) return page
    // one that is short and not the last has taken long enough
    const isCut = page.next !== undefined && page.users.length < query.limit
    return { ...page, total: isCut ? undefined : await countOn(page, read, isMatch) }
  },
  /** Roles or databases with grants that begin with the text, folded for roles, each with its number of users. */
  async countUsersBy(kind: 'role' | 'grant', text: string, limit: number, after?: string) {
    for (let from = after === undefined ? text : toEnd(after); ; ) {
      const first = await store.countUsersByKey({ kind, from, to: `${text}${LAST}` }, limit)
      const last = first.length < limit ? '' : (first.at(-1)?.key ?? '')
      const next = roleOf(last)
      const others = { kind, from: `${last}${FIRST}`, to: toEnd(next) }
      const rest = last === '' ? [] : await store.countUsersByKey(others, MAX_KEYS)
      const counts = addCounts([...first, ...rest], roleIssuers())
      // a page may have only roles that issuers give no longer
      if (counts.length > 0 || next === '') return { counts, next: next || undefined }
      from = toEnd(next)
    }
  },
  /** Whether a user has a grant on the database or one of its collections. Takes as long if none has. */
  async isGranted(database: string): Promise<boolean> {
    const [found] = await store.listKeys({ kind: 'grant', from: database, to: database }, 1)
    return found === database
  },
  /** All databases with grants, in order. */
  async listGranted(): Promise<readonly string[]> {
    const names: string[] = []
    for (let from = ''; ; from = `${names.at(-1)}${FIRST}`) {
      const page = await store.listKeys({ kind: 'grant', from, to: LAST }, LISTED_KEYS)
      names.push(...page)
      if (page.length < LISTED_KEYS) return names
      await nextTurn()
    }
  },
})

/** Read at once: with SQLite every request waits meanwhile. */
const LISTED_KEYS = 500

/** More than one role has. */
const MAX_KEYS = 10_000

/** One row for each role, or database, with all users who have it now. */
function addCounts(rows: readonly KeyCount[], issuers: RoleIssuers): readonly KeyCount[] {
  const giving = new Map([...issuers].map(([issuer, canGive]) => [toIssuerMark(issuer), canGive]))
  const hasEffect = ({ key }: KeyCount) => {
    const [role = '', ...marks] = key.split(BREAK)
    return marks.length === 0 || marks.some((mark) => giving.get(mark)?.(role))
  }
  return [...Map.groupBy(rows.filter(hasEffect), ({ key }) => roleOf(key))].map(([key, all]) => ({
    key,
    name: all[0]?.name ?? '',
    count: Math.min(
      MAX_COUNTED_USERS,
      all.reduce((sum, { count }) => sum + count, 0),
    ),
  }))
}

/** Where a page begins: behind this entry of this range. */
interface Position {
  readonly range: number
  readonly key: string
  readonly name: string
}

interface FoundEntry extends Position {
  readonly user: User
  /** It is in the range and not a result. */
  readonly isDropped?: boolean
}

/** Marks users who signed in since then. They stay in the page, because the next one begins behind its last entry. */
async function dropActive(store: StoreReader, { found, isLast }: Read, since: number): Promise<Read> {
  const signIns = await store.listSignIns(found.map(({ name }) => name))
  const active = new Set(signIns.filter(({ at }) => at >= since).map(({ name }) => name))
  return { found: found.map((entry) => ({ ...entry, isDropped: active.has(entry.name) })), isLast }
}

/** The ranges that contain all results: that of the status or role; otherwise names and roles that begin so. */
function toRanges({ text = '', role, hasNoFactor, database, status }: UserQuery, now: number): readonly SearchRange[] {
  if (status === 'disabled') return [{ kind: 'disabled', from: '', to: LAST }]
  if (status === 'expired') return [{ kind: 'expires', from: '', to: toTimeKey(now) }]
  const kind = hasNoFactor ? 'no-factor' : 'role'
  if (role !== undefined) return [{ kind, from: foldCase(role), to: toEnd(foldCase(role)) }]
  if (database !== undefined) return [{ kind: 'grant', from: database, to: database }]
  if (status === 'idle' && text === '') return [{ kind: 'sign-in', from: '0', to: String(now - IDLE_SECONDS - 1) }]
  // every user has a name
  if (text === '') return [{ kind: 'name', from: '', to: LAST }]
  const from = foldCase(text)
  const part = [...from].slice(0, MAX_PART).join('')
  return [
    { kind: 'name', from, to: `${from}${LAST}` },
    ...(part.length < MIN_PART ? [] : [{ kind: 'part', from: part, to: `${part}${LAST}` } as const]),
    { kind: 'role', from, to: `${from}${LAST}` },
  ]
}

type Match = (found: FoundEntry) => boolean

function createMatch(
  { text = '', role, database, status }: UserQuery,
  ranges: readonly SearchRange[],
  now: number,
  issuers: RoleIssuers,
): Match {
  const wanted = foldCase(text)
  const wantedRole = role === undefined ? undefined : foldCase(role)
  return ({ user, range, key, isDropped }) => {
    const roles = listRoles(user, issuers).map(foldCase)
    if (isDropped || !matchesText(user.name, roles, wanted)) return false
    if (wantedRole !== undefined && !roles.includes(wantedRole)) return false
    if (database !== undefined && !user.multiModel.grants.has(database)) return false
    if (status !== undefined && !STATUSES[status](user, now)) return false
    return ranges[range]?.kind === 'sign-in' || isFirst(ranges, { user, range, key })
  }
}

/** `roles` and `text` are folded. */
export function matchesText(name: string, roles: readonly string[], text: string): boolean {
  const folded = foldCase(name)
  if (text.length < MIN_PART ? folded.startsWith(text) : folded.includes(text)) return true
  return roles.some((role) => role.startsWith(text))
}

/** A user with several entries in the ranges is found by the first of them. */
function isFirst(ranges: readonly SearchRange[], { user, range, key }: Omit<FoundEntry, 'name'>): boolean {
  for (const [at, each] of ranges.entries()) {
    const [first] = listKeys(user, each).sort()
    if (first !== undefined) return at === range && first === key
  }
  return false
}

/** The parts of a name that does not contain the text are not looked at: that takes longer than all the rest. */
function listKeys(user: User, { kind, from, to }: SearchRange): string[] {
  if (kind === 'part' && !foldCase(user.name).includes(from)) return []
  return KEYS[kind](user).filter((key) => (from === to ? key === from : key.startsWith(from)))
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
  const found = page.flatMap(({ key, record }) =>
    record.kind === 'user' ? { range: after.range, key, name: record.name, user: record } : [],
  )
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
  after: Position,
  limit: number,
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

/** Enough for a list to say "50 of 301"; counting more would take longer than the search. */
const MAX_COUNTED = 500

/** The users of the page, and those that follow it. */
async function countOn({ users, next }: FoundPage, read: Parameters<typeof collect>[2], isMatch: Match) {
  if (next === undefined) return users.length
  const rest = await collect(readPosition(next), MAX_COUNTED, read, isMatch)
  return rest.next === undefined ? users.length + rest.users.length : undefined
}

const renderPosition = ({ range, key, name }: Position): string =>
  Buffer.from(JSON.stringify({ range, key, name })).toString('base64url')

function readPosition(text: string): Position {
  const { range, key, name } = readJsonObject(Buffer.from(text, 'base64url').toString()) ?? {}
  if (Number.isInteger(range) && typeof key === 'string' && typeof name === 'string')
    return { range: Number(range), key, name }
  throw badRequest('after must be the `next` of the previous page.')
}
