// What a document of the database means for the user in the store. Pure functions: the caller reads and writes.
import { isDeepStrictEqual } from 'node:util'
import type { Stored } from '../../directory/store-port/users.ts'
import { applyUpdate, readRevision, revisionOf, toNewUser, toTombstone } from '../../directory/users/revisions.ts'
import { type Tombstone, type User, type UserRecord, withField } from '../../directory/users/user.ts'
import { isUsable, type StoredPassword } from '../../passwords/schemes.ts'
import type { ReadDocument, Reading, ReadUser } from './reading.ts'

export type Decision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'write'; readonly record: UserRecord }
  /** It is another user of the name: this deletion is written first, then the document is decided about again. */
  | { readonly kind: 'renew'; readonly record: Tombstone }
  /** What the feed says is not enough: the document itself has to be read. */
  | { readonly kind: 'ask' }

const KEEP: Decision = Object.freeze({ kind: 'keep' })

/** With `history` the document was read by itself just now, and so is the truth. */
export function decide(stored: Stored | undefined, document: ReadDocument, nowSeconds: number): Decision {
  const { reading, history, name } = document
  const before = stored?.record
  const isCurrent = history !== undefined || reading.revision === undefined
  // a line of the feed may be older than a change that Cardea has made since, and revisions go back in a restored database
  if (!isCurrent && isOlder(reading.revision, revisionOf(before))) return { kind: 'ask' }
  if (reading.kind === 'deleted') return decideDeletion(before, reading.revision, nowSeconds)
  if (reading.kind === 'unreadable') return decideUnreadable(before, reading)
  const { isConflicted } = reading
  if (before?.kind !== 'user') return write(withheld(toCreated(name, reading, before), isConflicted))
  if (before.document.revision === reading.revision)
    return (before.isWithheld ?? false) === isConflicted ? KEEP : write(toChanged(before, reading, nowSeconds))
  // a password that the document does not have proves nothing about whose document it is
  const isSamePassword = !reading.isPasswordKept && isOnePassword(before.password, reading.password)
  if (!isSamePassword && !history) return { kind: 'ask' }
  if (!isSamePassword && !isSuccessor(history ?? [], before.document.revision))
    return { kind: 'renew', record: toTombstone(before, nowSeconds) }
  return write(toChanged(before, reading, nowSeconds))
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

/** A user that Cardea knows must not go on with an earlier password or role. */
function decideUnreadable(before: UserRecord | undefined, { revision }: Reading): Decision {
  if (before?.kind !== 'user') return KEEP
  const { document } = before
  if (before.isWithheld && document.revision === revision) return KEEP
  return write(withheld({ ...before, document: { ...document, revision: revision ?? document.revision } }, true))
}

const withheld = (user: User, isWithheld: boolean): User => withField(user, 'isWithheld', isWithheld)

const toCreated = (name: string, { roles, members, password, revision }: ReadUser, before: Tombstone | undefined) =>
  withRevision(toNewUser({ name, roles, members }, password, before), revision)

/** All that only Cardea knows stays as it is. Another password or second factor ends the sessions. */
function toChanged(before: User, reading: ReadUser, nowSeconds: number): User {
  const { roles, members, revision, isConflicted } = reading
  const password = reading.isPasswordKept ? before.password : reading.password
  const after = { ...before, password, document: { ...before.document, roles, members } }
  const changed = applyUpdate(before, after, {
    nowSeconds,
    isSamePassword: isOnePassword(before.password, password),
    mustChangePassword: before.mustChangePassword,
  })
  return withheld(withRevision(changed, revision), isConflicted)
}

/** The revision of the database, whose earlier ones are not known here. */
function withRevision(user: User, revision: string): User {
  const { ancestors: _ancestors, ...document } = user.document
  return { ...user, document: { ...document, revision } }
}

/**
 * Whether two stored forms are of one password. CouchDB hashes it again at a sign-in, with other parameters and the same
 * salt; a new password gets a new salt.
 */
export function isOnePassword(a: StoredPassword, b: StoredPassword): boolean {
  if (isDeepStrictEqual(a, b)) return true
  if (!isUsable(a) || !isUsable(b) || a.salt === '' || a.salt !== b.salt) return false
  return !isDeepStrictEqual(toParameters(a), toParameters(b))
}

/** Everything but the hash. */
const toParameters = (password: StoredPassword): object =>
  Object.fromEntries(Object.entries(password).filter(([name]) => name !== 'hash' && name !== 'members'))

/** Whether a revision followed this one without a deletion in between. What the database no longer has may have been one. */
function isSuccessor(history: NonNullable<ReadDocument['history']>, revision: string): boolean {
  const at = history.findIndex((each) => each.revision === revision)
  return at >= 0 && history.slice(0, at).every(({ isAvailable }) => isAvailable)
}
