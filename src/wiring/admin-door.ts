// The admin API: on a listener of its own, and mounted at both doors.
import { type Authenticator, createAuthenticator, createRevalidation } from '../auth/authenticate.ts'
import { createBasicHandler, DOCUMENT_BASIC } from '../auth/basic.ts'
import { ACCEPTED, selectHandlers } from '../auth/credential.ts'
import { createExternalAccountFinder } from '../auth/provider-token.ts'
import { createSignInObserver, type SessionRecorder } from '../auth/record-sign-ins.ts'
import { createRequireCurrentPassword, createRequirePasswordInBody } from '../auth/require-password.ts'
import { createRenewableSessions } from '../auth/session/renewable-session.ts'
import { createCookieHandler } from '../auth/session/session-cookie.ts'
import { createApplicationSignIn } from '../auth/session/session-service.ts'
import { badRequest } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { listIssuers } from '../config/providers.ts'
import { compareSettings } from '../config/settings.ts'
import { type AccountApiOptions, mountAccountApi } from '../dialects/admin-api/account-api.ts'
import { type AdminApiOptions, createAdminApiDialect } from '../dialects/admin-api/dialect.ts'
import type { OperationDeps } from '../dialects/admin-api/operation.ts'
import { type ConsoleFiles, loadConsoleFiles } from '../dialects/admin-api/page.ts'
import { PROVIDER_ENDPOINT } from '../dialects/admin-api/provider-routes.ts'
import { ACCESS, type AdminRoute } from '../dialects/admin-api/rights.ts'
import type { Health } from '../dialects/admin-api/schemas/system.ts'
import { mountSignInPage, type SignInPageDeps } from '../dialects/admin-api/sign-in-page.ts'
import { openMetricsRoute, showParts } from '../dialects/admin-api/system/probes.ts'
import { explainDocumentAccess } from '../dialects/document/explain-access.ts'
import { FORWARD_AUTH_BASE, mountKeySet } from '../dialects/forward-auth/routes.ts'
import { explainMultiModelAccess } from '../dialects/multi-model/explain-access.ts'
import { CONSOLE_PATH, METRICS_PATH, OWN_SEGMENT } from '../dialects/own-paths.ts'
import type { Account, DoorAccess } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { type Mount, READ_METHODS } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext, Step } from '../http/request-context.ts'
import { toPasswordRules } from '../live-config/kernel-settings.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { createSettingsEditor } from '../live-config/settings-editor.ts'
import { renderOnceASecond } from '../observe/metrics.ts'
import { type Parts, toDoorOptions } from './parts.ts'
import { toDocumentSettings, toRenewableSettings, toUsersSettings } from './settings.ts'

/** The listener of `admin.endpoint`. Programs sign in with Basic, browsers with a session. */
export function createAdminDoor(parts: Parts): Door {
  const accepted = selectHandlers([createBasicHandler(DOCUMENT_BASIC, parts.check)], ACCEPTED.adminEndpoint)
  const programs = createAuthenticator({ select: () => accepted, observer: createSignInObserver(parts.events) })
  const dialect = createAdminDialect(parts, programs, { isOwnOrigin: true })
  return createDoor({
    ...toDoorOptions(parts, 'admin'),
    dialect: { ...dialect, name: 'admin', routes: [...dialect.routes, TO_CONSOLE] },
    mounts: [mountSignIn(parts), mountKeySet(parts.forwardAuth)],
    tracing: parts.tracing,
  })
}

const TO_CONSOLE: AdminRoute = {
  path: '/',
  right: ACCESS.open,
  allow: READ_METHODS,
  methods: { GET: () => ({ status: 303, headers: [['Location', CONSOLE_PATH]] }) },
}

/** The listener of `metrics.endpoint`. */
export function createMetricsDoor(parts: Parts): Door {
  const deps = { renderMetrics: renderOnceASecond(() => renderMetrics(parts)) }
  return createDoor({
    ...toDoorOptions(parts, 'metrics'),
    dialect: {
      ...FORWARD_AUTH_BASE,
      name: 'metrics',
      routes: [openMetricsRoute('/metrics', deps), openMetricsRoute(METRICS_PATH, deps)],
    },
  })
}

