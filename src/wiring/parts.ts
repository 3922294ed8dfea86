// What doors are built from, in the order it opens; and what a server shows its operators and lets them do.
import { badRequest } from '../base/errors.ts'
import { createLive, deriveLive, type LiveCell } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { openMonitor, type ServerMonitor } from '../cluster/monitor.ts'
import { compareSettings } from '../config/settings.ts'
import type { OperationDeps } from '../dialects/admin-api/operation.ts'
import type { RunningServer } from '../dialects/admin-api/ports.ts'
import type { HealthView } from '../dialects/admin-api/schemas/system.ts'
import { createLiveEvents, type LiveEvents } from '../dialects/admin-api/system/live-events.ts'
import { showParts } from '../dialects/admin-api/system/probes.ts'
import { explainDocumentAccess } from '../dialects/document/explain-access.ts'
import { explainMultiModelAccess } from '../dialects/multi-model/explain-access.ts'
import type { Account, DoorAccess } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { ToClaims } from '../gateway/identity-headers.ts'
import { type AccessLog, createAccessLog } from '../http/access-log.ts'
import { ClientCounts } from '../http/client-counts.ts'
import { type JobKinds, listJobChecks } from '../kernel/jobs.ts'
import { createCertificateCheck } from '../live-config/certificates.ts'
import { divideConnections, toTrustRules } from '../live-config/door-settings.ts'
import { listTlsSources } from '../live-config/endpoints.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { toPasswordRules } from '../live-config/password-settings.ts'
import { createSecretsOverview, type LiveSecretsOverview } from '../live-config/secrets-overview.ts'
import { createSettingsEditor } from '../live-config/settings-editor.ts'
import {
  checkStored,
  explainDocumentChecks,
  findUserDatabase,
  listModuleHealth,
  OPERATIONS,
  openJobKinds,
} from '../modules.ts'
import { type CheckHealth, createHealth, createHealthLog, type HealthCheck } from '../observe/health.ts'
import { joinMetrics, type ReadJoined } from '../observe/joined-metrics.ts'
import { type Metrics, renderCopy } from '../observe/metrics.ts'
import {
  addAuditMetrics,
  addCacheMetrics,
  addHealthMetrics,
  addPartMetrics,
  addProcessMetrics,
  addSecretMetrics,
  addUpstreamMetrics,
} from '../observe/part-metrics.ts'
import { createRequestObserver, type RequestObserver } from '../observe/request-metrics.ts'
import { createServerErrors } from '../observe/server-errors.ts'
import { type Core, openCore, toDocumentSettings } from './core.ts'
import { openSignIns, type SignIns } from './sign-in.ts'

export interface Monitoring {
  readonly monitor: ServerMonitor
  /** What happens at this node, for clients that follow it. */
  readonly live: LiveEvents
  readonly secrets: LiveSecretsOverview
  readonly checkHealth: CheckHealth
  /** The metrics of all processes of this server. */
  readonly readMetrics: ReadJoined
  /** The URLs of all listeners, while they accept connections. */
  readonly listening: LiveCell<readonly string[]>
  observeRequests(door: string): RequestObserver
  readonly accessLog: AccessLog
}

/** What a door is built from. */
export interface Parts {
  readonly core: Core
  readonly signIns: SignIns
  readonly monitoring: Monitoring
  readonly jobs: JobKinds
  /** Lets the supervisor replace this process and its siblings, one by one; `undefined`: there is none. */
  readonly roll?: (() => void) | undefined
}

/** Everything that the doors need, in the order in which it opens. `open` closes it, the last first. */
export async function openParts(
  liveConfig: LiveConfig,
  metrics: Metrics,
  open: AsyncDisposableStack,
  { toClaims, roll }: { readonly toClaims?: ToClaims | undefined; readonly roll?: (() => void) | undefined },
): Promise<Parts> {
  const core = await openCore(liveConfig, metrics, open, toClaims)
  const signIns = await openSignIns(core)
  const jobs = openJobKinds(core)
  const monitoring = await openMonitoring(core, { signIns, jobs }, open)
  return { core, signIns, monitoring, jobs, roll }
}

