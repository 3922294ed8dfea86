// The admin API: on a listener of its own, mounted at both doors, and on the control socket for the server's owner.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import { ACCEPTED, selectHandlers } from '../auth/credential.ts'
import type { SharedLimits } from '../auth/limits/share.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequireCurrentPassword, createRequirePasswordInBody } from '../auth/require-password.ts'
import { CONSOLE_HANDLER, CONSOLE_SESSION } from '../auth/session/console-session.ts'
import { OWNER } from '../auth/socket-owner.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { PRODUCT } from '../base/product.ts'
import { compareSettings } from '../config/settings.ts'
import { type ConsoleFiles, loadConsoleFiles } from '../dialects/admin-api/console-files.ts'
import { type AdminApiOptions, createAdminApiDialect } from '../dialects/admin-api/dialect.ts'
import type { OperationDeps } from '../dialects/admin-api/operation.ts'
import type { Monitor, SecretsEditor } from '../dialects/admin-api/ports.ts'
import { ACCESS, type AdminRoute } from '../dialects/admin-api/rights.ts'
import type { Health } from '../dialects/admin-api/schemas/system.ts'
import { openMetricsRoute } from '../dialects/admin-api/system/metrics.ts'
import { showParts } from '../dialects/admin-api/system/probes.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { explainDocumentAccess } from '../dialects/document/explain-access.ts'
import { createForwardAuthDialect } from '../dialects/forward-auth/dialect.ts'
import { mountKeySet } from '../dialects/forward-auth/routes.ts'
import { explainMultiModelAccess } from '../dialects/multi-model/explain-access.ts'
import { CONSOLE_PATH, METRICS_PATH, OWN_SEGMENT } from '../dialects/own-paths.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { DoorAccess } from '../directory/door-access.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext, Step } from '../http/request-context.ts'
import { READ_METHODS } from '../http/router.ts'
import { type Listener, listen } from '../http/server.ts'
import { listOutdatedCertificates } from '../live-config/certificates.ts'
import { findSocketPath, isSocketPathSafe } from '../live-config/control-socket.ts'
import { toPasswordRules } from '../live-config/kernel-settings.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { createSettingsEditor } from '../live-config/settings-editor.ts'
import type { CheckHealth } from '../observe/health.ts'
import { renderOnceASecond } from '../observe/metrics.ts'
import { createRevalidation, type DoorParts, toDoorOptions } from './door-parts.ts'
import type { OpenedParts } from './opened-parts.ts'
import { toDocumentSettings, toDoorLimits, toListenerLimits, toTrustRules, toUsersSettings } from './settings.ts'

/** The listener of `admin.endpoint`. Programs sign in with Basic, browsers with a session. */
export function createAdminDoor(parts: DoorParts): Door {
  const accepted = selectHandlers([createBasicHandler(DOCUMENT_BASIC, parts.check)], ACCEPTED.adminEndpoint)
  const observer = createSignInObserver(parts.liveConfig.kernel.events)
  const dialect = createAdminDialect(parts, {
    authenticate: async (context) => authenticate(context, accepted, observer),
    authenticateAgain: async (context) => authenticate(context, accepted),
    isConfigured: () => true,
    isOwnOrigin: true,
  })
  return createDoor({
    ...toDoorOptions(parts, 'admin'),
    dialect: { ...dialect, name: 'admin', routes: [...dialect.routes, TO_CONSOLE] },
    mounts: [mountKeySet(parts.forwardAuth)],
    tracing: parts.tracing,
  })
}

/** The listener of `metrics.endpoint`. */
export function createMetricsDoor(parts: DoorParts): Door {
  const deps = { renderMetrics: renderOnceASecond(parts.metrics) }
  return createDoor({
    ...toDoorOptions(parts, 'metrics'),
    dialect: createForwardAuthDialect({
      name: 'metrics',
      routes: [openMetricsRoute('/metrics', deps), openMetricsRoute(METRICS_PATH, deps)],
      statusOf: parts.forwardAuth.statusOf,
    }),
  })
}

const TO_CONSOLE: AdminRoute = {
  path: '/',
  right: ACCESS.open,
  allow: READ_METHODS,
  methods: { GET: () => ({ status: 303, headers: [['Location', CONSOLE_PATH]] }) },
}

export interface AdminMountOptions {
  authenticate: AdminApiOptions['authenticate']
  /** The same for a program that was accepted before. Records no sign-in. */
  authenticateAgain: AdminApiOptions['authenticate']
  /** Whether this credential handler is configured now. */
  isConfigured(handler: string): boolean
  /** Throws where the rules of the door require a credential on every path. */
  readonly requireEntry: Step['run']
}

export const mountAdminApi = (parts: DoorParts, options: AdminMountOptions): Mount => ({
  segment: OWN_SEGMENT,
  dialect: createAdminDialect(parts, { ...options, isOwnOrigin: false }),
})

interface AdminDialectOptions extends Omit<AdminMountOptions, 'requireEntry'> {
  readonly requireEntry?: AdminMountOptions['requireEntry']
  /** Whether the listener serves nothing else. */
  readonly isOwnOrigin: boolean
}

