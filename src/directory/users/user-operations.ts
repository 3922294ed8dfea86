import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { bindTokens } from '../access-token.ts'
import { type Account, isAccount } from '../account.ts'
import type { Caller } from '../caller.ts'
import { type GrantPlace, withGrant } from '../grants.ts'
import type { Authenticated } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { findConfirming, hasPassword, requireFactorProof } from '../password-proof.ts'
import { endSessions, type KeptSession } from '../session-epoch.ts'
import type { UserRange } from '../store-port/users.ts'
import type { StoreReader } from '../writes.ts'
import { requireDistinct, requireGrants, requireName, requireReadable, requireRoles } from './check-user.ts'
import { applyUpdate, toNewUser, toTombstone, type UpdateOptions } from './revisions.ts'
import { toFoldKey } from './search-entries.ts'
import { requireOwnAddress } from './sign-in-name.ts'
import {
  findTotp,
  type GrantLevel,
  isSameTotp,
  type NewPassword,
  type User,
  type UserDraft,
  type UserRecord,
  withField,
} from './user.ts'
import { recordUserChange } from './user-events.ts'
import { type ExpectedRevision, NAME_TAKEN, requireExpected, requireFree } from './user-writer.ts'

export const createUserReader = (store: StoreReader) => ({
  /** The user as stored now, active or not. */
  async findUser(name: string): Promise<User | undefined> {
    const record = (await store.findUser(name))?.record
    return record?.kind === 'user' ? record : undefined
  },
  /** The user, or the tombstone of a deleted one. */
  findRecord: async (name: string): Promise<UserRecord | undefined> => (await store.findUser(name))?.record,
  /** One page, ordered by the bytes of the names. A page shorter than the limit is the last one. */
  listUsers: async (range: UserRange): Promise<readonly User[]> =>
    (await store.listUsers(range)).map(({ record }) => record),
  countUsers: () => store.countUsers(),
})

export interface ChangeOptions {
  /** Throws `conflict` if the user has another revision. `any` by default. */
  readonly expected?: ExpectedRevision
  /** Set after `change`. A password other than the current one revokes all sessions. */
  readonly password?: NewPassword
  /** Whether the user must change another password that is set here. `false` by default. */
  readonly mustChangePassword?: boolean
  /** The request has confirmed the second factor that is set here, with a code or a new passkey: its session is not revoked. */
  readonly confirmsFactor?: boolean
  /** Revokes all sessions and tokens in any case, except one that confirms a second factor. */
  readonly endsSessions?: boolean
  /**
   * Whether the user sets the password, proved by something other than the credential of the request, such as a link. A
   * new password that an administrator sets removes all passkeys: a thief of the account may have added one.
   */
  readonly isOwnPassword?: boolean
}

export type UserEditor = ReturnType<typeof createUserEditor>

export function createUserEditor(parts: DirectoryParts) {
  /**
   * Replaces the user by what `change` returns. `change` must be a pure function: it is called again if another writer
   * was faster. The directory sets name, revision and session epoch itself. Another password, another second
   * factor or a deactivation revokes all sessions. A user who removes or replaces the own second factor must have proved
   * it.
   */
  const changeUser = (name: string, caller: Caller, change: (user: User) => User, options: ChangeOptions = {}) =>
    changeStored(parts, { name, caller, expected: 'any', ...options }, change)
  return {
    changeUser,
    /** Returns the user as stored, with its revision. The name of a user or administrator is taken. */
    createUser: (draft: UserDraft, caller: Caller) => createUser(parts, draft, caller),
    /** Throws what `createUser` would, for what has to be done before it. */
    requireNewUser: (draft: UserDraft, caller: Caller) => requireNewUser(parts, draft, caller),
    /** Without `mustChangePassword`, a password other than the current one need not be changed. */
    setPassword(
      name: string,
      caller: Caller,
      password: NewPassword,
      options: Omit<ChangeOptions, 'password'> = {},
    ): Promise<User> {
      const { mustChangePassword: isRequired } = options
      const change = (user: User) =>
        isRequired === undefined ? user : withField(user, 'mustChangePassword', isRequired)
      return changeUser(name, caller, change, { password, ...options })
    },
    setActive: (name: string, caller: Caller, isActive: boolean) =>
      changeUser(name, caller, (user) => ({ ...user, isActive })),
    /** `undefined` removes the grant. `*` means all databases, or all collections. */
    setGrant: (name: string, caller: Caller, place: GrantPlace, level: GrantLevel | undefined) =>
      changeUser(name, caller, (user) => withField(user, 'grants', withGrant(user.multiModel.grants, level, place))),
    /** Revokes all current sessions and tokens. */
    signOut: (name: string, caller: Caller) =>
      rewrite(parts, { name, caller, expected: 'any', unrecorded: 'end of sessions' }, (user, now) =>
        withEndedSessions(user, now),
      ),
    /** Returns the revision of the deletion. */
    removeUser: async (name: string, caller: Caller, expected: ExpectedRevision) =>
      (await rewrite(parts, { name, caller, expected }, (user, now) => toTombstone(user, now))).revision,
  }
}

