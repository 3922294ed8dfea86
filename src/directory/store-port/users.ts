import type { HashWork } from '../../passwords/hash-work.ts'
import type { User, UserRecord } from '../users/user.ts'
import type { Expected, WriteOutcome } from './changes.ts'

/** A record and the sequence of its last write, which serves as its version. */
export interface Stored<R extends UserRecord = UserRecord> {
  readonly sequence: number
  readonly record: R
}

export interface UserWrite {
  readonly expected: Expected
  readonly record: UserRecord
  /** A new name, which must not differ from that of another user only in case or compatibility forms. */
  readonly isDistinct?: boolean
  /** What must not be that of another user, where addresses sign in. */
  readonly apart?: Apart
  /** A deletion that was not seen: it may be the same user. Left out: it was. */
  readonly isUncertain?: boolean
  /** The user comes from elsewhere, with what it has there: an import, or a copy of users in CouchDB. Left out: it is new. */
  readonly isMoved?: boolean
  /** For modules that follow changes. Left out: they do not follow this one. */
  readonly change?: WrittenChange
}

export interface Apart {
  /** The key of an address that is the new name of the user: no other user may have it. */
  readonly addressKey?: string
  /** A new address, in all its forms: no other user may have one as a name, in any case. */
  readonly names?: readonly string[]
}

export interface WrittenChange {
  /** The record with the expected sequence. */
  readonly before: UserRecord | undefined
  /** Seconds since the epoch. */
  readonly at: number
}

/**
 * `taken`: another user has one of its external accounts or its address, or what must be apart. `look-alike`: another user has nearly its name. Nothing was changed.
 * `record`: what was written in place of the one that was given, with the revision that another server gave it.
 */
export type UserWriteOutcome =
  | (WriteOutcome & { readonly record?: UserRecord })
  | { readonly kind: 'taken' | 'look-alike' }

export interface Bound {
  readonly name: string
  readonly isInclusive: boolean
}

/** Names are ordered by their UTF-8 bytes. `from` is where the list starts: with `descending`, the higher end. */
export interface UserRange {
  readonly from?: Bound
  readonly to?: Bound
  readonly descending?: boolean
  /** 1 to 10 000. A shorter page is the last one. */
  readonly limit: number
  /** Called with the name of each user that is left out because its record is damaged. */
  readonly onDamaged?: (name: string) => void
}

export interface UserStore {
  /** A deleted user is found as its tombstone. */
  findUser(name: string): Promise<Stored | undefined>
  /** Those that exist, by their names, in one query. `onDamaged`: called with each name whose record is damaged. */
  findUsers(names: readonly string[], onDamaged?: (name: string) => void): Promise<ReadonlyMap<string, Stored>>
  /** One page, without tombstones. */
  listUsers(range: UserRange): Promise<readonly Stored<User>[]>
  /** Without tombstones. */
  countUsers(): Promise<number>
  writeUser(write: UserWrite): Promise<UserWriteOutcome>
  /**
   * All writes in one transaction, each with its own outcome: a conflict does not affect the others. At most a few
   * hundred, because every other write waits. In a trial nothing is written.
   */
  importUsers(writes: readonly UserWrite[], isTrial?: boolean): Promise<readonly UserWriteOutcome[]>
  /** For each unit the largest amount of work of any user's password. Does not read all users. */
  listHashWork(): Promise<readonly HashWork[]>
}

/**
 * `part` has the ends of a name, `grant` the databases that a user has grants on, `no-factor` the roles of users
 * without a second factor, `disabled` only users that cannot sign in, and `expires` only those with an expiry. `external`
 * has the external accounts, and `external-once` also those that a user or a deleted user had.
 */
export type SearchKind =
  | 'name'
  /** A digest of the name without case and compatibility forms. */
  | 'fold'
  | 'part'
  | 'role'
  | 'grant'
  | 'no-factor'
  | 'disabled'
  | 'expires'
  | 'external'
  /** The digest of the verified address. */
  | 'address'
  | 'external-once'
  | 'passkey'
  /** By the time of the last sign-in in seconds; 0: none. */
  | 'sign-in'

export interface SearchEntry {
  readonly kind: SearchKind
  readonly key: string
}

/** All entries of one kind with keys from the first to the last, both included. */
export interface SearchRange {
  readonly kind: SearchKind
  readonly from: string
  readonly to: string
}

/** A shorter page is the last one. Fixed, so that PostgreSQL plans the query for it. */
export const SEARCH_ROWS = 200

export interface UserSearchStore {
  /** One page of the users with an entry in the range behind this one, ordered by key and name. */
  searchUsers(range: SearchRange, after: SearchPosition): Promise<readonly FoundUser[]>
  /** The first keys of the range, in order. Jumps from key to key in the index, however many users each has. */
  listKeys(range: SearchRange, limit: number): Promise<readonly string[]>
  /** As `listKeys`, each with its number of users. */
  countUsersByKey(range: SearchRange, limit: number): Promise<readonly KeyCount[]>
}

/** No more users of one key are counted: that would take longer than the list may. */
export const MAX_COUNTED_USERS = 10_000

export interface KeyCount {
  readonly key: string
  readonly count: number
  /** The first user with the key. */
  readonly name: string
}

export interface SearchPosition {
  readonly key: string
  readonly name: string
}

/** A deleted user is found by `external-once` alone. */
export interface FoundUser {
  readonly key: string
  readonly record: UserRecord
}
