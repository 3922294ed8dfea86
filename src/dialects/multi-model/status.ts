// The small answers drivers and tools ask for before anything else, where no upstream gives them.
import { Refusal } from '../../base/errors.ts'
import type { Exchange, Handler, Reply, Route } from '../../http/request-context.ts'
import type { GateSettings } from './gate.ts'
import { modeRoute, type ServerMode } from './mode.ts'
import { mayReadAll } from './rights.ts'
import { toJsonReply, toMergedReply } from './wire.ts'

export interface StatusSettings extends GateSettings {
  readonly role: 'single' | 'dbserver' | 'agent'
  /** Versions and figures are for who manages the server. */
  readonly isHardened: boolean
  /** Names this deployment. */
  readonly uuid: string
}

export interface StatusNeeds {
  /** The version of the interface told to clients. */
  readonly version: string
  readonly product: { readonly name: string; readonly version: string }
  settings(): StatusSettings
  readonly mode: ServerMode
  /** Whether enough is known of users to let anybody in. */
  isServing(): Promise<boolean>
  /** Whether there is somebody behind this door and nobody of them answers. */
  isUpstreamDown?(): Promise<boolean>
}

export function statusRoutes(needs: StatusNeeds): readonly Route[] {
  const { product, settings } = needs
  const get = (path: string, handler: Handler): Route => ({ path, methods: { GET: handler } })
  const version: Handler = (exchange) => showVersion(needs, exchange)
  return [
    get('/', () => toMergedReply(200, { product: product.name })),
    get('/_api/version', version),
    get('/_admin/version', version),
    get('/_admin/status', (exchange) => showStatus(needs, exchange)),
    modeRoute(needs),
    get('/_admin/server/role', () => toMergedReply(200, { role: ROLES[settings().role] })),
    get('/_admin/server/id', () => toMergedReply(200, { id: `${PREFIXES[settings().role]}-${settings().uuid}` })),
  ]
}

/** Nobody is served where nobody could be let in, or everybody behind this door is down. */
export const availabilityRoute = ({ mode, isServing, isUpstreamDown }: StatusNeeds): Route => ({
  path: '/_admin/server/availability',
  methods: {
    GET: async () => {
      if (!(await isServing())) throw new Refusal('not_serving')
      if (await isUpstreamDown?.()) throw new Refusal('upstream_unavailable', { retryAfterSeconds: 1 })
      return toMergedReply(200, { mode: mode.get() })
    },
  },
})

const ROLES = { single: 'SINGLE', dbserver: 'PRIMARY', agent: 'AGENT' } as const
const PREFIXES = { single: 'SNGL', dbserver: 'PRMR', agent: 'AGNT' } as const

const SERVER = { server: 'arango', license: 'community' }

function showVersion({ version, product, settings }: StatusNeeds, exchange: Exchange): Reply {
  if (settings().isHardened && !mayReadAll(exchange, settings())) return toJsonReply(200, SERVER)
  const isDetailed = exchange.query.get('details') === 'true'
  const details = { 'server-version': version, mode: 'server', 'served-by': `${product.name} ${product.version}` }
  return toJsonReply(200, { ...SERVER, version, ...(isDetailed ? { details } : {}) })
}

function showStatus({ version, settings, mode }: StatusNeeds, exchange: Exchange): Reply {
  if (settings().isHardened && !mayReadAll(exchange, settings())) throw new Refusal('forbidden')
  return toJsonReply(200, {
    ...SERVER,
    mode: 'server',
    operationMode: 'server',
    version,
    pid: process.pid,
    foxxApi: false,
    serverInfo: {
      role: ROLES[settings().role],
      maintenance: false,
      readOnly: mode.get() === 'readonly',
      writeOpsEnabled: mode.get() === 'default',
      progress: { phase: 'in wait', feature: '', recoveryTick: 0 },
    },
  })
}
