// What the doors share. It is opened before them, and closed after them.
import { extname } from 'node:path'
import { openLimits } from '../auth/limits/share.ts'
import { CacheCounts } from '../base/caches.ts'
import { MONOTONIC_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live } from '../base/live.ts'
import { openMonitor } from '../cluster/monitor.ts'
import type { Config } from '../config/options.ts'
import { createLiveEvents } from '../dialects/admin-api/system/live-events.ts'
import { createDirectory, type Directory } from '../directory/directory.ts'
import type { ToClaims } from '../gateway/identity-headers.ts'
import { createAccessLog } from '../http/access-log.ts'
import type { RelayRules } from '../http/dispatch.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import { createAdministration } from '../live-config/administration.ts'
import { createCertificateCheck } from '../live-config/certificates.ts'
import { listTlsSources } from '../live-config/endpoints.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openTokenSecrets, toSecretSource } from '../live-config/secret-rings.ts'
import { createSecretsOverview } from '../live-config/secrets-overview.ts'
import { createHealth, createHealthLog, createWarning, type HealthCheck } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { createTracing as create } from '../observe/open-telemetry.ts'
import {
  addAuditMetrics,
  addCacheMetrics,
  addHealthMetrics,
  addPartMetrics,
  addProcessMetrics,
  addSecretMetrics,
  addUpstreamMetrics,
} from '../observe/part-metrics.ts'
import { createRequestObserver } from '../observe/request-metrics.ts'
import { createServerErrors } from '../observe/server-errors.ts'
import type { Tracing } from '../observe/tracing.ts'
import { FeedFollower } from '../store/feed.ts'
import { openGateway } from './gateway.ts'
import { toDirectorySettings, toDoorLimits, toLimitSettings, toTrustRules } from './settings.ts'
import { createSignInParts } from './sign-in.ts'

/** Of the main thread. */
export type Parts = Awaited<ReturnType<typeof openParts>>

/** Of a worker thread, which leaves the paths that need the others to the main thread. */
export type WorkerParts = Base &
  ReturnType<typeof createSignInParts> &
  Pick<Parts, 'observeRequests' | 'accessLog' | 'threads' | 'checkHealth'> & {
    /** How each door leaves requests to the main thread. */
    relayOf(door: string): RelayRules
  }

/** What a door is built from. */
export type DoorParts = Parts | WorkerParts

