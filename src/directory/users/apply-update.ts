import { randomUUID } from 'node:crypto'
import type { StoredPassword } from '../../passwords/schemes.ts'
import { bindTokens } from '../access-token.ts'
import { endSessions, type KeptSession, laterOf } from '../session-epoch.ts'
import { createUser, reviseUser } from './revisions.ts'
import { fillUser, findTotp, isSameTotp, type Tombstone, type User, type UserDraft, withField } from './user.ts'

/** A new user, possibly in place of a deleted one. */
export function toNewUser(draft: UserDraft, password: StoredPassword, before: Tombstone | undefined): User {
  const filled = fillUser(createUser(draft.name, password, before), draft)
  const named = withField(filled, 'id', draft.id ?? (before && randomUUID()))
  const user = bindTokens(withImportedEpoch(reviseUser(before, named), draft))
  // a revision from elsewhere must not be lower than one that existed here
  if (before || draft.revision === undefined) return user
  return { ...user, document: { ...user.document, revision: draft.revision } }
}

/** Sessions that were revoked elsewhere are revoked here. */
export const withImportedEpoch = (user: User, { sessionEpoch }: UserDraft): User =>
  sessionEpoch ? { ...user, sessionEpoch: laterOf(user.sessionEpoch, sessionEpoch) } : user

/** The user with everything from the draft, except name and history. */
export const toReplacement = (draft: UserDraft, password: StoredPassword, before: User): User =>
  fillUser(draft.keepsPassword ? before : { ...before, password }, draft)

export interface UpdateOptions {
  readonly nowSeconds: number
  /** Another stored form of the same password, which revokes nothing. Compared by default. */
  readonly isSamePassword?: boolean
  /** Whether the user must change the new password. */
  readonly mustChangePassword?: boolean | undefined
  /** The session that has confirmed the new second factor. It is not revoked with the others. */
  readonly confirmedBy?: KeptSession | undefined
}

/**
 * `after` with the name and history of `before`. A new password, a new second factor or a deactivation raises the session
 * epoch.
 */
export function applyUpdate(before: User, after: User, options: UpdateOptions): User {
  const { nowSeconds, isSamePassword, mustChangePassword = false, confirmedBy } = options
  const keepsPassword = isSamePassword ?? isSameStored(before.password, after.password)
  const isRevoking = !keepsPassword || (before.isActive && !after.isActive)
  const hasNewFactor = findTotp(after) !== undefined && !isSameTotp(before, after)
  const kept = isRevoking ? undefined : confirmedBy
  const sessionEpoch =
    isRevoking || hasNewFactor ? endSessions(before.sessionEpoch, nowSeconds, kept) : before.sessionEpoch
  const marked = keepsPassword ? after : withField(after, 'mustChangePassword', mustChangePassword)
  return reviseUser(before, { ...marked, kind: 'user', name: before.name, sessionEpoch })
}

/** Whether two stored forms are equal, in any order of their members. */
export const isSameStored = (a: StoredPassword, b: StoredPassword): boolean => renderSorted(a) === renderSorted(b)

const renderSorted = (value: object): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