/** At a door, whose rules for every path count there too. `programs` reads the credentials of programs. */
export const mountAdminApi = (
  parts: Parts,
  programs: Authenticator<RequestContext>,
  requireEntry: Step['run'],
): Mount => ({
  segment: OWN_SEGMENT,
  dialect: createAdminDialect(parts, programs, { isOwnOrigin: false, requireEntry }),
})

interface AdminListener extends Pick<AdminApiOptions, 'requireEntry'> {
  /** Whether the listener serves nothing else. */
  readonly isOwnOrigin: boolean
}

function createAdminDialect(
  parts: Parts,
  programs: Authenticator<RequestContext>,
  { isOwnOrigin, ...listener }: AdminListener,
): Dialect {
  const { adminSessions: sessions } = parts
  const accepted = selectHandlers([sessions.handler], ACCEPTED.console)
  const browsers = createAuthenticator({ select: () => accepted })
  const deps = createServerDeps(parts)
  return createAdminApiDialect({
    ...deps,
    ...listener,
    authenticate: programs.authenticate,
    confirmCredential: createRevalidation<RequestContext>([programs, browsers], parts).confirmCredential,
    ...createPasswordProofs(parts),
    console: {
      sessions,
      files: findConsoleFiles(),
      isOwnOrigin,
      instanceName: () => parts.config.get().console.name,
      userAdminRole: deps.userAdminRole,
    },
  })
}

const createPasswordProofs = ({ passwordProof, config }: Parts) => ({
  requirePassword: createRequirePasswordInBody({
    ...passwordProof,
    maxAgeSeconds: () => config.get().admin['reauthenticate-after'],
  }),
  requireCurrentPassword: createRequireCurrentPassword(passwordProof),
})

interface AccountDoor extends Pick<AccountApiOptions, 'cors' | 'reopen' | 'renewalHeaders' | 'signIn'> {
  /** Records the sessions of tokens. Left out: the routes have no tokens. */
  readonly recorder: SessionRecorder | undefined
}

/** The name of the sign-in in security events. */
const ACCOUNT_ENDPOINT = 'account'

export const mountAccount = (
  parts: Parts,
  authenticator: Authenticator<RequestContext>,
  { recorder, ...door }: AccountDoor,
): Mount =>
  mountAccountApi({
    ...createServerDeps(parts),
    ...createPasswordProofs(parts),
    ...door,
    tokens:
      recorder &&
      createRenewableSessions({
        ...parts,
        ...parts.bearer,
        ...createAccountSignIn(parts),
        directory: parts.directory,
        recorder,
        settings: deriveLive(parts.config, toRenewableSettings).get,
        endpoint: ACCOUNT_ENDPOINT,
      }),
    authenticate: authenticator.authenticate,
    confirmCredential: createRevalidation([authenticator], parts).confirmCredential,
  })

/** Opens sessions of the document door, whichever listener signs the user in. */
export const createAccountSignIn = (parts: Parts, endpoint = ACCOUNT_ENDPOINT) => ({
  signIn: createApplicationSignIn({ ...parts, ...parts.cookies, endpoint }),
  signUp: parts.signUp,
  allowsSignUp: () => parts.config.get().chttpd_auth.allow_sign_up,
})

/** The sign-in page. `requireEntry` is left out where no door has rules for every path. */
export function mountSignIn(
  parts: Parts,
  requireEntry?: Step['run'],
  door: Pick<SignInPageDeps, 'openToken'> = {},
): Mount {
  const accepted = selectHandlers([createCookieHandler(parts.cookies)], ACCEPTED.signInPage)
  const observer = createSignInObserver(parts.events, parts.recorder)
  const authenticator = createAuthenticator<RequestContext>({ select: () => accepted, observer, isLenient: true })
  return mountSignInPage({
    ...createAccountSignIn(parts),
    directory: parts.directory,
    passwordLinks: parts.store,
    clock: parts.clock,
    events: parts.events,
    providerSignIn: parts.providerSignIn,
    limitArrivals: parts.limitArrivals,
    openSession: createAccountSignIn(parts, PROVIDER_ENDPOINT).signIn.open,
    requireCurrentPassword: createRequireCurrentPassword(parts.passwordProof),
    publicUrl: () => parts.config.get().console['public-url'],
    instanceName: () => parts.config.get().console.name,
    page: findConsoleFiles().signInPage,
    authenticate: authenticator.authenticate,
    confirmCredential: createRevalidation([authenticator], parts).confirmCredential,
    renewalHeaders: parts.cookieHeaders.renewalHeaders,
    requireEntry,
    ...door,
  })
}

