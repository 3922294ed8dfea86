// What operators observe: whether the parts of the server work, and its metrics.
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { METRICS_PATH, openMetricsRoute } from '../dialects/admin-api/metrics.ts'
import type { Component } from '../dialects/admin-api/probes.ts'
import { createForwardAuthDialect } from '../dialects/forward-auth/dialect.ts'
import type { ServerFigures } from '../gateway/connections.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Listener } from '../http/server.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import type { LiveConfigObserver } from '../live-config/live-config.ts'
import { addCacheMetrics } from '../observe/cache-metrics.ts'
import { createEventCounter } from '../observe/event-metrics.ts'
import type { Metrics } from '../observe/metrics.ts'
import { createRequestObserver } from '../observe/request-metrics.ts'
import { findSecretAge } from '../observe/secret-age.ts'
import type { OpenedParts } from './parts.ts'
import { toDoorLimits, toTrustRules } from './settings.ts'

type ObservedParts = Pick<OpenedParts, 'directory' | 'tokenSecrets' | 'gateway'>

/** The parts that must work for the server to be ready. Services are not among them: each serves only its own paths. */
export const listComponents = ({ directory, tokenSecrets, gateway }: ObservedParts): readonly Component[] => [
  { name: 'store', findProblem: () => findStoreProblem(directory.catchUp) },
  { name: 'keys', findProblem: async () => findKeyProblem([tokenSecrets.ring, gateway.ring]) },
  ...gateway.readiness.checks().map(({ door, findProblem }) => ({ name: `upstream.${door}`, findProblem })),
]

async function findStoreProblem(query: () => Promise<void>): Promise<string | undefined> {
  try {
    await query()
    return undefined
  } catch (error) {
    return (error instanceof Refusal ? error.detail : undefined) ?? 'the store cannot be reached'
  }
}

/** After a failed reload the old secrets stay in use, but a restart would fail and other nodes may have new ones. */
const findKeyProblem = (rings: readonly (LiveRing | undefined)[]): string | undefined =>
  rings.find((ring) => ring?.problem)?.problem?.reason

/** The listener of `metrics.endpoint`. */
export function createMetricsDoor({ liveConfig, metrics, gateway, log }: OpenedParts): Door {
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const deps = { renderMetrics: metrics.render }
  return createDoor({
    dialect: createForwardAuthDialect({
      name: 'metrics',
      routes: [openMetricsRoute('/metrics', deps), openMetricsRoute(METRICS_PATH, deps)],
      statusOf: gateway.forwardAuth.statusOf,
    }),
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
    observer: createRequestObserver(metrics, 'metrics'),
  })
}

/** Counts what the store, the hasher and the security events report. */
export function createObserver(metrics: Metrics): LiveConfigObserver {
  const waits = metrics.histogram('cardea_hash_wait_seconds', {})
  const storeTimes = {
    read: metrics.histogram('cardea_store_seconds', { access: 'read' }),
    write: metrics.histogram('cardea_store_seconds', { access: 'write' }),
  }
  return {
    onWaited: (waitedMs) => waits.observe(waitedMs / 1000),
    onOperation({ access, isFailed, durationMs }) {
      storeTimes[access].observe(durationMs / 1000)
      const outcome = isFailed ? 'failed' : 'ok'
      metrics.counter('cardea_store_operations_total', { access, outcome }).count += 1
    },
    onEvent: createEventCounter(metrics),
  }
}

const single = (value: number) => [{ labels: {}, value }]

/** The values that are read at each scrape. */
export function addPartMetrics({ metrics, liveConfig, directory, tokenSecrets, gateway }: OpenedParts): void {
  const { hasher, store } = liveConfig
  const info = { version: PRODUCT.version, store: store.engine }
  metrics.collect('cardea_info', () => [{ labels: info, value: 1 }])
  metrics.collect('cardea_hash_jobs', () => {
    const { running, waiting } = hasher.load()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting },
    ]
  })
  metrics.collect('cardea_hash_refused_total', () => single(hasher.load().refused))
  metrics.collect('cardea_store_staleness_seconds', () => single(directory.stalenessMs() / 1000))
  metrics.collect('cardea_open_streams', () => single(gateway.streams.size))
  addCacheMetrics(metrics, 'tokens', tokenSecrets.cache.counts)
  addUpstreamMetrics(metrics, gateway)
  addSecretMetrics({ metrics, liveConfig, tokenSecrets, gateway })
}

const UPSTREAM_FIGURES = [
  ['cardea_upstream_up', ({ isUp }: ServerFigures) => Number(isUp)],
  ['cardea_upstream_connections', ({ connections }: ServerFigures) => connections],
  ['cardea_upstream_requests', ({ requests }: ServerFigures) => requests],
  ['cardea_upstream_retries_total', ({ retries }: ServerFigures) => retries],
] as const

function addUpstreamMetrics(metrics: Metrics, { listServers }: OpenedParts['gateway']): void {
  for (const [name, readFigure] of UPSTREAM_FIGURES)
    metrics.collect(name, () =>
      listServers().map(({ door, ...server }) => ({ labels: { door, server: server.url }, value: readFigure(server) })),
    )
}

const SECRET_OPTIONS = [
  ['server', 'jwt-secret-keyfile'],
  ['server', 'jwt-secret-folder'],
  ['upstream', 'multi-model-secret-keyfile'],
  ['upstream', 'multi-model-secret-folder'],
] as const

type SecretParts = Pick<OpenedParts, 'metrics' | 'liveConfig' | 'tokenSecrets' | 'gateway'>

function addSecretMetrics({ metrics, liveConfig, tokenSecrets, gateway }: SecretParts): void {
  const { values } = liveConfig.get().settings
  const files = SECRET_OPTIONS.map(([section, key]) => ({
    option: `${section}.${key}`,
    path: (values[section] as Readonly<Record<string, unknown>>)[key],
  }))
  metrics.collect('cardea_secret_age_seconds', () =>
    files.flatMap(({ option, path }) => {
      const age = typeof path === 'string' && path !== '' ? findSecretAge(path, SYSTEM_CLOCK.nowMs()) : undefined
      return age === undefined ? [] : [{ labels: { option }, value: age }]
    }),
  )
  metrics.collect('cardea_secret_reload_failed', () =>
    Object.entries({ tokens: tokenSecrets.ring, upstream: gateway.ring }).flatMap(([secrets, ring]) =>
      ring ? [{ labels: { secrets }, value: Number(ring.problem !== undefined) }] : [],
    ),
  )
}

/** Adds the open connections of the doors, and the certificates of the listeners. */
export function addListenerMetrics(
  metrics: Metrics,
  doors: Readonly<Record<string, Door>>,
  listeners: readonly Listener[],
): void {
  metrics.collect('cardea_connections', () =>
    Object.entries(doors).map(([door, { countConnections }]) => ({ labels: { door }, value: countConnections() })),
  )
  metrics.collect('cardea_certificate_expiry_timestamp_seconds', () =>
    listeners.flatMap(({ url, certificateEndsAtMs: endMs }) =>
      endMs === undefined ? [] : [{ labels: { listener: url }, value: Math.floor(endMs / 1000) }],
    ),
  )
}
