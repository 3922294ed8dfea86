// Signs users in, the same way at every door, and follows the secrets and settings of sessions.

import type { RevalidateDeps } from '../auth/authenticate.ts'
import { createDocumentCheck } from '../auth/basic.ts'
import type { BearerDeps } from '../auth/bearer.ts'
import {
  createDoorArrivals,
  createDoorKnownHeaders,
  createDoorSignIn,
  createDoorSignUp,
  createPasskeyFinder,
  type DoorSignIn,
} from '../auth/door-sign-in.ts'
import { JWT_HANDLER } from '../auth/jwt.ts'
import { createKnownHeaders } from '../auth/known-headers.ts'
import type { Passkeys } from '../auth/passkey-sign-in.ts'
import { createSessionRecorder, recordSignIn, type SessionRecorder } from '../auth/record-sign-ins.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import { createConsoleSessions } from '../auth/session/console-session.ts'
import type { SigningSettings } from '../auth/session/cookie-value.ts'
import { createCookieHeaders } from '../auth/session/session-cookie.ts'
import { createTokenSessions, type TokenSessionDeps } from '../auth/session/token-session.ts'
import { createSignIn, withAddresses } from '../auth/sign-in.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { toDigests } from '../config/auth-codecs.ts'
import { GATE_AUDIENCE } from '../config/open-sections.ts'
import type { Config } from '../config/options.ts'
import { toWireNames } from '../config/options.ts'
import { isGiven } from '../config/settings.ts'
import type { ExternalSignIn } from '../dialects/admin-api/external-sign-in.ts'
import { findTokenUser, isTokenOf } from '../directory/access-token.ts'
import { type ClaimRules, readClaimPath } from '../keys/document-claims.ts'
import { findOriginVersion, type JwtKeys } from '../keys/jwt-keys.ts'
import { followCookieSecret, followCookieTimeout } from '../live-config/cookie-secret.ts'
import { followKeys } from '../live-config/jwt-keys.ts'
import { toHashParameters } from '../live-config/password-settings.ts'
import { openExternalSignIn, openPasskeys } from '../modules.ts'
import { addCacheMetrics } from '../observe/part-metrics.ts'
import type { IterationLimits } from '../passwords/hash-policy.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { type Core, listHandlers } from './core.ts'

/** How users sign in and what their credentials are checked against, at every door. */
export interface SignIns {
  readonly passwords: ReturnType<typeof createPasswords>
  readonly sessions: ReturnType<typeof createSessions>
  readonly jwtKeys: Live<JwtKeys>
  readonly claimRules: Live<ClaimRules>
  readonly external: ExternalSignIn
  readonly passkeys: Passkeys
  /** How tokens of the multi-model door are verified. */
  readonly bearer: BearerDeps
  readonly forwardAuth: ReturnType<typeof toForwardAuthDeps>
  /** What a credential that was accepted before is checked with again. */
  readonly revalidation: RevalidateDeps
}

export async function openSignIns(core: Core): Promise<SignIns> {
  const passkeys = await openPasskeys(core)
  const passwords = createPasswords(core, passkeys)
  const jwtKeys = followKeys(core.liveConfig)
  const claimRules = deriveLive(core.config, toClaimRules)
  return {
    passwords,
    sessions: createSessions(core, passwords.signIn, followOrigins(core, jwtKeys, claimRules)),
    jwtKeys,
    claimRules,
    external: await openExternalSignIn(core),
    passkeys,
    bearer: toBearerDeps(core),
    forwardAuth: toForwardAuthDeps(core),
    revalidation: { directory: core.directory, iterationLimits: deriveLive(core.config, toIterationLimits).get },
  }
}

/** One sign-in with a password for all doors. */
function createPasswords(core: Core, passkeys: Passkeys) {
  const { liveConfig, config, directory, kernel } = core
  const { guesses } = core.limits
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies')).get
  const { recorded, known } = createPasswordSignIn(core)
  const limitArrivals = createDoorArrivals(guesses, namesProxies)
  const byPasskey = createPasskeyFinder({ passkeys, limitArrivals, directory, events: kernel.events })
  const signIn = createDoorSignIn(recorded, namesProxies, byPasskey)
  return {
    signIn,
    signUp: createDoorSignUp(guesses, namesProxies),
    limitArrivals,
    /** Accepts passwords that were verified before. */
    knownHeaders: createDoorKnownHeaders(known, namesProxies),
    /** Checks the Basic credential of the document door. */
    check: createDocumentCheck({ directory, signIn, clock: kernel.clock }),
    /** Proves the current password of users who change their own credentials. */
    proof: {
      directory,
      signIn,
      maxAgeSeconds: () => config.get().auth['reauthenticate-after'],
      clock: kernel.clock,
    },
  }
}

/** What the document door requires of the claims of a token, and where it finds the roles. */
function toClaimRules(config: Config): ClaimRules {
  const { required_claims: required, roles_claim_path: path } = config.jwt_auth
  return {
    required,
    roles: path === '' ? { kind: 'claim', name: toWireNames(config).rolesClaim } : readClaimPath(path),
  }
}

