// The directory and settings without doors, for commands while no server is running.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { renderProblem } from '../config/problems.ts'
import { toApiErrorBody } from '../dialects/admin-api/json.ts'
import { runOperation, type UncheckedCall } from '../dialects/admin-api/operation.ts'
import type { OperationName } from '../dialects/admin-api/operations.ts'
import { PROGRAM } from '../directory/caller.ts'
import { openKernel } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import { type LiveConfigOptions, openLiveConfig } from '../live-config/live-config.ts'
import { ConfigError } from '../live-config/load.ts'
import { recordOptionChanges } from '../live-config/option-events.ts'
import { showConfigured } from '../live-config/settings-editor.ts'
import { findIn } from '../live-config/settings-service.ts'
import { createStoredLayer } from '../live-config/stored-layer.ts'
import { KERNEL_ROWS, OPERATIONS, openUserSource } from '../modules.ts'
import { runForOrigin } from '../observe/origin.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { findStoreFile } from '../store/store-url.ts'
import { openConfiguredLimits, openDirectory } from '../wiring/core.ts'
import { createOperationDeps } from '../wiring/parts.ts'
import { openAskedDatabases } from '../wiring/upstreams.ts'
import { registerNamedSecrets } from './check-referenced-files.ts'
import { toExit } from './own-settings.ts'

/** The result of an operation, as a server would return it. */
export type CommandOutcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly error: string; readonly reason: string }

export interface Offline {
  /** The file of the store, if it was not there before. */
  readonly newFile: string | undefined
  run(name: OperationName, call: Omit<UncheckedCall, 'caller'>): Promise<CommandOutcome>
  close(): Promise<void>
}

type OfflineOptions = Pick<LiveConfigOptions, 'load' | 'log'>

/** The file that will be created. Its folder is not: if it does not exist, probably another one is meant. */
function requirePlace(load: LiveConfigOptions['load']): string | undefined {
  const file = findStoreFile(load()([]).settings.values.store.url)
  if (file === undefined || existsSync(file)) return undefined
  if (existsSync(dirname(file))) return file
  throw new StartError(`There is no store at ${file}. Name the configuration of the server with --config.`)
}

/** As a running server records what the owner does through its control socket. */
const byOwner = () => ({ actor: '_owner', door: 'control', handler: 'socket' })

/** Opens the store to record what a command has done to it. */
export async function recordOffline(options: OfflineOptions, record: (events: SecurityEvents) => void): Promise<void> {
  const liveConfig = await openLiveConfig({
    ...options,
    rows: KERNEL_ROWS,
    mayLackAdministrator: true,
    isCommand: true,
  })
  try {
    runForOrigin(byOwner, () => record(liveConfig.kernel.events))
  } finally {
    await liveConfig.kernel.close()
  }
}

/** Holds the store's lock until it is closed. Throws `StoreBusy` if another process holds it. */
export async function openOffline(options: OfflineOptions): Promise<Offline> {
  const newFile = requirePlace(options.load)
  const opening = { ...options, rows: KERNEL_ROWS, mayLackAdministrator: true, isCommand: true, lockWaitMs: 0 }
  const liveConfig = await openLiveConfig(opening).catch(toUnstartable)
  if (liveConfig instanceof ConfigError) return openUnstartable(opening, liveConfig)
  await registerNamedSecrets(liveConfig.get().settings, liveConfig.secrets)
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  let databases: ReturnType<typeof openAskedDatabases> | undefined
  const findDatabase = async (door: string) => {
    databases ??= openAskedDatabases(config.get(), options.log)
    return (await databases).find(door)
  }
  const source = await openUserSource({ config, kernel: liveConfig.kernel, findDatabase, isCommand: true })
  const directory = await openDirectory(liveConfig, { source }).catch(async (error) => {
    await liveConfig.kernel.close()
    throw error
  })
  const limits = await openConfiguredLimits(liveConfig)
  const deps = createOperationDeps(liveConfig, directory, limits.accounts)
  return {
    newFile,
    run: (name, call) =>
      toOutcome(
        runForOrigin(byOwner, async () => {
          if (OPERATIONS[name].method !== 'GET') await liveConfig.kernel.audit.probe()
          return runOperation<unknown>(OPERATIONS[name], deps, { ...call, caller: PROGRAM })
        }),
      ),
    async close() {
      await limits.close()
      await directory.close()
      await (await databases)?.close()
      await liveConfig.kernel.close()
    },
  }
}

/** What prevents a start, if settings in the store do. */
function toUnstartable(error: unknown): ConfigError {
  if (error instanceof ConfigError && error.stored.length > 0) return error
  throw error
}

/** Settings in the store prevent a start: they can be removed, and nothing else be done. */
async function openUnstartable(options: LiveConfigOptions, problem: ConfigError): Promise<Offline> {
  const reader = options.load()
  const kernel = await openKernel(reader([]).settings.values, options)
  const layer = createStoredLayer(kernel.store, kernel.clock)
  const { settings: before } = reader(await layer.list())
  kernel.follow(() => before.values)
  const unset = async (section: string, key: string) => {
    if (!(await findIn(layer, section, key))) throw new Refusal('option_not_found')
    await kernel.audit.probe()
    kernel.events.requireRecording()
    await layer.unset(section, key)
    const name = `${section}.${key}`
    const { settings: after, problems } = reader(await layer.list())
    runForOrigin(byOwner, () => recordOptionChanges(kernel.events, [name], before, after))
    const [previous, value] = [before, after].map((settings) => showConfigured(settings, section, key))
    return { name, previous, value, undo: null, needsRestart: false, warnings: problems.map(renderProblem) }
  }
  return {
    newFile: undefined,
    async run(name, { params: { section = '', key = '' } }) {
      if (name !== 'setting.unset') throw toExit(problem)
      return toOutcome(unset(section, key))
    },
    close: () => kernel.close(),
  }
}

async function toOutcome(work: Promise<unknown>): Promise<CommandOutcome> {
  try {
    return { kind: 'done', value: await work }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { kind: 'refused', ...toApiErrorBody(error, { isForAdministrator: true }) }
  }
}
