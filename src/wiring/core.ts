// What the doors are built from: the directory, the gateway, limits and secrets. Opened before the doors, closed after.

import { UNNAMED_HANDLERS } from '../auth/credential.ts'
import type { LimitSettings } from '../auth/limits/limits.ts'
import { type OpenLimits, openLimits } from '../auth/limits/share.ts'
import { RUNNING_REQUESTS_SECONDS } from '../auth/session/secrets.ts'
import { CacheCounts } from '../base/caches.ts'
import { MONOTONIC_CLOCK, nowSeconds } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Siblings } from '../base/siblings.ts'
import type { Config } from '../config/options.ts'
import { isGiven, type Settings } from '../config/settings.ts'
import type { DocumentSettings } from '../dialects/document/deps.ts'
import type { DirectoryDeps, DirectorySettings } from '../directory/deps.ts'
import { createDirectory, type Directory } from '../directory/directory.ts'
import type { User } from '../directory/users/user.ts'
import { identityHeadersForService, type ToClaims, type ToIdentityHeaders } from '../gateway/identity-headers.ts'
import { OpenStreams } from '../gateway/open-streams.ts'
import { createUpstreamRegistry, type UpstreamRegistry } from '../gateway/readiness.ts'
import { CHANGED, type Kernel } from '../kernel/kernel.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import { createAdministration } from '../live-config/administration.ts'
import { followRetirement } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { toHashParameters, toPasswordRules } from '../live-config/password-settings.ts'
import { openTokenSecrets, openUpstreamSecrets, type TokenSecrets } from '../live-config/secret-rings.ts'
import { openServiceKey, type ServiceKey } from '../live-config/service-key.ts'
import type { AccountRules, FindDatabase, OnSignIn, OpenedSource } from '../modules/module.ts'
import {
  areAddressesNames,
  countWaysIn,
  createOnSignIn,
  openTracing,
  openUserSource,
  recordFurther,
  toAccountRules,
} from '../modules.ts'
import type { Metrics } from '../observe/metrics.ts'
import { addCacheMetrics } from '../observe/part-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import { FeedFollower } from '../store/feed.ts'

export interface Core {
  readonly liveConfig: LiveConfig
  readonly kernel: Kernel
  /** The values of all options. */
  readonly config: Live<Config>
  readonly metrics: Metrics
  /** `undefined`: requests are not traced. */
  readonly tracing: Tracing | undefined
  readonly limits: OpenLimits
  readonly tokenSecrets: TokenSecrets
  readonly directory: Directory
  /** Another server that has the users; `undefined`: the store has them. */
  readonly source: OpenedSource | undefined
  readonly gateway: Gateway
  readonly onSignIn: OnSignIn
}

/** `open` closes what is opened here, the last first. */
export async function openCore(
  liveConfig: LiveConfig,
  metrics: Metrics,
  open: AsyncDisposableStack,
  toClaims: ToClaims | undefined,
): Promise<Core> {
  const { kernel } = liveConfig
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const limits = open.adopt(await openConfiguredLimits(liveConfig), (opened) => opened.close())
  const tracing = open.adopt(await openTracing({ config, kernel }), (opened) => opened?.close())
  const tokenSecrets = open.adopt(await openTokenSecrets(liveConfig), ({ ring }) => ring.stop())
  const cacheCounts = new CacheCounts()
  addCacheMetrics(metrics, 'users', cacheCounts)
  const findDatabase: FindDatabase = (door) => gateway.find(door)
  const source = await openUserSource({ config, kernel, findDatabase, isCommand: false })
  const directory = open.adopt(await openDirectory(liveConfig, { cacheCounts, source }), (opened) => opened.close())
  const gateway = open.adopt(await openGateway(liveConfig, directory, tokenSecrets, toClaims), (opened) =>
    opened.close(),
  )
  await followSiblings(kernel.siblings, directory, gateway.streams)
  const onSignIn = createOnSignIn({ liveConfig, config, directory, kernel, gateway })
  return { liveConfig, kernel, config, metrics, tracing, limits, tokenSecrets, directory, source, gateway, onSignIn }
}

/** What upstreams have in common. */
interface Gateway extends UpstreamRegistry {
  readonly streams: OpenStreams
  /** Signs for ArangoDB; `undefined` where no secret is configured. */
  readonly ring: LiveRing | undefined
  readonly serviceKey: ServiceKey
  /** The headers that tell a service who sends a request. */
  toServiceIdentity(name: string): ToIdentityHeaders
  close(): Promise<void>
}

