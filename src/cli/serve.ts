import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Command } from 'commander'
import type { Log } from '../base/log.ts'
import { lowerPoolPriority } from '../base/node-internals/pool-priority.ts'
import { tuneV8 } from '../base/node-internals/v8-flags.ts'
import { waitAtMost } from '../base/sleep.ts'
import { Supervisor, WorkerFailed } from '../cluster/supervisor.ts'
import {
  connectToSupervisor,
  type Departure,
  isSupervised,
  type WorkerProcess,
  type WorkerStart,
} from '../cluster/worker-process.ts'
import type { Config } from '../config/options.ts'
import { countWorkers } from '../config/workers.ts'
import type { UpstreamFinding } from '../gateway/upstream-check.ts'
import { requireLock } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import { listOpenKeyFiles } from '../live-config/certificates.ts'
import { findConfigFolder, openConfiguration } from '../live-config/load.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { createLog } from '../observe/log.ts'
import { shareStore } from '../store/lock.ts'
import type { Addresses, App, AppOptions } from '../wiring/app.ts'
import { checkStartFiles } from './check-referenced-files.ts'
import { type Context, ExitError, usageError } from './context.ts'
import { requireNone, toExit } from './own-settings.ts'
import { catchSignals, type Signals } from './signals.ts'

/** `cardea serve`: fails if anything is missing or invalid, and creates nothing. */
export const serveCommand = (context: Context): Command =>
  new Command('serve')
    .description('start the server with this configuration')
    .allowExcessArguments()
    .action((_options: unknown, { args: [given] }: Command) => {
      if (given !== undefined) throw usageError(`serve takes no argument: did you mean --config ${given}?`)
      return serve(context, context.flags.configs)
    })

/** What the operator reads when the server has started. */
export interface Greeting {
  readonly addresses: Addresses
  /** Why upstream servers cannot be used. */
  readonly findings: readonly UpstreamFinding[]
  readonly notes: readonly string[]
}

type Greet = (greeting: Greeting, config: Config) => Promise<string>

/** What a server is opened with, in this process or in each of its workers. */
interface Serving {
  readonly context: Context
  readonly signals: Signals
  readonly options: AppOptions & { readonly log: ReturnType<typeof createLog> }
  readonly config: Config
  readonly greet: Greet | undefined
}

/** Serves until a signal stops it. `greet` is printed when both doors are open. */
export async function serve(context: Context, configs: readonly string[], greet?: Greet): Promise<void> {
  const { env, cwd, signals = catchSignals() } = context
  // from now on a signal does not end the process by itself
  void signals.waitForStop()
  const worker = isSupervised() ? await connectToSupervisor() : undefined
  const input = { table: OPTION_TABLE, flags: { ...context.flags, configs }, env, cwd }
  const read = { pipes: new Map(worker?.pipes), filled: new Set<string>() }
  const load = () => openConfiguration({ ...input, ...read })
  try {
    const first = load()([])
    requireNone(first.problems.length > 0 ? first.problems : await checkStartFiles(first.settings))
    const { values: config } = first.settings
    const { level, format } = config.log
    const log = createLog(level, worker?.isOnTerminal && format === 'auto' ? 'text' : format)
    const options = { load, log, folder: findConfigFolder(input) }
    const serving = { context, signals, options, config, greet }
    const count = countWorkers(config)
    if (worker) await serveAsWorker(serving, worker)
    else if (count === 1) await serveAlone(serving)
    else await supervise(serving, count, read.pipes)
    signals.endSoon()
  } catch (error) {
    throw error instanceof StartError ? toExit(error) : error
  } finally {
    worker?.release()
  }
}

/** The server in this process, without others. */
async function serveAlone({ context, signals, options, config, greet }: Serving): Promise<void> {
  const { log } = options
  const stopped = signals.waitForStop()
  const { app, addresses } = await openApp(options, config, stopped)
  log.info('listening', { ...addresses })
  if (greet) context.print(await greet(await findGreeting(app, addresses), config))
  signals.onHangUp(() => void reload(app, log))
  await notifySystemd(context.env, log)
  await stopped
  log.info('stopping')
  await app.close()
  log.info('stopped')
}

async function findGreeting(app: App, addresses: Addresses): Promise<Greeting> {
  const findings = await app.readiness.settled()
  // about a database that cannot be used there is nothing to say yet
  return { addresses, findings, notes: findings.length === 0 ? await app.startNotes() : [] }
}

