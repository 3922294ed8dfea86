// The admin API: on a listener of its own, and mounted at both doors.

import { createAuthenticator, createRevalidation, type DoorAuthenticator } from '../auth/authenticate.ts'
import { createBasicHandler, DOCUMENT_BASIC } from '../auth/basic.ts'
import { ACCEPTED, selectHandlers } from '../auth/credential.ts'
import { EXTERNAL_ENDPOINT } from '../auth/external-token.ts'
import { createSignInObserver, type SessionRecorder } from '../auth/record-sign-ins.ts'
import {
  createRequireCurrentPassword,
  createRequirePasskey,
  createRequirePasswordInBody,
} from '../auth/require-password.ts'
import { createRenewableSessions } from '../auth/session/renewable-session.ts'
import { createCookieHandler } from '../auth/session/session-cookie.ts'
import { createApplicationSignIn } from '../auth/session/session-service.ts'
import { CONTROL_DOOR, OWNER } from '../auth/socket-owner.ts'
import { CONSOLE_PATH, METRICS_PATH, OWN_SEGMENT } from '../base/own-paths.ts'
import { type AccountApiOptions, mountAccountApi } from '../dialects/admin-api/account-api.ts'
import { type AdminApiOptions, createAdminApiDialect } from '../dialects/admin-api/dialect.ts'
import { type ConsoleFiles, loadConsoleFiles } from '../dialects/admin-api/page.ts'
import { ACCESS, type AdminRoute } from '../dialects/admin-api/rights.ts'
import { mountSignInPage, type SignInPageDeps } from '../dialects/admin-api/sign-in-page.ts'
import { openMetricsRoute } from '../dialects/admin-api/system/probes.ts'
import { FORWARD_AUTH_BASE, mountKeySet } from '../dialects/forward-auth/routes.ts'
import { type Mount, READ_METHODS } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext, Step } from '../http/request-context.ts'
import { toSignInOptions } from '../modules.ts'
import { renderOnceASecond } from '../observe/metrics.ts'
import { createServerDeps, type Parts, renderMetrics, toDoorOptions } from './parts.ts'

