// What the doors share. It is opened before them, and closed after them.
import { createDocumentCheck } from '../auth/basic.ts'
import type { BearerDeps } from '../auth/bearer.ts'
import { createDoorKnownHeaders, createDoorSignIn, createDoorSignUp } from '../auth/door-sign-in.ts'
import { createKnownHeaders } from '../auth/known-headers.ts'
import { openLimits } from '../auth/limits/share.ts'
import { createSessionRecorder, type SessionRecorder } from '../auth/record-sessions.ts'
import { recordSignIn } from '../auth/record-sign-ins.ts'
import { createConfirmCredential, createRevalidate, type RevalidateDeps } from '../auth/revalidate.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import { createConsoleSessions } from '../auth/session/console-session.ts'
import { chooseCookieName } from '../auth/session/set-cookie.ts'
import { createTokenSessions } from '../auth/session/token-session.ts'
import { createSignIn } from '../auth/sign-in.ts'
import { CacheCounts } from '../base/caches.ts'
import { createSteadyClock, MONOTONIC_CLOCK, SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive } from '../base/live.ts'
import { createMonitor } from '../cluster/monitor.ts'
import { GATE_AUDIENCE } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { ADMIN_API_ERRORS } from '../dialects/admin-api/errors.ts'
import { createLiveEvents } from '../dialects/admin-api/system/live-events.ts'
import type { ForwardAuthDeps } from '../dialects/forward-auth/routes.ts'
import { createDirectory, type Directory } from '../directory/directory.ts'
import { identityHeadersForService } from '../gateway/identity-headers.ts'
import { createAccessLog } from '../http/access-log.ts'
import type { Dialect, HeaderPair, RequestContext } from '../http/request-context.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { findKeyVersion } from '../keys/jwt-keys.ts'
import { createAdministration } from '../live-config/administration.ts'
import { followCookieSecret, followCookieTimeout } from '../live-config/cookie-secret.ts'
import { followKeys } from '../live-config/jwt-keys.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openTokenSecrets } from '../live-config/secret-rings.ts'
import { createSecretsEditor } from '../live-config/secrets-editor.ts'
import { createHealth } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'
import {
  addAuditMetrics,
  addCacheMetrics,
  addPartMetrics,
  addSecretMetrics,
  addUpstreamMetrics,
} from '../observe/part-metrics.ts'
import { addProcessMetrics } from '../observe/process-metrics.ts'
import { createRequestObserver } from '../observe/request-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { FeedFollower } from '../store/feed.ts'
import { openGateway } from './gateway.ts'
import {
  isGiven,
  toAdminSessionSettings,
  toDecoy,
  toDirectorySettings,
  toDoorLimits,
  toIterationLimits,
  toLimitSettings,
  toSessionSettings,
  toTrustRules,
} from './settings.ts'

/** What a door is built from. */
export type Parts = Awaited<ReturnType<typeof openParts>>

