// Signs users in, the same way at every door, and follows the secrets and settings of sessions.
import { createDocumentCheck } from '../auth/basic.ts'
import type { BearerDeps } from '../auth/bearer.ts'
import { createDoorArrivals, createDoorKnownHeaders, createDoorSignIn, createDoorSignUp } from '../auth/door-sign-in.ts'
import { createKnownHeaders } from '../auth/known-headers.ts'
import type { openLimits } from '../auth/limits/share.ts'
import type { Providers } from '../auth/provider.ts'
import { createProviderSignIn } from '../auth/provider-sign-in.ts'
import { createProviderTokens } from '../auth/provider-token.ts'
import { createSessionRecorder, recordSignIn, type SessionRecorder } from '../auth/record-sign-ins.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import { createConsoleSessions } from '../auth/session/console-session.ts'
import { createCookieHeaders } from '../auth/session/session-cookie.ts'
import { createTokenSessions } from '../auth/session/token-session.ts'
import { createSignIn } from '../auth/sign-in.ts'
import { MONOTONIC_CLOCK, nowSeconds } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { GATE_AUDIENCE } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { CALLBACK_PATH } from '../dialects/own-paths.ts'
import { findActiveToken, findTokenUser } from '../directory/access-token.ts'
import type { Directory } from '../directory/directory.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { findKeyVersion } from '../keys/jwt-keys.ts'
import { createProviderKeys } from '../keys/provider-keys.ts'
import { followCookieSecret, followCookieTimeout } from '../live-config/cookie-secret.ts'
import { followKeys } from '../live-config/jwt-keys.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import type { TokenSecrets } from '../live-config/secret-rings.ts'
import type { Metrics } from '../observe/metrics.ts'
import { addCacheMetrics } from '../observe/part-metrics.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import type { Gateway } from './gateway.ts'
import {
  isGiven,
  toAdminSessionSettings,
  toDecoy,
  toIterationLimits,
  toProviderSettings,
  toSessionSettings,
} from './settings.ts'

interface SignInBase extends Pick<Kernel, 'clock' | 'hasher' | 'events' | 'log'> {
  readonly liveConfig: LiveConfig
  readonly config: Live<Config>
  readonly directory: Directory
  readonly gateway: Gateway
  readonly tokenSecrets: TokenSecrets
  readonly guesses: ReturnType<typeof openLimits>['guesses']
  readonly metrics: Metrics
}

/** One sign-in for all doors, the session cookies and their secrets. */
export function createSignInParts(base: SignInBase, passwords = createPasswordSignIn(base)) {
  const { liveConfig, config, directory, gateway, guesses, clock } = base
  const sessionSettings = deriveLive(config, toSessionSettings)
  const timeoutSeconds = () => sessionSettings.get().timeoutSeconds
  const cookieSecrets = followCookieSecret(liveConfig, timeoutSeconds)
  const jwtKeys = followKeys(liveConfig)
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies')).get
  const { recorded, known } = passwords
  const signIn = createDoorSignIn(recorded, namesProxies)
  const cookieDeps = {
    secrets: cookieSecrets,
    directory,
    settings: sessionSettings.get,
    timeouts: followCookieTimeout(liveConfig, 'chttpd_auth.timeout'),
    findKeyVersion: (algorithm: string, kid: string | undefined) => findKeyVersion(jwtKeys.get(), algorithm, kid),
    clock,
  }
  return {
    signIn,
    signUp: createDoorSignUp(guesses, namesProxies),
    limitArrivals: createDoorArrivals(guesses, namesProxies),
    /** Accepts passwords that were verified before. */
    knownHeaders: createDoorKnownHeaders(known, namesProxies),
    /** Checks the Basic credential of the document door. */
    check: createDocumentCheck({ directory, signIn, clock }),
    cookieSecrets,
    sessionSettings,
    cookieHeaders: createCookieHeaders(sessionSettings.get, clock),
    cookies: {
      accounts: createAccountSessions(cookieDeps),
      tokens: createTokenSessions(cookieDeps),
      cookieSettings: sessionSettings.get,
    },
    recorder: createRecorder(base, 'document', timeoutSeconds),
    adminSessions: createAdminSessions(base, signIn, cookieSecrets),
    /** Proves the current password of users who change their own credentials. */
    passwordProof: {
      directory,
      signIn,
      maxAgeSeconds: () => config.get().auth['reauthenticate-after'],
      clock,
    },
    /** What the forward-auth endpoint and the key set need at every door. */
    forwardAuth: {
      keys: () => [gateway.serviceKey.jwk],
      toIdentityHeaders: gateway.toServiceIdentity(GATE_AUDIENCE),
      cacheSeconds: () => config.get().gate['cache-seconds'],
      clock,
    },
    jwtKeys,
    ...openProviders(base),
    bearer: toBearerDeps(base),
    iterationLimits: deriveLive(config, toIterationLimits).get,
  }
}

