import { Refusal } from '../../../base/errors.ts'
import { isJsonObject } from '../../../base/json.ts'

/** A document as it came from a client. */
export interface SentDocument {
  readonly id: string | undefined
  /** The `_rev` it claims to follow. */
  readonly revision: string | undefined
  readonly isDeletion: boolean
  /** Everything without a leading `_`, in the order it was written. */
  readonly members: ReadonlyMap<string, unknown>
}

/** Special members a document may carry. Those a server adds when it is asked to are passed over. */
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
  if (!isJsonObject(value)) throw new Refusal('bad_request', { about: 'Document must be a JSON object' })
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
  throw new Refusal('document_invalid', { about: `Bad special document member: ${name}` })
}

function requireNoAttachments(attachments: unknown): void {
  if (attachments === undefined || (isJsonObject(attachments) && Object.keys(attachments).length === 0)) return
  throw new Refusal('bad_request', { about: 'Documents of this database cannot have attachments.' })
}

function readIdText(id: unknown): string | undefined {
  if (id === undefined || typeof id === 'string') return id
  throw new Refusal('document_id_invalid', { about: 'Document id must be a string' })
}

export const readRevisionText = (revision: unknown): string | undefined =>
  revision === undefined ? undefined : requireRevisionText(revision)

/** Whatever follows the number, it may be a revision elsewhere; but 32 characters are a digest, or nothing. */
export function requireRevisionText(revision: unknown): string {
  if (typeof revision === 'string' && REVISION_TEXT.test(revision)) return revision
  throw new Refusal('bad_request', { about: 'Invalid rev format' })
}

const REVISION_TEXT = /^\d{1,15}-(?:[0-9a-fA-F]{32}|(?!.{32}$).*)$/s

function readDeleted(deleted: unknown): boolean {
  if (deleted === undefined || typeof deleted === 'boolean') return deleted ?? false
  throw new Refusal('document_invalid', { about: '_deleted must be a boolean' })
}
