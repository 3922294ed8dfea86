import type { StoredPassword } from '../passwords/schemes.ts'
import { bindTokens } from './access-token.ts'
import type { UserDraft } from './directory.ts'
import { createUser, endSessions, laterOf, reviseUser, type Tombstone, type User } from './user.ts'

/** The first user of a name, or the first after a deleted one. */
export function toNewUser(draft: UserDraft, password: StoredPassword, before: Tombstone | undefined): User {
  const user = bindTokens(withEnded(reviseUser(before, fill(createUser(draft.name, password, before), draft)), draft))
  // a revision from elsewhere must not stand below one there was here
  if (before || draft.revision === undefined) return user
  return { ...user, document: { ...user.document, revision: draft.revision } }
}

/** What had ended elsewhere has ended here. */
export const withEnded = (user: User, { sessionEpoch }: UserDraft): User =>
  sessionEpoch ? { ...user, sessionEpoch: laterOf(user.sessionEpoch, sessionEpoch) } : user

/** What a draft makes of a user that is there: everything but name and history. */
export const toReplacement = (draft: UserDraft, password: StoredPassword, before: User): User =>
  fill(draft.keepsPassword ? before : { ...before, password }, draft)

function fill(user: User, { isActive = true, roles = [], members = [], multiModel = {} }: UserDraft): User {
  return {
    ...user,
    isActive,
    document: { ...user.document, roles, members },
    multiModel: { ...NOTHING_GRANTED, ...multiModel },
  }
}

const NOTHING_GRANTED: User['multiModel'] = Object.freeze({ grants: new Map(), extra: {}, config: {}, tokens: [] })

/**
 * `after` as it may stand in the place of `before`: with that one's name and history, and sessions ended where due.
 * `isSamePassword`: another stored form of the same password, which ends nothing.
 */
export function settle(
  before: User,
  after: User,
  nowSeconds: number,
  isSamePassword = isSameStored(before.password, after.password),
): User {
  const isEnding = !isSamePassword || (before.isActive && !after.isActive)
  const sessionEpoch = isEnding ? endSessions(before.sessionEpoch, nowSeconds) : before.sessionEpoch
  return reviseUser(before, { ...after, kind: 'user', name: before.name, sessionEpoch })
}

/** The order of members says nothing. */
export const isSameStored = (a: StoredPassword, b: StoredPassword): boolean => renderSorted(a) === renderSorted(b)

const renderSorted = (value: object): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
