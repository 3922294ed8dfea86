/**
 * The composition root: builds a running Cardea from its configuration. Only this folder knows every other one; it
 * makes no decision about a request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AcceptedCredentials, isAccepted } from '../auth/credential.ts'
import { type ApplicationSignIn, createApplicationSignIn } from '../auth/session/session-service.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { checkOpenFileLimit } from '../base/node-internals/open-files.ts'
import { describeMissing } from '../base/node-internals/probes.ts'
import { createNotifier, type Notifier } from '../base/notifier.ts'
import { PRODUCT } from '../base/product.ts'
import { waitAtMost } from '../base/sleep.ts'
import { renderNotices } from '../config/describe.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import type { OperationDeps } from '../dialects/admin-api/operation.ts'
import type { Directory } from '../directory/directory.ts'
import type { ToClaims } from '../gateway/identity-headers.ts'
import type { UpstreamReadiness } from '../gateway/readiness.ts'
import type { Certificates } from '../http/certificates.ts'
import type { Door } from '../http/door.ts'
import type { Identified } from '../http/identify.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { Listener } from '../http/server.ts'
import { startJobs } from '../kernel/jobs.ts'
import { StartError } from '../kernel/start-error.ts'
import { followCertificates } from '../live-config/certificates.ts'
import { openControlSocket } from '../live-config/control-socket.ts'
import { toListenerLimits } from '../live-config/door-settings.ts'
import { LISTENERS, type ListenerName, openListeners } from '../live-config/endpoints.ts'
import { type LiveConfigOptions, openLiveConfig } from '../live-config/live-config.ts'
import { describeOpenServices } from '../live-config/open-access.ts'
import type { ReloadReport } from '../live-config/reload.ts'
import { KERNEL_ROWS, listStartNotes } from '../modules.ts'
import { createMetrics } from '../observe/metrics.ts'
import { addListenerMetrics, createPartObserver } from '../observe/part-metrics.ts'
import type { SecurityRecord } from '../observe/security-record.ts'
import type { Tracing } from '../observe/tracing.ts'
import { createAdminDoor, createControlDoor, createMetricsDoor, toSessionDeps } from './admin-door.ts'
import { createAccountDoor, createDocumentDoor } from './document-door.ts'
import { createMultiModelDoor } from './multi-model-door.ts'
import { createOperationDeps, openParts, type Parts } from './parts.ts'

export interface AppOptions extends Omit<LiveConfigOptions, 'rows'> {
  /** Called with the settings at each change. Must not throw. */
  readonly onSettings?: (settings: Settings) => void
  /** The folder of the configuration. Holds the control socket where the store is not a file. */
  readonly folder?: string | undefined
  /** Whether the upstream servers are inspected, when the doors open and after every change of the configuration. */
  readonly inspectsUpstreams?: boolean
  /** Further claims in the tokens for services. */
  readonly toClaims?: ToClaims | undefined
  /** Lets the supervisor replace this process and its siblings, one by one. */
  readonly roll?: () => void
}

export interface Addresses {
  readonly document: readonly string[]
  readonly multiModel: readonly string[]
  /** The listener of Cardea's own paths; empty unless `admin.endpoint` is set. */
  readonly admin: readonly string[]
  /** The listener of the metrics; empty unless `metrics.endpoint` is set. */
  readonly metrics: readonly string[]
}

export type DoorName = 'document' | 'multi-model'

export interface IdentifyRules {
  readonly door: DoorName
  readonly accepted: AcceptedCredentials
  readonly origins: readonly string[]
}

export async function createApp(options: AppOptions): Promise<App> {
  for (const warning of describeMissing()) options.log.warn(warning)
  const metrics = createMetrics()
  const observer = createPartObserver(metrics)
  let tracing: Tracing | undefined
  const onOperation: typeof observer.onOperation = (operation) => {
    observer.onOperation(operation)
    tracing?.onStoreOperation(operation)
  }
  const listeners = createNotifier<SecurityRecord>(options.log)
  const onEvent = (record: SecurityRecord) => {
    observer.onEvent(record)
    listeners.notify(record)
  }
  const liveConfig = await openLiveConfig({
    ...options,
    rows: KERNEL_ROWS,
    observer: { ...observer, onOperation, onEvent },
  })
  liveConfig.onChange('log', ({ settings }) => options.onSettings?.(settings))
  const open = new AsyncDisposableStack()
  try {
    const parts = await openParts(liveConfig, metrics, open, options)
    tracing = parts.core.tracing
    return new App(parts, open, options, listeners.add)
  } catch (error) {
    // what is open would keep the process running
    await open.disposeAsync()
    await liveConfig.kernel.close()
    throw error
  }
}

