// Reads and writes user documents and administrators of CouchDB.
import { badRequest } from '../base/errors.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import type { Administrator } from '../directory/administrator-operations.ts'
import { requireName, requireRoles } from '../directory/users/check-user.ts'
import { DOCUMENT_MEMBERS } from '../directory/users/fields.ts'
import type { Json, JsonObject, NewPassword, User, UserDraft } from '../directory/users/user.ts'
import {
  isUsable,
  PASSWORD_MEMBERS,
  readAdminPassword,
  readDocumentPassword,
  renderAdminPassword,
  requireScheme,
  type StoredPassword,
  toFullMembers,
} from '../passwords/schemes.ts'
import { findCommonLosses, type Loss } from './losses.ts'
import { type RecordReader, type RecordReading, renderObject, toReason, type Written } from './records.ts'
import { isRevision, requireObject, requireText, requireTexts, requireUsable } from './require.ts'

/** Reads documents, or rows of a listing that contain them. */
export const createDocumentReader = (idPrefix: string): RecordReader => ({
  read: (value) => readRow(requireObject(value, 'the record'), idPrefix),
  label: (value) => ({ id: findId(value), heading: 'users' }),
})

const findId = (value: unknown): string | undefined => {
  if (!isJsonObject(value)) return undefined
  const id = findMember(value, '_id') ?? findMember(value, 'id') ?? findMember(value, 'key')
  return typeof id === 'string' ? id : undefined
}

function readRow(row: JsonObject, idPrefix: string): RecordReading {
  if (Object.hasOwn(row, '_id')) return readDocument(row, idPrefix)
  if (row['name'] === '@cloudant/couchbackup') return { kind: 'passed', reason: 'the head of a backup' }
  const id = findId(row)
  if (id === undefined) throw badRequest('This is neither a document nor a row of a listing.')
  if (row['error'] !== undefined || row['doc'] === null) return { kind: 'passed', id, reason: 'deleted' }
  if (row['doc'] === undefined) throw badRequest('The row has no document: list them with include_docs=true.')
  return readDocument(requireObject(row['doc'], 'doc'), idPrefix)
}

const NOT_USERS = ['_design/', '_local/']

function readDocument(document: JsonObject, idPrefix: string): RecordReading {
  const id = requireText(document['_id'], '_id')
  if (NOT_USERS.some((prefix) => id.startsWith(prefix))) return { kind: 'passed', id, reason: 'not a user document' }
  if (document['_deleted'] === true) return { kind: 'passed', id, reason: 'deleted' }
  if (document['type'] !== 'user') throw badRequest('type must be user.')
  const draft = readDraft(document)
  if (id !== `${idPrefix}${draft.name}`) throw badRequest(`_id must be ${idPrefix} and the name.`)
  return { kind: 'user', id, draft, notes: findNotes(document) }
}

function readDraft(document: JsonObject): UserDraft {
  const name = requireText(document['name'], 'name')
  const roles = requireTexts(document['roles'], 'roles')
  requireName(name)
  requireRoles(roles)
  const password = readPassword(document)
  const { _rev: revision } = document
  return {
    name,
    roles,
    members: Object.entries(document).filter(([member]) => !isOwnMember(member)),
    ...(password ? { password } : {}),
    ...(typeof revision === 'string' && isRevision(revision) ? { revision } : {}),
  }
}

/** Members that CouchDB manages, and those that `UserDraft` has its own fields for. */
const NAMED_MEMBERS: ReadonlySet<string> = new Set([
  ...['_id', '_rev', '_attachments', '_revisions', '_revs_info', '_conflicts', '_deleted_conflicts', '_local_seq'],
  ...['_deleted', 'password', 'preserve_salt'],
  ...DOCUMENT_MEMBERS,
  ...PASSWORD_MEMBERS,
])

function isOwnMember(member: string): boolean {
  if (NAMED_MEMBERS.has(member)) return true
  if (member.startsWith('_')) throw badRequest('A member that begins with an underscore is unknown.')
  return false
}

/** A hand-written file may contain a password in clear; a dump never does. */
function readPassword(document: JsonObject): NewPassword | undefined {
  const { password, salt } = document
  if (typeof password === 'string') {
    return { password, ...(document['preserve_salt'] === true && typeof salt === 'string' ? { salt } : {}) }
  }
  if (password !== undefined && password !== null) throw badRequest('password must be a string.')
  const stored = requireUsable(readDocumentPassword(document))
  return stored && { stored }
}

const findNotes = (document: JsonObject): readonly string[] =>
  document['_attachments'] === undefined ? [] : ['Its attachments are not imported.']

/** Writes a document without its revision, so that it creates a user. */
export function writeDocument(user: User, idPrefix: string): Written {
  const { name, document } = user
  const losses = findLosses(user)
  const members: (readonly [string, Json])[] = [
    ['_id', `${idPrefix}${name}`],
    ['name', name],
    ['type', 'user'],
    ['roles', document.roles],
    ...(losses.some((loss) => LOSES_PASSWORD.has(loss)) ? [] : toHashMembers(user.password)),
    ...document.members,
  ]
  return { text: renderObject(members), losses }
}

const LOSES_PASSWORD: ReadonlySet<Loss> = new Set(['password', 'deactivated', 'limits'])

function findLosses(user: User): readonly Loss[] {
  const { isActive, password, multiModel } = user
  const losses = findCommonLosses(user)
  if (!isActive) losses.push('deactivated')
  else if (!isExportable(password)) losses.push('password')
  if (multiModel.grants.size > 0) losses.push('grants')
  for (const member of ['extra', 'config'] as const) if (Object.keys(multiModel[member]).length > 0) losses.push(member)
  return losses
}

/** A user without a password loses nothing. */
const isExportable = (password: StoredPassword): boolean =>
  isUsable(password) ? requireScheme(password.scheme).isDocumentScheme : password.reason === 'absent'

/** Includes every member, also the PRF: versions of CouchDB differ in their defaults. */
function toHashMembers(password: StoredPassword): readonly (readonly [string, Json])[] {
  // the schemes write texts and numbers
  return Object.entries(toFullMembers(password) ?? {}) as [string, Json][]
}

/** Reads one entry of `[admins]`, from a file or `_config/admins`. Clear text is a new password. */
export function readAdministrator(name: string, value: unknown): RecordReading {
  try {
    requireName(name)
    const text = requireText(value, 'The value')
    const reading = readAdminPassword(text)
    if (reading.kind === 'malformed') throw badRequest(`The stored password cannot be read: ${reading.reason}.`)
    return { kind: 'administrator', id: name, text }
  } catch (error) {
    return { kind: 'refused', id: name, heading: 'administrators', reason: toReason(error) }
  }
}

/** The value as CouchDB reads it, with the name of the PRF; `undefined`: the text is no stored password. */
export function toDocumentAdministrator({ text }: Administrator): string | undefined {
  const reading = readAdminPassword(text)
  return reading.kind === 'stored' ? renderAdminPassword(reading.password, 'prf') : undefined
}

/** Whether an entry is a stored password; otherwise it is clear text. */
export const isStoredAdministrator = (text: string): boolean => readAdminPassword(text).kind === 'stored'
