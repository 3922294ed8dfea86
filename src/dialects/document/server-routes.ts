import { randomBytes } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { readDecodedBody, requireJson } from './body.ts'
import { toJsonReply } from './wire.ts'

export interface ServerRouteOptions {
  readonly nodeName: string
  /** Name of the one database there is where nothing stands behind this door. */
  readonly usersDatabase: string
  /** What `GET` of that database tells. */
  usersInfo(): Promise<unknown>
}

const MAX_UUIDS = 1000

/** The small answers clients and monitors need of a server that holds no databases of its own. */
export function serverRoutes(options: ServerRouteOptions): readonly Route[] {
  const { nodeName, usersDatabase, usersInfo } = options
  const databasesInfo = async (names: readonly unknown[]) =>
    toJsonReply(200, await Promise.all(names.map((key) => describeDatabase(key, usersDatabase, usersInfo))))
  return [
    {
      path: '/_membership',
      methods: { GET: () => toJsonReply(200, { all_nodes: [nodeName], cluster_nodes: [nodeName] }) },
    },
    { path: '/_all_dbs', methods: { GET: () => toJsonReply(200, [usersDatabase]) }, allow: ['GET', 'HEAD'] },
    {
      path: '/_dbs_info',
      methods: {
        GET: () => databasesInfo([usersDatabase]),
        POST: async (context) => databasesInfo(await readKeys(context)),
      },
      allow: ['GET', 'HEAD', 'POST'],
    },
    { path: '/_uuids', methods: { GET: uuids }, allow: ['GET'] },
    { path: '/_active_tasks', methods: { GET: activeTasks }, allow: ['GET', 'HEAD'] },
  ]
}

async function describeDatabase(key: unknown, known: string, info: () => Promise<unknown>): Promise<unknown> {
  return key === known ? { key, info: await info() } : { key, error: 'not_found' }
}

const MAX_KEYS = 100

async function readKeys(context: RequestContext): Promise<readonly unknown[]> {
  const bytes = await readDecodedBody(context)
  if (bytes === undefined) throw new Refusal('missing_body')
  const { value } = await requireJson(bytes, context)
  if (!isJsonObject(value)) throw new Refusal('bad_request', { about: 'Request body must be a JSON object' })
  const keys = findMember(value, 'keys')
  if (!Array.isArray(keys)) throw new Refusal('bad_request', { about: '`keys` member must exist.' })
  if (keys.length > MAX_KEYS)
    throw new Refusal('bad_request', { about: '`keys` member must not exceed the configured maximum' })
  return keys
}

function uuids(context: RequestContext): Reply {
  const text = context.query.get('count') ?? '1'
  const count = Number(text)
  if (!/^\d+$/.test(text)) throw new Refusal('bad_request', { about: 'count must be a non-negative integer' })
  if (count > MAX_UUIDS) throw new Refusal('bad_request', { about: 'count parameter too large' })
  const list = Array.from({ length: count }, () => randomBytes(16).toString('hex'))
  return {
    status: 200,
    headers: [
      ['Cache-Control', 'must-revalidate, no-cache'],
      ['Content-Type', 'application/json'],
      ['Expires', 'Mon, 01 Jan 1990 00:00:00 GMT'],
      ['Pragma', 'no-cache'],
    ],
    body: `${JSON.stringify({ uuids: list })}\n`,
  }
}

function activeTasks(context: RequestContext): Reply {
  if (!(context.authenticated ?? ANONYMOUS).identity.isAdmin) throw new Refusal('admin_required')
  return toJsonReply(200, [])
}
