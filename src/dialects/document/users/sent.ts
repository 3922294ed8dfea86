/** Reads the documents and revisions that clients send. */
import { badRequest, Refusal } from '../../../base/errors.ts'
import { isJsonObject } from '../../../base/json.ts'
import type { UserRecord } from '../../../directory/users/user.ts'
import type { RequestHead } from '../../../http/request-context.ts'

export interface SentDocument {
  readonly id: string | undefined
  /** Its `_rev`: the revision it replaces. */
  readonly revision: string | undefined
  readonly isDeletion: boolean
  /** The members without a leading `_`, in their order. */
  readonly members: ReadonlyMap<string, unknown>
}

/** Special members a client may send. Those that a server adds on request are ignored. */
const SPECIAL_MEMBERS: ReadonlySet<string> = new Set([
  '_id',
  '_rev',
  '_deleted',
  '_attachments',
  '_revisions',
  '_revs_info',
  '_conflicts',
  '_deleted_conflicts',
  '_local_seq',
])

export function readSent(value: unknown): SentDocument {
  if (!isJsonObject(value)) throw badRequest('Document must be a JSON object')
  const special = new Map<string, unknown>()
  const members = new Map<string, unknown>()
  for (const [name, item] of Object.entries(value)) (name.startsWith('_') ? special : members).set(name, item)
  for (const name of special.keys()) requireSpecial(name)
  requireNoAttachments(special.get('_attachments'))
  return {
    id: readIdText(special.get('_id')),
    revision: readRevisionText(special.get('_rev')),
    isDeletion: readDeleted(special.get('_deleted')),
    members,
  }
}

function requireSpecial(name: string): void {
  if (SPECIAL_MEMBERS.has(name)) return
  throw new Refusal('document_invalid', { reason: `Bad special document member: ${name}` })
}

function requireNoAttachments(attachments: unknown): void {
  if (attachments === undefined || (isJsonObject(attachments) && Object.keys(attachments).length === 0)) return
  throw badRequest('Documents of this database cannot have attachments.')
}

function readIdText(id: unknown): string | undefined {
  if (id === '') throw new Refusal('document_id_invalid', { reason: 'Document id must not be empty' })
  if (id === undefined || typeof id === 'string') return id
  throw new Refusal('document_id_invalid', { reason: 'Document id must be a string' })
}

function readDeleted(deleted: unknown): boolean {
  if (deleted === undefined || typeof deleted === 'boolean') return deleted ?? false
  throw new Refusal('document_invalid', { reason: '_deleted must be a boolean' })
}

export const readRevisionText = (revision: unknown): string | undefined =>
  revision === undefined ? undefined : requireRevisionText(revision)

export function requireRevisionText(revision: unknown): string {
  if (typeof revision === 'string' && REVISION_TEXT.test(revision)) return revision
  throw badRequest('Invalid rev format')
}

/** Like CouchDB: any text may follow the number, but 32 characters must be hexadecimal. */
const REVISION_TEXT = /^\d{1,15}-(?:[0-9a-fA-F]{32}|(?!.{32}$).*)$/s

/** The revision in the document, the query or `If-Match`. If several are given, they must agree. */
export function readRequestRevision(context: RequestHead, inDocument: string | undefined): string | undefined {
  const inQuery = readRevisionText(context.query.get('rev') ?? undefined)
  if (inDocument !== undefined && inQuery !== undefined && inDocument !== inQuery)
    throw badRequest('Document rev from request body and query string have different values')
  const given = inDocument ?? inQuery
  const ifMatch = context.header('if-match')?.trim()
  const inHeader = readRevisionText(ifMatch?.replace(/^"(.*)"$/, '$1'))
  if (given !== undefined && inHeader !== undefined && given !== inHeader)
    throw badRequest('Document rev and etag have different values')
  return given ?? inHeader
}

/** Requires the current revision. After a deletion, the revision may be left out. */
export function requireCurrent(revision: string | undefined, record: UserRecord | undefined): void {
  const isCurrent =
    record?.kind === 'user'
      ? revision === record.document.revision
      : revision === undefined || revision === record?.revision
  if (!isCurrent) throw new Refusal('conflict')
}