function createAdminDialect(parts: DoorParts, { isOwnOrigin, ...options }: AdminDialectOptions): Dialect {
  const identify = async (context: RequestContext) =>
    context.authenticated?.credential?.kind === CONSOLE_SESSION
      ? ((await parts.adminSessions.find(context)) ?? ANONYMOUS)
      : options.authenticateAgain(context)
  const isConfigured = (handler: string) => handler === CONSOLE_HANDLER || options.isConfigured(handler)
  const { confirm } = createRevalidation(parts, { identify, isConfigured, dialect: () => dialect })
  const dialect: Dialect = createAdminApiDialect({
    ...createOperationDeps(parts),
    ...options,
    live: parts.live,
    confirm,
    checkHealth: parts.checkHealth,
    renderMetrics: parts.metrics.render,
    requirePassword: createRequirePasswordInBody({
      ...parts.passwordProof,
      maxAgeSeconds: () => parts.liveConfig.get().settings.values.admin['reauthenticate-after'],
    }),
    requireCurrentPassword: createRequireCurrentPassword(parts.passwordProof),
    sessions: parts.adminSessions,
    console: {
      sessions: parts.adminSessions,
      files: findConsoleFiles(),
      product: PRODUCT,
      isOwnOrigin,
      userAdminRole: () => toUserAdminRole(parts.liveConfig),
    },
  })
  return { ...dialect, confirmCredential: confirm }
}

/** The path is the same from the sources and from the compiled package. */
const CONSOLE_FOLDER = new URL('../../dist/console/', import.meta.url)

let loadedConsole: ConsoleFiles | undefined

/** Read once for all listeners of the process. */
function findConsoleFiles(): ConsoleFiles {
  loadedConsole ??= loadConsoleFiles(CONSOLE_FOLDER)
  return loadedConsole
}

export interface OperationSources {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly checkHealth: CheckHealth
  readonly limits: SharedLimits
  /** The URLs of all listeners, once there are any. */
  readonly listening: Live<readonly string[]>
  readonly monitor: Monitor
  readonly secrets: SecretsEditor
}

export const createOperationDeps = (sources: OperationSources): OperationDeps => ({
  directory: sources.directory,
  limits: sources.limits,
  events: sources.liveConfig.kernel.events,
  audit: sources.liveConfig.kernel.audit,
  settings: createSettingsEditor(sources.liveConfig),
  userAdminRole: () => toUserAdminRole(sources.liveConfig),
  explainAccess: (account, database) => explainAccess(sources.liveConfig, account, database),
  passwordLinks: sources.liveConfig.kernel.store,
  publicUrl: () => sources.liveConfig.get().settings.values.console['public-url'],
  passwordRules: () => toPasswordRules(sources.liveConfig.get().settings.values),
  monitor: sources.monitor,
  secrets: sources.secrets,
  health: () => describeHealth(sources),
  async reload() {
    const { isApplied, ...report } = await sources.liveConfig.reload()
    return { applied: isApplied, secrets: [], ...report }
  },
})

const toUserAdminRole = (liveConfig: LiveConfig): string => liveConfig.get().settings.values.admin['user-admin-role']

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

async function describeHealth(sources: OperationSources): Promise<Health> {
  const { liveConfig, directory, checkHealth, listening } = sources
  const { settings, configured, warnings } = liveConfig.get()
  return {
    product: PRODUCT.name,
    version: PRODUCT.version,
    pid: process.pid,
    store: liveConfig.kernel.store.engine,
    stalenessMs: directory.stalenessMs(),
    node: settings.values.node.name,
    startedAt: Math.floor(SYSTEM_CLOCK.nowMs() / 1000 - process.uptime()),
    listening: listening.get(),
    needRestart: compareSettings(settings, configured).needRestart,
    warnings: [...warnings, ...listOutdatedCertificates(settings.values, SYSTEM_CLOCK.nowMs())],
    ...showParts(await checkHealth()),
  }
}

const OWNER_ONLY = 0o600

export interface ControlSocketOptions {
  readonly parts: OpenedParts
  /** The folder of the configuration. */
  readonly folder: string | undefined
  readonly log: Log
}

/** A server without the socket still works, but its commands need `--url`: so a failure is only logged. */
export async function openControlSocket(
  liveConfig: LiveConfig,
  { parts, folder, log }: ControlSocketOptions,
): Promise<Listener | undefined> {
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const seed = { storeUrl: config.get().store.url, folder }
  const path = findSocketPath(seed)
  if (path === undefined) return undefined
  const door = createDoor({
    dialect: createAdminApiDialect({
      ...createOperationDeps(parts),
      live: parts.live,
      checkHealth: parts.checkHealth,
      renderMetrics: parts.metrics.render,
      authenticate: async () => OWNER,
      requirePassword: async () => {},
      requireCurrentPassword: async () => {},
    }),
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
    observer: parts.observeRequests('control'),
    accessLog: parts.accessLog,
  })
  try {
    if (!isSocketPathSafe(path, seed)) throw new Error('its folder is not private to the owner')
    return await listen(door, { kind: 'unix', path, mode: OWNER_ONLY }, toListenerLimits(config.get()))
  } catch (error) {
    log.warn('no control socket: commands need --url', { path, error })
    return undefined
  }
}