/** Opens all parts, or closes those that are open and throws: otherwise they would keep the process running. */
export async function openParts(liveConfig: LiveConfig, metrics: Metrics) {
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
    const opened = await openBase(liveConfig, metrics, closing)
    closers.push(addProcessMetrics(metrics))
    const parts = { ...opened, ...createServerParts(opened, closing), ...createSignInParts(opened) }
    addMetrics(parts)
    return { ...parts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the part, which is closed with all others. */
type Closing = <T extends { close(): unknown }>(part: T) => T

type Base = Awaited<ReturnType<typeof openBase>>

/** The parts that the others are built from. */
async function openBase(liveConfig: LiveConfig, metrics: Metrics, closing: Closing) {
  const { kernel } = liveConfig
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const tracing = await openTracing(config.get(), kernel)
  if (tracing) closing(tracing)
  const tokenSecrets = await openTokenSecrets(liveConfig)
  closing({ close: () => tokenSecrets.ring.stop() })
  const cacheCounts = new CacheCounts()
  addCacheMetrics(metrics, 'users', cacheCounts)
  const directory = closing(await openDirectory(liveConfig, cacheCounts))
  const gateway = closing(await openGateway(liveConfig, directory, tokenSecrets))
  const limits = closing(openConfiguredLimits(liveConfig))
  const rings = gateway.ring ? [tokenSecrets.ring, gateway.ring] : [tokenSecrets.ring]
  return {
    ...kernel,
    liveConfig,
    config,
    metrics,
    tracing,
    tokenSecrets,
    directory,
    gateway,
    guesses: limits.guesses,
    /** The limits of accounts, for the administrator. */
    limits: limits.accounts,
    rings,
    checkHealth: createHealth(() => ({
      directory,
      store: kernel.store,
      rings,
      audit: kernel.audit,
      upstreams: gateway.readiness.checks(),
    })),
  }
}

/** The libraries of tracing are loaded only here, and only if traces are wanted. */
async function openTracing({ tracing, node }: Config, { store, log }: Kernel): Promise<Tracing | undefined> {
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

export function openDirectory(liveConfig: LiveConfig, cacheCounts = new CacheCounts()): Promise<Directory> {
  const { store } = liveConfig.kernel
  return createDirectory({
    ...liveConfig.kernel,
    administration: createAdministration(liveConfig),
    settings: deriveLive(liveConfig, ({ settings }) => toDirectorySettings(settings.values)).get,
    cacheCounts,
    follow: (options) => new FeedFollower(store, { ...options, clock: MONOTONIC_CLOCK }),
    clock: SYSTEM_CLOCK,
    steadyClock: createSteadyClock(),
    ownKey: () => liveConfig.get().ownKey,
  })
}

/** The limits on password checks, with the options of this configuration. */
export const openConfiguredLimits = (liveConfig: LiveConfig) =>
  openLimits({
    ...liveConfig.kernel,
    settings: deriveLive(liveConfig, ({ settings }) => toLimitSettings(settings.values)).get,
  })

/** What only a running server has, mostly for its administrator. */
function createServerParts(base: Base, closing: Closing) {
  const { liveConfig, config, metrics, directory, tokenSecrets, gateway, limits, rings, checkHealth, audit } = base
  const monitor = closing(
    createMonitor({
      store: base.store,
      metrics,
      clock: SYSTEM_CLOCK,
      nodeName: () => config.get().node.name,
      stalenessMs: directory.stalenessMs,
      secrets: () => ({
        ownKey: liveConfig.get().ownKey,
        ringVersions: rings.map((ring) => ring.get().version),
        cookieSecret: config.get().chttpd_auth.secret,
      }),
      checkHealth,
    }),
  )
  // other nodes compare the hash of these secrets before a rotation continues
  tokenSecrets.onReload(() => void monitor.heartbeat())
  const live = closing(
    createLiveEvents({
      readCounts: monitor.readCounts,
      countLocked: () => limits.listNames().length,
      countFailingUpstreams: async () =>
        (await checkHealth()).filter(({ door, problem }) => door !== undefined && problem).length,
      onRecord: (listener) => audit.onRecord(listener),
      onRevoked: directory.onRevoked,
    }),
  )
  const { listDifferingNodes } = monitor
  return {
    monitor,
    /** What happens at this node, for clients that follow it. */
    live,
    secrets: createSecretsEditor({ liveConfig, tokens: tokenSecrets.ring, upstream: gateway.ring, listDifferingNodes }),
    /** The URLs of all listeners, once there are any. */
    listening: createLive<readonly string[]>([]),
    observeRequests: (door: string) => createRequestObserver(metrics, door),
    accessLog: createAccessLog(base.log, () => config.get().log.access),
  }
}

/** One sign-in for all doors, the session cookies and their secrets. */
function createSignInParts(base: Base) {
  const { liveConfig, config, directory, gateway, guesses } = base
  const sessionSettings = deriveLive(config, toSessionSettings)
  const timeoutSeconds = () => sessionSettings.get().timeoutSeconds
  const cookieSecrets = followCookieSecret(liveConfig, timeoutSeconds)
  const jwtKeys = followKeys(liveConfig)
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies')).get
  const { recorded, known } = createPasswordSignIn(base)
  const signIn = createDoorSignIn(recorded, namesProxies)
  const cookieDeps = {
    secrets: cookieSecrets,
    directory,
    settings: sessionSettings.get,
    timeouts: followCookieTimeout(liveConfig, timeoutSeconds),
    findKeyVersion: (algorithm: string, kid: string | undefined) => findKeyVersion(jwtKeys.get(), algorithm, kid),
    clock: SYSTEM_CLOCK,
  }
  return {
    signIn,
    signUp: createDoorSignUp(guesses, namesProxies),
    /** Accepts passwords that were verified before. */
    knownHeaders: createDoorKnownHeaders(known, namesProxies),
    /** Checks the Basic credential of the document door. */
    check: createDocumentCheck({ directory, signIn, clock: SYSTEM_CLOCK }),
    cookieSecrets,
    sessionSettings,
    cookies: {
      accounts: createAccountSessions(cookieDeps),
      tokens: createTokenSessions(cookieDeps),
      cookieName: (isSecure: boolean) => chooseCookieName(sessionSettings.get(), isSecure),
    },
    recorder: createRecorder(directory, 'document', timeoutSeconds),
    adminSessions: createAdminSessions(base, signIn, cookieSecrets),
    /** Proves the current password of users who change their own credentials. */
    passwordProof: {
      directory,
      signIn,
      maxAgeSeconds: () => config.get().auth['reauthenticate-after'],
      clock: SYSTEM_CLOCK,
    },
    forwardAuth: toForwardAuth(gateway.serviceKey),
    jwtKeys,
  }
}

function createPasswordSignIn({ config, directory, guesses, metrics, hasher, events }: Base) {
  const size = () => config.get().chttpd_auth.auth_cache_size
  const memory = createPasswordMemory(size)
  addCacheMetrics(metrics, 'passwords', memory.counts)
  const { noteSignIn } = directory
  const shared = { limits: guesses, iterationLimits: () => toIterationLimits(config.get()) }
  const signIn = createSignIn({
    ...shared,
    memory,
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher,
    spendCode: directory.spendCode,
    newPasswordWork: () => toDecoy(config.get()),
    storedWork: directory.storedWork,
  })
  const isKnownName = async (name: string) =>
    directory.isAdministrator(name) || (await directory.findUser(name)) !== undefined
  return {
    recorded: recordSignIn(signIn, { events, isKnownName, noteSignIn }),
    known: createKnownHeaders({ ...shared, directory, noteSignIn, size, counts: memory.counts }),
  }
}

function createAdminSessions(
  { liveConfig, config, directory, events }: Base,
  signIn: ReturnType<typeof createDoorSignIn>,
  secrets: ReturnType<typeof followCookieSecret>,
) {
  const settings = deriveLive(config, toAdminSessionSettings)
  const timeoutSeconds = () => settings.get().timeoutSeconds
  return createConsoleSessions({
    secrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, timeoutSeconds),
    directory,
    signIn,
    events,
    recorder: createRecorder(directory, 'admin', timeoutSeconds),
    ownKey: () => liveConfig.get().ownKey,
    clock: SYSTEM_CLOCK,
  })
}

/** Notes the sessions of one door, for lists of sessions. */
export const createRecorder = (directory: Directory, door: string, timeoutSeconds: () => number): SessionRecorder =>
  createSessionRecorder({ directory, door, timeoutSeconds, clock: SYSTEM_CLOCK })

function toForwardAuth(
  key: Base['gateway']['serviceKey'],
): Pick<ForwardAuthDeps, 'keys' | 'toIdentityHeaders' | 'statusOf'> {
  const toHeaders = identityHeadersForService(() => key.signer, GATE_AUDIENCE)
  return {
    keys: () => [key.jwk],
    toIdentityHeaders: (authenticated) => toPairs(toHeaders(authenticated).headers),
    statusOf: (code) => ADMIN_API_ERRORS[code].status,
  }
}

const toPairs = (flat: readonly string[]): readonly HeaderPair[] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : []))