/** Opens all parts, or closes those that are open and throws: otherwise they would keep the process running. */
export async function openParts(liveConfig: LiveConfig, metrics: Metrics, toClaims?: ToClaims) {
  const closers: (() => unknown)[] = []
  /** Closes the last opened part first. `beforeStore` runs when only the store is still open. */
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
    const limits = closing(openConfiguredLimits(liveConfig))
    const opened = await openBase(liveConfig, metrics, closing, { guesses: limits.guesses, toClaims })
    closers.push(addProcessMetrics(metrics))
    const signIn = createSignInParts(opened)
    const own = await openServerParts({ ...opened, ...signIn }, limits.accounts, closing)
    const parts = { ...opened, ...own, ...signIn }
    addMetrics(parts)
    return { ...parts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the part, which is closed with all others. */
export type Closing = <T extends { close(): unknown }>(part: T) => T

export type Base = Awaited<ReturnType<typeof openBase>>

interface BaseOptions {
  readonly toClaims?: ToClaims | undefined
  readonly guesses: ReturnType<typeof openConfiguredLimits>['guesses']
}

/** The parts that the others are built from. */
export async function openBase(
  liveConfig: LiveConfig,
  metrics: Metrics,
  closing: Closing,
  { toClaims, guesses }: BaseOptions,
) {
  const { kernel } = liveConfig
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const tracing = await openTracing(config.get(), kernel)
  if (tracing) closing(tracing)
  const tokenSecrets = await openTokenSecrets(liveConfig)
  closing({ close: () => tokenSecrets.ring.stop() })
  const cacheCounts = new CacheCounts()
  addCacheMetrics(metrics, 'users', cacheCounts)
  const directory = closing(await openDirectory(liveConfig, cacheCounts))
  const gateway = closing(await openGateway(liveConfig, directory, tokenSecrets, toClaims))
  const rings = gateway.ring ? [tokenSecrets.ring, gateway.ring] : [tokenSecrets.ring]
  return {
    ...kernel,
    liveConfig,
    config,
    metrics,
    serverErrors: createServerErrors(),
    tracing,
    tokenSecrets,
    directory,
    gateway,
    guesses,
    rings,
  }
}

const OPEN_TELEMETRY = ['api', 'core', 'exporter-trace-otlp-http', 'resources', 'sdk-trace']
const NEEDS_OPEN_TELEMETRY = `tracing.endpoint: OpenTelemetry is not installed. Run npm install ${OPEN_TELEMETRY.map((name) => `@opentelemetry/${name}`).join(' ')} where Cardea is installed`

/** The libraries of tracing are loaded only here, and only if traces are wanted. */
async function openTracing({ tracing, node }: Config, { store, log }: Kernel): Promise<Tracing | undefined> {
  if (tracing.endpoint === '') return undefined
  // not a literal: a bundler would look for the libraries, which may not be installed
  const { href } = new URL(`../observe/open-telemetry${extname(import.meta.url)}`, import.meta.url)
  const loaded: Promise<{ readonly createTracing: typeof create }> = import(href)
  const { createTracing } = await loaded.catch((error) => {
    throw error.code === 'ERR_MODULE_NOT_FOUND' ? new StartError(NEEDS_OPEN_TELEMETRY, { cause: error }) : error
  })
  return createTracing({
    url: tracing.endpoint,
    sampleRatio: tracing['sample-percent'] / 100,
    node: node.name,
    store: store.engine,
    onFailed: (error) => log.warn('traces could not be sent, and are lost', { endpoint: tracing.endpoint, error }),
  })
}

export function openDirectory(liveConfig: LiveConfig, cacheCounts = new CacheCounts()): Promise<Directory> {
  const { store } = liveConfig.kernel
  // a change of them takes effect at the next start
  const providers = liveConfig.get().settings.open.provider
  return createDirectory({
    ...liveConfig.kernel,
    administration: createAdministration(liveConfig),
    settings: deriveLive(liveConfig, ({ settings }) => toDirectorySettings(settings.values, providers)).get,
    cacheCounts,
    follow: (options) => new FeedFollower(store, { ...options, clock: MONOTONIC_CLOCK }),
    ownKey: () => liveConfig.get().ownKey,
  })
}

/** The limits on password checks, with the options of this configuration. */
export function openConfiguredLimits(liveConfig: LiveConfig) {
  const settings = deriveLive(liveConfig, ({ settings }) => toLimitSettings(settings.values)).get
  return openLimits({ ...liveConfig.kernel, settings })
}

interface RunningWorkers {
  /** Starts to replace all of them. */
  roll(): void
  /** Why fewer serve than should. */
  check(): string | undefined
}

/** With the parts that requests are authenticated with. */
type SignedInBase = Base & ReturnType<typeof createSignInParts>

/** What only a running server has, mostly for its administrator. */
async function openServerParts(
  base: SignedInBase,
  limits: ReturnType<typeof openConfiguredLimits>['accounts'],
  closing: Closing,
) {
  const { liveConfig, config, metrics, directory, tokenSecrets, gateway, rings, audit } = base
  const workers = createLive<RunningWorkers | undefined>(undefined)
  const listOthers = createOtherChecks(base, workers)
  const nodeChecks = createLive<readonly HealthCheck[]>([])
  const checkHealth = createHealth(
    () => ({ directory, store: base.store, rings, audit, others: [...listOthers(), ...nodeChecks.get()] }),
    [createHealthLog(base.log), addHealthMetrics(metrics)],
  )
  const monitor = closing(
    await openMonitor({
      store: base.store,
      metrics,
      serverErrors: base.serverErrors,
      clock: base.clock,
      nodeName: () => config.get().node.name,
      stalenessMs: directory.stalenessMs,
      secrets: () => ({
        ownKey: liveConfig.get().ownKey,
        tokens: tokenSecrets.ring.get(),
        upstream: gateway.ring?.get(),
        cookies: base.cookieSecrets.accepted().map((secret) => secret.toString('base64')),
      }),
      checkHealth,
    }),
  )
  nodeChecks.set(monitor.checks)
  // other nodes see at once which of them have loaded new secrets
  tokenSecrets.onReload(() => void monitor.heartbeat())
  liveConfig.onChange(() => void monitor.heartbeat())
  const live = closing(
    createLiveEvents({
      clock: base.clock,
      readCounts: monitor.readCounts,
      countLocked: () => limits.listNames().length,
      countFailingUpstreams: async () =>
        (await checkHealth()).filter(({ door, problem }) => door !== undefined && problem).length,
      onRecord: (listener) => audit.onRecord(listener),
      onRevoked: directory.onRevoked,
    }),
  )
  return {
    monitor,
    /** The limits of accounts, for the administrator. */
    limits,
    /** What happens at this node, for clients that follow it. */
    live,
    secrets: createSecretsOverview(liveConfig, tokenSecrets.ring, gateway.ring),
    /** The URLs of all listeners, once there are any. */
    listening: createLive<readonly string[]>([]),
    observeRequests: (door: string) => createRequestObserver(base, door),
    accessLog: createAccessLog(base.log, () => config.get().log.access),
    checkHealth,
    /** The worker threads, once there are any. */
    workers,
    /** How many threads share the connections to the upstreams. */
    threads: 1,
    relayOf: undefined,
  }
}

/** The clock, and the parts that not every server has. */
function createOtherChecks(
  { config, gateway, providers, clock }: SignedInBase,
  workers: Live<RunningWorkers | undefined>,
) {
  const findClockProblem = async () => clock.findProblem(config.get().store['max-clock-skew'] * 1000)
  const certificates = createCertificateCheck(config.get, clock)
  const byName = new Map([...providers.values()].map((provider) => [provider.name, provider]))
  const providerChecks = [...byName].map(([name, { keys }]) => createWarning(`provider.${name}`, keys.check))
  return (): readonly HealthCheck[] => {
    const running = workers.get()
    return [
      { name: 'clock', find: findClockProblem },
      ...gateway.readiness.checks(),
      ...providerChecks,
      ...(listTlsSources(config.get()).length > 0 ? [certificates] : []),
      ...(running ? [createWarning('workers', running.check)] : []),
    ]
  }
}

function addMetrics({ metrics, config, store, clock, hasher, audit, directory, tokenSecrets, gateway }: Base): void {
  const { server, upstream } = config.get()
  addPartMetrics(metrics, {
    store: store.engine,
    clock,
    hasher,
    stalenessMs: directory.stalenessMs,
    countStreams: () => gateway.streams.size,
  })
  addAuditMetrics(metrics, () => audit.listDestinations())
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

/** Differs with every key that verifies tokens. A secret that was created at random is known to the main thread only. */
export function describeKeys({ tokenSecrets, jwtKeys, config }: Pick<Parts, 'tokenSecrets' | 'jwtKeys' | 'config'>) {
  const { secret, keyfile, folder } = toSecretSource(config.get())
  const ring = secret || keyfile || folder ? tokenSecrets.ring.get().version : ''
  return [ring, ...jwtKeys.get().keys.map(([name, { version }]) => `${name} ${version}`)].join()
}

/** The options that all doors have in common. `name` labels the metrics. */
export const toDoorOptions = ({ config, observeRequests, accessLog, log, relayOf }: DoorParts, name: string) => ({
  limits: deriveLive(config, toDoorLimits),
  trust: deriveLive(config, toTrustRules),
  hsts: deriveLive(config, ({ ssl }) => ssl.hsts),
  observer: observeRequests(name),
  accessLog,
  log,
  relay: relayOf?.(name),
})
