// The users database of CouchDB, as Cardea asks it with an identity of its own.
import { Refusal } from '../../base/errors.ts'
import { isJsonObject, type Members } from '../../base/json.ts'
import { CARDEA } from '../../directory/identity.ts'
import type { AskedDatabase, SourceCore } from '../module.ts'
import { describeReply, findTextMember, requireStatus, type ServerReply } from '../reply.ts'

type Request = Omit<Parameters<AskedDatabase['askAs']>[1], 'path'>

/** Asks the server, or below the path of the database. */
type Ask = (path: string, request?: Request) => Promise<ServerReply>

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
  readonly signal?: AbortSignal
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
/** How long a page may take after the wait for a change: a command that ends the copy waits for it. */
const LATE_MS = 10_000

export type UsersDatabase = ReturnType<typeof createUsersDatabase>

/** `name`: that of the database. */
export function createUsersDatabase(find: SourceCore['findDatabase'], name: string) {
  const askServer: Ask = async (path, request) => {
    const database = await find('document')
    if (!database) throw new Refusal('upstream_unavailable', { detail: NONE })
    return database.askAs(CARDEA, { ...request, path })
  }
  const ask: Ask = (path, request) => askServer(`/${encodeURIComponent(name)}${path}`, request)
  return { ...createFeed(ask), ...createDocuments(ask), ...createLists(ask), ...createServer(askServer) }
}

const NONE =
  'no CouchDB is behind the document door (upstream.document). To do without it: cardea directory release --now'

function readBody(what: string, reply: ServerReply): Members {
  const { body } = requireStatus('CouchDB', what, reply, 200)
  if (isJsonObject(body)) return body
  throw new Refusal('upstream_failed', { detail: `CouchDB: ${what}: the reply is not JSON, or too large` })
}

function readRows(what: string, reply: ServerReply): readonly unknown[] {
  const { rows } = readBody(what, reply)
  if (Array.isArray(rows)) return rows
  throw new Refusal('upstream_failed', { detail: `CouchDB: ${what}: a list without rows` })
}

const createFeed = (ask: Ask) => ({
  /** `undefined`: the page is too large. */
  async readChanges({ since, limit, waitMs, signal, isBare = false }: FeedQuery): Promise<ChangesPage | undefined> {
    const query = new URLSearchParams({ since, limit: String(limit), style: 'all_docs' })
    if (!isBare) for (const option of ['include_docs', 'conflicts']) query.set(option, 'true')
    if (waitMs > 0)
      for (const [key, value] of Object.entries({ feed: 'longpoll', timeout: waitMs })) query.set(key, String(value))
    const timeoutMs = waitMs > 0 ? waitMs + LATE_MS : SLOW_MS
    const own = { maxBytes: MAX_PAGE_BYTES, timeoutMs, ...(signal && { signal }) }
    const reply = await ask(`/_changes?${query}`, own)
    return reply.status === 200 && reply.isTooLarge ? undefined : readPage(reply)
  },
})

const CHANGES = 'the changes of users'

function readPage(reply: ServerReply): ChangesPage {
  const { results, last_seq: lastSeq, pending = 0 } = readBody(CHANGES, reply)
  if (Array.isArray(results) && (typeof lastSeq === 'string' || typeof lastSeq === 'number'))
    return { rows: results, lastSeq: String(lastSeq), pending: typeof pending === 'number' ? pending : 0 }
  throw new Refusal('upstream_failed', { detail: `CouchDB: ${CHANGES}: the reply has none` })
}

/** `too large`: for Cardea. `undefined`: there is none. */
export type FoundDocument = Members | 'too large' | undefined

export type WrittenDocument =
  | { readonly kind: 'written'; readonly revision: string }
  /** The document has another revision. */
  | { readonly kind: 'conflict' }

const createDocuments = (ask: Ask) => ({
  /** With the revisions before it. `undefined`: there is none, or it was deleted. */
  async findDocument(id: string): Promise<FoundDocument> {
    const reply = await ask(`/${toPath(id)}?revs_info=true&conflicts=true`, { maxBytes: MAX_DOCUMENT_BYTES })
    if (isMissing(reply)) return undefined
    return reply.status === 200 && reply.isTooLarge ? 'too large' : readBody('a user document', reply)
  },
  /** Throws only if nothing was written, or it is not known. */
  async writeDocument(id: string, body: Members): Promise<WrittenDocument> {
    const reply = await ask(`/${toPath(id)}`, { method: 'PUT', body }).catch((cause) => ({ cause }))
    if ('cause' in reply) throw toUnconfirmed(reply.cause)
    if (reply.status === 409) return { kind: 'conflict' }
    if (reply.status >= 500) throw toUnconfirmed(describeReply(reply))
    const code = REFUSED_CHANGES.get(reply.status)
    if (code) throw new Refusal(code, { reason: `CouchDB: ${findTextMember(reply.body, 'reason') ?? ''}` })
    // its reason is the id, which it shows on the document door
    if (reply.status === 413) throw new Refusal('document_too_large', { value: id })
    requireStatus('CouchDB', 'a change of a user', reply, 200, 201, 202)
    const revision = findTextMember(reply.body, 'rev')
    if (revision === undefined) throw toUnconfirmed('the reply has no revision')
    return { kind: 'written', revision }
  },
  /** A document that is not replicated. */
  async readLocal(id: string): Promise<Members | undefined> {
    const reply = await ask(`/_local/${id}`, { maxBytes: MAX_DOCUMENT_BYTES })
    return isMissing(reply) ? undefined : readBody('the checkpoint', reply)
  },
  /** Whether it was written: another process may have been faster. */
  async writeLocal(id: string, body: object): Promise<boolean> {
    const reply = await ask(`/_local/${id}`, { method: 'PUT', body })
    return requireStatus('CouchDB', 'the checkpoint', reply, 200, 201, 202, 409).status !== 409
  },
})

