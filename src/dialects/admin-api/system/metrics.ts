// The metrics in the text format of Prometheus: beside the admin API, and on a listener of their own.
import { requireNoAction } from '../../../auth/required-actions.ts'
import { Refusal } from '../../../base/errors.ts'
import { isAnonymous } from '../../../directory/identity.ts'
import { READ_METHODS } from '../../../http/dispatch.ts'
import type { Reply, RequestContext, Route } from '../../../http/request-context.ts'
import { METRICS_PATH } from '../../own-paths.ts'
import { ACCESS, type AdminRoute, hasAllRights } from '../rights.ts'

/** The role that may read metrics and nothing else, as in CouchDB. */
const METRICS_ROLE = '_metrics'

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

function requireMetricsReader(context: RequestContext): void {
  if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
  const { identity } = context.authenticated
  requireNoAction(identity)
  if (!hasAllRights(identity) && !identity.roles.includes(METRICS_ROLE)) throw new Refusal('metrics_required')
}
