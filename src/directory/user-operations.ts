import { nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { bindTokens } from './access-token.ts'
import { isSameStored, settle, toNewUser } from './apply-update.ts'
import { requireDistinct, requireGrants, requireName, requireReadable, requireRoles } from './check-user.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Caller, ExpectedRevision, NewPassword, UserDirectory, UserDraft } from './directory.ts'
import { withGrant } from './grants.ts'
import type { Listeners } from './listeners.ts'
import type { NewPasswords } from './new-passwords.ts'
import { endSessions, toTombstone, type User, type UserRecord } from './user.ts'
import { recordUserChange } from './user-events.ts'
import { requireFree, requireUser, type UserWriter } from './user-writer.ts'

export interface UserParts extends Pick<DirectoryDeps, 'store' | 'administration' | 'clock' | 'events'> {
  readonly writer: UserWriter
  readonly passwords: NewPasswords
  readonly listeners: Listeners
}

export type Users = Omit<UserDirectory, 'importUsers'>

export function createUsers(parts: UserParts): Users {
  const changeUser = createChangeUser(parts)
  const edit = (name: string, change: (user: User) => User) => changeUser(name, 'any', change)
  return {
    ...createReaders(parts),
    changeUser,
    createUser: (draft, caller) => createUser(parts, draft, caller),
    setPassword: (name, password, { expected = 'any', ...options } = {}) =>
      changeUser(name, expected, (user) => user, { password, ...options }),
    setActive: (name, isActive) => edit(name, (user) => ({ ...user, isActive })),
    setRoles: (name, roles) => edit(name, (user) => ({ ...user, document: { ...user.document, roles } })),
    setGrant: (name, database, level, collection) =>
      edit(name, (user) => ({
        ...user,
        multiModel: { ...user.multiModel, grants: withGrant(user.multiModel.grants, level, { database, collection }) },
      })),
    signOut: (name) =>
      rewrite(parts, name, 'any', (user, now) => ({ ...user, sessionEpoch: endSessions(user.sessionEpoch, now) })),
    removeUser: async (name, expected) => (await rewrite(parts, name, expected, toTombstone)).revision,
  }
}

const createReaders = ({ store }: UserParts): Pick<Users, 'findUser' | 'findRecord' | 'listUsers' | 'countUsers'> => ({
  async findUser(name) {
    const record = (await store.findUser(name))?.record
    return record?.kind === 'user' ? record : undefined
  },
  findRecord: async (name) => (await store.findUser(name))?.record,
  listUsers: async (range) => (await store.listUsers(range)).map(({ record }) => record),
  countUsers: () => store.countUsers(),
})

/** Puts something in the place of a user, tells the listeners and records the event. */
async function rewrite<R extends UserRecord>(
  { writer, clock, listeners, events }: UserParts,
  name: string,
  expected: ExpectedRevision,
  change: (user: User, nowSeconds: number) => R,
): Promise<R> {
  let before: User | undefined
  const record = await writer.write(name, (stored) => {
    before = requireUser(stored, expected)
    return change(before, nowSeconds(clock))
  })
  listeners.tell({ kind: 'account', name })
  recordUserChange(events, before, record)
  return record
}

const createChangeUser =
  (parts: UserParts): Users['changeUser'] =>
  async (name, expected, change, { password: given, ...caller } = {}) => {
    const replace =
      given && (await prepareReplacement(parts, requireUser(await parts.store.findUser(name), expected), given, caller))
    return rewrite(parts, name, expected, (user, now) => {
      const changed = requireSound(change(user))
      return bindTokens(replace ? replace(user, changed, now) : settle(user, changed, now))
    })
  }

type Settle = (before: User, after: User, nowSeconds: number) => User

/** Compares and hashes the new password once; what it gives can be applied to whatever the user is by then. */
async function prepareReplacement(
  { passwords }: UserParts,
  { password: seen }: User,
  given: NewPassword,
  caller: Caller | undefined,
): Promise<Settle> {
  const { stored: password, isSame } = await passwords.toReplacement(given, seen, caller)
  return (before, after, now) => {
    const settled = { ...after, password }
    // compared with the password seen then: another one may have been set meanwhile
    return isSame && isSameStored(seen, before.password)
      ? settle(before, settled, now, true)
      : settle(before, settled, now)
  }
}

function requireSound(user: User): User {
  requireRoles(user.document.roles)
  requireGrants(user.multiModel.grants)
  return user
}

async function createUser(parts: UserParts, draft: UserDraft, caller: Caller | undefined): Promise<User> {
  const { name } = draft
  requireDraft(parts, draft)
  requireReadable(name)
  requireDistinct(name, parts.administration.accounts().keys())
  requireFree(await parts.store.findUser(name))
  const password = await parts.passwords.toStored(draft.password, caller)
  const user = await parts.writer.write(name, (stored) => toNewUser(draft, password, requireFree(stored)))
  parts.listeners.tell({ kind: 'account', name })
  recordUserChange(parts.events, undefined, user)
  return user
}

/** Whether such a user can be, before anybody looks whether the name is free. */
export function requireDraft({ administration }: UserParts, { name, roles = [], multiModel }: UserDraft): void {
  requireName(name)
  requireRoles(roles)
  requireGrants(multiModel?.grants ?? new Map())
  if (administration.accounts().has(name)) throw new Refusal('conflict', { about: 'An administrator has this name.' })
}
