// The users database of CouchDB, as Cardea asks it with an identity of its own.
import { Refusal } from '../../base/errors.ts'
import { isJsonObject, type Members } from '../../base/json.ts'
import { CARDEA } from '../../directory/identity.ts'
import type { AskedDatabase, SourceCore } from '../module.ts'

type Reply = Awaited<ReturnType<AskedDatabase['askAs']>>
type Request = Parameters<AskedDatabase['askAs']>[1]

export interface ChangesPage {
  readonly rows: readonly unknown[]
  readonly lastSeq: string
  /** How many changes follow. */
  readonly pending: number
}

export interface FeedQuery {
  readonly since: string
  readonly limit: number
  /** How long to wait for a change if there is none. 0: not at all. */
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Left out: with the documents. */
  readonly isBare?: boolean
}

/** A page is parsed at once, so it must not be large. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** A hundred documents, most of less than a kilobyte. */
const MAX_LIST_BYTES = 64 * 1024 * 1024
/** CouchDB's own limit for a document is 8 MB. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
const DESIGN_DOCUMENTS = new URLSearchParams({ startkey: '"_design/"', endkey: '"_design0"' })
const SLOW_MS = 30_000

export type UsersDatabase = ReturnType<typeof createUsersDatabase>

/** `name`: that of the database. */
export function createUsersDatabase(find: SourceCore['findDatabase'], name: string) {
  const askServer = async (request: Request): Promise<Reply> => {
    const database = await find('document')
    if (!database) throw new Refusal('upstream_unavailable', { detail: 'no CouchDB is behind the document door' })
    return database.askAs(CARDEA, request)
  }
  const ask = (path: string, request: Omit<Request, 'path'> = {}): Promise<Reply> =>
    askServer({ ...request, path: `/${encodeURIComponent(name)}${path}` })
  const require = async (what: string, path: string, request?: Omit<Request, 'path'>): Promise<Members> => {
    const reply = await ask(path, request)
    if (reply.status === 200 && isJsonObject(reply.body)) return reply.body
    throw new Refusal('upstream_failed', { detail: `CouchDB: ${what}: ${describeReply(reply)}` })
  }
  /** In smaller lists while documents are large. */
  async function listDocuments(ids: readonly string[]): Promise<ReadonlyMap<string, Members>> {
    const request = { method: 'POST', body: { keys: ids }, maxBytes: MAX_LIST_BYTES, timeoutMs: SLOW_MS } as const
    const reply = await ask('/_all_docs?include_docs=true', request)
    if (reply.status === 200 && reply.isTooLarge && ids.length > 1) {
      const half = Math.ceil(ids.length / 2)
      return new Map([...(await listDocuments(ids.slice(0, half))), ...(await listDocuments(ids.slice(half)))])
    }
    const { rows } = reply.status === 200 && isJsonObject(reply.body) ? reply.body : {}
    if (!Array.isArray(rows))
      throw new Refusal('upstream_failed', { detail: `CouchDB: the documents of users: ${describeReply(reply)}` })
    const documents = rows.flatMap((row) => (isJsonObject(row) && isJsonObject(row['doc']) ? [row['doc']] : []))
    return new Map(documents.map((document) => [String(document['_id']), document]))
  }
  return {
    /** `undefined`: the page is too large. */
    async readChanges({ since, limit, waitMs, signal, isBare = false }: FeedQuery) {
      const query = new URLSearchParams({ since, limit: String(limit), style: 'all_docs' })
      if (!isBare) for (const option of ['include_docs', 'conflicts']) query.set(option, 'true')
      if (waitMs > 0)
        for (const [key, value] of Object.entries({ feed: 'longpoll', timeout: waitMs })) query.set(key, String(value))
      const own = { maxBytes: MAX_PAGE_BYTES, timeoutMs: SLOW_MS, signal }
      const reply = await ask(`/_changes?${query}`, own)
      return reply.status === 200 && reply.isTooLarge ? undefined : readPage(reply)
    },
    /** With the revisions before it. `undefined`: there is none, or it was deleted. */
    async findDocument(id: string): Promise<FoundDocument> {
      const query = '?revs_info=true&conflicts=true'
      const reply = await ask(`/${toPath(id)}${query}`, { maxBytes: MAX_DOCUMENT_BYTES })
      if (reply.status === 404 && isMissing(reply)) return undefined
      if (reply.status === 200 && reply.isTooLarge) return 'too large'
      if (reply.status === 200 && isJsonObject(reply.body)) return reply.body
      throw new Refusal('upstream_failed', { detail: `CouchDB: a user document: ${describeReply(reply)}` })
    },
    /** Throws only if nothing was written, or it is not known. */
    async writeDocument(id: string, body: Members): Promise<WrittenDocument> {
      const reply = await ask(`/${toPath(id)}`, { method: 'PUT', body }).catch((cause) => ({ cause }))
      if ('cause' in reply) throw toUnknown(reply.cause)
      if (reply.status === 409) return { kind: 'conflict' }
      if (reply.status >= 500) throw toUnknown(describeReply(reply))
      const code = REFUSED_CHANGES.get(reply.status)
      if (code) throw new Refusal(code, { reason: `CouchDB: ${reasonOf(reply)}` })
      // its reason is the id, which it shows on the document door
      if (reply.status === 413) throw new Refusal('document_too_large', { value: id })
      if (reply.status >= 300)
        throw new Refusal('upstream_failed', { detail: `CouchDB: a change of a user: ${describeReply(reply)}` })
      const { rev } = isJsonObject(reply.body) ? reply.body : {}
      if (typeof rev !== 'string') throw toUnknown('the reply has no revision')
      return { kind: 'written', revision: rev }
    },
    /** Without design documents. */
    async countUsers(): Promise<number> {
      const { doc_count: count } = await require('their number', '')
      const { rows } = await require('design documents', `/_all_docs?${DESIGN_DOCUMENTS}`)
      const isDesign = (row: unknown) => isJsonObject(row) && String(row['id']).startsWith('_design/')
      return typeof count === 'number' && Array.isArray(rows) ? count - rows.filter(isDesign).length : 0
    },
    /** The version of CouchDB; `undefined`: it is another server that speaks its protocol. */
    async findVersion(): Promise<string | undefined> {
      const { status, body } = await askServer({ path: '/' })
      if (status !== 200 || !isJsonObject(body))
        throw new Refusal('upstream_failed', { detail: `CouchDB: its version: status ${status}` })
      return body['couchdb'] === 'Welcome' && typeof body['version'] === 'string' ? body['version'] : undefined
    },
    /** The current revisions of these documents. Those that do not exist are missing. */
    async listRevisions(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const request = { method: 'POST', body: { keys: ids }, maxBytes: MAX_PAGE_BYTES, timeoutMs: SLOW_MS } as const
      const { rows } = await require('the list of users', '/_all_docs', request)
      if (!Array.isArray(rows)) throw new Refusal('upstream_failed', { detail: 'CouchDB: a list without rows' })
      return new Map(rows.flatMap(readRevisionRow))
    },
    /** Those of these documents that exist, by their ids. */
    listDocuments,
    /** Whether users with conflicts can sign in there. */
    async allowsConflicts(): Promise<boolean> {
      const { status, body } = await askServer({ path: '/_node/_local/_config/chttpd_auth/allow_conflicted_user_docs' })
      return status === 200 && body === 'true'
    },
    /** Those of the node that responds. */
    async listAdministrators(): Promise<readonly string[]> {
      const reply = await askServer({ path: '/_node/_local/_config/admins', maxBytes: MAX_PAGE_BYTES })
      // a server that only speaks the protocol of CouchDB has no such options
      if (reply.status === 404) return []
      if (reply.status === 200 && isJsonObject(reply.body)) return Object.keys(reply.body)
      throw new Refusal('upstream_failed', { detail: `CouchDB: its administrators: ${describeReply(reply)}` })
    },
    async readLocal(id: string): Promise<Members | undefined> {
      const reply = await ask(`/_local/${id}`, { maxBytes: MAX_DOCUMENT_BYTES })
      if (reply.status === 404 && isMissing(reply)) return undefined
      if (reply.status === 200 && isJsonObject(reply.body)) return reply.body
      throw new Refusal('upstream_failed', { detail: `CouchDB: the checkpoint: ${describeReply(reply)}` })
    },
    /** Whether it was written: another process may have been faster. */
    async writeLocal(id: string, body: object): Promise<boolean> {
      const reply = await ask(`/_local/${id}`, { method: 'PUT', body })
      if (reply.status === 409) return false
      if (reply.status === 200 || reply.status === 201 || reply.status === 202) return true
      throw new Refusal('upstream_failed', { detail: `CouchDB: the checkpoint: ${describeReply(reply)}` })
    },
  }
}