/** `open` closes what is opened here, the last first. */
async function openMonitoring(core: Core, checked: CheckedParts, open: AsyncDisposableStack): Promise<Monitoring> {
  const { kernel, config, metrics, directory, limits } = core
  const { clock, siblings } = kernel
  const joined = open.adopt(await joinMetrics(metrics, siblings), (opened) => opened.close())
  open.defer(addProcessMetrics(metrics, siblings.server))
  addMetrics(core)
  const listening = createLive<readonly string[]>([])
  const serverErrors = createServerErrors()
  const nodeChecks = createLive<readonly HealthCheck[]>([])
  const checkHealth = createHealthCheck(core, checked, nodeChecks.get)
  const monitor = await openMonitor({
    store: kernel.store,
    siblings,
    metrics,
    readMetrics: joined.read,
    serverErrors,
    clock,
    isServing: () => listening.get().length > 0,
    nodeName: () => config.get().node.name,
    stalenessMs: directory.stalenessMs,
    secrets: () => listSecrets(core, checked.signIns),
    checkHealth,
  })
  open.defer(() => monitor.close())
  nodeChecks.set(monitor.checks)
  // other nodes see at once which of them have loaded new secrets
  core.tokenSecrets.onReload(() => void monitor.heartbeat())
  core.liveConfig.onChange('other nodes', () => void monitor.heartbeat())
  const live = createLiveEvents({
    clock,
    siblings,
    readCounts: monitor.readCounts,
    countLocked: () => limits.accounts.listNames().length,
    countFailingUpstreams: async () =>
      (await checkHealth()).filter(({ door, problem }) => door !== undefined && problem).length,
    onRecord: (listener) => kernel.audit.onRecord(listener),
    onRevoked: directory.onRevoked,
  })
  return {
    monitor,
    live: open.adopt(live, (opened) => opened.close()),
    secrets: createSecretsOverview(core.liveConfig, core.tokenSecrets.ring, core.gateway.ring),
    checkHealth,
    readMetrics: joined.read,
    listening,
    observeRequests: (door) => createRequestObserver({ metrics, serverErrors, clock }, door),
    accessLog: createAccessLog(kernel.log, () => config.get().log.access),
  }
}

/** The secrets in use now. Nodes compare their digests. */
const listSecrets = ({ liveConfig, tokenSecrets, gateway }: Core, { sessions }: SignIns) => ({
  ownKey: liveConfig.get().ownKey,
  tokens: tokenSecrets.ring.get(),
  upstream: gateway.ring?.get(),
  cookies: sessions.cookieSecrets.accepted().map((secret) => secret.toString('base64')),
})

type CheckedParts = Pick<Parts, 'signIns' | 'jobs'>

function createHealthCheck(
  core: Core,
  { signIns: { external }, jobs }: CheckedParts,
  listNodeChecks: () => readonly HealthCheck[],
): CheckHealth {
  const { kernel, config, metrics, directory, tokenSecrets, gateway } = core
  const { clock, store, audit } = kernel
  const rings = gateway.ring ? [tokenSecrets.ring, gateway.ring] : [tokenSecrets.ring]
  const findClockProblem = async () => clock.findProblem(config.get().store['max-clock-skew'])
  const certificates = createCertificateCheck(config.get, clock)
  const listOthers = (): readonly HealthCheck[] => [
    { name: 'clock', find: findClockProblem },
    ...gateway.readiness.checks(),
    ...external.checks,
    ...listJobChecks(jobs, store, clock),
    ...listModuleHealth(core),
    ...(core.source?.listChecks() ?? []),
    ...(listTlsSources(config.get()).length > 0 ? [certificates] : []),
    ...listNodeChecks(),
  ]
  const report = [createHealthLog(kernel.log), addHealthMetrics(metrics)]
  return createHealth(() => ({ directory, store, rings, audit, others: listOthers() }), report)
}

