/** The life of a user's record: each change of its document has a new revision, whose number never decreases. */
import { createHash } from 'node:crypto'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import { endSessions, NO_SESSIONS_ENDED } from '../session-epoch.ts'
import { type Ancestors, fillUser, type Json, type Tombstone, type User, type UserRecord } from './user.ts'

interface Revision {
  readonly number: number
  readonly digest: string
}

const REVISION = /^([1-9]\d{0,14})-([0-9a-f]{32})$/

/** Reads `N-<32 hexadecimal digits>`. */
export function readRevision(text: string): Revision | undefined {
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
export function createUser(name: string, password: StoredPassword, before?: Tombstone): User {
  const sessionEpoch = before?.sessionEpoch ?? NO_SESSIONS_ENDED
  const parts = { document: { revision: '' }, multiModel: {} }
  // what is missing is filled with the empty values
  const managed = { kind: 'user', name, isActive: true, password, sessionEpoch, ...parts } as unknown
  return reviseUser(before, fillUser(managed as User, { name }))
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
const MAX_ANCESTORS = 50

export const ancestorsOf = (record: UserRecord | undefined): Ancestors =>
  (record?.kind === 'user' ? record.document.ancestors : record?.ancestors) ?? []

function withAncestor(before: UserRecord | undefined): Ancestors {
  const parent = readRevision(revisionOf(before) ?? '')
  return parent ? [parent.digest, ...ancestorsOf(before)].slice(0, MAX_ANCESTORS) : []
}

/** The record of a deleted user. Its sessions are revoked, and it has a new revision. */
export function toTombstone(user: User, nowSeconds: number): Tombstone {
  return {
    kind: 'tombstone',
    name: user.name,
    revision: nextRevision(user.document.revision, ['deleted', user.name]),
    ancestors: withAncestor(user),
    sessionEpoch: endSessions(user.sessionEpoch, nowSeconds),
  }
}

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