const withEndedSessions = (user: User, now: number, kept?: KeptSession): User => ({
  ...user,
  sessionEpoch: endSessions(user.sessionEpoch, now, kept),
})

interface Target {
  readonly name: string
  readonly caller: Caller
  readonly expected: ExpectedRevision
  readonly unrecorded?: 'end of sessions'
}

/** Replaces the record of a user, notifies the listeners and records the event. */
async function rewrite<R extends UserRecord>(
  parts: DirectoryParts,
  { name, caller, expected, unrecorded }: Target,
  change: (user: User, nowSeconds: number, confirmed: Authenticated | undefined) => R,
): Promise<R> {
  const { clock, revocations, ownKey } = parts
  const { writeRecord, confirmed } = await parts.begin(caller, unrecorded)
  let before: User | undefined
  const record = await writeRecord(name, (stored) => {
    before = requireExpected(stored, expected)
    requireOwnEpoch(before, confirmed)
    const after = change(before, nowSeconds(clock), confirmed)
    caller.mayWrite?.(before, after.kind === 'user' ? after : undefined)
    if (findOwn(name, confirmed)) requireWayIn(parts, before, after)
    if (losesFactor(before, after) && !confirmed?.identity.isAdmin)
      requireFactorProof({ name, totp: findTotp(before) }, confirmed, ownKey())
    return after
  })
  revocations.notify({ kind: 'account', name })
  recordUserChange(parts, before, record)
  return record
}

/**
 * Called in the transaction of a change. Users who change their own record do so only while the session epoch is the one
 * of their credential: a password change or a sign-out on another node may have been stored since the confirmation.
 */
function requireOwnEpoch(stored: User, confirmed: Authenticated | undefined): void {
  const own = findOwn(stored.name, confirmed)
  if (own && stored.sessionEpoch.generation !== own.sessionEpoch.generation)
    throw new Refusal('authentication_required', { detail: 'the credential was revoked meanwhile' })
}

/** The account of the request's credential, if it is that of the user of this name. */
function findOwn(name: string, confirmed: Authenticated | undefined): Account | undefined {
  const identity = confirmed?.identity
  return identity && isAccount(identity) && !identity.isAdmin && identity.name === name ? identity : undefined
}

/** Users cannot remove the last way in which they can sign in; administrators can. */
function requireWayIn({ settings }: DirectoryParts, before: User, after: UserRecord): void {
  if (after.kind === 'tombstone' || hasPassword(after) || settings().countWaysIn(after) > 0) return
  if (hasPassword(before) || settings().countWaysIn(before) > 0) throw new Refusal('conflict', { reason: LAST_WAY })
}

const LAST_WAY = 'Set a password first: without this you could not sign in.'

const losesFactor = (before: User, after: UserRecord): boolean =>
  findTotp(before) !== undefined && (after.kind === 'tombstone' || !isSameTotp(before, after))

async function changeStored(
  parts: DirectoryParts,
  { name, caller, expected, password: given, ...options }: Target & ChangeOptions,
  change: (user: User) => User,
): Promise<User> {
  const { mustChangePassword, confirmsFactor, endsSessions, isOwnPassword } = options
  const update = given
    ? await preparePassword(parts, requireExpected(await parts.store.findUser(name), expected), given, caller)
    : applyUpdate
  return rewrite(parts, { name, caller, expected }, (user, now, confirmed) => {
    const changed = change(user)
    requireRoles(changed.document.roles)
    requireGrants(changed.multiModel.grants)
    const confirmedBy = confirmsFactor ? findConfirming(name, confirmed) : undefined
    const keepsPasskeys = isOwnPassword || findOwn(name, confirmed) !== undefined
    const updated = update(user, changed, { mustChangePassword, confirmedBy, keepsPasskeys, nowSeconds: now })
    return bindTokens(endsSessions ? withEndedSessions(updated, now, confirmedBy) : updated)
  })
}

