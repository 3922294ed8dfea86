/** The routes of the users database: the users of the directory as CouchDB documents. */
import type { Params, Reply, RequestContext, Route } from '../../../http/request-context.ts'
import { toJsonReply } from '../body.ts'
import { allDocs } from './all-docs.ts'
import { bulkDocs, bulkGet } from './bulk.ts'
import { getChanges } from './changes.ts'
import { deleteDatabase, ensureFullCommit, getSecurity, putDatabase, putSecurity, usersInfo } from './database.ts'
import type { UsersDeps } from './deps.ts'
import { getDocument } from './get.ts'
import { createLocalDocuments, deleteLocal, getLocal, putLocal } from './local.ts'
import { missingRevisions, revisionsDiff } from './revisions-diff.ts'
import { deleteDocument, postDocument, putDocument } from './write.ts'

export function usersRoutes(deps: UsersDeps): readonly Route[] {
  const root = `/${deps.database}`
  const listDocs = (context: RequestContext) => allDocs(context, deps)
  const listChanges = (context: RequestContext) => getChanges(context, deps)
  return [
    {
      path: root,
      methods: {
        GET: async () => toJsonReply(200, await usersInfo(deps)),
        PUT: putDatabase,
        DELETE: (context) => deleteDatabase(context, deps),
        POST: (context) => postDocument(context, deps),
      },
      // quirk: PUT is answered, but not listed
      allow: ['DELETE', 'GET', 'HEAD', 'POST'],
    },
    { path: `${root}/_all_docs`, methods: { GET: listDocs, POST: listDocs }, allow: ['GET', 'HEAD', 'POST'] },
    { path: `${root}/_changes`, methods: { GET: listChanges, POST: listChanges }, allow: ['GET', 'HEAD', 'POST'] },
    { path: `${root}/_bulk_docs`, methods: { POST: (context) => bulkDocs(context, deps) } },
    { path: `${root}/_bulk_get`, methods: { POST: (context) => bulkGet(context, deps) } },
    { path: `${root}/_revs_diff`, methods: { POST: (context) => revisionsDiff(context, deps) } },
    { path: `${root}/_missing_revs`, methods: { POST: (context) => missingRevisions(context, deps) } },
    { path: `${root}/_ensure_full_commit`, methods: { POST: ensureFullCommit } },
    { path: `${root}/_security`, methods: { GET: getSecurity, PUT: putSecurity }, allow: ['PUT', 'GET'] },
    ...documentRoutes(deps, root),
  ]
}

/** An id with a slash, such as `_design/_auth`, may be sent as two segments or encoded as one. */
function documentRoutes(deps: UsersDeps, root: string): readonly Route[] {
  const methods = createDocumentMethods(deps)
  const allow = ['DELETE', 'GET', 'HEAD', 'PUT']
  const toMethods = (toId: (params: Params) => string): Route['methods'] =>
    Object.fromEntries(
      Object.entries(methods).map(([method, handle]) => [method, (context, params) => handle(context, toId(params))]),
    )
  return [
    { path: `${root}/{id}`, methods: toMethods(({ id = '' }) => id), allow },
    { path: `${root}/_design/{name}`, methods: toMethods(({ name = '' }) => `_design/${name}`), allow },
    { path: `${root}/_local/{name}`, methods: toMethods(({ name = '' }) => `_local/${name}`), allow },
  ]
}

type DocumentHandler = (context: RequestContext, id: string) => Reply | Promise<Reply>

function createDocumentMethods(deps: UsersDeps): Readonly<Record<string, DocumentHandler>> {
  const local = createLocalDocuments()
  const isLocal = (id: string) => id.startsWith('_local/')
  return {
    GET: (context, id) => (isLocal(id) ? getLocal(context, id, local) : getDocument(context, id, deps)),
    PUT: (context, id) => (isLocal(id) ? putLocal(context, id, local) : putDocument(context, id, deps)),
    DELETE: (context, id) => (isLocal(id) ? deleteLocal(id, local) : deleteDocument(context, id, deps)),
  }
}

const FOLDERS: ReadonlySet<string> = new Set(['_design', '_local'])

/**
 * Whether no method works on a path below the users database. An id must not begin with `_`, and paths without a route
 * here are not forwarded to the upstream either.
 */
export function isDeadPath(segments: readonly string[], database: string, routes: readonly Route[]): boolean {
  if (segments[0] !== database) return false
  const [, second, third, ...rest] = segments
  if (second === undefined) return false
  if (third !== undefined) return rest.length > 0 || !FOLDERS.has(second)
  const isDocumentId = !second.startsWith('_') || second.includes('/')
  return !isDocumentId && !routes.some(({ path }) => path === `/${database}/${second}`)
}
