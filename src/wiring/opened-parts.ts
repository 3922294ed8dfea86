// What is opened before the doors and closed after them: directory, gateway, limits on password checks, monitor.
import type { PasswordLimits } from '../auth/limits/limits.ts'
import { openLimits, type SharedLimits } from '../auth/limits/share.ts'
import type { SignUpLimits } from '../auth/limits/sign-ups.ts'
import { CacheCounts } from '../base/caches.ts'
import { createSteadyClock, MONOTONIC_CLOCK, SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live, type LiveCell } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { createMonitor, type RunningMonitor } from '../cluster/monitor.ts'
import type { Monitor, SecretsEditor } from '../dialects/admin-api/ports.ts'
import { createLiveEvents, type LiveEvents } from '../dialects/admin-api/system/live-events.ts'
import { createDirectory } from '../directory/create-directory.ts'
import type { Directory } from '../directory/directory.ts'
import { type AccessLog, createAccessLog } from '../http/access-log.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import { createAdministration } from '../live-config/administration.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openTokenSecrets, type TokenSecrets } from '../live-config/secret-rings.ts'
import { createSecretsEditor } from '../live-config/secrets-editor.ts'
import { type CheckHealth, createHealth } from '../observe/health.ts'
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
import { FeedFollower } from '../store/feed.ts'
import { type Gateway, openGateway } from './gateway.ts'
import { toDirectorySettings, toLimitSettings } from './settings.ts'

