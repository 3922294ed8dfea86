// What is opened before the doors and closed after them: directory, gateway, limits on password checks, monitor.
import { createHmac } from 'node:crypto'
import type { PasswordLimits } from '../auth/limits/limits.ts'
import { openLimits } from '../auth/limits/open-limits.ts'
import { CacheCounts } from '../base/caches.ts'
import { createSteadyClock, MONOTONIC_CLOCK, nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live, type LiveCell } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { createMonitor, type RunningMonitor } from '../cluster/monitor.ts'
import { createLiveEvents, type LiveEvents } from '../dialects/admin-api/system/live-events.ts'
import type { Monitor } from '../dialects/admin-api/system/monitor.ts'
import { type Component, listComponents } from '../dialects/admin-api/system/probes.ts'
import type { SecretsEditor } from '../dialects/admin-api/system/secrets-editor.ts'
import type { LimitEditor } from '../dialects/admin-api/users/limit-editor.ts'
import { createDirectory } from '../directory/create-directory.ts'
import type { Directory } from '../directory/directory.ts'
import { createOpenStreams, type OpenStreams } from '../gateway/open-streams.ts'
import { createUpstreamRegistry, type UpstreamRegistry } from '../gateway/upstream-registry.ts'
import { type AccessLog, createAccessLog } from '../http/access-log.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import { createAdministration } from '../live-config/administration.ts'
import { followRetirement } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openTokenSecrets, openUpstreamSecrets, type TokenSecrets } from '../live-config/secret-rings.ts'
import { createSecretsEditor } from '../live-config/secrets-editor.ts'
import { openServiceKey, type ServiceKey } from '../live-config/service-key.ts'
import type { Metrics } from '../observe/metrics.ts'
import {
  addAuditMetrics,
  addCacheMetrics,
  addPartMetrics,
  addSecretMetrics,
  addUpstreamMetrics,
} from '../observe/part-metrics.ts'
import { addProcessMetrics } from '../observe/process-metrics.ts'
import { createRequestObserver, type RequestObserver } from '../observe/request-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import { followChanges } from '../store/feed.ts'
import { toDirectorySettings, toLimitSettings } from './settings.ts'

/** What is opened before the doors, and closed after them. */
export interface OpenedParts {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly guesses: PasswordLimits
  /** The limits of accounts, for the administrator. */
  readonly limits: LimitEditor
  readonly tokenSecrets: TokenSecrets
  /** The secrets, for the administrator. */
  readonly secrets: SecretsEditor
  readonly gateway: Gateway
  /** The URLs of all listeners, once there are any. */
  readonly listening: Live<readonly string[]>
  readonly metrics: Metrics
  /** Counts the requests of one door in the metrics. */
  observeRequests(door: string): RequestObserver
  /** Totals, nodes and health, for the administrator. */
  readonly monitor: Monitor
  /** `undefined` unless `tracing.endpoint` is set. */
  readonly tracing: Tracing | undefined
  /** What happens at this node, for clients that follow it. */
  readonly live: LiveEvents
  /** Logs the requests of every door, if `log.access` is set. */
  readonly accessLog: AccessLog
  readonly log: Log
}

export interface ClosableParts extends OpenedParts {
  readonly listening: LiveCell<readonly string[]>
  /** Closes the last opened part first. `beforeStore` runs when only the store is still open. */
  close(beforeStore?: () => void): Promise<void>
}

/** Opens all parts, or closes those that are open and throws: otherwise they would keep the process running. */
export async function openParts(liveConfig: LiveConfig, log: Log, metrics: Metrics): Promise<ClosableParts> {
  const closers: (() => unknown)[] = []
  const close = async (beforeStore?: () => void) => {
    for (const closePart of closers.toReversed()) await closePart()
    beforeStore?.()
    await liveConfig.close()
  }
  const closing = <T extends { close(): unknown }>(part: T): T => {
    closers.push(() => part.close())
    return part
  }
  try {
    const base = await openBase({ liveConfig, log, metrics, closing })
    closers.push(addProcessMetrics(metrics))
    const { guesses, accounts } = closing(openConfiguredLimits(liveConfig, log))
    const monitor = closing(openMonitor(base))
    // other nodes compare the hash of these secrets before a rotation continues
    base.tokenSecrets.onReload(() => void monitor.heartbeat())
    const secrets = openSecretsEditor(base, monitor)
    const live = closing(openLiveEvents(base, monitor, accounts))
    const parts = { ...base, guesses, limits: accounts, monitor, secrets, live }
    addMetrics(parts)
    return { ...parts, close }
  } catch (error) {
    await close()
    throw error
  }
}

