// Paths about the server itself: its version, status and role, and the secrets of its tokens.
import { Refusal } from '../../base/errors.ts'
import { PRODUCT } from '../../base/product.ts'
import type { Handler, Reply, RequestHead, RequestIdentity } from '../../http/request-context.ts'
import type { LiveRing } from '../../keys/live-ring.ts'
import { describeRing } from '../../keys/ring.ts'
import { findDoorProblem } from '../../observe/health.ts'
import { mayReadAll, requireOperator, requireSuperuser } from './access.ts'
import type { MultiModelDeps, StandInDeps } from './deps.ts'
import { modeRoute } from './mode.ts'
import { toDoneReply, toMergedReply, toMultiModelReply, toWrappedReply } from './reply.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRight, type MultiModelRoute } from './rights.ts'

/** Without an upstream, Cardea answers what drivers and tools ask first. */
export function statusRoutes(deps: StandInDeps): readonly MultiModelRoute[] {
  const { settings } = deps
  const { database, server } = MULTI_MODEL_RIGHTS
  const get = (path: string, right: MultiModelRight, handler: Handler): MultiModelRoute => ({
    path,
    right,
    methods: { GET: handler },
  })
  const version: Handler = (context) => showVersion(deps, context)
  return [
    get('/', database, () => toMergedReply(200, { product: PRODUCT.name })),
    get('/_api/version', database, version),
    get('/_admin/version', server, version),
    get('/_admin/status', server, (context) => showStatus(deps, context)),
    modeRoute(deps.mode, settings),
    get('/_admin/server/role', server, () => toMergedReply(200, { role: ROLES[settings().server.role] })),
    get('/_admin/server/id', server, () =>
      toMergedReply(200, { id: `${PREFIXES[settings().server.role]}-${settings().couchdb.uuid}` }),
    ),
  ]
}

/** 503 while the store, or the upstream of this door, cannot be used. */
export const availabilityRoute = ({ mode, checkHealth }: StandInDeps): MultiModelRoute => ({
  path: '/_admin/server/availability',
  right: MULTI_MODEL_RIGHTS.open,
  methods: {
    GET: async () => {
      const failed = findDoorProblem(await checkHealth(), 'multi-model')
      if (failed === undefined) return toMergedReply(200, { mode: mode.get() })
      throw new Refusal(failed.door ? 'upstream_unavailable' : 'not_serving', { retryAfterSeconds: 1 })
    },
  },
})

const ROLES = { single: 'SINGLE', dbserver: 'PRIMARY', agent: 'AGENT' } as const
const PREFIXES = { single: 'SNGL', dbserver: 'PRMR', agent: 'AGNT' } as const

const SERVER = { server: 'arango', license: 'community' }

function showVersion({ version, settings }: StandInDeps, context: RequestHead & RequestIdentity): Reply {
  if (settings().server.harden && !mayReadAll(context, settings())) return toMultiModelReply(200, SERVER)
  const isDetailed = context.query.get('details') === 'true'
  const details = { 'server-version': version, mode: 'server', 'served-by': `${PRODUCT.name} ${PRODUCT.version}` }
  return toMultiModelReply(200, { ...SERVER, version, ...(isDetailed ? { details } : {}) })
}

function showStatus({ version, settings, mode }: StandInDeps, context: RequestIdentity): Reply {
  if (settings().server.harden && !mayReadAll(context, settings())) throw new Refusal('forbidden')
  return toMultiModelReply(200, {
    ...SERVER,
    mode: 'server',
    operationMode: 'server',
    version,
    pid: process.pid,
    foxxApi: false,
    serverInfo: {
      role: ROLES[settings().server.role],
      maintenance: false,
      readOnly: mode.get() === 'readonly',
      writeOpsEnabled: mode.get() === 'default',
      progress: { phase: 'in wait', feature: '', recoveryTick: 0 },
    },
  })
}

/** The secrets that sign and verify tokens, as digests. Only superuser tokens may see or reload them. */
export const secretsRoute = (ring: LiveRing): MultiModelRoute => ({
  path: '/_admin/server/jwt',
  right: MULTI_MODEL_RIGHTS.server,
  methods: {
    GET: (context) => {
      requireSuperuser(context)
      return toWrappedReply(describeRing(ring.get()))
    },
    POST: (context) => reloadSecrets(ring, context),
  },
})

async function reloadSecrets(ring: LiveRing, context: RequestIdentity): Promise<Reply> {
  requireSuperuser(context)
  const load = await ring.reload()
  if (load.kind === 'ring') return toWrappedReply(describeRing(ring.get()))
  const code = load.errorNum === CANNOT_READ ? 'secret_unreadable' : 'bad_request'
  throw new Refusal(code, { reason: load.message })
}

const CANNOT_READ = 34

/** Does nothing: user data is never older than a second. Tools request it all the same. */
export function reloadUsersRoute({ settings }: MultiModelDeps): MultiModelRoute {
  const reload: Handler = (context) => {
    requireOperator(context, settings())
    return toDoneReply(200)
  }
  return { path: '/_admin/auth/reload', right: MULTI_MODEL_RIGHTS.server, methods: { GET: reload, POST: reload } }
}
