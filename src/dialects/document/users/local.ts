import { Refusal } from '../../../base/errors.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import { type Member, renderMembers } from './member.ts'
import { readFlag, readJsonBody } from './query.ts'
import { readRequestRevision } from './revision.ts'
import { readSent } from './sent.ts'

/**
 * Local documents are where replicators note how far they came. They are kept in memory, the most recent ones: whoever
 * finds none begins anew, which costs time and nothing else.
 */
export interface LocalDocuments {
  find(id: string): LocalDocument | undefined
  put(id: string, document: LocalDocument): void
  remove(id: string): boolean
}

export interface LocalDocument {
  readonly revision: string
  readonly members: readonly Member[]
}

const MAX_DOCUMENTS = 500
const MAX_BYTES = 65_536

export function createLocalDocuments(): LocalDocuments {
  const documents = new Map<string, LocalDocument>()
  return {
    find: (id) => documents.get(id),
    remove: (id) => documents.delete(id),
    put(id, document) {
      // at the end again: what stands first was not written for the longest time
      documents.delete(id)
      documents.set(id, document)
      for (const oldest of documents.keys()) {
        if (documents.size <= MAX_DOCUMENTS) return
        documents.delete(oldest)
      }
    },
  }
}

export function getLocal(context: RequestContext, id: string, documents: LocalDocuments): Reply {
  const found = documents.find(id)
  if (!found) throw new Refusal('not_found')
  const revisions = readFlag(context.query, 'revs') ? [['_revisions', toRevisions(found.revision)] as const] : []
  return {
    status: 200,
    headers: [
      ['Cache-Control', 'must-revalidate'],
      ['Content-Type', 'application/json'],
    ],
    body: `${renderMembers([['_id', id], ['_rev', found.revision], ...found.members, ...revisions])}\n`,
  }
}

const toRevisions = (revision: string) => ({ start: 0, ids: [revision.slice(2)] })

/** The last writer wins: only the replicator whose note it is writes there. */
export async function putLocal(context: RequestContext, id: string, documents: LocalDocuments): Promise<Reply> {
  const sent = readSent(await readJsonBody(context))
  if (sent.isDeletion) return deleteLocal(id, documents)
  const members = [...sent.members]
  if (id.length + JSON.stringify(members).length > MAX_BYTES) throw new Refusal('document_too_large', { about: id })
  const before = readRequestRevision(context, sent.revision) ?? '0-0'
  const revision = `0-${readCount(before) + 1}`
  documents.put(id, { revision, members })
  return toJsonReply(201, { ok: true, id, rev: revision })
}

/** Revisions of local documents begin with 0 and have no digest. */
const LOCAL_REVISION = /^0-\d{1,15}$/

function readCount(revision: string): number {
  if (!LOCAL_REVISION.test(revision)) throw new Refusal('bad_request', { about: 'Invalid rev format' })
  return Number(revision.slice(2))
}

export function deleteLocal(id: string, documents: LocalDocuments): Reply {
  if (!documents.remove(id)) throw new Refusal('not_found')
  return toJsonReply(200, { ok: true, id, rev: '0-0' })
}
