/** The life of a user's record: each change of its document has a new revision, whose number never decreases. */
import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import { bindTokens } from '../access-token.ts'
import { endSessions, type KeptSession, laterOf, startSessions } from '../session-epoch.ts'
import {
  type Ancestors,
  fillUser,
  findTotp,
  isSameTotp,
  type Json,
  losesPasskey,
  type Tombstone,
  type User,
  type UserDraft,
  type UserRecord,
  withField,
} from './user.ts'

const REVISION = /^([1-9]\d{0,14})-([0-9a-f]{32})$/

/** Reads `N-<32 hexadecimal digits>`. */
export function readRevision(text: string) {
  const [, number, digest] = REVISION.exec(text) ?? []
  return number && digest ? { number: Number(number), digest } : undefined
}

/** The next revision: the number plus one, and a digest of the old revision and the content. */
export function nextRevision(old: string | undefined, content: Json): string {
  const before = old === undefined ? 0 : readRevision(old)?.number
  if (before === undefined) throw new TypeError('The old revision is not a revision')
  const digest = createHash('sha256')
    .update(JSON.stringify([old ?? null, content]))
    .digest('hex')
  return `${before + 1}-${digest.slice(0, 32)}`
}

/** An empty user, possibly in place of a deleted one. */
export const createEmptyUser = (name: string, password: StoredPassword, before?: Tombstone): User =>
  reviseUser(before, createUnrevised({ name }, password, before))

/** A user with everything from the draft, possibly in place of a deleted one. Its revision is missing. */
function createUnrevised(draft: UserDraft, password: StoredPassword, before?: Tombstone): User {
  const sessionEpoch = before?.sessionEpoch ?? startSessions()
  const parts = { document: { revision: '' }, multiModel: {} }
  // what is missing is filled from the draft, or with the empty values
  const managed = { kind: 'user', name: draft.name, isActive: true, password, sessionEpoch, ...parts } as unknown
  return fillUser(managed as User, draft)
}

/** `after` with its revision: a new one only if the document differs from that of `before`. */
export function reviseUser(before: UserRecord | undefined, after: User): User {
  const isSame = before?.kind === 'user' && renderVisible(before) === renderVisible(after)
  const revision = isSame ? before.document.revision : nextRevision(revisionOf(before), toDigested(after))
  const ancestors = isSame ? ancestorsOf(before) : withAncestor(before)
  const { ancestors: _foreign, ...document } = after.document
  return { ...after, document: { ...document, revision, ...(ancestors.length > 0 ? { ancestors } : {}) } }
}

/** CouchDB returns this many in `_revisions` by default. */
export const MAX_ANCESTORS = 50

export const ancestorsOf = (record: UserRecord | undefined): Ancestors =>
  (record?.kind === 'user' ? record.document.ancestors : record?.ancestors) ?? []

export function withAncestor(before: UserRecord | undefined): Ancestors {
  const parent = readRevision(revisionOf(before) ?? '')
  return parent ? [parent.digest, ...ancestorsOf(before)].slice(0, MAX_ANCESTORS) : []
}

/** The record of a deleted user. Its sessions are revoked, and it has a new revision. */
export const toTombstone = (user: User, nowSeconds: number): Tombstone => ({
  kind: 'tombstone',
  name: user.name,
  revision: nextRevision(user.document.revision, ['deleted', user.name]),
  ancestors: withAncestor(user),
  sessionEpoch: endSessions(user.sessionEpoch, nowSeconds),
})

export const revisionOf = (record: UserRecord | undefined): string | undefined =>
  record?.kind === 'user' ? record.document.revision : record?.revision

/** Everything the document shows, including the password hash. */
const renderVisible = (user: User): string => JSON.stringify([toDigested(user), user.password])

/**
 * Includes the salt, because a replica keeps the old password unless a new password changes the revision. Excludes the
 * hash: revisions are visible to others, who could test guesses against a digest that covers it.
 */
const toDigested = ({ name, document, password }: User): Json => [
  name,
  document.roles,
  document.members,
  isUsable(password) ? password.salt : null,
]

/** A new user, possibly in place of a deleted one. */
export function toNewUser(draft: UserDraft, password: StoredPassword, before: Tombstone | undefined): User {
  const unrevised = createUnrevised(draft, password, before)
  const named = withField(unrevised, 'id', draft.id ?? (before && randomUUID()))
  const user = bindTokens(withEpochOf(draft, reviseUser(before, named), before))
  // a revision from elsewhere must not be lower than one that existed here
  if (before || draft.revision === undefined) return user
  return { ...user, document: { ...user.document, revision: draft.revision } }
}

/** A name that was never used here has the sessions of elsewhere. */
const withEpochOf = (draft: UserDraft, user: User, before: Tombstone | undefined): User =>
  before ? withImportedEpoch(user, draft) : { ...user, sessionEpoch: draft.sessionEpoch ?? user.sessionEpoch }

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
 * `after` with the name and history of `before`. A new password, a new second factor, a passkey that is removed or a
 * deactivation raises the session epoch.
 */
export function applyUpdate(before: User, after: User, options: UpdateOptions): User {
  const { nowSeconds, isSamePassword, mustChangePassword = false, confirmedBy } = options
  const keepsPassword = isSamePassword ?? isDeepStrictEqual(before.password, after.password)
  const isRevoking = !keepsPassword || (before.isActive && !after.isActive) || losesPasskey(before, after)
  const hasNewFactor = findTotp(after) !== undefined && !isSameTotp(before, after)
  const kept = isRevoking ? undefined : confirmedBy
  const sessionEpoch =
    isRevoking || hasNewFactor ? endSessions(before.sessionEpoch, nowSeconds, kept) : before.sessionEpoch
  const marked = keepsPassword ? after : withField(after, 'mustChangePassword', mustChangePassword)
  return reviseUser(before, { ...marked, kind: 'user', name: before.name, sessionEpoch })
}