/** The identity providers by issuer. Their keys are fetched beside the start. */
function openProviders({ liveConfig, config, directory, clock, log }: SignInBase) {
  const providers: Providers = new Map(
    liveConfig.get().settings.open.provider.flatMap((entry) => {
      const { place, maxAgeMs, ...provider } = toProviderSettings(entry)
      const keys = createProviderKeys(place, maxAgeMs, MONOTONIC_CLOCK, log)
      keys.get()
      return place.issuers.map((issuer) => [issuer, { ...provider, keys }] as const)
    }),
  )
  const maxLifetimeSeconds = () => config.get().chttpd_auth.max_lifetime
  const factorRoles = () => config.get().admin['second-factor-roles']
  const deps = { providers, directory, maxLifetimeSeconds, factorRoles, clock }
  const pages = { publicUrl: () => config.get().console['public-url'], ownKey: () => liveConfig.get().ownKey }
  return {
    providers,
    providerSignIn: createProviderSignIn({ ...deps, ...pages }, CALLBACK_PATH),
    /** How a handler of a door reads their tokens; `undefined`: there is no provider. */
    findProviderToken: (handler: string) => (providers.size === 0 ? undefined : createProviderTokens(deps, handler)),
  }
}

function createPasswordSignIn({ config, directory, guesses, metrics, hasher, events, clock }: SignInBase) {
  const size = () => config.get().chttpd_auth.auth_cache_size
  const memory = createPasswordMemory(size)
  addCacheMetrics(metrics, 'passwords', memory.counts)
  const { noteSignIn } = directory
  const shared = { limits: guesses, iterationLimits: deriveLive(config, toIterationLimits).get }
  const signIn = createSignIn({
    ...shared,
    memory,
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher,
    spendCode: directory.spendCode,
    isAccessToken: (account, text) =>
      findTokenUser(text) === account.name && findActiveToken(account, text, nowSeconds(clock)) !== undefined,
    newPasswordWork: deriveLive(config, toDecoy).get,
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
  { liveConfig, config, directory, clock, events }: SignInBase,
  signIn: ReturnType<typeof createDoorSignIn>,
  secrets: ReturnType<typeof followCookieSecret>,
) {
  const settings = deriveLive(config, toAdminSessionSettings)
  const timeoutSeconds = () => settings.get().timeoutSeconds
  return createConsoleSessions({
    secrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, 'admin.session-timeout'),
    directory,
    signIn,
    events,
    recorder: createRecorder({ directory, clock }, 'admin', timeoutSeconds),
    ownKey: () => liveConfig.get().ownKey,
    clock,
  })
}

/** Notes the sessions of one door, for lists of sessions. */
export const createRecorder = (
  { directory, clock }: Pick<SignInBase, 'directory' | 'clock'>,
  door: string,
  timeoutSeconds: () => number,
): SessionRecorder => createSessionRecorder({ directory, door, timeoutSeconds, clock })

/** How tokens of the multi-model door are verified, at both doors. */
const toBearerDeps = ({ directory, tokenSecrets, config, clock }: SignInBase): BearerDeps => ({
  directory,
  ring: tokenSecrets.ring.get,
  cache: tokenSecrets.cache,
  issuer: toWireNames(config.get()).issuer,
  knowsUsers: () => config.get().server.role === 'single',
  acceptsAccessTokens: () => config.get().server['access-tokens-as-bearer'],
  maxLifetimeSeconds: () => config.get().chttpd_auth.max_lifetime,
  clock,
})
