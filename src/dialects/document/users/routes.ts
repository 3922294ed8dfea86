/**
 * What enters: requests to the database of users, as clients of the document database spell them. What leaves: the
 * users of the directory as documents. Nothing is kept here but the notes of replicators.
 */
import type { Handler, Params, Reply, RequestContext, Route } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import { allDocs } from './all-docs.ts'
import { bulkDocs } from './bulk-docs.ts'
import { bulkGet } from './bulk-get.ts'
import { deleteDatabase, ensureFullCommit, getSecurity, putDatabase, putSecurity, usersInfo } from './database.ts'
import type { UsersDeps } from './deps.ts'
import { getChanges } from './feed.ts'
import { getDocument } from './get.ts'
import { createLocalDocuments, deleteLocal, getLocal, putLocal } from './local.ts'
import { deleteDocument, postDocument, putDocument } from './put.ts'
import { requireJsonType } from './query.ts'
import { missingRevisions, revisionsDiff } from './revisions-diff.ts'

export function usersRoutes(deps: UsersDeps): readonly Route[] {
  const below = (path: string) => `/${deps.database}${path}`
  const given =
    (work: (context: RequestContext, deps: UsersDeps) => Promise<Reply>): Handler =>
    (context) =>
      work(context, deps)
  return [
    {
      path: below(''),
      methods: {
        GET: async () => toJsonReply(200, await usersInfo(deps)),
        PUT: putDatabase,
        DELETE: given(deleteDatabase),
        POST: given(postDocument),
      },
      // quirk: PUT is answered, and not told of
      allow: ['DELETE', 'GET', 'HEAD', 'POST'],
    },
    {
      path: below('/_all_docs'),
      methods: { GET: given(allDocs), POST: given(allDocs) },
      allow: ['GET', 'HEAD', 'POST'],
    },
    {
      path: below('/_changes'),
      methods: { GET: given(getChanges), POST: given(getChanges) },
      allow: ['GET', 'HEAD', 'POST'],
    },
    { path: below('/_bulk_docs'), methods: { POST: given(bulkDocs) } },
    { path: below('/_bulk_get'), methods: { POST: given(bulkGet) } },
    { path: below('/_revs_diff'), methods: { POST: given(revisionsDiff) } },
    { path: below('/_missing_revs'), methods: { POST: given(missingRevisions) } },
    { path: below('/_ensure_full_commit'), methods: { POST: commit } },
    { path: below('/_security'), methods: { GET: getSecurity, PUT: putSecurity }, allow: ['PUT', 'GET'] },
    ...documentRoutes(deps, below),
  ]
}

const commit: Handler = (context) => {
  requireJsonType(context)
  return ensureFullCommit()
}

/** An id with a slash stands as it is (`_design/_auth`) or encoded, in one segment. */
function documentRoutes(deps: UsersDeps, below: (path: string) => string): readonly Route[] {
  const methods = createDocumentMethods(deps)
  const at = (toId: (params: Params) => string): Route['methods'] =>
    Object.fromEntries(
      Object.entries(methods).map(([method, work]) => [method, (context, params) => work(context, toId(params))]),
    )
  return [
    { path: below('/{id}'), methods: at(({ id = '' }) => id), allow: ALLOWED },
    { path: below('/_design/{name}'), methods: at(({ name = '' }) => `_design/${name}`), allow: ALLOWED },
    { path: below('/_local/{name}'), methods: at(({ name = '' }) => `_local/${name}`), allow: ALLOWED },
  ]
}

/**
 * Whether a path below the database leads nowhere, whatever the method: what begins with `_` is no document, and what
 * no route here knows is nobody else's either.
 */
export function leadsNowhere(segments: readonly string[], database: string, routes: readonly Route[]): boolean {
  const [first, second, third, ...rest] = segments
  if (first !== database || second === undefined) return false
  if (third !== undefined) return rest.length > 0 || !FOLDERS.has(second)
  const isPlainId = !second.startsWith('_') || second.includes('/')
  return !isPlainId && !routes.some(({ path }) => path === `/${database}/${second}`)
}

const FOLDERS: ReadonlySet<string> = new Set(['_design', '_local'])

const ALLOWED = ['DELETE', 'GET', 'HEAD', 'PUT']

type Work = (context: RequestContext, id: string) => Reply | Promise<Reply>

function createDocumentMethods(deps: UsersDeps): Readonly<Record<string, Work>> {
  const local = createLocalDocuments()
  const isLocal = (id: string) => id.startsWith('_local/')
  return {
    GET: (context, id) => (isLocal(id) ? getLocal(context, id, local) : getDocument(context, id, deps)),
    PUT: (context, id) => (isLocal(id) ? putLocal(context, id, local) : putDocument(context, id, deps)),
    DELETE: (context, id) => (isLocal(id) ? deleteLocal(id, local) : deleteDocument(context, id, deps)),
  }
}
