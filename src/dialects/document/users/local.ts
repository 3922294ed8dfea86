/**
 * Local documents hold the checkpoints of replicators. The most recently used ones are kept in memory: a replicator
 * that finds no checkpoint starts from the beginning, which costs only time.
 */
import type { LRUCache } from 'lru-cache'
import { createLruCache } from '../../../base/caches.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import type { Reply, RequestContext, RequestHead } from '../../../http/request-context.ts'
import { requireExactBody, toDocumentReply, toTextReply } from '../body.ts'
import { type DocumentMember, renderMembers } from './document.ts'
import { readFlag } from './query.ts'
import { readRequestRevision, readSent } from './sent.ts'

export type LocalDocuments = LRUCache<
  string,
  { readonly revision: string; readonly members: readonly DocumentMember[] }
>

const MAX_DOCUMENTS = 500
const MAX_BYTES = 65_536

export const createLocalDocuments = (): LocalDocuments => createLruCache(MAX_DOCUMENTS)

export function getLocal(context: RequestHead, id: string, documents: LocalDocuments): Reply {
  const found = documents.get(id)
  if (!found) throw new Refusal('not_found')
  const revisions = readFlag(context.query, 'revs') ? [['_revisions', toRevisions(found.revision)] as const] : []
  return toTextReply(200, renderMembers([['_id', id], ['_rev', found.revision], ...found.members, ...revisions]))
}

const toRevisions = (revision: string) => ({ start: 0, ids: [revision.slice(2)] })

/** Conflicts are not checked: each replicator writes only its own checkpoint. */
export async function putLocal(context: RequestContext, id: string, documents: LocalDocuments): Promise<Reply> {
  const sent = readSent(await requireExactBody(context))
  if (sent.isDeletion) return deleteLocal(id, documents)
  const members = [...sent.members]
  if (id.length + JSON.stringify(members).length > MAX_BYTES) throw new Refusal('document_too_large', { value: id })
  const before = readRequestRevision(context, sent.revision) ?? '0-0'
  const revision = `0-${readCount(before) + 1}`
  documents.set(id, { revision, members })
  return toDocumentReply(201, { ok: true, id, rev: revision })
}

/** Revisions of local documents begin with 0 and have no digest. */
const LOCAL_REVISION = /^0-\d{1,15}$/

function readCount(revision: string): number {
  if (!LOCAL_REVISION.test(revision)) throw badRequest('Invalid rev format')
  return Number(revision.slice(2))
}

export function deleteLocal(id: string, documents: LocalDocuments): Reply {
  if (!documents.delete(id)) throw new Refusal('not_found')
  return toDocumentReply(200, { ok: true, id, rev: '0-0' })
}
