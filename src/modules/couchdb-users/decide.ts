// What a document of the database means for the user in the store. Pure functions: the caller reads and writes.
import { isDeepStrictEqual } from 'node:util'
import type { Stored } from '../../directory/store-port/users.ts'
import {
  applyUpdate,
  MAX_ANCESTORS,
  readRevision,
  revisionOf,
  toNewUser,
  toTombstone,
} from '../../directory/users/revisions.ts'
import { type Ancestors, type Tombstone, type User, type UserRecord, withField } from '../../directory/users/user.ts'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import type { PastRevision, ReadDocument, ReadUser } from './reading.ts'

export type Decision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'write'; readonly record: UserRecord }
  /** It is another user of the name: this deletion is written first, then the document is decided about again. */
  | { readonly kind: 'replace-user'; readonly record: Tombstone }
  /** What the feed says is not enough: the document itself has to be read, after the stored record. */
  | { readonly kind: 'ask' }

export const KEEP = Object.freeze({ kind: 'keep' } as const)
const ASK: Decision = Object.freeze({ kind: 'ask' })

/** A document that was read by itself was read after `stored`: it is the truth. What the feed says may be older. */
export function decide(stored: Stored | undefined, document: ReadDocument, nowSeconds: number): Decision {
  const { reading, history, name } = document
  const before = stored?.record
  if (reading.kind === 'unread') return ASK
  // a line of the feed may be older than a change that Cardea has made since, and revisions go back in a restored database
  if (!history && isOlder(reading.revision, revisionOf(before))) return ASK
  if (reading.kind === 'deleted') return decideDeletion(before, reading.revision, nowSeconds)
  if (before?.kind !== 'user') {
    if (reading.kind === 'unreadable') return KEEP
    return write(withheld(toCreated(name, reading, before), reading.isConflicted))
  }
  if (reading.kind === 'unreadable' || reading.isConflicted) return decideRefused(before, document, nowSeconds)
  if (before.document.revision === reading.revision && !before.isWithheld) return KEEP
  if (!history && !isNext(before, reading)) return ASK
  if (history && !isSameUser(before, history)) return { kind: 'replace-user', record: toTombstone(before, nowSeconds) }
  return write(toChanged(before, reading, history, nowSeconds))
}

const write = (record: UserRecord): Decision => ({ kind: 'write', record })

export const revisionNumberOf = (revision: string | undefined): number => readRevision(revision ?? '')?.number ?? 0

/** Another revision that is not later. */
const isOlder = (revision: string | undefined, known: string | undefined): boolean =>
  known !== undefined && revision !== known && revisionNumberOf(revision) <= revisionNumberOf(known)

function decideDeletion(before: UserRecord | undefined, revision: string | undefined, nowSeconds: number): Decision {
  if (before?.kind !== 'user') return KEEP
  const record = toTombstone(before, nowSeconds)
  return write(revision === undefined ? record : { ...record, revision })
}

/**
 * The document cannot be used, but the user must not keep an earlier password or role: it is withheld. The known revision is
 * replaced only by one that certainly follows it. Whether it is the same user is decided when the document can be used.
 */
function decideRefused(before: User, { reading, history }: ReadDocument, nowSeconds: number): Decision {
  const { revision } = reading
  if (before.isWithheld && before.document.revision === revision) return KEEP
  if (!history) return ASK
  const isLater = revision !== undefined && isSuccessor(history, [before.document.revision])
  if (before.isWithheld && !isLater) return KEEP
  if (!isLater) return write(withheld(before, true))
  if (reading.kind === 'user') return write(withheld(toChanged(before, reading, history, nowSeconds), true))
  return write(withheld(withRevision(before, revision, toAncestors(before, history)), true))
}

const withheld = (user: User, isWithheld: boolean): User => withField(user, 'isWithheld', isWithheld)

