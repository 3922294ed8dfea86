// The parts that the doors share: the directory, one sign-in, one set of limits, the session secrets.
import { type AccessTokenDeps, toBasicResult, verifyPasswordOrToken } from '../auth/access-token.ts'
import type { PasswordCheck } from '../auth/basic.ts'
import type { IssuedTokenDeps } from '../auth/bearer.ts'
import { createDoorSignIn, type DoorSignIn } from '../auth/door-sign-in.ts'
import type { CredentialSource } from '../auth/handler.ts'
import { createLimits, type PasswordLimits } from '../auth/limits/limits.ts'
import { shareFailures } from '../auth/limits/share.ts'
import { createSessionRecorder, type SessionRecorder } from '../auth/record-sessions.ts'
import { recordSignIn } from '../auth/record-sign-ins.ts'
import type { RequirePasswordDeps } from '../auth/require-password.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import type { CookieSessions } from '../auth/session/cookie-handler.ts'
import type { CookieSecrets } from '../auth/session/secrets.ts'
import { createSessionService, type SignInCredentials } from '../auth/session/session-service.ts'
import { renderSessionCookie, type SessionSettings } from '../auth/session/set-cookie.ts'
import { createTokenSessions } from '../auth/session/token-session.ts'
import { createSignIn } from '../auth/sign-in.ts'
import { CacheCounts } from '../base/cache-counts.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import { createBrowserSessions } from '../dialects/admin-api/browser-sessions.ts'
import type { LimitEditor, OperationDeps } from '../dialects/admin-api/operation.ts'
import type { AdminSessions } from '../dialects/admin-api/session.ts'
import { DOCUMENT_BASIC } from '../dialects/document/steps.ts'
import type { Account } from '../directory/account.ts'
import { createDirectory } from '../directory/create-directory.ts'
import type { Administration } from '../directory/deps.ts'
import type { Directory, SessionOpening } from '../directory/directory.ts'
import { createTotpCheck } from '../directory/totp.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'
import { findKeyVersion, type JwtKeys } from '../keys/jwt-keys.ts'
import { upgradeAdministrator } from '../live-config/administrators.ts'
import { followCookieSecret, followCookieTimeout } from '../live-config/cookie-secret.ts'
import { followKeys } from '../live-config/jwt-keys.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { toHashParameters } from '../live-config/password-options.ts'
import type { TokenSecrets } from '../live-config/secret-rings.ts'
import { addCacheMetrics } from '../observe/cache-metrics.ts'
import type { Metrics } from '../observe/metrics.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { followChanges } from '../store/feed.ts'
import type { Gateway } from './gateway.ts'
import {
  isGiven,
  toAdminSessionSettings,
  toDecoy,
  toDirectorySettings,
  toIterationLimits,
  toLimitSettings,
  toSessionSettings,
} from './settings.ts'

/** What is opened before the doors, and closed after them. */
export interface OpenedParts {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly guesses: PasswordLimits
  readonly operations: OperationDeps
  readonly tokenSecrets: TokenSecrets
  readonly gateway: Gateway
  readonly metrics: Metrics
  readonly log: Log
}

/** What a door is built from. */
export interface DoorParts extends OpenedParts {
  readonly signIn: DoorSignIn
  /** Checks the Basic credential of the document door. */
  readonly check: PasswordCheck
  readonly adminSessions: AdminSessions
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
  /** Verify the tokens of the document door. */
  readonly jwtKeys: Live<JwtKeys>
}

export function createDoorParts(opened: OpenedParts): DoorParts {
  const { liveConfig, directory, log } = opened
  const signIn = openSignIn(opened)
  const sessionSettings = deriveLive(liveConfig, ({ settings }) => toSessionSettings(settings.values))
  const timeoutSeconds = () => sessionSettings.get().timeoutSeconds
  const cookieSecrets = followCookieSecret(liveConfig, timeoutSeconds)
  const jwtKeys = followKeys(liveConfig, log)
  return {
    ...opened,
    signIn,
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
    jwtKeys,
  }
}

/** At the document door an access token needs its user's name beside it. */
const createDocumentCheck =
  (deps: AccessTokenDeps): PasswordCheck =>
  async (name, password, source) => {
    const given = { name, password, source, handler: DOCUMENT_BASIC.name }
    return name === '' ? deps.signIn(given) : toBasicResult(await verifyPasswordOrToken(deps, given))
  }

export const toIssuer = (config: Config): string => config['multi-model'].name.toLowerCase()