export class App {
  readonly settings: Live<Settings>
  readonly log: Log
  /** Calls the listener with every security event of this process, until the function it returns is called. */
  readonly onEvent: Notifier<SecurityRecord>['add']
  /** What programs do for their users: the operations of the admin API. */
  readonly operations: OperationDeps
  /** Signs users in for routes of another server. */
  readonly signIn: ApplicationSignIn
  /** Whether the upstream servers can be used. */
  readonly readiness: UpstreamReadiness
  readonly #parts: Parts
  /** What is open besides the kernel. */
  readonly #open: AsyncDisposableStack
  readonly #options: AppOptions
  readonly #doors: Readonly<Record<ListenerName, Door>>
  readonly #account: Door
  readonly #listeners: Listener[] = []
  readonly #certificates: Certificates<Config>
  readonly #running = new Set<Promise<void>>()
  #opening: Promise<Addresses> | undefined
  #closing: Promise<void> | undefined
  #hasStarted = false

  constructor(parts: Parts, open: AsyncDisposableStack, options: AppOptions, onEvent: App['onEvent']) {
    const { liveConfig, gateway, metrics, directory, source, limits } = parts.core
    this.#parts = parts
    this.#open = open
    this.#options = options
    this.log = options.log
    this.onEvent = onEvent
    this.#doors = {
      document: createDocumentDoor(parts),
      'multi-model': createMultiModelDoor(parts),
      admin: createAdminDoor(parts),
      metrics: createMetricsDoor(parts),
    }
    this.#account = createAccountDoor(parts)
    // a stream may have been authenticated by a client certificate whose authority was replaced
    this.#certificates = followCertificates(liveConfig, () => gateway.streams.revalidateAll())
    addListenerMetrics(metrics, this.#doors, this.#listeners)
    this.signIn = createApplicationSignIn(toSessionDeps(parts, 'library'))
    this.settings = deriveLive(liveConfig, (snapshot) => snapshot.settings)
    this.operations = createOperationDeps(liveConfig, directory, limits.accounts)
    this.readiness = gateway.readiness
    // last, because both use the upstreams of the doors
    open.adopt(startJobs(parts.jobs, { ...liveConfig.kernel, metrics }), (jobs) => jobs.stop())
    if (source) open.adopt(source.start(directory), (copy) => copy.stop())
    if (options.inspectsUpstreams) liveConfig.onChange('upstreams', this.readiness.inspect)
  }

