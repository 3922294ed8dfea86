// The metrics of the parts of a server: store, hasher, upstream servers, secrets, listeners.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { attempt } from '../base/errors.ts'
import { countOpenFiles, findOpenFileLimit } from '../base/node-internals/open-files.ts'
import { PRODUCT } from '../base/product.ts'
import type { DeliveryFigures } from './audit/delivery.ts'
import type { HealthListener, HealthPart } from './health.ts'
import { HEALTH_STATES } from './health-states.ts'
import type { Labels, MetricOf } from './metric-table.ts'
import type { CounterCell, Metrics } from './metrics.ts'
import type { EventKind } from './security-event-table.ts'
import type { SecurityRecord } from './security-record.ts'
import type { StoreOperation } from './tracing.ts'

/** Counts what the store, the hasher and the security events report. */
export function createPartObserver(metrics: Metrics) {
  const waits = metrics.histogram('cardea_hash_wait_seconds', {})
  const storeTimes = {
    read: metrics.histogram('cardea_store_seconds', { access: 'read' }),
    write: metrics.histogram('cardea_store_seconds', { access: 'write' }),
  }
  return {
    onWaited: (waitedMs: number) => waits.observe(waitedMs / 1000),
    onOperation({ access, isFailed, durationMs }: StoreOperation) {
      storeTimes[access].observe(durationMs / 1000)
      const outcome = isFailed ? 'failed' : 'ok'
      metrics.counter('cardea_store_operations_total', { access, outcome }).count += 1
    },
    onEvent: createEventCounter(metrics),
  }
}

/** Adds metrics of things that count for themselves. At each scrape, every figure of every thing is read. */
function collectFigures<N extends MetricOf<'counter' | 'gauge'>, T>(
  metrics: Metrics,
  list: () => Iterable<T>,
  toLabels: (item: T) => Labels<N>,
  figures: Readonly<Record<N, (item: T) => number>>,
): void {
  for (const [name, read] of Object.entries(figures) as [N, (item: T) => number][])
    metrics.collect(name, () => [...list()].map((item) => ({ labels: toLabels(item), value: read(item) })))
}

export interface MeasuredParts {
  /** The name of the store's engine. */
  readonly store: string
  readonly clock: { skewMs(): number; deletionLagMs(): number }
  readonly hasher: { load(): { readonly running: number; readonly waiting: number; readonly refused: number } }
  stalenessMs(): number
  countStreams(): number
}

/** The values that are read at each scrape. */
export function addPartMetrics(metrics: Metrics, parts: MeasuredParts): void {
  const { store, clock, hasher, stalenessMs, countStreams } = parts
  metrics.collect('cardea_info', () => [{ labels: { version: PRODUCT.version, store }, value: 1 }])
  metrics.collect('cardea_hash_jobs', () => {
    const { running, waiting } = hasher.load()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting },
    ]
  })
  metrics.collectValue('cardea_hash_refused_total', () => hasher.load().refused)
  metrics.collectValue('cardea_store_staleness_seconds', () => stalenessMs() / 1000)
  metrics.collectValue('cardea_clock_skew_seconds', () => clock.skewMs() / 1000)
  metrics.collectValue('cardea_deletion_lag_seconds', () => Math.round(clock.deletionLagMs() / 1000))
  metrics.collectValue('cardea_open_streams', countStreams)
}

/** Returns what tells it the result of each check. */
export function addHealthMetrics(metrics: Metrics): HealthListener {
  let last: readonly HealthPart[] = []
  metrics.collect('cardea_health', () =>
    last.flatMap(({ name: part, state: current }) =>
      HEALTH_STATES.map((state) => ({ labels: { part, state }, value: Number(state === current) })),
    ),
  )
  return (parts) => {
    last = parts
  }
}

type AuditDestination = DeliveryFigures & { readonly destination: string }

export const addAuditMetrics = (metrics: Metrics, list: () => readonly AuditDestination[]): void =>
  collectFigures(metrics, list, ({ destination }) => ({ destination }), {
    cardea_audit_waiting: ({ waiting }) => waiting,
    cardea_audit_lost_total: ({ lost }) => lost,
    cardea_audit_failing: ({ problem }) => Number(problem !== undefined),
  })

/** Adds the uses of one cache, which counts them itself. */
export function addCacheMetrics(
  metrics: Metrics,
  cache: string,
  uses: { readonly hits: number; readonly misses: number },
): void {
  metrics.collect('cardea_cache_uses_total', () => [
    { labels: { cache, result: 'hit' }, value: uses.hits },
    { labels: { cache, result: 'miss' }, value: uses.misses },
  ])
}

export interface UpstreamFigures {
  readonly door: string
  /** The URL of the server, without user and password. */
  readonly url: string
  readonly isUp: boolean
  readonly connections: number
  /** Requests in progress. */
  readonly requests: number
  readonly retries: number
}

export const addUpstreamMetrics = (metrics: Metrics, listServers: () => readonly UpstreamFigures[]): void =>
  collectFigures(metrics, listServers, ({ door, url }) => ({ door, server: url }), {
    cardea_upstream_up: ({ isUp }) => Number(isUp),
    cardea_upstream_connections: ({ connections }) => connections,
    cardea_upstream_requests: ({ requests }) => requests,
    cardea_upstream_retries_total: ({ retries }) => retries,
  })

