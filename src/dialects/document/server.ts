/** The endpoints about the server as a whole: its name, its health, its databases. */
import { randomBytes } from 'node:crypto'
import { badRequest, Refusal } from '../../base/errors.ts'
import { findMember } from '../../base/json.ts'
import { PRODUCT } from '../../base/product.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import { READ_METHODS } from '../../http/dispatch.ts'
import type { Reply, RequestContext, RequestHead, RequestIdentity } from '../../http/request-context.ts'
import { findDoorProblem } from '../../observe/health.ts'
import { requireBody, requireJsonObject, toDocumentReply } from './body.ts'
import type { DocumentDeps, UsersDeps } from './deps.ts'
import { DOCUMENT_RIGHTS, type DocumentRoute } from './rights.ts'
import { usersInfo } from './users/database.ts'

export const serverRoutes = (deps: DocumentDeps): readonly DocumentRoute[] => [
  { path: '/_up', right: DOCUMENT_RIGHTS.up, methods: { GET: () => up(deps) }, allow: READ_METHODS },
  ...standInRoutes(deps).map((route) => ({ ...route, isStandIn: true })),
]

/** What a server without databases answers. With an upstream, the database answers these. */
function standInRoutes(deps: DocumentDeps): readonly DocumentRoute[] {
  const { node, users } = deps
  const nodes = [node.nodeName]
  const { open, root, listDatabases } = DOCUMENT_RIGHTS
  const listNames = () => toDocumentReply(200, [users.database])
  const listInfo = (context: RequestContext) => databasesInfo(context, users)
  return [
    { path: '/', right: root, methods: { GET: () => welcome(deps) }, allow: READ_METHODS },
    { path: '/_membership', methods: { GET: () => toDocumentReply(200, { all_nodes: nodes, cluster_nodes: nodes }) } },
    { path: '/_all_dbs', right: listDatabases, methods: { GET: listNames }, allow: READ_METHODS },
    {
      path: '/_dbs_info',
      right: listDatabases,
      methods: { GET: listInfo, POST: listInfo },
      allow: ['GET', 'HEAD', 'POST'],
    },
    { path: '/_uuids', right: open, methods: { GET: uuids }, allow: ['GET'] },
    { path: '/_active_tasks', right: open, methods: { GET: activeTasks }, allow: READ_METHODS },
  ]
}

const welcome = ({ name, version, settings }: DocumentDeps): Reply =>
  toDocumentReply(200, {
    [name.toLowerCase()]: 'Welcome',
    version,
    uuid: settings().couchdb.uuid,
    features: [],
    vendor: PRODUCT,
  })

/** For load balancers. A 404 asks them to send no requests. */
async function up({ settings, checkHealth }: DocumentDeps): Promise<Reply> {
  const { maintenance_mode: mode } = settings().couchdb
  if (mode !== 'false') return toDocumentReply(404, { status: mode === 'nolb' ? 'nolb' : 'maintenance_mode' })
  const failed = findDoorProblem(await checkHealth(), 'document')
  if (failed === undefined) return toDocumentReply(200, { status: 'ok', seeds: {} })
  if (failed.problem?.status !== undefined) return toDocumentReply(404, { status: failed.problem.status })
  throw new Refusal(failed.door ? 'upstream_unavailable' : 'not_serving', { retryAfterSeconds: 1 })
}

async function databasesInfo(context: RequestContext, users: UsersDeps): Promise<Reply> {
  const keys = context.method === 'POST' ? await readKeys(context) : [users.database]
  const describe = async (key: unknown) =>
    key === users.database ? { key, info: await usersInfo(users) } : { key, error: 'not_found' }
  return toDocumentReply(200, await Promise.all(keys.map(describe)))
}

const MAX_KEYS = 100

async function readKeys(context: RequestContext): Promise<readonly unknown[]> {
  const { value } = await requireBody(context)
  const keys = findMember(requireJsonObject(value), 'keys')
  if (!Array.isArray(keys)) throw badRequest('`keys` member must exist.')
  if (keys.length > MAX_KEYS) throw badRequest('`keys` member must not exceed the configured maximum')
  return keys
}

const MAX_UUIDS = 1000

function uuids(context: RequestHead): Reply {
  const text = context.query.get('count') ?? '1'
  const count = Number(text)
  if (!/^\d+$/.test(text)) throw badRequest('count must be a non-negative integer')
  if (count > MAX_UUIDS) throw badRequest('count parameter too large')
  const list = Array.from({ length: count }, () => randomBytes(16).toString('hex'))
  return {
    status: 200,
    headers: [
      ['Cache-Control', 'no-cache'],
      ['Content-Type', 'application/json'],
      ['Expires', 'Mon, 01 Jan 1990 00:00:00 GMT'],
      ['Pragma', 'no-cache'],
    ],
    body: `${JSON.stringify({ uuids: list })}\n`,
  }
}

function activeTasks(context: RequestIdentity): Reply {
  if (!(context.authenticated ?? ANONYMOUS).identity.isAdmin) throw new Refusal('admin_required')
  return toDocumentReply(200, [])
}