/** The listener of `admin.endpoint`. Programs sign in with Basic, browsers with a session. */
export function createAdminDoor(parts: Parts): Door {
  const accepted = selectHandlers(
    [createBasicHandler(DOCUMENT_BASIC, parts.signIns.passwords.check)],
    ACCEPTED.adminEndpoint,
  )
  const programs = createAuthenticator({
    select: () => accepted,
    observer: createSignInObserver(parts.core.kernel.events),
  })
  const dialect = createAdminDialect(parts, programs, { isOwnOrigin: true })
  return createDoor({
    ...toDoorOptions(parts, 'admin'),
    dialect: { ...dialect, name: 'admin', routes: [...dialect.routes, TO_CONSOLE] },
    mounts: [mountSignIn(parts), mountKeySet(parts.signIns.forwardAuth)],
    tracing: parts.core.tracing,
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
  const deps = { renderMetrics: renderOnceASecond(() => renderMetrics(parts.monitoring)) }
  return createDoor({
    ...toDoorOptions(parts, 'metrics'),
    dialect: {
      ...FORWARD_AUTH_BASE,
      name: 'metrics',
      routes: [openMetricsRoute('/metrics', deps), openMetricsRoute(METRICS_PATH, deps)],
    },
  })
}

/** The listener of the control socket, for the owner of the server. */
export const createControlDoor = (parts: Parts): Door =>
  createDoor({
    ...toDoorOptions(parts, CONTROL_DOOR),
    dialect: createAdminApiDialect({
      ...createServerDeps(parts),
      authenticate: async () => OWNER,
      requirePassword: async () => {},
      requireCurrentPassword: async () => {},
      requirePasskey: async () => {},
    }),
  })

/** At a door, whose rules for every path count there too. `programs` reads the credentials of programs. */
export const mountAdminApi = (
  parts: Parts,
  programs: DoorAuthenticator<RequestContext>,
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
  programs: DoorAuthenticator<RequestContext>,
  { isOwnOrigin, ...listener }: AdminListener,
): Dialect {
  const { sessions, revalidation } = parts.signIns
  const accepted = selectHandlers([sessions.console.handler], ACCEPTED.console)
  const browsers = createAuthenticator({ select: () => accepted })
  const deps = createServerDeps(parts)
  return createAdminApiDialect({
    ...deps,
    ...listener,
    authenticate: programs.authenticate,
    confirmCredential: createRevalidation<RequestContext>([programs, browsers], revalidation).confirmCredential,
    ...createPasswordProofs(parts),
    console: {
      sessions: sessions.console,
      files: findConsoleFiles(),
      isOwnOrigin,
      instanceName: () => parts.core.config.get().console.name,
      userAdminRole: deps.core.userAdminRole,
    },
  })
}

function createPasswordProofs({ core: { config }, signIns: { passwords } }: Parts) {
  const proof = { ...passwords.proof, maxAgeSeconds: () => config.get().admin['reauthenticate-after'] }
  return {
    requirePassword: createRequirePasswordInBody(proof),
    requireCurrentPassword: createRequireCurrentPassword(passwords.proof),
    requirePasskey: createRequirePasskey(proof),
  }
}

interface AccountDoor extends Pick<AccountApiOptions, 'cors' | 'reopen' | 'renewalHeaders' | 'signIn'> {
  /** Records the sessions of tokens. Left out: the routes have no tokens. */
  readonly recorder: SessionRecorder | undefined
}

/** The name of the sign-in in security events. */
const ACCOUNT_ENDPOINT = 'account'

export const mountAccount = (
  parts: Parts,
  authenticator: DoorAuthenticator<RequestContext>,
  { recorder, ...door }: AccountDoor,
): Mount =>
  mountAccountApi({
    ...createServerDeps(parts),
    ...createPasswordProofs(parts),
    ...door,
    passkeys: parts.signIns.passkeys,
    tokens:
      recorder &&
      createRenewableSessions({
        ...parts.signIns.bearer,
        ...toSessionDeps(parts, ACCOUNT_ENDPOINT),
        ...createAccountSignIn(parts),
        recorder,
        settings: () => parts.core.config.get().auth,
      }),
    authenticate: authenticator.authenticate,
    confirmCredential: createRevalidation([authenticator], parts.signIns.revalidation).confirmCredential,
  })

/** What sessions of the document door are opened with. `endpoint` names the sign-in in security events. */
export const toSessionDeps = ({ core, signIns: { passwords, sessions } }: Parts, endpoint: string) => ({
  directory: core.directory,
  events: core.kernel.events,
  clock: core.kernel.clock,
  signIn: passwords.signIn,
  recorder: sessions.recorder,
  cookieHeaders: sessions.cookieHeaders,
  ...sessions.cookies,
  endpoint,
})

/** Opens sessions of the document door, whichever listener signs the user in. */
export const createAccountSignIn = (parts: Parts, endpoint = ACCOUNT_ENDPOINT) => ({
  signIn: createApplicationSignIn(toSessionDeps(parts, endpoint)),
  signUp: parts.signIns.passwords.signUp,
  allowsSignUp: () => parts.core.config.get().chttpd_auth.allow_sign_up,
})

/** The sign-in page. `requireEntry` is left out where no door has rules for every path. */
export function mountSignIn(
  parts: Parts,
  requireEntry?: Step['run'],
  door: Pick<SignInPageDeps, 'openToken'> = {},
): Mount {
  const { core, signIns } = parts
  const { config, directory, kernel } = core
  const { passwords, sessions, external } = signIns
  const accepted = selectHandlers([createCookieHandler(sessions.cookies)], ACCEPTED.signInPage)
  const observer = createSignInObserver(kernel.events, sessions.recorder)
  const authenticator = createAuthenticator<RequestContext>({ select: () => accepted, observer, isLenient: true })
  return mountSignInPage({
    ...createAccountSignIn(parts),
    directory,
    statements: kernel.store.statements,
    clock: kernel.clock,
    events: kernel.events,
    external,
    passkeys: signIns.passkeys,
    limitArrivals: passwords.limitArrivals,
    openSession: createAccountSignIn(parts, EXTERNAL_ENDPOINT).signIn.open,
    requirePassword: createRequirePasswordInBody(passwords.proof),
    requirePasskey: createRequirePasskey(passwords.proof),
    requireCurrentPassword: createRequireCurrentPassword(passwords.proof),
    publicUrl: () => config.get().console['public-url'],
    instanceName: () => config.get().console.name,
    moduleOptions: () => toSignInOptions(config.get()),
    page: findConsoleFiles().signInPage,
    authenticate: authenticator.authenticate,
    confirmCredential: createRevalidation([authenticator], signIns.revalidation).confirmCredential,
    renewalHeaders: sessions.cookieHeaders.renewalHeaders,
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