interface BaseDeps {
  readonly liveConfig: LiveConfig
  readonly log: Log
  readonly metrics: Metrics
  /** Returns the part, which is closed with all others. */
  closing<T extends { close(): unknown }>(part: T): T
}

/** The parts that the others are built from. */
async function openBase({ liveConfig, log, metrics, closing }: BaseDeps) {
  const tracing = await openTracing(liveConfig, log)
  if (tracing) closing(tracing)
  const tokenSecrets = await openTokenSecrets(liveConfig, log)
  closing({ close: () => tokenSecrets.ring.stop() })
  const cacheCounts = new CacheCounts()
  addCacheMetrics(metrics, 'users', cacheCounts)
  const directory = closing(await openDirectory(liveConfig, log, cacheCounts))
  const gateway = closing(await openGateway({ liveConfig, directory, tokenSecrets, log }))
  const listening = createLive<readonly string[]>([])
  const accessLog = createAccessLog(log, () => liveConfig.get().settings.values.log.access)
  const observeRequests = (door: string) => createRequestObserver(metrics, door)
  return { liveConfig, directory, tokenSecrets, gateway, listening, metrics, observeRequests, accessLog, tracing, log }
}

type BaseParts = Awaited<ReturnType<typeof openBase>>

const openSecretsEditor = ({ liveConfig, tokenSecrets, gateway }: BaseParts, monitor: RunningMonitor): SecretsEditor =>
  createSecretsEditor({
    liveConfig,
    tokens: tokenSecrets.ring,
    upstream: gateway.ring,
    listDifferingNodes: monitor.listDifferingNodes,
  })

const openLiveEvents = (base: BaseParts, monitor: RunningMonitor, limits: LimitEditor): LiveEvents =>
  createLiveEvents({
    readCounts: monitor.readCounts,
    countLocked: () => limits.listNames().length,
    countFailingUpstreams: () => base.gateway.readiness.list().filter(({ isReady }) => !isReady).length,
    onRecord: base.liveConfig.audit.onRecord,
    onRevoked: base.directory.onRevoked,
  })

type MonitoredParts = Pick<OpenedParts, 'liveConfig' | 'directory' | 'tokenSecrets' | 'gateway' | 'metrics'>

const openMonitor = (parts: MonitoredParts): RunningMonitor =>
  createMonitor({
    store: parts.liveConfig.store,
    metrics: parts.metrics,
    clock: SYSTEM_CLOCK,
    nodeName: () => parts.liveConfig.get().settings.values.node.name,
    stalenessMs: parts.directory.stalenessMs,
    keysHash: () => toKeysHash(parts),
    components: () => toComponents(parts),
  })

/** The parts that must work for this server to be ready. */
export const toComponents = (
  parts: Pick<OpenedParts, 'directory' | 'tokenSecrets' | 'gateway'>,
): readonly Component[] =>
  listComponents({
    readStore: parts.directory.catchUp,
    rings: listRings(parts),
    upstreams: parts.gateway.readiness.checks(),
  })

const listRings = ({ tokenSecrets, gateway }: Pick<OpenedParts, 'tokenSecrets' | 'gateway'>): readonly LiveRing[] =>
  gateway.ring ? [tokenSecrets.ring, gateway.ring] : [tokenSecrets.ring]

/** Keyed, so that the hash does not help to guess a weak cookie secret. All nodes of a store have the same key. */
function toKeysHash({ liveConfig, ...parts }: Pick<OpenedParts, 'liveConfig' | 'tokenSecrets' | 'gateway'>): string {
  const { ownKey, settings } = liveConfig.get()
  const hash = createHmac('sha256', ownKey)
  for (const ring of listRings(parts)) hash.update(`ring:${ring.get().version};`)
  hash.update(`cookies:${settings.values.chttpd_auth.secret}`)
  return hash.digest('hex').slice(0, 16)
}