/** The path is the same from the sources and from the compiled package. */
const CONSOLE_FOLDER = new URL('../../dist/console/', import.meta.url)

let loadedConsole: ConsoleFiles | undefined

/** Read once for all listeners of the process. */
function findConsoleFiles(): ConsoleFiles {
  loadedConsole ??= loadConsoleFiles(CONSOLE_FOLDER)
  return loadedConsole
}

/** What operations need of any process that has opened the store. */
export function createOperationDeps(
  liveConfig: LiveConfig,
  directory: Directory,
  limits: OperationDeps['limits'],
): OperationDeps {
  const { events, audit, store, clock } = liveConfig.kernel
  const config = () => liveConfig.get().settings.values
  return {
    directory,
    clock,
    limits,
    events,
    audit,
    settings: createSettingsEditor(liveConfig),
    userAdminRole: () => config().admin['user-admin-role'],
    factorRoles: () => config().admin['second-factor-roles'],
    explainAccess: (account, database) => explainAccess(liveConfig, account, database),
    passwordLinks: store,
    publicUrl: () => config().console['public-url'],
    passwordRules: () => toPasswordRules(config()),
    listIssuers: (provider) =>
      liveConfig
        .get()
        .settings.open.provider.flatMap(({ name, values }) => (name === provider ? listIssuers(values) : [])),
    async reload() {
      const { isApplied, ...report } = await liveConfig.reload()
      return { applied: isApplied, secrets: [], ...report }
    },
  }
}

/** The same with what only a server has. */
export const createServerDeps = (parts: Parts) => ({
  ...createOperationDeps(parts.liveConfig, parts.directory, parts.limits),
  server: {
    monitor: parts.monitor,
    secrets: parts.secrets,
    health: () => describeHealth(parts),
    findUpstream: parts.gateway.find,
    findRoll: () => parts.workers.get()?.roll ?? refuseRoll(),
    hasSignInProviders: () => parts.providerSignIn.list().length > 0,
    findExternalAccount: createExternalAccountFinder(parts),
  },
  live: parts.live,
  checkHealth: parts.checkHealth,
  renderMetrics: () => renderMetrics(parts),
})

/** With the health of now. */
async function renderMetrics({ metrics, checkHealth }: Parts) {
  await checkHealth()
  return metrics.render()
}

function refuseRoll(): never {
  throw badRequest('The server has no worker threads: see the option server.workers.')
}

function explainAccess(liveConfig: LiveConfig, account: Account, database: string): readonly DoorAccess[] {
  const { settings } = liveConfig.get()
  const { values } = settings
  const document = {
    settings: toDocumentSettings(settings),
    users: { settings: () => toUsersSettings(values) },
    hasUpstream: values.upstream.document.length > 0,
  }
  return [explainDocumentAccess(account, database, document), explainMultiModelAccess(account, database)]
}

async function describeHealth({ liveConfig, store, clock, directory, checkHealth, listening }: Parts): Promise<Health> {
  const { settings, configured, warnings } = liveConfig.get()
  return {
    product: PRODUCT.name,
    version: PRODUCT.version,
    pid: process.pid,
    store: store.engine,
    stalenessMs: directory.stalenessMs(),
    node: settings.values.node.name,
    startedAt: Math.floor(clock.nowMs() / 1000 - process.uptime()),
    listening: listening.get(),
    needRestart: compareSettings(settings, configured).needRestart,
    warnings,
    ...showParts(await checkHealth()),
  }
}