/** `toClaims`: further claims in the tokens for services. */
async function openGateway(
  liveConfig: LiveConfig,
  directory: Directory,
  tokenSecrets: TokenSecrets,
  toClaims?: ToClaims,
): Promise<Gateway> {
  const streams = new OpenStreams(directory.findCurrentSession)
  const ring = await openUpstreamSecrets(liveConfig)
  const serviceKey = openServiceKey(liveConfig)
  const registry = createUpstreamRegistry(liveConfig.kernel.log)
  const stopWatching = watchStreams(streams, liveConfig, directory, tokenSecrets)
  return {
    ...registry,
    streams,
    ring,
    serviceKey,
    toServiceIdentity: (name: string) =>
      identityHeadersForService(() => serviceKey.signer, name, liveConfig.kernel.clock, toClaims),
    async close() {
      stopWatching()
      // before their connections are closed, which would look like failures of the upstreams
      streams.stop('all')
      ring?.stop()
      await registry.close()
    },
  }
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
function watchStreams(
  streams: OpenStreams,
  liveConfig: LiveConfig,
  directory: Directory,
  tokenSecrets: TokenSecrets,
): () => void {
  const stopListening = directory.onRevoked((revocation) => streams.end(revocation))
  const revalidate = () => streams.revalidateAll()
  liveConfig.onChange('open streams', revalidate)
  tokenSecrets.onReload(revalidate)
  const isRetirementDue = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(liveConfig.kernel.clock))
    if (isRetirementDue()) revalidate()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}

/** How long the check of a stream may take before the stream is cut: less than a sibling may take to reply. */
const MAX_CHECK_MS = 500

/** From here on nothing that this process remembers is older than a change that a sibling acknowledges. */
async function followSiblings(siblings: Siblings, directory: Directory, streams: OpenStreams): Promise<void> {
  siblings.answer(CHANGED, async () => {
    await directory.follow()
    await streams.settle(MAX_CHECK_MS)
  })
  // what was acknowledged before that
  if (siblings.count > 1) await directory.catchUp()
}

export function openDirectory(
  liveConfig: LiveConfig,
  { cacheCounts = new CacheCounts(), source }: Pick<DirectoryDeps, 'cacheCounts' | 'source'>,
): Promise<Directory> {
  const { store } = liveConfig.kernel
  // a change of them takes effect at the next start
  const rules = toAccountRules(liveConfig.get().settings)
  return createDirectory({
    ...liveConfig.kernel,
    administration: createAdministration(liveConfig),
    settings: deriveLive(liveConfig, ({ settings }) => ({
      ...toDirectorySettings(settings.values),
      ...rules,
      countWaysIn: (user: User) => countWaysIn(user, settings),
    })).get,
    cacheCounts,
    source,
    follow: (options) => new FeedFollower(store, { ...options, clock: MONOTONIC_CLOCK }),
    ownKey: () => liveConfig.get().ownKey,
    recordFurther,
  })
}

/** The limits on password checks, with the options of this configuration. */
export function openConfiguredLimits(liveConfig: LiveConfig) {
  const settings = deriveLive(liveConfig, ({ settings }) => toLimitSettings(settings.values)).get
  return openLimits({ ...liveConfig.kernel, settings })
}

const toDirectorySettings = (config: Config): Omit<DirectorySettings, keyof AccountRules | 'countWaysIn'> => ({
  ...config,
  parameters: toHashParameters(config),
  addressesSignIn: areAddressesNames(config),
  rules: toPasswordRules(config),
  maxSessionSeconds: toMaxSessionSeconds(config),
})

/** The longest lifetime that any door gives to a cookie or token. */
const toMaxSessionSeconds = ({ chttpd_auth, admin, server, auth }: Config): number =>
  Math.ceil(
    Math.max(
      chttpd_auth.timeout,
      admin['session-timeout'],
      server['session-timeout'],
      auth['maximal-jwt-expiry-time'],
      auth['token-timeout'],
    ),
  ) + RUNNING_REQUESTS_SECONDS

const toLimitSettings = ({ auth, chttpd_auth_lockout: lock }: Config): LimitSettings => ({
  lock: { mode: lock.mode, threshold: lock.threshold, lifetimeMs: lock.max_lifetime },
  account: { burst: auth['account-failures'], refillPerMinute: auth['account-failures-per-minute'] },
  peer: { burst: auth['peer-failures'], refillPerMinute: auth['peer-failures-per-minute'] },
  signUps: { perPeer: auth['peer-sign-ups-per-hour'], total: auth['sign-ups-per-hour'] },
  maxCounters: lock.max_objects,
})

export const toDocumentSettings = (settings: Settings): DocumentSettings => ({
  ...settings.values,
  handlers: listHandlers(settings.values),
  authenticationDb: isGiven(settings, 'chttpd_auth', 'authentication_db')
    ? settings.find('chttpd_auth', 'authentication_db')?.text
    : undefined,
})

/** The credential handlers of the document door, in order. */
export const listHandlers = ({ chttpd, ssl }: Config): readonly string[] => [
  ...chttpd.authentication_handlers,
  ...UNNAMED_HANDLERS.filter(({ needs }) => needs === undefined || ssl[needs] !== '').map(({ name }) => name),
]
