// The directory and settings without doors, for commands while no server is running.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '../base/errors.ts'
import { toErrorBody } from '../dialects/admin-api/json.ts'
import { runOperation, type UncheckedCall } from '../dialects/admin-api/operation.ts'
import { OPERATIONS, type OperationName } from '../dialects/admin-api/operations.ts'
import { StartError } from '../kernel/start-error.ts'
import { type LiveConfigOptions, openLiveConfig } from '../live-config/live-config.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { findStoreFile } from '../store/store-url.ts'
import { createOperationDeps } from '../wiring/admin-door.ts'
import { openConfiguredLimits, openDirectory } from '../wiring/parts.ts'
import { registerNamedSecrets } from './check-referenced-files.ts'

/** The result of an operation, as a server would return it. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly error: string; readonly reason: string }

export type Offline = Awaited<ReturnType<typeof openOffline>>

/** A store is not created in a folder that does not exist: probably another one is meant. */
function requirePlace(load: LiveConfigOptions['load']): void {
  const file = findStoreFile(load()([]).settings.values.store.url)
  if (file === undefined || existsSync(dirname(file))) return
  throw new StartError(`There is no store at ${file}. Name the configuration of the server with --config.`)
}

/** Opens the store to record what a command has done to it. */
export async function recordOffline(
  options: Pick<LiveConfigOptions, 'load' | 'log'>,
  record: (events: SecurityEvents) => void,
): Promise<void> {
  const liveConfig = await openLiveConfig({ ...options, mayLackAdministrator: true, isCommand: true })
  try {
    record(liveConfig.kernel.events)
  } finally {
    await liveConfig.kernel.close()
  }
}

/** Holds the store's lock until it is closed. Throws `StoreBusy` if another process holds it. */
export async function openOffline(options: Pick<LiveConfigOptions, 'load' | 'log'>) {
  requirePlace(options.load)
  const liveConfig = await openLiveConfig({ ...options, mayLackAdministrator: true, isCommand: true, lockWaitMs: 0 })
  await registerNamedSecrets(liveConfig.get().settings, liveConfig.secrets)
  const directory = await openDirectory(liveConfig).catch(async (error) => {
    await liveConfig.kernel.close()
    throw error
  })
  const limits = openConfiguredLimits(liveConfig)
  const deps = createOperationDeps(liveConfig, directory, limits.accounts)
  return {
    async run(name: OperationName, call: UncheckedCall): Promise<Outcome> {
      try {
        if (OPERATIONS[name].method !== 'GET') await liveConfig.kernel.audit.probe()
        return { kind: 'done', value: await runOperation<unknown>(OPERATIONS[name], deps, call) }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return { kind: 'refused', ...toErrorBody(error, { isForAdministrator: true }) }
      }
    },
    async close() {
      await limits.close()
      await directory.close()
      await liveConfig.kernel.close()
    },
  }
}
