// The metrics of the parts of a server: store, hasher, upstream servers, secrets, listeners.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PRODUCT } from '../base/product.ts'
import { createEventCounter } from './event-metrics.ts'
import type { Metrics } from './metrics.ts'

export interface StoreOperation {
  readonly access: 'read' | 'write'
  readonly isFailed: boolean
  readonly durationMs: number
}

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

export interface MeasuredParts {
  /** The name of the store's engine. */
  readonly store: string
  readonly hasher: { load(): { readonly running: number; readonly waiting: number; readonly refused: number } }
  stalenessMs(): number
  countStreams(): number
}

const single = (value: number) => [{ labels: {}, value }]

/** The values that are read at each scrape. */
export function addPartMetrics(metrics: Metrics, { store, hasher, stalenessMs, countStreams }: MeasuredParts): void {
  metrics.collect('cardea_info', () => [{ labels: { version: PRODUCT.version, store }, value: 1 }])
  metrics.collect('cardea_hash_jobs', () => {
    const { running, waiting } = hasher.load()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting },
    ]
  })
  metrics.collect('cardea_hash_refused_total', () => single(hasher.load().refused))
  metrics.collect('cardea_store_staleness_seconds', () => single(stalenessMs() / 1000))
  metrics.collect('cardea_open_streams', () => single(countStreams()))
}

export interface AuditDestination {
  readonly destination: string
  readonly waiting: number
  readonly lost: number
  readonly problem: string | undefined
}

export function addAuditMetrics(metrics: Metrics, listDestinations: () => readonly AuditDestination[]): void {
  const collect = (name: AuditMetric, read: (figures: AuditDestination) => number) =>
    metrics.collect(name, () =>
      listDestinations().map((figures) => ({ labels: { destination: figures.destination }, value: read(figures) })),
    )
  collect('cardea_audit_waiting', ({ waiting }) => waiting)
  collect('cardea_audit_lost_total', ({ lost }) => lost)
  collect('cardea_audit_failing', ({ problem }) => Number(problem !== undefined))
}

type AuditMetric = 'cardea_audit_waiting' | 'cardea_audit_lost_total' | 'cardea_audit_failing'

interface CacheUses {
  readonly hits: number
  readonly misses: number
}

/** Adds the uses of one cache, which counts them itself. */
export function addCacheMetrics(metrics: Metrics, cache: string, uses: CacheUses): void {
  metrics.collect('cardea_cache_uses_total', () => [
    { labels: { cache, result: 'hit' }, value: uses.hits },
    { labels: { cache, result: 'miss' }, value: uses.misses },
  ])
}

export interface UpstreamFigures {
  readonly door: string
  readonly url: string
  readonly isUp: boolean
  readonly connections: number
  readonly requests: number
  readonly retries: number
}

const UPSTREAM_METRICS = [
  ['cardea_upstream_up', ({ isUp }: UpstreamFigures) => Number(isUp)],
  ['cardea_upstream_connections', ({ connections }: UpstreamFigures) => connections],
  ['cardea_upstream_requests', ({ requests }: UpstreamFigures) => requests],
  ['cardea_upstream_retries_total', ({ retries }: UpstreamFigures) => retries],
] as const

export function addUpstreamMetrics(metrics: Metrics, listServers: () => readonly UpstreamFigures[]): void {
  for (const [name, readFigure] of UPSTREAM_METRICS)
    metrics.collect(name, () =>
      listServers().map((server) => ({ labels: { door: server.door, server: server.url }, value: readFigure(server) })),
    )
}

export interface MeasuredSecrets {
  /** The files and folders of secrets, by the option that names them. Empty paths are ignored. */
  readonly paths: Readonly<Record<string, string>>
  /** By what they sign; `undefined`: not configured. */
  readonly rings: Readonly<Record<string, { readonly problem: unknown } | undefined>>
  nowMs(): number
}

export function addSecretMetrics(metrics: Metrics, { paths, rings, nowMs }: MeasuredSecrets): void {
  metrics.collect('cardea_secret_age_seconds', () =>
    Object.entries(paths).flatMap(([option, path]) => {
      const age = path === '' ? undefined : findSecretAge(path, nowMs())
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
  try {
    const newestMs = Math.max(...listFiles(path).map((file) => statSync(file).mtimeMs))
    return Number.isFinite(newestMs) ? Math.max(nowMs - newestMs, 0) / 1000 : undefined
  } catch {
    return undefined
  }
}

function listFiles(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(path, name))
}

export interface MeasuredListeners {
  readonly doors: Readonly<Record<string, { countConnections(): number; countRefused(): number }>>
  /** More may be added later. */
  readonly listeners: readonly { readonly url: string; readonly certificateEndsAtMs?: number | undefined }[]
}

/** Adds the open connections of the doors, and the certificates of the listeners. */
export function addListenerMetrics(metrics: Metrics, { doors, listeners }: MeasuredListeners): void {
  metrics.collect('cardea_connections', () =>
    Object.entries(doors).map(([door, each]) => ({ labels: { door }, value: each.countConnections() })),
  )
  metrics.collect('cardea_connections_refused_total', () =>
    Object.entries(doors).map(([door, each]) => ({ labels: { door }, value: each.countRefused() })),
  )
  metrics.collect('cardea_certificate_expiry_timestamp_seconds', () =>
    listeners.flatMap(({ url, certificateEndsAtMs: endMs }) =>
      endMs === undefined ? [] : [{ labels: { listener: url }, value: Math.floor(endMs / 1000) }],
    ),
  )
}
