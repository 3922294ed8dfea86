// The small answers drivers and tools ask for before anything else, where no upstream gives them.
import { Refusal } from '../../base/errors.ts'
import type { Handler, Reply, RequestContext, Route } from '../../http/request-context.ts'
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

export interface StatusDeps {
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

export function statusRoutes(deps: StatusDeps): readonly Route[] {
  const { product, settings } = deps
  const get = (path: string, handler: Handler): Route => ({ path, methods: { GET: handler } })
  const version: Handler = (context) => showVersion(deps, context)
  return [
    get('/', () => toMergedReply(200, { product: product.name })),
    get('/_api/version', version),
    get('/_admin/version', version),
    get('/_admin/status', (context) => showStatus(deps, context)),
    modeRoute(deps.mode),
    get('/_admin/server/role', () => toMergedReply(200, { role: ROLES[settings().role] })),
    get('/_admin/server/id', () => toMergedReply(200, { id: `${PREFIXES[settings().role]}-${settings().uuid}` })),
  ]
}

/** Nobody is served where nobody could be let in, or everybody behind this door is down. */
export const availabilityRoute = ({ mode, isServing, isUpstreamDown }: StatusDeps): Route => ({
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

function showVersion({ version, product, settings }: StatusDeps, context: RequestContext): Reply {
  if (settings().isHardened && !mayReadAll(context, settings())) return toJsonReply(200, SERVER)
  const isDetailed = context.query.get('details') === 'true'
  const details = { 'server-version': version, mode: 'server', 'served-by': `${product.name} ${product.version}` }
  return toJsonReply(200, { ...SERVER, version, ...(isDetailed ? { details } : {}) })
}

function showStatus({ version, settings, mode }: StatusDeps, context: RequestContext): Reply {
  if (settings().isHardened && !mayReadAll(context, settings())) throw new Refusal('forbidden')
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
