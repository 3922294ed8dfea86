import type { Clock } from '../base/clock.ts'
import type { CounterCell, Metrics } from './metrics.ts'
import { isProbe } from './record-totals.ts'
import { toSafeText } from './security-record.ts'
import type { ServerErrors } from './server-errors.ts'

/** What the metrics read of a request. */
export interface ObservedRequest {
  readonly id: string
  readonly method: string
  readonly target: string
  /** Pattern of the route that handled it. */
  readonly route: string | undefined
  readonly authenticated: { readonly credential: { readonly handler: string } | undefined } | undefined
  /** Milliseconds of `performance.now()`. */
  readonly startedAtMs: number
  readonly forwardedAtMs: number | undefined
}

export interface RequestObserver {
  /** Called once for each request, when the head of its reply is written. */
  onReply(request: ObservedRequest, reply: ObservedReply): void
}

interface ObservedReply {
  readonly status: number
  readonly isForwarded?: true
  /** The code of a failure with a status of 5xx. */
  readonly error?: string
}

/** What the metrics of requests are counted in, and where failures are kept. */
interface RequestRecords {
  readonly metrics: Metrics
  readonly serverErrors: Pick<ServerErrors, 'add'>
  readonly clock: Clock
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'COPY'] as const
const METHOD_INDEX: ReadonlyMap<string, number> = new Map(METHODS.map((method, index) => [method, index]))
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** The counters of one route and handler, by method and class of the status. */
type Counters = (CounterCell | undefined)[]

/**
 * Counts the requests of one door. A call takes 0.11 µs of CPU time (a loop of a million), most of it for the clock: every
 * counter is looked up without building a key.
 */
export function createRequestObserver({ metrics, serverErrors, clock }: RequestRecords, door: string): RequestObserver {
  const decision = metrics.histogram('cardea_decision_seconds', { door })
  const upstream = metrics.histogram('cardea_upstream_seconds', { door })
  const routes = new Map<string, Map<string, Counters>>()
  const findCounters = (route: string, handler: string): Counters => {
    const handlers = routes.get(route) ?? new Map<string, Counters>()
    routes.set(route, handlers)
    const counters = handlers.get(handler) ?? []
    handlers.set(handler, counters)
    return counters
  }
  const createCounter = (labels: { route: string; handler: string; method: number; status: number }) =>
    metrics.counter('cardea_requests_total', {
      door,
      route: labels.route,
      method: METHODS[labels.method] ?? 'other',
      status: STATUS_CLASSES[labels.status] ?? '5xx',
      handler: labels.handler,
    })
  return {
    onReply(request, reply) {
      const now = performance.now()
      const { forwardedAtMs = now } = request
      decision.observe((forwardedAtMs - request.startedAtMs) / 1000)
      if (request.forwardedAtMs !== undefined) upstream.observe((now - forwardedAtMs) / 1000)
      const route = request.route ?? (reply.isForwarded ? 'forwarded' : 'none')
      const handler = request.authenticated?.credential?.handler ?? 'anonymous'
      const method = METHOD_INDEX.get(request.method) ?? METHODS.length
      const status = Math.trunc(reply.status / 100) - 1
      const counters = routes.get(route)?.get(handler) ?? findCounters(route, handler)
      const index = method * STATUS_CLASSES.length + status
      const counter = counters[index] ?? createCounter({ route, handler, method, status })
      counters[index] = counter
      counter.count += 1
      if (reply.status >= 500 && !isProbe(route))
        serverErrors.add({ time: clock.nowMs(), ...toServerError(request, reply, door) })
    },
  }
}

const toServerError = ({ id, method, target }: ObservedRequest, { status, error }: ObservedReply, door: string) => ({
  request: id,
  door,
  method: toSafeText(method),
  path: toSafeText(target.split('?', 1)[0] ?? ''),
  status,
  ...(error !== undefined && { error }),
})
