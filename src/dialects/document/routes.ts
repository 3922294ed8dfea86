import { Refusal } from '../../base/errors.ts'
import type { Reply, Route } from '../../http/request-context.ts'
import type { DocumentDialectOptions } from './deps.ts'
import { nodeRoutes } from './node.ts'
import { serverRoutes } from './server-routes.ts'
import { sessionRoutes } from './session.ts'
import { usersRoutes } from './users/routes.ts'
import { toJsonReply } from './wire.ts'

export function documentRoutes(options: DocumentDialectOptions): readonly Route[] {
  return [
    { path: '/', methods: { GET: () => welcome(options) }, allow: ['GET', 'HEAD'], isStandIn: true },
    { path: '/_up', methods: { GET: () => up(options) }, allow: ['GET', 'HEAD'] },
    ...sessionRoutes(options),
    ...nodeRoutes(options.node, options.upstream),
    ...serverRoutes(options.server).map((route) => ({ ...route, isStandIn: true })),
    ...usersRoutes(options.users),
  ]
}

function welcome({ name, version, product, settings }: DocumentDialectOptions): Reply {
  return toJsonReply(200, {
    [name.toLowerCase()]: 'Welcome',
    version,
    uuid: settings().uuid,
    features: [],
    vendor: product,
  })
}

async function up({ settings, upstream, isServing }: DocumentDialectOptions): Promise<Reply> {
  const { maintenanceMode } = settings()
  if (maintenanceMode !== 'false')
    return toJsonReply(404, { status: maintenanceMode === 'nolb' ? 'nolb' : 'maintenance_mode' })
  if (!(await isServing())) throw new Refusal('not_serving')
  const health = upstream?.isSet() ? await upstream.checkHealth('/_up') : undefined
  if (health?.kind === 'down') throw new Refusal('upstream_unavailable', { retryAfterSeconds: 1 })
  if (health?.kind === 'unready') return toJsonReply(404, { status: health.status })
  return toJsonReply(200, { status: 'ok', seeds: {} })
}