function addMetrics({ metrics, config, kernel, directory, tokenSecrets, gateway }: Core): void {
  const { server, upstream } = config.get()
  addPartMetrics(metrics, {
    store: kernel.store.engine,
    clock: kernel.clock,
    hasher: kernel.hasher,
    stalenessMs: directory.stalenessMs,
    countStreams: () => gateway.streams.size,
  })
  addAuditMetrics(metrics, () => kernel.audit.listDestinations())
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

/** The options that all doors have in common. `name` labels the metrics. */
export const toDoorOptions = ({ core: { config, kernel }, monitoring }: Parts, name: string) => ({
  limits: deriveLive(config, ({ door }) => divideConnections(door, kernel.siblings.count)),
  clients: new ClientCounts(name, () => config.get().door['max-connections-per-client'], kernel.siblings),
  trust: deriveLive(config, toTrustRules),
  hsts: deriveLive(config, ({ ssl }) => ssl.hsts),
  observer: monitoring.observeRequests(name),
  accessLog: monitoring.accessLog,
  log: kernel.log,
})

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
    settings: createSettingsEditor(liveConfig, checkStored),
    userAdminRole: () => config().admin['user-admin-role'],
    factorRoles: () => config().admin['second-factor-roles'],
    findOwnDatabase: (account) => findUserDatabase(account, config(), store.statements),
    explainAccess: (account, database) => explainAccess(liveConfig, account, database),
    statements: store.statements,
    publicUrl: () => config().console['public-url'],
    passwordRules: () => toPasswordRules(config()),
    options() {
      const { values, named } = liveConfig.get().settings
      return { ...values, ...named }
    },
    async reload() {
      const { isApplied, ...report } = await liveConfig.reload()
      return { applied: isApplied, secrets: [], ...report }
    },
  }
}

const createRunningServer = ({ core, signIns: { external, passkeys }, monitoring, roll }: Parts): RunningServer => ({
  monitor: monitoring.monitor,
  secrets: monitoring.secrets,
  health: () => describeHealth(core, monitoring),
  findUpstream: core.gateway.find,
  findRoll: () => roll ?? refuseRoll(),
  external,
  passkeys,
})

/** What the admin API and the routes for the user's own account have in common. */
export const createServerDeps = (parts: Parts) => {
  const {
    core,
    signIns: { passwords },
    monitoring,
  } = parts
  const operations = createOperationDeps(core.liveConfig, core.directory, core.limits.accounts)
  return {
    operations: OPERATIONS,
    core: { ...operations, server: createRunningServer(parts) },
    signUp: passwords.signUp,
    live: monitoring.live,
    checkHealth: monitoring.checkHealth,
    renderMetrics: () => renderMetrics(monitoring),
  }
}

/** With the health of now. */
export async function renderMetrics({ readMetrics, checkHealth }: Monitoring) {
  await checkHealth()
  return renderCopy(await readMetrics())
}

function refuseRoll(): never {
  throw badRequest('The server is one process: see the option server.workers.')
}

function explainAccess(liveConfig: LiveConfig, account: Account, database: string): readonly DoorAccess[] {
  const { settings } = liveConfig.get()
  const { values } = settings
  const document = {
    settings: toDocumentSettings(settings),
    users: { database: values.chttpd_auth.authentication_db, settings: () => values },
    hasUpstream: values.upstream.document.length > 0,
    checks: explainDocumentChecks(values),
  }
  return [explainDocumentAccess(account, database, document), explainMultiModelAccess(account, database, values)]
}

async function describeHealth({ liveConfig, kernel, directory }: Core, monitoring: Monitoring): Promise<HealthView> {
  const { monitor, checkHealth, listening } = monitoring
  const { settings, configured, warnings } = liveConfig.get()
  return {
    product: PRODUCT.name,
    version: PRODUCT.version,
    pid: kernel.siblings.server.pid,
    processes: await monitor.listProcesses(),
    store: kernel.store.engine,
    stalenessMs: directory.stalenessMs(),
    node: settings.values.node.name,
    startedAt: monitor.startedAt,
    listening: listening.get(),
    needRestart: compareSettings(settings, configured).needRestart,
    warnings,
    ...showParts(await checkHealth()),
  }
}