/**
 * `paths`: the files and folders of secrets, by the option that names them; empty ones are ignored. `rings`: by what they
 * sign; `undefined`: not configured.
 */
export function addSecretMetrics(
  metrics: Metrics,
  paths: Readonly<Record<string, string>>,
  rings: Readonly<Record<string, { readonly problem: unknown } | undefined>>,
): void {
  metrics.collect('cardea_secret_age_seconds', () =>
    Object.entries(paths).flatMap(([option, path]) => {
      const age = path === '' ? undefined : findSecretAge(path, Date.now())
      return age === undefined ? [] : [{ labels: { option }, value: age }]
    }),
  )
  metrics.collect('cardea_secret_reload_failed', () =>
    Object.entries(rings).flatMap(([secrets, ring]) =>
      ring ? [{ labels: { secrets }, value: Number(ring.problem !== undefined) }] : [],
    ),
  )
}

/** Seconds since the newest file was changed, of a file or a folder of files; `undefined`: it cannot be read. */
function findSecretAge(path: string, nowMs: number): number | undefined {
  const newestMs = attempt(() => Math.max(...listFiles(path).map((file) => statSync(file).mtimeMs)))
  return Number.isFinite(newestMs) ? Math.max(nowMs - Number(newestMs), 0) / 1000 : undefined
}

function listFiles(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(path, name))
}

/** Adds the connections of the doors, and the certificates of the listeners. More listeners may be added later. */
export function addListenerMetrics(
  metrics: Metrics,
  doors: Readonly<
    Record<string, { readonly connections: { size: number; refused: number; refusedProxyHeaders: number } }>
  >,
  listeners: readonly { readonly url: string; readonly certificateEndsAtMs?: number | undefined }[],
): void {
  collectFigures(
    metrics,
    () => Object.entries(doors),
    ([door]) => ({ door }),
    {
      cardea_connections: ([, { connections }]) => connections.size,
      cardea_connections_refused_total: ([, { connections }]) => connections.refused,
      cardea_proxy_headers_refused_total: ([, { connections }]) => connections.refusedProxyHeaders,
    },
  )
  metrics.collect('cardea_certificate_expiry_timestamp_seconds', () =>
    listeners.flatMap(({ url, certificateEndsAtMs: endMs }) =>
      endMs === undefined ? [] : [{ labels: { listener: url }, value: Math.floor(endMs / 1000) }],
    ),
  )
}

/** Counts security events. The labels hold no field that a client chooses. */
function createEventCounter(metrics: Metrics): (record: SecurityRecord) => void {
  return (record) => {
    metrics.counter('cardea_security_events_total', { event: record.event }).count += 1
    const counter = OWN_COUNTERS[record.event]?.(metrics, record.fields)
    if (counter) counter.count += 1
  }
}

type FindCounter = (metrics: Metrics, fields: SecurityRecord['fields']) => CounterCell

const textOf = (value: SecurityRecord['fields'][string] | undefined): string =>
  typeof value === 'string' ? value : 'none'

const signIn =
  (outcome: string): FindCounter =>
  (metrics, { door, handler }) =>
    metrics.counter('cardea_sign_ins_total', { door: textOf(door), outcome, handler: textOf(handler) })

const revoked =
  (what: string): FindCounter =>
  (metrics) =>
    metrics.counter('cardea_sessions_revoked_total', { what })

/** The events that have a metric of their own. */
const OWN_COUNTERS: Partial<Record<EventKind, FindCounter>> = {
  'sign-in.accepted': signIn('accepted'),
  'sign-in.refused': signIn('refused'),
  'session.revoked': revoked('all'),
  'session.ended': revoked('one'),
  'session.reused': revoked('one'),
  'sign-out': revoked('sign-out'),
  'limit.started': (metrics, { limit }) => metrics.counter('cardea_limits_reached_total', { limit: textOf(limit) }),
}

const RESOLUTION_MS = 20
const NANOSECONDS = 1e9

/** Adds the figures of the process. Returns a function that stops measuring. */
export function addProcessMetrics(metrics: Metrics, server: { readonly startedMs: number }): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  metrics.collect('cardea_event_loop_delay_seconds', () => {
    // the timer itself takes its resolution, which is no delay
    const toSeconds = (nanoseconds: number) => Math.max(nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000, 0)
    const samples = [50, 99, 100].map((percentile) => ({
      labels: { percentile: String(percentile) },
      value: toSeconds(delay.count === 0 ? 0 : delay.percentile(percentile)),
    }))
    delay.reset()
    // from the first scrape on: a server that is not scraped needs no timer
    delay.enable()
    return samples
  })
  metrics.collectValue('process_resident_memory_bytes', process.memoryUsage.rss)
  metrics.collectValue('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed)
  metrics.collectValue('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.collectValue('process_open_fds', countOpenFiles)
  metrics.collectValue('process_max_fds', findOpenFileLimit)
  metrics.collectValue('process_start_time_seconds', () => server.startedMs / 1000)
  return () => delay.disable()
}