/** One of several processes that serve. The supervisor tells the operator, and this process when to leave. */
async function serveAsWorker({ signals, options, config, greet }: Serving, worker: WorkerProcess): Promise<void> {
  const { log } = options
  const signalled = signals.waitForStop().then(() => {
    worker.setLeaving()
    return 'stop' as const
  })
  const stopped: Promise<Departure> = Promise.race([worker.left, signalled])
  await shareStore(config.store.url)
  // after the lock: the answer says that the supervisor runs, and no other server does
  const siblings = await worker.join(log)
  let isOpen = false
  const forAll =
    (write: Log['warn']): Log['warn'] =>
    (message, fields) => {
      // all find the same when they start: the first says it. A security event is of this worker alone
      if (isOpen || siblings.isFirst() || fields?.['event'] !== undefined) write(message, fields)
    }
  const quiet = { ...log, info: forAll(log.info), warn: forAll(log.warn) }
  const { app, addresses } = await openApp({ ...options, log: quiet, siblings, roll: worker.roll }, config, stopped)
  isOpen = true
  const greeting = greet ? await findGreeting(app, addresses) : { addresses, findings: [], notes: [] }
  worker.setReady(greeting, () => app.settings.get().values.server['worker-timeout'])
  worker.onReload(() => void reload(app, log))
  if ((await stopped) === 'retire') await app.retire()
  await app.close()
}

/** Starts workers and replaces those that end. This process serves nothing itself. */
async function supervise(
  { context, signals, options, config, greet }: Serving,
  count: number,
  pipes: WorkerStart['pipes'],
): Promise<void> {
  const { log } = options
  const stopped = signals.waitForStop()
  const lock = await requireLock(config.store.url)
  const start = { pipes, isOnTerminal: process.stderr.isTTY === true }
  const times = { graceMs: config.door['stop-timeout'], startMs: toStartMs(config) }
  const supervisor = new Supervisor({ count, log, start, ...times })
  const opening = supervisor.start().catch((error) => {
    // the worker has written why
    throw error instanceof WorkerFailed ? new ExitError(error.exitCode, '') : error
  })
  // what the first worker says is of this program
  const greeting = (await Promise.race([opening, stopped])) as Greeting | undefined
  if (!greeting) return giveUp(supervisor.stop())
  log.info('listening', { ...greeting.addresses })
  if (greet) context.print(await greet(greeting, config))
  signals.onHangUp(() => supervisor.reload())
  await notifySystemd(context.env, log)
  await stopped
  log.info('stopping')
  await supervisor.stop()
  lock.release()
  log.info('stopped')
}

/** A worker waits for the store, too. */
const toStartMs = ({ server: { 'worker-timeout': stuckMs }, store: { 'start-timeout': storeMs } }: Config): number =>
  stuckMs === 0 ? 0 : storeMs + 2 * stuckMs

/** Opens the server, unless it is stopped meanwhile. */
async function openApp(options: Serving['options'], config: Config, stopped: Promise<unknown>) {
  const { log } = options
  // loaded here, because a supervisor does without it
  const { createApp } = await import('../wiring/app.ts')
  const opening = createApp({
    ...options,
    inspectsUpstreams: true,
    onSettings: ({ values }) => log.applyLevel(values.log.level),
  })
  const app = await Promise.race([opening, stopped.then(() => undefined)])
  if (!app) return giveUp(opening.then((late) => late.close()))
  const addresses = await app.listen()
  for (const notice of app.notices()) log.info(notice)
  for (const warning of [...app.warnings(), ...listOpenKeyFiles(config)]) log.warn(warning)
  tuneV8()
  lowerPoolPriority()
  return { app, addresses }
}

const MAX_NOTIFY_MS = 5000

/**
 * Tells systemd, which started this process as a service of `Type=notify`, that the doors are open. Node cannot write
 * to the socket of systemd, so a process of its own does: the unit needs `NotifyAccess=all`.
 */
async function notifySystemd(env: Context['env'], log: Log): Promise<void> {
  if (!env['NOTIFY_SOCKET']) return
  const args = ['--ready', `--pid=${process.pid}`]
  await promisify(execFile)('systemd-notify', args, { env, timeout: MAX_NOTIFY_MS }).catch((error) =>
    log.warn('systemd-notify failed: install it, or use Type=exec in the unit', { error }),
  )
}

/** Stopped during the start: waits until everything is closed, unless that takes long. */
async function giveUp(closing: Promise<void>): Promise<never> {
  await waitAtMost([closing], GIVE_UP_MS)
  process.exit(0)
}

const GIVE_UP_MS = 2000

async function reload(app: App, log: ReturnType<typeof createLog>): Promise<void> {
  const report = await app.reload()
  for (const problem of report.problems) log.error('configuration not applied', { problem })
  if (!report.isApplied) return
  log.info('configuration applied', { changed: report.changed })
}
