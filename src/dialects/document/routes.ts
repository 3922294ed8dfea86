import type { Reply, Route } from '../../door/exchange.ts'
import type { DocumentDialectOptions, DocumentSettings } from './dialect.ts'
import { nodeRoutes } from './node.ts'
import { serverRoutes } from './server-routes.ts'
import { sessionRoutes } from './session.ts'
import { usersRoutes } from './users/routes.ts'
import { toJsonReply } from './wire.ts'

export function documentRoutes(options: DocumentDialectOptions): readonly Route[] {
  const { settings } = options
  return [
    { path: '/', methods: { GET: () => welcome(options) }, allow: ['GET', 'HEAD'] },
    { path: '/_up', methods: { GET: () => up(settings()) }, allow: ['GET', 'HEAD'] },
    ...sessionRoutes(options),
    ...nodeRoutes(options.node),
    ...serverRoutes(options.server),
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

function up({ maintenanceMode }: DocumentSettings): Reply {
  if (maintenanceMode === 'false') return toJsonReply(200, { status: 'ok', seeds: {} })
  return toJsonReply(404, { status: maintenanceMode === 'nolb' ? 'nolb' : 'maintenance_mode' })
}