  /** `account`: the routes for the user's own account, below `/_cardea/account`. */
  async handle(request: IncomingMessage, response: ServerResponse, name: DoorName | 'account'): Promise<void> {
    const door = (name === 'account' ? this.#account : this.#findDoor(name)) ?? rejectDoor(name)
    const run = door.handle(request, response).finally(() => this.#running.delete(run))
    this.#running.add(run)
    await run
  }

  /**
   * The identity of a request to another server, by the rules of this door; `undefined`: anonymous. Pages of `origins`
   * may use the credentials of a browser.
   */
  async identify(
    request: IncomingMessage,
    { door, accepted, origins }: IdentifyRules,
  ): Promise<Identified | undefined> {
    this.requireOpen()
    const identified = await (this.#findDoor(door)?.identify(request, origins) ?? rejectDoor(door))
    return identified && isAccepted(identified.authenticated, accepted) ? identified : undefined
  }

  /** Runs `work` on behalf of a request to another server. */
  async runFor<T>(request: IncomingMessage, work: (context: RequestContext) => Promise<T>): Promise<T> {
    this.requireOpen()
    return this.#doors.document.runFor(request, work)
  }

  get directory(): Directory {
    this.requireOpen()
    return this.#parts.core.directory
  }

  /** A closed server follows no changes, so its answer could be out of date. */
  requireOpen(): void {
    if (this.#closing) throw new StartError('This Cardea is closed: create another')
  }

  /** Reads and checks the whole configuration, then replaces it; or keeps the current one and reports why. */
  reload(): Promise<ReloadReport> {
    return this.#parts.core.liveConfig.reload()
  }

  /** One sentence for each given option that has no effect here. */
  notices(): readonly string[] {
    return renderNotices(this.settings.get())
  }

  /** What modules tell the operator who has just started the server. */
  startNotes(): Promise<readonly string[]> {
    return listStartNotes(this.#parts.core)
  }

  /** One sentence for each service that is open to everyone, and for a limit of open files that is too low. */
  warnings(): readonly string[] {
    const settings = this.settings.get()
    const openFiles = checkOpenFileLimit(settings.values.door['max-connections'])
    return [...describeOpenServices(settings), ...(openFiles === undefined ? [] : [openFiles])]
  }

  async listen(): Promise<Addresses> {
    if (this.#closing) throw new StartError('This Cardea is closed and cannot listen: create another')
    if (this.#opening) throw new StartError('This Cardea is already listening')
    this.#opening = this.#openListeners()
    try {
      const addresses = await this.#opening
      if (this.#closing) throw new StartError('This Cardea was closed while it started to listen')
      this.#hasStarted = true
      if (this.#options.inspectsUpstreams) this.readiness.inspect()
      const listening = [...addresses.document, ...addresses.multiModel]
      this.#parts.monitoring.listening.set([...listening, ...addresses.admin, ...addresses.metrics])
      const { audit, siblings, events } = this.#parts.core.kernel
      audit.startPurging()
      // once for the server: the others start when the first of its processes serves
      if (siblings.isFirst()) events.record('server.started', { version: PRODUCT.version, listening })
      return addresses
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * Leaves new connections to its siblings. Each connection ends with its next reply, or after the stop timeout;
   * a running request is finished, however long it takes.
   */
  async retire(): Promise<void> {
    this.#parts.monitoring.listening.set([])
    const doors = Object.values(this.#doors)
    const closed = this.#listeners.map((listener) => listener.retire())
    for (const { connections } of doors) connections.retire()
    await waitAtMost(closed, this.settings.get().values.door['stop-timeout'])
    for (const { connections } of doors) connections.stop()
    this.#parts.core.gateway.streams.stop('feeds')
    await Promise.all(closed)
  }

  /** Stops accepting requests, waits for the running ones up to the stop timeout, and closes everything. */
  readonly close = (): Promise<void> => {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { core, monitoring } = this.#parts
    const graceMs = this.settings.get().values.door['stop-timeout']
    monitoring.listening.set([])
    for (const { connections } of [...Object.values(this.#doors), this.#account]) connections.stop()
    // a feed may be silent for any time
    core.gateway.streams.stop('feeds')
    await this.#opening?.catch(() => {}) // listeners it opens meanwhile are closed below
    this.#certificates.stop()
    const closing = this.#listeners.map((listener) => listener.close(graceMs))
    await Promise.all([...closing, waitAtMost(this.#running, graceMs)])
    await this.#open.disposeAsync()
    const { events } = core.kernel
    events.flush()
    if (this.#hasStarted && monitoring.monitor.isLast()) events.record('server.stopped', {})
    await core.kernel.close()
  }

  async #openListeners(): Promise<Addresses> {
    await this.#parts.core.liveConfig.agree()
    const document = await this.#openAll('document')
    const multiModel = await this.#openAll('multi-model')
    const admin = await this.#openAll('admin')
    const metrics = await this.#openAll('metrics')
    const { config, kernel } = this.#parts.core
    this.#certificates.watch(config.get())
    const values = config.get()
    const seed = { storeUrl: values.store.url, folder: this.#options.folder }
    const limits = toListenerLimits(values, kernel.siblings.count)
    const socket = await openControlSocket(seed, () => createControlDoor(this.#parts), limits, this.log)
    if (socket) this.#listeners.push(socket)
    return { document, multiModel, admin, metrics }
  }

  async #openAll(name: ListenerName): Promise<string[]> {
    const opened = await openListeners(name, this.#doors[name], this.settings.get().values, this.#parts.core.kernel)
    for (const { listener, tls } of opened) {
      this.#listeners.push(listener)
      if (tls) this.#certificates.add({ listener, tls, toSource: LISTENERS[name].toTls })
    }
    return opened.map(({ listener }) => listener.url)
  }

  /** The name comes from another program, which may be written without types. */
  #findDoor(name: DoorName): Door | undefined {
    return name === 'document' || name === 'multi-model' ? this.#doors[name] : undefined
  }
}

function rejectDoor(name: unknown): never {
  throw new TypeError(`There is no door ${JSON.stringify(name)}: document or multi-model`)
}