function addMetrics({ metrics, config, store, hasher, audit, directory, tokenSecrets, gateway }: Base): void {
  const { server, upstream } = config.get()
  addPartMetrics(metrics, {
    store: store.engine,
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

/** How tokens of the multi-model door are verified, at both doors. */
export const toBearerDeps = ({ directory, tokenSecrets, config }: Parts): BearerDeps => ({
  directory,
  ring: tokenSecrets.ring.get,
  cache: tokenSecrets.cache,
  issuer: toWireNames(config.get()).issuer,
  knowsUsers: () => config.get().server.role === 'single',
  maxLifetimeSeconds: () => config.get().chttpd_auth.max_lifetime,
  clock: SYSTEM_CLOCK,
})

/**
 * How a door authenticates a running request again. `confirm` is for requests that are about to change something,
 * `revalidate` for responses that are being sent.
 */
export function createRevalidation(
  { directory, config }: Parts,
  door: Pick<RevalidateDeps<RequestContext>, 'identify' | 'isConfigured'> & { dialect(): Dialect },
) {
  const deps: RevalidateDeps<RequestContext> = {
    ...door,
    async checkRights(context) {
      for (const step of door.dialect().steps) if (step.checksRights) await step.run(context)
    },
    directory,
    iterationLimits: () => toIterationLimits(config.get()),
  }
  return { confirm: createConfirmCredential(deps), revalidate: createRevalidate(deps) }
}

/** The options that all doors have in common. `name` labels the metrics. */
export const toDoorOptions = ({ config, observeRequests, accessLog, log }: Parts, name: string) => ({
  limits: deriveLive(config, toDoorLimits),
  trust: deriveLive(config, toTrustRules),
  hsts: deriveLive(config, ({ ssl }) => ssl.hsts),
  observer: observeRequests(name),
  accessLog,
  log,
})
