import { isDeepStrictEqual } from 'node:util'
import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { bindTokens } from '../access-token.ts'
import { confirmChange, requireOwnEpoch } from '../confirm-change.ts'
import { type GrantPlace, withGrant } from '../grants.ts'
import type { Authenticated } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { findConfirming, requireFactorProof } from '../password-proof.ts'
import { endSessions } from '../session-epoch.ts'
import type { UserRange, UserStore } from '../store-port/users.ts'
import { requireDistinct, requireGrants, requireName, requireReadable, requireRoles } from './check-user.ts'
import type { Caller } from './new-passwords.ts'
import { applyUpdate, toNewUser, toTombstone, type UpdateOptions } from './revisions.ts'
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
import { type ExpectedRevision, requireExpected, requireFree } from './user-writer.ts'

export const createUserReader = (store: UserStore) => ({
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

/**
 * Whether the caller may write this user: throws if not. Called in the transaction of the write, again if another writer
 * was faster, with the user as it is then and as it would be; `undefined`: it would be deleted.
 */
export type CheckWrite = (before: User, after: User | undefined) => void

/** For callers that may write every user they can name: administrators, the program itself, users for their own account. */
export const ANY_USER: CheckWrite = () => {}

export interface ChangeOptions extends Caller {
  /** Throws `conflict` if the user has another revision. `any` by default. */
  readonly expected?: ExpectedRevision
  /** Set after `change`. A password other than the current one revokes all sessions. */
  readonly password?: NewPassword
  /** Whether the user must change another password that is set here. `false` by default. */
  readonly mustChangePassword?: boolean
  /** The request has confirmed the second factor that is set here with a code: its session is not revoked. */
  readonly confirmsFactor?: boolean
  /** Revokes all sessions and tokens in any case. */
  readonly endsSessions?: boolean
}

export type UserEditor = ReturnType<typeof createUserEditor>

export function createUserEditor(parts: DirectoryParts) {
  /**
   * Replaces the user by what `change` returns. `change` must be a pure function: it is called again if another writer
   * was faster. The directory sets name, revision and session epoch itself. Another password, another second
   * factor or a deactivation revokes all sessions. A user who removes or replaces the own second factor must have proved
   * it.
   */
  const changeUser = (name: string, check: CheckWrite, change: (user: User) => User, options: ChangeOptions = {}) =>
    changeStored(parts, { name, check, expected: 'any', ...options }, change)
  return {
    changeUser,
    /** Returns the user as stored, with its revision. The name of a user or administrator is taken. */
    createUser: (draft: UserDraft, caller?: Caller) => createUser(parts, draft, caller),
    /** Without `mustChangePassword`, a password other than the current one need not be changed. */
    setPassword(
      name: string,
      check: CheckWrite,
      password: NewPassword,
      options: Omit<ChangeOptions, 'password'> = {},
    ): Promise<User> {
      const { mustChangePassword: isRequired } = options
      const change = (user: User) =>
        isRequired === undefined ? user : withField(user, 'mustChangePassword', isRequired)
      return changeUser(name, check, change, { password, ...options })
    },
    setActive: (name: string, check: CheckWrite, isActive: boolean) =>
      changeUser(name, check, (user) => ({ ...user, isActive })),
    /** `undefined` removes the grant. `*` means all databases, or all collections. */
    setGrant: (name: string, check: CheckWrite, place: GrantPlace, level: GrantLevel | undefined) =>
      changeUser(name, check, (user) => withField(user, 'grants', withGrant(user.multiModel.grants, level, place))),
    /** Revokes all current sessions and tokens. */
    signOut: (name: string, check: CheckWrite) =>
      rewrite(parts, { name, check, expected: 'any', isUnguarded: true }, withEndedSessions),
    /** Returns the revision of the deletion. */
    removeUser: async (name: string, check: CheckWrite, expected: ExpectedRevision) =>
      (await rewrite(parts, { name, check, expected }, (user, now) => toTombstone(user, now))).revision,
  }
}

const withEndedSessions = (user: User, now: number): User => ({
  ...user,
  sessionEpoch: endSessions(user.sessionEpoch, now),
})

interface Target {
  readonly name: string
  readonly check: CheckWrite
  readonly expected: ExpectedRevision
  /** Stored even if it cannot be recorded: an administrator must always be able to end sessions. */
  readonly isUnguarded?: true
}

/** Replaces the record of a user, notifies the listeners and records the event. */
async function rewrite<R extends UserRecord>(
  { writeRecord, clock, revocations, events, ownKey }: DirectoryParts,
  { name, check, expected, isUnguarded }: Target,
  change: (user: User, nowSeconds: number, confirmed: Authenticated | undefined) => R,
): Promise<R> {
  const confirmed = await confirmChange(isUnguarded ? undefined : events)
  let before: User | undefined
  const record = await writeRecord(name, (stored) => {
    before = requireExpected(stored, expected)
    requireOwnEpoch(before, confirmed)
    const after = change(before, nowSeconds(clock), confirmed)
    check(before, after.kind === 'user' ? after : undefined)
    if (losesFactor(before, after) && !confirmed?.identity.isAdmin)
      requireFactorProof({ name, totp: findTotp(before) }, confirmed, ownKey())
    return after
  })
  revocations.notify({ kind: 'account', name })
  recordUserChange(events, before, record)
  return record
}

const losesFactor = (before: User, after: UserRecord): boolean =>
  findTotp(before) !== undefined && (after.kind === 'tombstone' || !isSameTotp(before, after))

async function changeStored(
  parts: DirectoryParts,
  { name, check, expected, password: given, ...options }: Target & ChangeOptions,
  change: (user: User) => User,
): Promise<User> {
  const { mustChangePassword, confirmsFactor, endsSessions, ...caller } = options
  const update = given
    ? await preparePassword(parts, requireExpected(await parts.store.findUser(name), expected), given, caller)
    : applyUpdate
  return rewrite(parts, { name, check, expected }, (user, now, confirmed) => {
    const changed = change(user)
    requireRoles(changed.document.roles)
    requireGrants(changed.multiModel.grants)
    const confirmedBy = confirmsFactor ? findConfirming(name, confirmed) : undefined
    const updated = update(user, changed, { mustChangePassword, confirmedBy, nowSeconds: now })
    return bindTokens(endsSessions ? withEndedSessions(updated, now) : updated)
  })
}

type Update = (before: User, after: User, options: Omit<UpdateOptions, 'isSamePassword'>) => User

/** Compares and hashes the new password once. The update is then applied to the user as it is at that time. */
async function preparePassword(
  { passwords }: DirectoryParts,
  { password: seen }: User,
  given: NewPassword,
  caller: Caller,
): Promise<Update> {
  const { stored: password, isSame } = await passwords.toReplacement(given, seen, caller)
  return (before, after, options) => {
    // the comparison was with `seen`: another password may have been set since
    const isSamePassword = isSame && isDeepStrictEqual(seen, before.password)
    return applyUpdate(before, { ...after, password }, { ...options, ...(isSamePassword && { isSamePassword }) })
  }
}

async function createUser(parts: DirectoryParts, draft: UserDraft, caller: Caller | undefined): Promise<User> {
  const { name } = draft
  requireDraft(parts, draft)
  requireReadable(name)
  requireDistinct(name, parts)
  requireFree(await parts.store.findUser(name))
  const password = await parts.passwords.toStored(draft.password, caller)
  await confirmChange(parts.events)
  const user = await parts.writeRecord(name, (stored) => {
    // while the password was hashed, an administrator of the name may have been created
    requireNoAdministrator(parts, name)
    return toNewUser(draft, password, requireFree(stored))
  })
  parts.revocations.notify({ kind: 'account', name })
  recordUserChange(parts.events, undefined, user)
  return user
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
