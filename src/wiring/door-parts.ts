// What the doors share: one sign-in, the session cookies and their secrets, how tokens are verified.
import type { PasswordCheck } from '../auth/basic.ts'
import type { IssuedTokenDeps } from '../auth/bearer.ts'
import {
  createDoorKnownHeaders,
  createDoorSignIn,
  createDoorSignUp,
  type DoorSignIn,
  type DoorSignUp,
} from '../auth/door-sign-in.ts'
import { createKnownHeaders, type DoorKnownHeaders } from '../auth/known-headers.ts'
import { createSessionRecorder, type SessionRecorder } from '../auth/record-sessions.ts'
import { recordSignIn } from '../auth/record-sign-ins.ts'
import type { RequirePasswordDeps } from '../auth/require-password.ts'
import { type ConfirmDeps, createConfirmCredential, createRevalidate } from '../auth/revalidate.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import { type ConsoleSessions, createConsoleSessions } from '../auth/session/console-session.ts'
import type { CookieSessions } from '../auth/session/cookie-handler.ts'
import type { CookieSecrets } from '../auth/session/secrets.ts'
import { chooseCookieName, type SessionSettings } from '../auth/session/set-cookie.ts'
import { createTokenSessions } from '../auth/session/token-session.ts'
import { createSignIn } from '../auth/sign-in.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { GATE_AUDIENCE } from '../config/open-sections.ts'
import { toWireNames } from '../config/options.ts'
import { ADMIN_API_ERRORS } from '../dialects/admin-api/errors.ts'
import { createDocumentCheck } from '../dialects/document/basic.ts'
import type { ForwardAuthDeps } from '../dialects/forward-auth/routes.ts'
import type { Directory } from '../directory/directory.ts'
import { identityHeadersForService } from '../gateway/identity-headers.ts'
import type { Dialect, HeaderPair, RequestContext } from '../http/request-context.ts'
import { findKeyVersion, type JwtKeys } from '../keys/jwt-keys.ts'
import { followCookieSecret, followCookieTimeout } from '../live-config/cookie-secret.ts'
import { followKeys } from '../live-config/jwt-keys.ts'
import type { ServiceKey } from '../live-config/service-key.ts'
import { addCacheMetrics } from '../observe/part-metrics.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import type { OpenedParts } from './opened-parts.ts'
import {
  isGiven,
  toAdminSessionSettings,
  toDecoy,
  toDoorLimits,
  toIterationLimits,
  toSessionSettings,
  toTrustRules,
} from './settings.ts'

/** What a door is built from. */
export interface DoorParts extends OpenedParts {
  readonly signIn: DoorSignIn
  readonly signUp: DoorSignUp
  /** Checks the Basic credential of the document door. */
  readonly check: PasswordCheck
  /** Accepts passwords that were verified before. */
  readonly knownHeaders: DoorKnownHeaders
  readonly adminSessions: ConsoleSessions
  /** Sign the cookies of the document door and of /_cardea/. */
  readonly cookieSecrets: CookieSecrets
  /** The session cookie of the document door. */
  readonly sessionSettings: Live<SessionSettings>
  /** Sessions of users of the directory, and sessions opened with a token. */
  readonly cookies: CookieSessions
  /** Notes the sessions of the document door. */
  readonly recorder: SessionRecorder
  /** Proves the current password of users who change their own credentials. */
  readonly passwordProof: RequirePasswordDeps
  readonly forwardAuth: Pick<ForwardAuthDeps, 'keys' | 'toIdentityHeaders' | 'statusOf'>
  /** Verify the tokens of the document door. */
  readonly jwtKeys: Live<JwtKeys>
}

export function createDoorParts(opened: OpenedParts): DoorParts {
  const { liveConfig, directory } = opened
  const { signIn, signUp, knownHeaders } = openSignIn(opened)
  const sessionSettings = deriveLive(liveConfig, ({ settings }) => toSessionSettings(settings.values))
  const timeoutSeconds = () => sessionSettings.get().timeoutSeconds
  const cookieSecrets = followCookieSecret(liveConfig, timeoutSeconds)
  const jwtKeys = followKeys(liveConfig)
  return {
    ...opened,
    signIn,
    signUp,
    knownHeaders,
    check: createDocumentCheck({ directory, signIn, clock: SYSTEM_CLOCK }),
    cookieSecrets,
    sessionSettings,
    cookies: createCookieSessions({ ...opened, cookieSecrets, sessionSettings, jwtKeys }),
    recorder: createRecorder(directory, 'document', timeoutSeconds),
    adminSessions: createAdminSessions(opened, signIn, cookieSecrets),
    passwordProof: {
      directory,
      signIn,
      maxAgeSeconds: () => liveConfig.get().settings.values.auth['reauthenticate-after'],
      clock: SYSTEM_CLOCK,
    },
    forwardAuth: toForwardAuth(opened.gateway.serviceKey),
    jwtKeys,
  }
}

/** How tokens of the multi-model door are verified, at both doors. */
export const toBearerDeps = ({ directory, tokenSecrets, liveConfig }: OpenedParts): IssuedTokenDeps => ({
  directory,
  ring: tokenSecrets.ring.get,
  cache: tokenSecrets.cache,
  issuer: toWireNames(liveConfig.get().settings.values).issuer,
  knowsUsers: () => liveConfig.get().settings.values.server.role === 'single',
  maxLifetimeSeconds: () => liveConfig.get().settings.values.chttpd_auth.max_lifetime,
  clock: SYSTEM_CLOCK,
})