/** How tokens of the multi-model door are verified, at both doors. */
export const toBearerDeps = ({ directory, tokenSecrets, liveConfig }: OpenedParts): IssuedTokenDeps => ({
  directory,
  ring: tokenSecrets.ring.get,
  cache: tokenSecrets.cache,
  issuer: toIssuer(liveConfig.get().settings.values),
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
  return { accounts: createAccountSessions(deps), tokens: createTokenSessions(deps) }
}

/** For programs that sign users in by routes of their own. */
export interface ProgramSignIn {
  /** `undefined`: wrong name, password or code. */
  verify(credentials: SignInCredentials, source: CredentialSource): Promise<Account | undefined>
  /** A session of the document door, and the header that sets its cookie. */
  open(account: Account, opening: SessionOpening, context: RequestContext): Promise<ProgramSession>
}

export interface ProgramSession {
  readonly id: string
  /** Seconds since the epoch; every use postpones it. */
  readonly expiresAt: number
  readonly header: HeaderPair
}

const PROGRAM = 'library'

export function createProgramSignIn(parts: DoorParts): ProgramSignIn {
  const { signIn, liveConfig, cookies, sessionSettings } = parts
  const service = createSessionService({
    ...parts,
    events: liveConfig.events,
    accounts: cookies.accounts,
    endpoint: PROGRAM,
    clock: SYSTEM_CLOCK,
  })
  return {
    verify: (credentials, source) => signIn({ ...credentials, source, handler: PROGRAM }),
    async open(account, opening, context) {
      const { cookie } = await service.openFor(account, context, opening)
      const isSecure = context.client.scheme === 'https'
      const nowMs = SYSTEM_CLOCK.nowMs()
      const header = renderSessionCookie(cookie, { settings: sessionSettings.get(), isSecure, nowMs })
      return { id: cookie.id, expiresAt: Math.floor(nowMs / 1000) + cookie.maxAgeSeconds, header }
    },
  }
}

function createAdminSessions(
  { liveConfig, directory }: OpenedParts,
  signIn: DoorSignIn,
  secrets: CookieSecrets,
): AdminSessions {
  const settings = deriveLive(liveConfig, (snapshot) => toAdminSessionSettings(snapshot.settings.values))
  return createBrowserSessions({
    secrets,
    settings: settings.get,
    timeouts: followCookieTimeout(liveConfig, () => settings.get().timeoutSeconds),
    directory,
    signIn,
    events: liveConfig.events,
    recorder: createRecorder(directory, 'admin', () => settings.get().timeoutSeconds),
    ownKey: () => liveConfig.get().ownKey,
    clock: SYSTEM_CLOCK,
  })
}

/** Notes the sessions of one door, for lists of sessions. */
export const createRecorder = (directory: Directory, door: string, timeoutSeconds: () => number): SessionRecorder =>
  createSessionRecorder({ directory, door, timeoutSeconds, clock: SYSTEM_CLOCK })

function openSignIn({ liveConfig, directory, guesses, metrics }: OpenedParts): DoorSignIn {
  const config = () => liveConfig.get().settings.values
  const memory = createPasswordMemory(() => config().chttpd_auth.auth_cache_size)
  addCacheMetrics(metrics, 'passwords', memory.counts)
  const signIn = createSignIn({
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher: liveConfig.hasher,
    memory,
    limits: guesses,
    codes: createTotpCheck(liveConfig.store, SYSTEM_CLOCK),
    newPasswordWork: () => toDecoy(config()),
    storedWork: directory.storedWork,
    iterationLimits: () => toIterationLimits(config()),
  })
  const recorded = recordSignIn(signIn, {
    events: liveConfig.events,
    isKnownName: async (name) => directory.isAdministrator(name) || (await directory.findUser(name)) !== undefined,
    noteSignIn: directory.noteSignIn,
  })
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies'))
  return createDoorSignIn(recorded, namesProxies.get)
}

export function openDirectory(liveConfig: LiveConfig, log: Log, cacheCounts = new CacheCounts()): Promise<Directory> {
  const { store, hasher, events } = liveConfig
  const config = deriveLive(liveConfig, (snapshot) => snapshot.settings.values)
  const settings = deriveLive(config, toDirectorySettings)
  return createDirectory({
    store,
    hasher,
    administration: toAdministration(liveConfig, log),
    settings: settings.get,
    cacheCounts,
    follow: (options) => followChanges(store, { ...options, clock: SYSTEM_CLOCK }),
    clock: SYSTEM_CLOCK,
    ownKey: () => liveConfig.get().ownKey,
    events,
    log,
  })
}

const toAdministration = (liveConfig: LiveConfig, log: Log): Administration => ({
  accounts: () => liveConfig.get().administrators,
  changedAt: (name) => liveConfig.get().administratorChanges.get(name)?.seconds,
  sequence: () => liveConfig.get().sequence,
  async replaceHash(name, from, to) {
    const snapshot = liveConfig.get()
    const { runtime, hasher } = liveConfig
    const parameters = toHashParameters(snapshot.settings.values)
    const deps = { records: runtime.administrators, hasher, parameters, log }
    await upgradeAdministrator(snapshot.settings, snapshot, { name, from, to }, deps)
    await liveConfig.refresh()
  },
  endSessions: async (name) => {
    await liveConfig.runtime.administrators.endAdministratorSessions(name)
    await liveConfig.refresh()
  },
  refresh: async () => {
    await liveConfig.refresh()
  },
})

export interface Limits {
  readonly guesses: PasswordLimits
  /** For the administrator. */
  readonly accounts: LimitEditor
  close(): Promise<void>
}

/** The limits on password checks, shared with other nodes through the store. */
export function openLimits(liveConfig: LiveConfig, log: Log): Limits {
  const settings = deriveLive(liveConfig, (snapshot) => toLimitSettings(snapshot.settings.values))
  const limits = createLimits({
    settings: settings.get,
    clock: SYSTEM_CLOCK,
    log,
    onReached: ({ limit, name, seconds }) =>
      liveConfig.events.record('limit.started', { limit, subject: name, seconds }),
  })
  const sharing = shareFailures({
    counters: limits,
    store: liveConfig.store,
    settings: settings.get,
    clock: SYSTEM_CLOCK,
  })
  return {
    guesses: limits,
    accounts: {
      async find(account) {
        await sharing.shareNow()
        return limits.findLimit(account)
      },
      async lift(account) {
        limits.lift(account)
        await sharing.shareNow()
      },
    },
    close: sharing.stop,
  }
}