interface PasswordUpdate extends Omit<UpdateOptions, 'isSamePassword'> {
  readonly keepsPasskeys: boolean
}

type Update = (before: User, after: User, options: PasswordUpdate) => User

/** Compares and hashes the new password once. The update is then applied to the user as it is at that time. */
async function preparePassword(
  { passwords }: DirectoryParts,
  user: User,
  given: NewPassword,
  caller: Caller,
): Promise<Update> {
  const { password: seen } = user
  const { stored: password, isSame } = await passwords.toReplacement(given, user, caller)
  return (before, after, { keepsPasskeys, ...options }) => {
    // the comparison was with `seen`: another password may have been set since
    const isSamePassword =
      isDeepStrictEqual(password, before.password) || (isSame && isDeepStrictEqual(seen, before.password))
    const kept = isSamePassword || keepsPasskeys ? after : withField(after, 'passkeys', undefined)
    return applyUpdate(before, { ...kept, password }, { ...options, isSamePassword })
  }
}

async function createUser(parts: DirectoryParts, draft: UserDraft, caller: Caller): Promise<User> {
  const { name } = draft
  await requireNewUser(parts, draft, caller)
  const password = await parts.passwords.toStored(draft, draft.password, caller)
  const { writeRecord } = await parts.begin(caller)
  const user = await writeRecord(name, (stored) => {
    // while the password was hashed, an administrator of the name may have been created
    requireNoAdministrator(parts, name)
    return toNewUser(draft, password, requireFree(stored))
  })
  parts.revocations.notify({ kind: 'account', name })
  recordUserChange(parts, undefined, user)
  return user
}

/** The write checks again what others may change. */
async function requireNewUser(parts: DirectoryParts, draft: UserDraft, caller: Caller): Promise<void> {
  const { name } = draft
  requireDraft(parts, draft)
  requireOwnAddress(parts, draft, caller)
  requireReadable(name)
  requireDistinct(name, parts)
  requireFree(await parts.store.findUser(name))
  await requireNoTwin(parts, name)
}

/**
 * A user of the very name becomes an administrator that is created; one that differs only in case or form could be
 * mistaken for the new account. The write checks it again: here, before the password is hashed.
 */
export async function requireNoTwin({ store, settings }: DirectoryParts, name: string): Promise<void> {
  if (settings().auth.names !== 'folded') return
  const key = toFoldKey(name)
  const found = await store.searchUsers({ kind: 'fold', from: key, to: key }, { key, name: '' })
  if (found.some(({ record }) => record.kind === 'user' && record.name !== name))
    throw new Refusal('conflict', { reason: NAME_TAKEN })
}

/** Throws if the draft is invalid. Whether a user has the name already is checked later. */
export function requireDraft(parts: DirectoryParts, { name, roles = [], multiModel }: UserDraft): void {
  requireName(name)
  requireRoles(roles)
  requireGrants(multiModel?.grants ?? new Map())
  requireNoAdministrator(parts, name)
}

function requireNoAdministrator({ administration }: DirectoryParts, name: string): void {
  if (administration.accounts().has(name)) throw new Refusal('conflict', { reason: 'An administrator has this name.' })
}

const PAGE_SIZE = 500

/** All users of a range, page by page: the directory may be larger than the memory. */
export async function* listUserPages(
  directory: { listUsers(range: UserRange): Promise<readonly User[]> },
  range: Omit<UserRange, 'limit'> = {},
): AsyncGenerator<readonly User[]> {
  let next: UserRange | undefined = { ...range, limit: PAGE_SIZE }
  while (next) {
    const page: readonly User[] = await directory.listUsers(next)
    yield page
    const last = page.at(-1)
    next = last && page.length === PAGE_SIZE ? { ...next, from: { name: last.name, isInclusive: false } } : undefined
  }
}
