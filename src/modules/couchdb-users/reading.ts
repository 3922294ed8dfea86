// Reads what the feed of the users database says about one document, with the code that imports users of CouchDB.
import { isJsonObject, type Members } from '../../base/json.ts'
import { readRevision } from '../../directory/users/revisions.ts'
import type { JsonObject, UserDraft } from '../../directory/users/user.ts'
import { NO_PASSWORD, type StoredPassword } from '../../passwords/schemes.ts'
import { createDocumentReader } from '../../transfer/document.ts'
import { toReason } from '../../transfer/records.ts'
import type { FoundDocument } from './database.ts'

/** A user as the database has it. Nothing else of the document counts: users can write all of it but name and roles. */
export interface ReadUser {
  readonly kind: 'user'
  readonly revision: string
  readonly password: StoredPassword
  readonly roles: NonNullable<UserDraft['roles']>
  readonly members: NonNullable<UserDraft['members']>
  readonly isConflicted: boolean
  /** The document has no password, and the store keeps the one that it has. */
  readonly isPasswordKept?: boolean
}

/**
 * `unread`: what the feed says lacks the document. `unreadable`: Cardea's rules refuse it. `deleted` without a revision: it
 * is not there.
 */
export type Reading =
  | ReadUser
  | { readonly kind: 'unread'; readonly revision: undefined }
  | { readonly kind: 'deleted'; readonly revision: string | undefined }
  | { readonly kind: 'unreadable'; readonly revision: string | undefined; readonly reason: string }

export interface ReadDocument {
  readonly id: string
  readonly name: string
  readonly reading: Reading
  /**
   * The newest first, with what the database still has of each. Left out: the document was not read by itself, but in the
   * feed.
   */
  readonly history?: readonly PastRevision[]
}

export interface PastRevision {
  readonly revision: string
  readonly isAvailable: boolean
}

/** Reads rows of `_changes`. `undefined`: the row is about no user. */
export function readChange(row: unknown, prefix: string): ReadDocument | undefined {
  if (!isJsonObject(row) || typeof row['id'] !== 'string') return undefined
  const { id, deleted, doc, changes } = row
  if (!id.startsWith(prefix)) return undefined
  const revision = readFirst(changes)
  const name = id.slice(prefix.length)
  if (deleted === true) return { id, name, reading: { kind: 'deleted', revision } }
  return isJsonObject(doc) ? { id, name, reading: readDocument(doc, prefix) } : toUnread(id, prefix)
}

export const toUnread = (id: string, prefix: string): ReadDocument => ({
  id,
  name: id.slice(prefix.length),
  reading: { kind: 'unread', revision: undefined },
})

const readFirst = (changes: unknown): string | undefined => {
  const [first] = Array.isArray(changes) ? changes : []
  return isJsonObject(first) ? toRevision(first['rev']) : undefined
}

const toRevision = (text: unknown): string | undefined =>
  typeof text === 'string' && readRevision(text) ? text : undefined

/** Reads the document itself; `undefined`: there is none. */
export function readCurrent(id: string, document: FoundDocument, prefix: string): ReadDocument {
  const name = id.slice(prefix.length)
  if (!document) return { id, name, reading: { kind: 'deleted', revision: undefined }, history: [] }
  if (document === 'too large') return { id, name, reading: TOO_LARGE, history: [] }
  return { id, name, reading: readDocument(document, prefix), history: readHistory(document['_revs_info']) }
}

const TOO_LARGE: Reading = { kind: 'unreadable', revision: undefined, reason: 'The document is too large.' }

function readDocument(document: Members, prefix: string): Reading {
  const revision = toRevision(document['_rev'])
  try {
    // it came from JSON
    const read = createDocumentReader(prefix).read(document as JsonObject)
    if (read.kind !== 'user') return { kind: 'deleted', revision }
    const { roles = [], members = [], password, revision: known } = read.draft
    if (known === undefined) return { kind: 'unreadable', revision, reason: 'The revision has an unknown form.' }
    if (password && 'password' in password)
      return { kind: 'unreadable', revision, reason: 'The document has a password in clear.' }
    const { _conflicts: conflicts } = document
    const isConflicted = Array.isArray(conflicts) && conflicts.length > 0
    return { kind: 'user', revision: known, roles, members, password: password?.stored ?? NO_PASSWORD, isConflicted }
  } catch (error) {
    return { kind: 'unreadable', revision, reason: toReason(error) }
  }
}

const readHistory = (infos: unknown): readonly PastRevision[] =>
  Array.isArray(infos)
    ? infos.map((info) => {
        const { rev, status } = isJsonObject(info) ? info : {}
        return { revision: String(rev), isAvailable: status === 'available' }
      })
    : []