/** What CouchDB says of the document: the client may send another one. */
const REFUSED_CHANGES: ReadonlyMap<number, 'bad_request' | 'forbidden'> = new Map([
  [400, 'bad_request'],
  [403, 'forbidden'],
])

/** No document has an id with half a surrogate pair, which has no UTF-8. */
const toPath = (id: string): string => encodeURIComponent(id.toWellFormed())

/** A missing database is not a missing document. */
const isMissing = ({ status, body }: ServerReply): boolean =>
  status === 404 && MISSING.has(findTextMember(body, 'reason'))

const MISSING: ReadonlySet<string | undefined> = new Set(['missing', 'deleted'])

const MAYBE_WRITTEN = 'The change was not confirmed: it may have been made. Look at the user before you try again.'

export const toUnconfirmed = (cause: unknown): Refusal =>
  cause instanceof Refusal && cause.code === 'upstream_unavailable'
    ? cause
    : new Refusal('store_unavailable', { reason: MAYBE_WRITTEN, detail: 'a change of a user in CouchDB', cause })

/** Whether a change that failed so may have been made. */
export const mayBeWritten = (cause: unknown): boolean =>
  !(cause instanceof Refusal) || cause.code === 'store_unavailable'

function createLists(ask: Ask) {
  const listKeys = (path: string, ids: readonly string[], maxBytes: number): Promise<ServerReply> =>
    ask(path, { method: 'POST', body: { keys: ids }, maxBytes, timeoutMs: SLOW_MS })
  /** Those of these documents that exist, by their ids. In smaller lists while documents are large. */
  async function listDocuments(ids: readonly string[]): Promise<ReadonlyMap<string, Members>> {
    const reply = await listKeys('/_all_docs?include_docs=true&conflicts=true', ids, MAX_LIST_BYTES)
    if (reply.status === 200 && reply.isTooLarge && ids.length > 1) {
      const half = Math.ceil(ids.length / 2)
      return new Map([...(await listDocuments(ids.slice(0, half))), ...(await listDocuments(ids.slice(half)))])
    }
    const rows = readRows('the documents of users', reply)
    const documents = rows.flatMap((row) => (isJsonObject(row) && isJsonObject(row['doc']) ? [row['doc']] : []))
    return new Map(documents.map((document) => [String(document['_id']), document]))
  }
  return {
    listDocuments,
    /** The current revisions of these documents. Those that do not exist are missing. */
    async listRevisions(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = readRows('the list of users', await listKeys('/_all_docs', ids, MAX_PAGE_BYTES))
      return new Map(rows.flatMap(readRevisionRow))
    },
    /** Without design documents. */
    async countUsers(): Promise<number> {
      const { doc_count: count } = readBody('the number of users', await ask(''))
      const designs = readRows('design documents', await ask(`/_all_docs?${DESIGN_DOCUMENTS}`))
      const isDesign = (row: unknown) => isJsonObject(row) && String(row['id']).startsWith('_design/')
      return typeof count === 'number' ? count - designs.filter(isDesign).length : 0
    },
  }
}

function readRevisionRow(row: unknown): readonly (readonly [string, string])[] {
  const { id, value } = isJsonObject(row) ? row : {}
  const { rev, deleted } = isJsonObject(value) ? value : {}
  return typeof id === 'string' && typeof rev === 'string' && deleted !== true ? [[id, rev]] : []
}

const createServer = (askServer: Ask) => ({
  /** The version of CouchDB; `undefined`: it is another server that speaks its protocol. */
  async findVersion(): Promise<string | undefined> {
    const greeting = readBody('its version', await askServer('/'))
    return greeting['couchdb'] === 'Welcome' ? findTextMember(greeting, 'version') : undefined
  },
  /** Whether users with conflicts can sign in there. */
  async allowsConflicts(): Promise<boolean> {
    const { status, body } = await askServer('/_node/_local/_config/chttpd_auth/allow_conflicted_user_docs')
    return status === 200 && body === 'true'
  },
  /** Those of the node that responds. */
  async listAdministrators(): Promise<readonly string[]> {
    const reply = await askServer('/_node/_local/_config/admins', { maxBytes: MAX_PAGE_BYTES })
    // a server that only speaks the protocol of CouchDB has no such options
    return reply.status === 404 ? [] : Object.keys(readBody('its administrators', reply))
  },
})
