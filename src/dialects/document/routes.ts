import { Refusal } from '../../base/errors.ts'
import type { Exchange, Reply, Route } from '../../door/exchange.ts'
import { ANONYMOUS } from '../../identity/identity.ts'
import type { DocumentDialectOptions, DocumentSettings } from './dialect.ts'
import { nodeRoutes } from './node.ts'
import { serverRoutes } from './server-routes.ts'
import { usersRoutes } from './users/routes.ts'
import { toJsonReply } from './wire.ts'

export function documentRoutes(options: DocumentDialectOptions): readonly Route[] {
  const { settings } = options
  return [
    { path: '/', methods: { GET: () => welcome(options) }, allow: ['GET', 'HEAD'] },
    { path: '/_up', methods: { GET: () => up(settings()) }, allow: ['GET', 'HEAD'] },
    { path: '/_session', methods: { GET: (exchange) => session(exchange, settings()) }, allow: ['GET', 'HEAD'] },
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

function session(exchange: Exchange, { handlers }: DocumentSettings): Reply {
  const { identity, by } = exchange.authenticated ?? ANONYMOUS
  if (identity.name === null && exchange.query.get('basic') === 'true') {
    throw new Refusal('login_required')
  }
  return toJsonReply(200, {
    ok: true,
    userCtx: { name: identity.name, roles: identity.roles },
    info: { authentication_handlers: handlers, ...(by === null ? {} : { authenticated: by }) },
  })
}