/** What is opened before the doors, and closed after them. */
export interface OpenedParts {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly guesses: PasswordLimits & SignUpLimits
  /** The limits of accounts, for the administrator. */
  readonly limits: SharedLimits
  readonly tokenSecrets: TokenSecrets
  /** The secrets, for the administrator. */
  readonly secrets: SecretsEditor
  readonly gateway: Gateway
  /** The URLs of all listeners, once there are any. */
  readonly listening: Live<readonly string[]>
  readonly metrics: Metrics
  /** Counts the requests of one door in the metrics. */
  observeRequests(door: string): RequestObserver
  /** Totals and nodes, for the administrator. */
  readonly monitor: Monitor
  readonly checkHealth: CheckHealth
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
export async function openParts(liveConfig: LiveConfig, metrics: Metrics): Promise<ClosableParts> {
  const closers: (() => unknown)[] = []
  const close = async (beforeStore?: () => void) => {
    for (const closePart of closers.toReversed()) await closePart()
    beforeStore?.()
    await liveConfig.kernel.close()
  }
  const closing = <T extends { close(): unknown }>(part: T): T => {
    closers.push(() => part.close())
    return part
  }
  try {
    const base = await openBase({ liveConfig, metrics, closing })
    closers.push(addProcessMetrics(metrics))
    const { guesses, accounts } = closing(openConfiguredLimits(liveConfig))
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
  readonly metrics: Metrics
  /** Returns the part, which is closed with all others. */
  closing<T extends { close(): unknown }>(part: T): T
}

/** The parts that the others are built from. */
async function openBase({ liveConfig, metrics, closing }: BaseDeps) {
  const { log } = liveConfig.kernel
  const tracing = await openTracing(liveConfig)
  if (tracing) closing(tracing)
  const tokenSecrets = await openTokenSecrets(liveConfig)
  closing({ close: () => tokenSecrets.ring.stop() })
  const cacheCounts = new CacheCounts()
  addCacheMetrics(metrics, 'users', cacheCounts)
  const directory = closing(await openDirectory(liveConfig, cacheCounts))
  const gateway = closing(await openGateway({ liveConfig, directory, tokenSecrets, log }))
  const listening = createLive<readonly string[]>([])
  const accessLog = createAccessLog(log, () => liveConfig.get().settings.values.log.access)
  const observeRequests = (door: string) => createRequestObserver(metrics, door)
  const checkHealth = createHealth(() => ({
    directory,
    store: liveConfig.kernel.store,
    rings: listRings({ tokenSecrets, gateway }),
    upstreams: gateway.readiness.checks(),
    audit: liveConfig.kernel.audit,
  }))
  const parts = { liveConfig, directory, tokenSecrets, gateway, listening, checkHealth }
  return { ...parts, metrics, observeRequests, accessLog, tracing, log }
}

type BaseParts = Awaited<ReturnType<typeof openBase>>

const openSecretsEditor = ({ liveConfig, tokenSecrets, gateway }: BaseParts, monitor: RunningMonitor): SecretsEditor =>
  createSecretsEditor({
    liveConfig,
    tokens: tokenSecrets.ring,
    upstream: gateway.ring,
    listDifferingNodes: monitor.listDifferingNodes,
  })

const openLiveEvents = (base: BaseParts, monitor: RunningMonitor, limits: SharedLimits): LiveEvents =>
  createLiveEvents({
    readCounts: monitor.readCounts,
    countLocked: () => limits.listNames().length,
    countFailingUpstreams: async () =>
      (await base.checkHealth()).filter(({ door, problem }) => door !== undefined && problem).length,
    onRecord: (listener) => base.liveConfig.kernel.audit.onRecord(listener),
    onRevoked: base.directory.onRevoked,
  })

const openMonitor = (parts: BaseParts): RunningMonitor =>
  createMonitor({
    store: parts.liveConfig.kernel.store,
    metrics: parts.metrics,
    clock: SYSTEM_CLOCK,
    nodeName: () => parts.liveConfig.get().settings.values.node.name,
    stalenessMs: parts.directory.stalenessMs,
    secrets: () => ({
      ownKey: parts.liveConfig.get().ownKey,
      ringVersions: listRings(parts).map((ring) => ring.get().version),
      cookieSecret: parts.liveConfig.get().settings.values.chttpd_auth.secret,
    }),
    checkHealth: parts.checkHealth,
  })

const listRings = ({ tokenSecrets, gateway }: Pick<OpenedParts, 'tokenSecrets' | 'gateway'>): readonly LiveRing[] =>
  gateway.ring ? [tokenSecrets.ring, gateway.ring] : [tokenSecrets.ring]

/** The libraries of tracing are loaded only here, and only if traces are wanted. */
async function openTracing({ get, kernel: { store, log } }: LiveConfig): Promise<Tracing | undefined> {
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
  const { hasher, store } = liveConfig.kernel
  const { server, upstream } = liveConfig.get().settings.values
  addPartMetrics(metrics, {
    store: store.engine,
    hasher,
    stalenessMs: directory.stalenessMs,
    countStreams: () => gateway.streams.size,
  })
  addAuditMetrics(metrics, () => liveConfig.kernel.audit.listDestinations())
  addCacheMetrics(metrics, 'tokens', tokenSecrets.cache.counts)
  addUpstreamMetrics(metrics, gateway.listServers)
  const secretPaths = {
    'server.jwt-secret-keyfile': server['jwt-secret-keyfile'],
    'server.jwt-secret-folder': server['jwt-secret-folder'],
    'upstream.multi-model-secret-keyfile': upstream['multi-model-secret-keyfile'],
    'upstream.multi-model-secret-folder': upstream['multi-model-secret-folder'],
  }
  addSecretMetrics(metrics, secretPaths, { tokens: tokenSecrets.ring, upstream: gateway.ring })
}

export function openDirectory(liveConfig: LiveConfig, cacheCounts = new CacheCounts()): Promise<Directory> {
  const { store, hasher, events, log } = liveConfig.kernel
  const config = deriveLive(liveConfig, (snapshot) => snapshot.settings.values)
  const settings = deriveLive(config, toDirectorySettings)
  return createDirectory({
    store,
    hasher,
    administration: createAdministration(liveConfig),
    settings: settings.get,
    cacheCounts,
    follow: (options) => new FeedFollower(store, { ...options, clock: MONOTONIC_CLOCK }),
    clock: SYSTEM_CLOCK,
    steadyClock: createSteadyClock(),
    ownKey: () => liveConfig.get().ownKey,
    events,
    log,
  })
}

/** The limits on password checks, with the options of this configuration. */
export function openConfiguredLimits(liveConfig: LiveConfig) {
  const { store, events, log } = liveConfig.kernel
  const settings = deriveLive(liveConfig, (snapshot) => toLimitSettings(snapshot.settings.values))
  return openLimits({ settings: settings.get, store, events, log })
}