/** The libraries of tracing are loaded only here, and only if traces are wanted. */
async function openTracing({ get, store }: LiveConfig, log: Log): Promise<Tracing | undefined> {
  const { tracing, node } = get().settings.values
  if (tracing.endpoint === '') return undefined
  const { createTracing } = await import('../observe/open-telemetry.ts')
  return createTracing({
    url: tracing.endpoint,
    sampleRatio: tracing['sample-percent'] / 100,
    node: node.name,
    store: store.engine,
    onFailed: (error) => log.warn('traces could not be sent, and are lost', { endpoint: tracing.endpoint, error }),
  })
}

function addMetrics({ metrics, liveConfig, directory, tokenSecrets, gateway }: OpenedParts): void {
  const { hasher, store, get } = liveConfig
  const { server, upstream } = get().settings.values
  addPartMetrics(metrics, {
    store: store.engine,
    hasher,
    stalenessMs: directory.stalenessMs,
    countStreams: () => gateway.streams.size,
  })
  addAuditMetrics(metrics, liveConfig.audit.listDestinations)
  addCacheMetrics(metrics, 'tokens', tokenSecrets.cache.counts)
  addUpstreamMetrics(metrics, gateway.listServers)
  addSecretMetrics(metrics, {
    paths: {
      'server.jwt-secret-keyfile': server['jwt-secret-keyfile'],
      'server.jwt-secret-folder': server['jwt-secret-folder'],
      'upstream.multi-model-secret-keyfile': upstream['multi-model-secret-keyfile'],
      'upstream.multi-model-secret-folder': upstream['multi-model-secret-folder'],
    },
    rings: { tokens: tokenSecrets.ring, upstream: gateway.ring },
    nowMs: SYSTEM_CLOCK.nowMs,
  })
}

export function openDirectory(liveConfig: LiveConfig, log: Log, cacheCounts = new CacheCounts()): Promise<Directory> {
  const { store, hasher, events } = liveConfig
  const config = deriveLive(liveConfig, (snapshot) => snapshot.settings.values)
  const settings = deriveLive(config, toDirectorySettings)
  return createDirectory({
    store,
    hasher,
    administration: createAdministration(liveConfig, log),
    settings: settings.get,
    cacheCounts,
    follow: (options) => followChanges(store, { ...options, clock: MONOTONIC_CLOCK }),
    clock: SYSTEM_CLOCK,
    steadyClock: createSteadyClock(),
    ownKey: () => liveConfig.get().ownKey,
    events,
    log,
  })
}

/** The limits on password checks, with the options of this configuration. */
export function openConfiguredLimits(liveConfig: LiveConfig, log: Log) {
  const { store, events } = liveConfig
  const settings = deriveLive(liveConfig, (snapshot) => toLimitSettings(snapshot.settings.values))
  return openLimits({ settings: settings.get, store, events, log })
}

export interface Gateway extends UpstreamRegistry {
  readonly streams: OpenStreams
  /** Signs for ArangoDB; `undefined` where no secret is configured. */
  readonly ring: LiveRing | undefined
  /** Signs for services. */
  readonly serviceKey: ServiceKey
  /** Wraps `identify` so that the request records the stream epoch before it is authenticated. */
  withStreamEpoch<T>(identify: (context: RequestContext) => T): (context: RequestContext) => T
}

interface GatewayDeps {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly log: Log
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { liveConfig, log } = deps
  const streams = createOpenStreams()
  const ring = await openUpstreamSecrets(liveConfig, log)
  const serviceKey = openServiceKey(liveConfig)
  const registry = createUpstreamRegistry(log)
  const stopWatching = watchStreams(streams, deps)
  return {
    ...registry,
    streams,
    ring,
    serviceKey,
    withStreamEpoch: (identify) => (context) => {
      context.authenticatedAt ??= streams.epoch
      return identify(context)
    },
    async close() {
      stopWatching()
      ring?.stop()
      await registry.close()
    },
  }
}

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
function watchStreams(streams: OpenStreams, { liveConfig, directory, tokenSecrets }: GatewayDeps): () => void {
  const stopListening = directory.onRevoked(streams.end)
  // In a microtask, after every other listener: streams must be revalidated with the new keys.
  liveConfig.onChange(() => queueMicrotask(streams.revalidateAll))
  tokenSecrets.onReload(() => streams.revalidateAll())
  const retirement = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(SYSTEM_CLOCK))
    if (retirement.isDue()) streams.revalidateAll()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}