/** `too large`: for Cardea. `undefined`: there is none. */
export type FoundDocument = Members | 'too large' | undefined

export type WrittenDocument =
  | { readonly kind: 'written'; readonly revision: string }
  /** The document has another revision. */
  | { readonly kind: 'conflict' }

/** What CouchDB says of the document: the client may send another one. */
const REFUSED_CHANGES: ReadonlyMap<number, 'bad_request' | 'forbidden'> = new Map([
  [400, 'bad_request'],
  [403, 'forbidden'],
])

/** No document has an id with half a surrogate pair, which has no UTF-8. */
const toPath = (id: string): string => encodeURIComponent(id.toWellFormed())

const MAYBE_WRITTEN = 'The change was not confirmed: it may have been made. Look at the user before you try again.'

export const toUnknown = (cause: unknown): Refusal =>
  cause instanceof Refusal && cause.code === 'upstream_unavailable'
    ? cause
    : new Refusal('store_unavailable', { reason: MAYBE_WRITTEN, detail: 'a change of a user in CouchDB', cause })

/** A missing database is not a missing document. */
const isMissing = ({ body }: Reply): boolean =>
  isJsonObject(body) && (body['reason'] === 'missing' || body['reason'] === 'deleted')

/** Whether a change that failed so may have been made. */
export const isUnknown = (cause: unknown): boolean => !(cause instanceof Refusal) || cause.code === 'store_unavailable'

function readPage(reply: Reply): ChangesPage {
  const { body, status } = reply
  const { results, last_seq: lastSeq, pending = 0 } = isJsonObject(body) ? body : {}
  if (status === 200 && Array.isArray(results) && (typeof lastSeq === 'string' || typeof lastSeq === 'number'))
    return { rows: results, lastSeq: String(lastSeq), pending: typeof pending === 'number' ? pending : 0 }
  throw new Refusal('upstream_failed', { detail: `CouchDB: the changes of users: ${describeReply(reply)}` })
}

function readRevisionRow(row: unknown): readonly (readonly [string, string])[] {
  const { id, value } = isJsonObject(row) ? row : {}
  const { rev, deleted } = isJsonObject(value) ? value : {}
  return typeof id === 'string' && typeof rev === 'string' && deleted !== true ? [[id, rev]] : []
}

/** In words for the operator. */
export function describeReply({ status, body }: Reply): string {
  const reason = reasonOf({ body })
  return `status ${status}${reason === '' ? '' : `, ${reason}`}`
}

function reasonOf({ body }: Pick<Reply, 'body'>): string {
  const reason = isJsonObject(body) ? body['reason'] : undefined
  return typeof reason === 'string' ? reason.slice(0, 200) : ''
}
