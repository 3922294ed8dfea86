import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { bindTokens } from '../access-token.ts'
import { confirmChange, requireOwnEpoch } from '../confirm-change.ts'
import { withGrant } from '../grants.ts'
import type { Authenticated } from '../identity.ts'
import type { DirectoryParts } from '../parts.ts'
import { findConfirming, requireFactorProof } from '../second-factor/factor-proof.ts'
import type { UserStore } from '../store-port/users.ts'
import { applyUpdate, isSameStored, toNewUser, type UpdateOptions } from './apply-update.ts'
import { requireDistinct, requireGrants, requireName, requireReadable, requireRoles } from './check-user.ts'
import {
  endSessions,
  findTotp,
  isSameTotp,
  type NewPassword,
  toTombstone,
  type User,
  type UserDraft,
  type UserRecord,
  withField,
} from './user.ts'
import type { Caller, ExpectedRevision, UserEditor, UserReader } from './user-directory.ts'
import { recordUserChange } from './user-events.ts'
import { requireFree, requireUser } from './user-writer.ts'

export const createUserReader = (store: UserStore): UserReader => ({
  async findUser(name) {
    const record = (await store.findUser(name))?.record
    return record?.kind === 'user' ? record : undefined
  },
  findRecord: async (name) => (await store.findUser(name))?.record,
  listUsers: async (range) => (await store.listUsers(range)).map(({ record }) => record),
  countUsers: () => store.countUsers(),
})

export function createUserEditor(parts: DirectoryParts): UserEditor {
  const changeUser = createChangeUser(parts)
  return {
    changeUser,
    createUser: (draft, caller) => createUser(parts, draft, caller),
    setPassword: (name, password, options = {}) => {
      const { mustChangePassword: isRequired } = options
      const change = (user: User) =>
        isRequired === undefined ? user : withField(user, 'mustChangePassword', isRequired)
      return changeUser(name, change, { password, ...options })
    },
    setActive: (name, isActive) => changeUser(name, (user) => ({ ...user, isActive })),
    setGrant: (name, place, level) =>
      changeUser(name, (user) => ({
        ...user,
        multiModel: { ...user.multiModel, grants: withGrant(user.multiModel.grants, level, place) },
      })),
    signOut: (name) =>
      rewrite(parts, { name, expected: 'any', isUnguarded: true }, (user, now) => ({
        ...user,
        sessionEpoch: endSessions(user.sessionEpoch, now),
      })),
    removeUser: async (name, expected) =>
      (await rewrite(parts, { name, expected }, (user, now) => toTombstone(user, now))).revision,
  }
}

interface Target {
  readonly name: string
  readonly expected: ExpectedRevision
  /** Stored even if it cannot be recorded: an administrator must always be able to end sessions. */
  readonly isUnguarded?: true
}

/** Replaces the record of a user, notifies the listeners and records the event. */
async function rewrite<R extends UserRecord>(
  { writer, clock, revocations, events, ownKey }: DirectoryParts,
  { name, expected, isUnguarded }: Target,
  change: (user: User, nowSeconds: number, confirmed: Authenticated | undefined) => R,
): Promise<R> {
  const confirmed = await confirmChange(isUnguarded ? undefined : events)
  let before: User | undefined
  const record = await writer.write(name, (stored) => {
    before = requireUser(stored, expected)
    requireOwnEpoch(before, confirmed)
    const after = change(before, nowSeconds(clock), confirmed)
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

const createChangeUser =
  (parts: DirectoryParts): UserEditor['changeUser'] =>
  async (name, change, { expected = 'any', password: given, mustChangePassword, confirmsFactor, ...caller } = {}) => {
    const update = given
      ? await preparePassword(parts, requireUser(await parts.store.findUser(name), expected), given, caller)
      : applyUpdate
    return rewrite(parts, { name, expected }, (user, now, confirmed) => {
      const changed = change(user)
      requireRoles(changed.document.roles)
      requireGrants(changed.multiModel.grants)
      const confirmedBy = confirmsFactor ? findConfirming(name, confirmed) : undefined
      return bindTokens(update(user, changed, { mustChangePassword, confirmedBy, nowSeconds: now }))
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
    const isSamePassword = isSame && isSameStored(seen, before.password)
    return applyUpdate(before, { ...after, password }, { ...options, ...(isSamePassword && { isSamePassword }) })
  }
}

async function createUser(parts: DirectoryParts, draft: UserDraft, caller: Caller | undefined): Promise<User> {
  const { name } = draft
  requireDraft(parts, draft)
  requireReadable(name)
  requireDistinct(name, parts.administration.accounts().keys())
  requireFree(await parts.store.findUser(name))
  const password = await parts.passwords.toStored(draft.password, caller)
  await confirmChange(parts.events)
  const user = await parts.writer.write(name, (stored) => {
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
  if (administration.accounts().has(name)) throw new Refusal('conflict', { about: 'An administrator has this name.' })
}
