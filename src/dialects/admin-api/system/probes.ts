// For programs that watch the server: whether it runs, whether it can serve requests, and its metrics.

import { requireNoAction } from '../../../auth/required-actions.ts'
import { Refusal } from '../../../base/errors.ts'
import { LIVE_PATH, METRICS_PATH, OWN_PREFIX } from '../../../base/own-paths.ts'
import { hasAllRights, isAnonymous, METRICS_ROLE } from '../../../directory/identity.ts'
import { READ_METHODS } from '../../../http/dispatch.ts'
import type { Reply, RequestIdentity, Route } from '../../../http/request-context.ts'
import { type CheckHealth, type HealthPart, isReady } from '../../../observe/health.ts'
import { toApiReply } from '../json.ts'
import { ACCESS, type AdminRoute } from '../rights.ts'
import type { HealthView } from '../schemas/system.ts'

export interface ProbeDeps {
  readonly checkHealth: CheckHealth
}

export const probeRoutes = ({ checkHealth }: ProbeDeps): readonly AdminRoute[] => [
  {
    path: LIVE_PATH,
    right: ACCESS.open,
    allow: READ_METHODS,
    methods: { GET: () => toApiReply(200, { status: 'ok' }) },
  },
  {
    path: `${OWN_PREFIX}/ready`,
    right: ACCESS.program,
    allow: READ_METHODS,
    methods: { GET: async (context) => describeReadiness(context, await checkHealth()) },
  },
]

/** Only administrators see the reasons: they name servers and files. */
function describeReadiness({ authenticated }: RequestIdentity, parts: readonly HealthPart[]): Reply {
  const reasons = parts.flatMap(({ name, problem }) => (problem ? [[name, problem.reason]] : []))
  const isWorking = isReady(parts)
  return toApiReply(isWorking ? 200 : 503, {
    status: isWorking ? 'ok' : 'failed',
    components: Object.fromEntries(parts.map(({ name, state }) => [name, state])),
    ...(authenticated &&
      hasAllRights(authenticated.identity) &&
      reasons.length > 0 && { reasons: Object.fromEntries(reasons) }),
  })
}

/** The members of `Health` that are the result of the checks. */
export const showParts = (parts: readonly HealthPart[]): Pick<HealthView, 'isReady' | 'parts' | 'upstreams'> => ({
  isReady: isReady(parts),
  parts: parts.map(({ name, state, problem }) => ({
    name,
    state,
    isWorking: state !== 'failed',
    problem: problem?.reason ?? null,
  })),
  upstreams: parts.flatMap(({ door, problem, findings }) =>
    door === undefined ? [] : [{ door, isReady: problem === undefined, findings }],
  ),
})

export interface MetricsDeps {
  renderMetrics(): Promise<{ readonly contentType: string; readonly body: string }>
}

/** For administrators and the role of metrics. */
export const metricsRoute = (deps: MetricsDeps): AdminRoute => ({
  ...openMetricsRoute(METRICS_PATH, deps),
  right: ACCESS.program,
  methods: {
    GET: (context) => {
      requireMetricsReader(context)
      return reply(deps)
    },
  },
})

/** For every client that can reach the listener. */
export const openMetricsRoute = (path: string, deps: MetricsDeps): Route => ({
  path,
  allow: READ_METHODS,
  methods: { GET: () => reply(deps) },
})

async function reply({ renderMetrics }: MetricsDeps): Promise<Reply> {
  const { contentType, body } = await renderMetrics()
  return { status: 200, headers: [['Content-Type', contentType]], body }
}

function requireMetricsReader(context: RequestIdentity): void {
  if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
  const { identity } = context.authenticated
  requireNoAction(identity)
  if (!hasAllRights(identity) && !identity.roles.includes(METRICS_ROLE)) throw new Refusal('metrics_required')
}
