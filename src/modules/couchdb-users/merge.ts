// What the store gets of a change that CouchDB has accepted. Pure functions.
import { isDeepStrictEqual } from 'node:util'
import { laterOf, type SessionEpoch } from '../../directory/session-epoch.ts'
import { FIELD_ROWS } from '../../directory/users/fields.ts'
import { revisionOf } from '../../directory/users/revisions.ts'
import { readField, type User, type UserRecord, withField } from '../../directory/users/user.ts'
import { revisionNumberOf } from './decide.ts'

/** The record with the revision of CouchDB. */
export function withGivenRevision(record: UserRecord, before: UserRecord | undefined, revision: string): UserRecord {
  // what came before a new document of a deleted user is not known
  const isKnown = before?.kind === 'user'
  if (record.kind === 'tombstone') return { ...record, revision }
  const { ancestors, ...document } = record.document
  return { ...record, document: { ...document, revision, ...(isKnown && ancestors && { ancestors }) } }
}

/**
 * Another process has written `now` in the place of `before`: the change of CouchDB that is being written, a later one, or
 * what only Cardea knows. Of what only Cardea knows, `after` counts where it has changed something.
 */
export function mergeWritten(
  before: UserRecord | undefined,
  after: UserRecord,
  now: UserRecord | undefined,
): UserRecord {
  if (!now) return after
  if (after.kind === 'tombstone' || now.kind === 'tombstone') return mergeDeleted(after, now)
  const isLater = revisionNumberOf(revisionOf(now)) > revisionNumberOf(revisionOf(after))
  const { password, document } = isLater ? now : after
  return mergeOwn(before, after, { ...now, password, document })
}

/** `now` with what `after` changes of that which only Cardea knows. */
export function mergeOwn(before: UserRecord | undefined, after: User, now: User): User {
  let merged: User = { ...now, sessionEpoch: mergeEpochs(before?.sessionEpoch, after.sessionEpoch, now.sessionEpoch) }
  // the value belongs to this name: the compiler does not follow that through the loop
  for (const name of OWN_FIELDS)
    if (isChanged(before, after, name)) merged = withField(merged, name, readField(after, name) as never)
  return merged
}

/** Whether `after` has something else of that which only Cardea knows, and which is of use without the document. */
export const hasOwnChange = (before: User, after: User): boolean =>
  OWN_FIELDS.some((name) => name !== 'id' && name !== 'isPasswordApart' && isChanged(before, after, name))

/** They are those of the document, or are merged in another way. */
const NOT_OWN: ReadonlySet<string> = new Set(['name', 'password', 'sessionEpoch', 'isWithheld'])

/** What only Cardea knows of a user. */
const OWN_FIELDS = [...FIELD_ROWS].flatMap(([name, { part }]) =>
  (part === 'record' || part === 'multiModel') && !NOT_OWN.has(name) ? [name] : [],
)

const isChanged = (before: UserRecord | undefined, after: User, name: (typeof OWN_FIELDS)[number]): boolean =>
  before?.kind !== 'user' || !isDeepStrictEqual(readField(before, name), readField(after, name))

/** The later revision counts. What ended sessions has ended them. */
function mergeDeleted(after: UserRecord, now: UserRecord): UserRecord {
  const later = revisionNumberOf(revisionOf(after)) > revisionNumberOf(revisionOf(now)) ? after : now
  return { ...later, sessionEpoch: laterOf(after.sessionEpoch, now.sessionEpoch) }
}

function mergeEpochs(before: SessionEpoch | undefined, after: SessionEpoch, now: SessionEpoch): SessionEpoch {
  if (isDeepStrictEqual(before, after)) return now
  if (isDeepStrictEqual(before, now)) return after
  return laterOf(after, now)
}