type CookieParts = OpenedParts & Pick<DoorParts, 'cookieSecrets' | 'sessionSettings' | 'jwtKeys'>

function createCookieSessions(parts: CookieParts): CookieSessions {
  const { liveConfig, directory, cookieSecrets, sessionSettings, jwtKeys } = parts
  const deps = {
    secrets: cookieSecrets,
    directory,
    settings: sessionSettings.get,
    timeouts: followCookieTimeout(liveConfig, () => sessionSettings.get().timeoutSeconds),
    findKeyVersion: (algorithm: string, kid: string | undefined) => findKeyVersion(jwtKeys.get(), algorithm, kid),
    clock: SYSTEM_CLOCK,
  }
  return {
    accounts: createAccountSessions(deps),
    tokens: createTokenSessions(deps),
    cookieName: (isSecure) => chooseCookieName(sessionSettings.get(), isSecure),
  }
}

function createAdminSessions(
  { liveConfig, directory }: OpenedParts,
  signIn: DoorSignIn,
  secrets: CookieSecrets,
): ConsoleSessions {
  const settings = deriveLive(liveConfig, (snapshot) => toAdminSessionSettings(snapshot.settings.values))
  return createConsoleSessions({
    secrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, () => settings.get().timeoutSeconds),
    directory,
    signIn,
    events: liveConfig.kernel.events,
    recorder: createRecorder(directory, 'admin', () => settings.get().timeoutSeconds),
    ownKey: () => liveConfig.get().ownKey,
    clock: SYSTEM_CLOCK,
  })
}

/** Notes the sessions of one door, for lists of sessions. */
export const createRecorder = (directory: Directory, door: string, timeoutSeconds: () => number): SessionRecorder =>
  createSessionRecorder({ directory, door, timeoutSeconds, clock: SYSTEM_CLOCK })

function openSignIn({
  liveConfig,
  directory,
  guesses,
  metrics,
}: OpenedParts): Pick<DoorParts, 'signIn' | 'signUp' | 'knownHeaders'> {
  const config = () => liveConfig.get().settings.values
  const size = () => config().chttpd_auth.auth_cache_size
  const memory = createPasswordMemory(size)
  addCacheMetrics(metrics, 'passwords', memory.counts)
  const shared = { limits: guesses, iterationLimits: () => toIterationLimits(config()) }
  const signIn = createSignIn({
    ...shared,
    memory,
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher: liveConfig.kernel.hasher,
    spendCode: directory.spendCode,
    newPasswordWork: () => toDecoy(config()),
    storedWork: directory.storedWork,
  })
  const recorded = recordSignIn(signIn, {
    events: liveConfig.kernel.events,
    isKnownName: async (name) => directory.isAdministrator(name) || (await directory.findUser(name)) !== undefined,
    noteSignIn: directory.noteSignIn,
  })
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies'))
  const knownHeaders = createKnownHeaders({
    ...shared,
    directory,
    noteSignIn: directory.noteSignIn,
    size,
    counts: memory.counts,
  })
  return {
    signIn: createDoorSignIn(recorded, namesProxies.get),
    signUp: createDoorSignUp(guesses, namesProxies.get),
    knownHeaders: createDoorKnownHeaders(knownHeaders, namesProxies.get),
  }
}

function toForwardAuth(key: ServiceKey): DoorParts['forwardAuth'] {
  const toHeaders = identityHeadersForService(() => key.signer, GATE_AUDIENCE)
  return {
    keys: () => [key.jwk],
    toIdentityHeaders: (authenticated) => toPairs(toHeaders(authenticated).headers),
    statusOf: (code) => ADMIN_API_ERRORS[code].status,
  }
}

const toPairs = (flat: readonly string[]): readonly HeaderPair[] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : []))

/** How a door authenticates a running request again. */
export interface Revalidation extends Pick<ConfirmDeps<RequestContext>, 'identify' | 'isConfigured'> {
  dialect(): Pick<Dialect, 'steps'>
}

/** `confirm` is for requests that are about to change something, `revalidate` for responses that are being sent. */
export function createRevalidation({ directory, liveConfig }: OpenedParts, revalidation: Revalidation) {
  const deps: ConfirmDeps<RequestContext> = {
    ...revalidation,
    checkRights: (context) => checkRights(context, revalidation.dialect()),
    directory,
    iterationLimits: () => toIterationLimits(liveConfig.get().settings.values),
  }
  return { confirm: createConfirmCredential(deps), revalidate: createRevalidate(deps) }
}

async function checkRights(context: RequestContext, { steps }: Pick<Dialect, 'steps'>): Promise<void> {
  for (const step of steps) if (step.checksRights) await step.run(context)
}

/** The options that all doors have in common. `name` labels the metrics. */
export function toDoorOptions({ liveConfig, observeRequests, accessLog, log }: OpenedParts, name: string) {
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  return {
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    hsts: deriveLive(config, ({ ssl }) => ssl.hsts),
    observer: observeRequests(name),
    accessLog,
    log,
  }
}
