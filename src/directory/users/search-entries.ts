/** The entries by which the store finds a user: see `user-search.ts`. */
import { digestHex } from '../../base/encoding.ts'
import type { SearchEntry } from '../store-port/users.ts'
import { foldName } from './names.ts'
import { findTotp, hasPasskeys, listAddressKeys, listExternalKeys, toPasskeyKey, type User } from './user.ts'

/** Case is ignored, and how an accented letter is composed. */
export const foldCase = (text: string): string => text.normalize('NFC').toLowerCase()

/** Equal for names that differ only in case or compatibility forms. A digest: such forms can be very long. */
export const toFoldKey = (name: string): string => digestHex('sha256', foldName(name)).slice(0, 32)

/** The keys of a user, for each kind of entry. */
export const KEYS: Readonly<Record<SearchEntry['kind'], (user: User) => readonly string[]>> = {
  name: ({ name }) => [foldCase(name)],
  fold: ({ name }) => [toFoldKey(name)],
  part: ({ name }) => listParts(foldCase(name)),
  role: listRoleKeys,
  grant: ({ multiModel }) => [...multiModel.grants.keys()],
  'no-factor': (user) => (hasFactor(user) ? [] : listRoleKeys(user).map(roleOf)),
  disabled: ({ name, isActive }) => (isActive ? [] : [foldCase(name)]),
  external: listExternalKeys,
  address: listAddressKeys,
  'external-once': listExternalKeys,
  passkey: ({ passkeys = [] }) => passkeys.map(toPasskeyKey),
  expires: ({ expiresAt }) => (expiresAt === undefined ? [] : [toTimeKey(expiresAt)]),
  // the store keeps the times of sign-ins itself
  'sign-in': () => [],
}

/** Where a role needs a second factor, a passkey is one. */
export function hasFactor(user: User): boolean {
  return findTotp(user) !== undefined || hasPasskeys(user)
}

const KINDS = Object.keys(KEYS) as (keyof typeof KEYS)[]

/** The entries of a user, as the store keeps them. */
export const listEntries = (user: User): readonly SearchEntry[] =>
  KINDS.flatMap((kind) => KEYS[kind](user).map((key) => ({ kind, key })))

/** No role contains it. */
export const BREAK = '\n'

/**
 * The own roles of the user. A role that only external accounts gave is followed by their issuers: the store
 * does not know which of them give roles now, so a search or a count drops the others.
 */
function listRoleKeys({ document, links = [] }: User): readonly string[] {
  const own = new Set(document.roles.map(foldCase))
  const marks = links.flatMap(({ issuer, roles = [] }) =>
    roles.map((role) => [foldCase(role), toIssuerMark(issuer)] as const),
  )
  const given = Map.groupBy(
    marks.filter(([role]) => !own.has(role)),
    ([role]) => role,
  )
  return [
    ...own,
    ...given.entries().map(([role, all]) => [role, ...new Set(all.map(([, mark]) => mark).sort())].join(BREAK)),
  ]
}

/** Behind all keys of a role. */
export const toEnd = (role: string): string => `${role}${BREAK}${LAST}`

export const roleOf = (key: string): string => key.split(BREAK)[0] ?? ''

/** Short, because PostgreSQL limits the length of a key. */
export const toIssuerMark = (issuer: string): string => digestHex('sha256', issuer).slice(0, 16)

/** Limits what a long name adds to the store: a part is found if it begins within the first characters. */
const MAX_PARTS = 32
export const MAX_PART = 16
export const MIN_PART = 2

/** What remains of the name without its first character, its first two, and so on, cut to a length. */
function listParts(name: string): readonly string[] {
  const offsets = [0]
  for (const character of name) offsets.push((offsets.at(-1) ?? 0) + character.length)
  const starts = offsets.slice(1, -MIN_PART).slice(0, MAX_PARTS)
  return [...new Set(starts.map((start, at) => name.slice(start, offsets[at + 1 + MAX_PART])))]
}

const TIME_DIGITS = 12
export const toTimeKey = (seconds: number): string =>
  String(Math.max(0, Math.trunc(seconds))).padStart(TIME_DIGITS, '0')

/** Sorted after every other text that begins alike, and directly after the text itself: no key contains U+0000. */
export const LAST = '\u{10ffff}'
export const FIRST = '\u0001'
