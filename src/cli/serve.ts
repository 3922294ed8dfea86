import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Command } from 'commander'
import type { Log } from '../base/log.ts'
import { lowerPoolPriority } from '../base/node-internals/pool-priority.ts'
import { tuneV8 } from '../base/node-internals/v8-flags.ts'
import { StartError } from '../kernel/start-error.ts'
import { listOpenKeyFiles } from '../live-config/certificates.ts'
import { findConfigFolder, openConfiguration } from '../live-config/load.ts'
import { createLog } from '../observe/log.ts'
import { type App, createApp } from '../wiring/app.ts'
import { checkStartFiles } from './check-referenced-files.ts'
import { type Context, usageError } from './context.ts'
import { requireNone, toExit } from './own-settings.ts'
import { catchSignals } from './signals.ts'

/** `cardea serve`: fails if anything is missing or invalid, and creates nothing. */
export const serveCommand = (context: Context): Command =>
  new Command('serve')
    .description('start the server with this configuration')
    .allowExcessArguments()
    .action((_options: unknown, { args: [given] }: Command) => {
      if (given !== undefined) throw usageError(`serve takes no argument: did you mean --config ${given}?`)
      return serve(context, context.flags.configs)
    })

/** Serves until a signal stops it. `greet` is printed when both doors are open. */
export async function serve(
  context: Context,
  configs: readonly string[],
  greet?: (greeting: Greeting) => Promise<string>,
): Promise<void> {
  const { env, cwd, signals = catchSignals() } = context
  const stopped = signals.waitForStop()
  const flags = { ...context.flags, configs }
  const read = { pipes: new Map(), filled: new Set<string>() }
  const load = () => openConfiguration({ flags, env, cwd, ...read })
  const first = load()([])
  requireNone(first.problems.length > 0 ? first.problems : await checkStartFiles(first.settings))
  const { level, format } = first.settings.values.log
  const log = createLog(level, format)
  try {
    const opening = createApp({
      load,
      log,
      folder: findConfigFolder({ flags, env, cwd }),
      inspectsUpstreams: true,
      mayHaveWorkers: true,
      onSettings: ({ values }) => log.applyLevel(values.log.level),
    })
    const app = (await Promise.race([opening, stopped])) ?? (await giveUp(opening))
    const addresses = await app.listen()
    for (const notice of app.notices()) log.info(notice)
    for (const warning of [...app.warnings(), ...listOpenKeyFiles(first.settings.values)]) log.warn(warning)
    log.info('listening', { ...addresses })
    if (greet) context.print(await greet({ app, addresses }))
    signals.onHangUp(() => void reload(app, log))
    if (env['NOTIFY_SOCKET']) await notifySystemd(env, log)
    tuneV8()
    lowerPoolPriority()
    await stopped
    log.info('stopping')
    await app.close()
    log.info('stopped')
    signals.endSoon()
  } catch (error) {
    throw error instanceof StartError ? toExit(error) : error
  }
}

const MAX_NOTIFY_MS = 5000

/**
 * Tells systemd, which started this process as a service of `Type=notify`, that the doors are open. Node cannot write
 * to the socket of systemd, so a process of its own does: the unit needs `NotifyAccess=all`.
 */
async function notifySystemd(env: Context['env'], log: Log): Promise<void> {
  const args = ['--ready', `--pid=${process.pid}`]
  await promisify(execFile)('systemd-notify', args, { env, timeout: MAX_NOTIFY_MS }).catch((error) =>
    log.warn('systemd-notify failed: install it, or use Type=exec in the unit', { error }),
  )
}

/** Stopped during the start: closes what is open already, unless that takes long. */
async function giveUp(opening: Promise<App>): Promise<never> {
  const app = await Promise.race([opening.catch(() => undefined), pause(GIVE_UP_MS)])
  await app?.close()
  process.exit(0)
}

const GIVE_UP_MS = 2000

export interface Greeting {
  readonly app: App
  readonly addresses: Awaited<ReturnType<App['listen']>>
}

async function reload(app: App, log: ReturnType<typeof createLog>): Promise<void> {
  const report = await app.reload()
  for (const problem of report.problems) log.error('configuration not applied', { problem })
  if (!report.isApplied) return
  log.info('configuration applied', { changed: report.changed })
}
