/** The routes of the users database: the users of the directory as CouchDB documents. */
import type { Methods, Params, Reply, RequestContext } from '../../../http/request-context.ts'
import { toDocumentReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import { DOCUMENT_RIGHTS, type DocumentRoute, rejectUnknownDocumentPath } from '../rights.ts'
import { allDocs } from './all-docs.ts'
import { documentRight, ID_RIGHT, listRight } from './authorize.ts'
import { bulkDocs, bulkGet, missingRevisions, revisionsDiff } from './bulk.ts'
import { getChanges } from './changes.ts'
import { deleteDatabase, ensureFullCommit, getSecurity, putDatabase, putSecurity, usersInfo } from './database.ts'
import { getDocument } from './get.ts'
import { createLocalDocuments, deleteLocal, getLocal, putLocal } from './local.ts'
import { deleteDocument, postDocument, putDocument } from './write.ts'

export function createDocumentUsersRoutes(deps: UsersDeps): readonly DocumentRoute[] {
  const root = `/${deps.database}`
  const { open, admin } = DOCUMENT_RIGHTS
  const list = listRight(deps)
  const listDocs = (context: RequestContext) => allDocs(context, deps)
  const listChanges = (context: RequestContext) => getChanges(context, deps)
  return [
    {
      path: root,
      right: DOCUMENT_RIGHTS.database,
      methods: {
        GET: async () => toDocumentReply(200, await usersInfo(deps)),
        PUT: putDatabase,
        DELETE: (context) => deleteDatabase(context, deps),
        POST: (context) => postDocument(context, deps),
      },
      // quirk: PUT is answered, but not listed
      allow: ['DELETE', 'GET', 'HEAD', 'POST'],
    },
    {
      path: `${root}/_all_docs`,
      right: list,
      methods: { GET: listDocs, POST: listDocs },
      allow: ['GET', 'HEAD', 'POST'],
    },
    {
      path: `${root}/_changes`,
      right: admin,
      methods: { GET: listChanges, POST: listChanges },
      allow: ['GET', 'HEAD', 'POST'],
    },
    { path: `${root}/_bulk_docs`, right: open, methods: { POST: (context) => bulkDocs(context, deps) } },
    { path: `${root}/_bulk_get`, right: open, methods: { POST: (context) => bulkGet(context, deps) } },
    { path: `${root}/_revs_diff`, right: open, methods: { POST: (context) => revisionsDiff(context, deps) } },
    { path: `${root}/_missing_revs`, right: open, methods: { POST: (context) => missingRevisions(context, deps) } },
    { path: `${root}/_ensure_full_commit`, right: open, methods: { POST: ensureFullCommit } },
    { path: `${root}/_security`, right: open, methods: { GET: getSecurity, PUT: putSecurity }, allow: ['PUT', 'GET'] },
    ...documentRoutes(deps, root),
    // nothing below is forwarded
    { path: `${root}/{...}`, right: ID_RIGHT, handle: rejectUnknownDocumentPath },
    { path: `${root}/_all_docs/{...}`, right: list, handle: rejectUnknownDocumentPath },
    { path: `${root}/_changes/{...}`, right: admin, handle: rejectUnknownDocumentPath },
    { path: `${root}/_local/{...}`, right: admin, handle: rejectUnknownDocumentPath },
  ]
}

/** An id with a slash, such as `_design/_auth`, may be sent as two segments or encoded as one. */
function documentRoutes(deps: UsersDeps, root: string): readonly DocumentRoute[] {
  const methods = createDocumentMethods(deps)
  const allow = ['DELETE', 'GET', 'HEAD', 'PUT']
  const toMethods = (toId: (params: Params) => string): Methods =>
    Object.fromEntries(
      Object.entries(methods).map(([method, handle]) => [method, (context, params) => handle(context, toId(params))]),
    )
  return [
    { path: `${root}/{id}`, right: documentRight(deps), methods: toMethods(({ id = '' }) => id), allow },
    {
      path: `${root}/_design/{name}`,
      right: DOCUMENT_RIGHTS.open,
      methods: toMethods(({ name = '' }) => `_design/${name}`),
      allow,
    },
    {
      path: `${root}/_local/{name}`,
      right: DOCUMENT_RIGHTS.admin,
      methods: toMethods(({ name = '' }) => `_local/${name}`),
      allow,
    },
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