const toCreated = (name: string, { roles, members, password, revision }: ReadUser, before: Tombstone | undefined) =>
  withRevision(toNewUser({ name, roles, members }, password, before), revision, [])

/** All that only Cardea knows stays as it is. Another password or second factor ends the sessions. */
function toChanged(before: User, reading: ReadUser, history: ReadDocument['history'], nowSeconds: number): User {
  const { roles, members, revision } = reading
  const password = reading.isPasswordKept ? before.password : reading.password
  const after = { ...before, password, document: { ...before.document, roles, members } }
  const changed = applyUpdate(before, after, {
    nowSeconds,
    isSamePassword: isOnePassword(before.password, password),
    mustChangePassword: before.mustChangePassword,
  })
  const placed = withField(changed, 'isPasswordApart', reading.isPasswordKept === true && before.isPasswordApart)
  return withheld(withRevision(placed, revision, toAncestors(before, history)), false)
}

/** The revision of the database. Of those before it, those that are known to be of the same user. */
function withRevision(user: User, revision: string, ancestors: Ancestors): User {
  const { ancestors: _others, ...document } = user.document
  return { ...user, document: { ...document, revision, ...(ancestors.length > 0 && { ancestors }) } }
}

/** The database may have gone back to an earlier revision, or to the other side of a conflict. */
function toAncestors(before: User, history: readonly PastRevision[] = []): Ancestors {
  const had = listRevisions(before)
  const path = history.map(({ revision }) => revision)
  const at = path.findIndex((revision) => had.includes(revision))
  // what the feed says without a history is the next revision
  const ancestors = at < 0 ? had : [...path.slice(0, at), ...had.slice(had.indexOf(path[at] ?? ''))].slice(1)
  return ancestors.map((revision) => readRevision(revision)?.digest ?? '').slice(0, MAX_ANCESTORS)
}

/** All that the user is known to have had, the latest first. */
function listRevisions({ document: { revision, ancestors = [] } }: User): readonly string[] {
  const number = revisionNumberOf(revision)
  return [revision, ...ancestors.map((digest, index) => `${number - 1 - index}-${digest}`)]
}

/**
 * Whether two stored forms are of one password. CouchDB hashes it again at a sign-in, with other parameters and the same
 * salt; a new password gets a new salt.
 */
export function isOnePassword(a: StoredPassword, b: StoredPassword): boolean {
  if (isDeepStrictEqual(a, b)) return true
  if (!isUsable(a) || !isUsable(b)) return false
  if (isDeepStrictEqual(without(a, 'members'), without(b, 'members'))) return true
  if (a.salt === '' || a.salt !== b.salt) return false
  return !isDeepStrictEqual(without(a, 'members', 'hash'), without(b, 'members', 'hash'))
}

const without = (password: StoredPassword, ...names: readonly string[]): object =>
  Object.fromEntries(Object.entries(password).filter(([name]) => !names.includes(name)))

/** A deletion takes a revision of its own, so there was none in between. If the document was purged, the password tells. */
const isNext = ({ document, password }: User, reading: ReadUser): boolean =>
  revisionNumberOf(reading.revision) === revisionNumberOf(document.revision) + 1 &&
  reading.isPasswordKept !== true &&
  isUsable(password) &&
  isOnePassword(password, reading.password)

/**
 * A user can copy the own hash into a new document, so an equal password proves nothing. The history must have a revision that
 * this user had. That need not be the latest one, which may be of the other side of a conflict.
 */
const isSameUser = (user: User, history: readonly PastRevision[]): boolean => isSuccessor(history, listRevisions(user))

/** Whether one of the revisions was followed without a deletion in between. What the database no longer has may have been one. */
function isSuccessor(history: readonly PastRevision[], revisions: readonly string[]): boolean {
  const at = history.findIndex(({ revision }) => revisions.includes(revision))
  return at >= 0 && history.slice(0, at).every(({ isAvailable }) => isAvailable)
}