/** A session that a token has opened is accepted only while the same token would be. */
function followOrigins({ config }: Core, keys: Live<JwtKeys>, rules: Live<ClaimRules>) {
  const acceptsTokens = deriveLive(config, (values) => listHandlers(values).includes(JWT_HANDLER)).get
  return (algorithm: string, kid: string | undefined) =>
    acceptsTokens() ? findOriginVersion(keys.get(), rules.get(), algorithm, kid) : undefined
}

/** The sessions of the document door and of the console, with the secrets that sign their cookies. */
function createSessions(core: Core, signIn: DoorSignIn, findOriginVersion: TokenSessionDeps['findOriginVersion']) {
  const { liveConfig, config, directory, kernel } = core
  const { clock } = kernel
  const settings = deriveLive(config, (values) => toSigningSettings(values, values.chttpd_auth.timeout))
  const cookieSettings = () => config.get().chttpd_auth
  const timeoutSeconds = () => cookieSettings().timeout
  const cookieSecrets = followCookieSecret(liveConfig, timeoutSeconds)
  const cookieDeps = {
    secrets: cookieSecrets,
    directory,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, 'chttpd_auth.timeout'),
    findOriginVersion,
    clock,
  }
  return {
    cookieSecrets,
    settings,
    cookieHeaders: createCookieHeaders(cookieSettings, clock),
    cookies: {
      accounts: createAccountSessions(cookieDeps),
      tokens: createTokenSessions(cookieDeps),
      cookieSettings,
    },
    recorder: createRecorder(core, 'document', timeoutSeconds),
    console: createAdminSessions(core, signIn, cookieSecrets),
  }
}

/** What the forward-auth endpoint and the key set need at every door. */
const toForwardAuthDeps = ({ config, gateway, kernel }: Core) => ({
  keys: () => [gateway.serviceKey.jwk],
  toIdentityHeaders: gateway.toServiceIdentity(GATE_AUDIENCE),
  cacheSeconds: () => config.get().gate['cache-seconds'],
  clock: kernel.clock,
})

function createPasswordSignIn({ config, directory, limits, metrics, kernel: { hasher, events } }: Core) {
  const size = () => config.get().chttpd_auth.auth_cache_size
  const memory = createPasswordMemory(size)
  addCacheMetrics(metrics, 'passwords', memory.counts)
  const { noteSignIn } = directory
  const shared = { limits: limits.guesses, iterationLimits: deriveLive(config, toIterationLimits).get }
  const signIn = createSignIn({
    ...shared,
    memory,
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher,
    spendCode: directory.spendCode,
    isAccessToken: (account, text) => findTokenUser(text) === account.name && isTokenOf(account, text),
    newPasswordWork: deriveLive(config, toDecoy).get,
    storedWork: directory.storedWork,
  })
  const isKnownName = async (name: string) =>
    directory.isAdministrator(name) || (await directory.findUser(name)) !== undefined
  return {
    recorded: withAddresses(recordSignIn(signIn, { events, isKnownName, noteSignIn }), directory),
    known: createKnownHeaders({ ...shared, directory, noteSignIn, size, counts: memory.counts }),
  }
}

function createAdminSessions(core: Core, signIn: DoorSignIn, secrets: ReturnType<typeof followCookieSecret>) {
  const { liveConfig, config, directory, kernel } = core
  const settings = deriveLive(config, (values) => toSigningSettings(values, values.admin['session-timeout']))
  const timeoutSeconds = () => settings.get().timeoutSeconds
  return createConsoleSessions({
    secrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, 'admin.session-timeout'),
    directory,
    signIn,
    events: kernel.events,
    recorder: createRecorder(core, 'admin', timeoutSeconds),
    ownKey: () => liveConfig.get().ownKey,
    clock: kernel.clock,
  })
}

/** Notes the sessions of one door, for lists of sessions. */
export const createRecorder = (
  { directory, kernel, onSignIn }: Core,
  door: string,
  timeoutSeconds: () => number,
): SessionRecorder => createSessionRecorder({ directory, door, timeoutSeconds, clock: kernel.clock, onSignIn })

const toBearerDeps = ({ directory, tokenSecrets, config, kernel }: Core): BearerDeps => ({
  directory,
  ring: tokenSecrets.ring.get,
  cache: tokenSecrets.cache,
  issuer: toWireNames(config.get()).issuer,
  knowsUsers: () => config.get().server.role === 'single',
  acceptsAccessTokens: () => config.get().server['access-tokens-as-bearer'],
  maxLifetimeSeconds: () => config.get().chttpd_auth.max_lifetime,
  clock: kernel.clock,
})

/** The least work for checking the password of an unknown name, so that response times do not reveal it. */
function toDecoy(config: Config): HashWork {
  const { prf, iterations } = toHashParameters(config)
  return { unit: prf, amount: iterations }
}

const toIterationLimits = ({ chttpd_auth }: Config): IterationLimits => ({
  min: chttpd_auth.min_iterations,
  max: chttpd_auth.max_iterations,
})

/** How session cookies are signed that last so long after a request. */
const toSigningSettings = ({ chttpd_auth: auth }: Config, timeoutSeconds: number): SigningSettings => ({
  timeoutSeconds,
  maxLifetimeSeconds: auth.max_lifetime,
  algorithms: toAlgorithms(auth),
})

function toAlgorithms({ hash_algorithms: names }: Config['chttpd_auth']): SigningSettings['algorithms'] {
  const [first = 'sha256', ...others] = toDigests(names)
  return [first, ...others]
}
