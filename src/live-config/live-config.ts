// The current configuration: builds the first config snapshot (`snapshot.ts`) and keeps it until a reload (`reload.ts`)
// replaces it.
import type { KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live } from '../base/live.ts'
import { createTurns } from '../base/turns.ts'
import type { SettingsReader } from '../config/load.ts'
import type { Settings } from '../config/settings.ts'
import { type Kernel, type KernelOptions, openKernel, toStartError } from '../kernel/kernel.ts'
import { generatePrivateKey } from '../keys/new-secret.ts'
import { findStoreFile } from '../store/store-url.ts'
import { toKernelSettings } from './kernel-settings.ts'
import { ConfigError, checkStoreFolder } from './load.ts'
import { type ReloadPart, type ReloadReport, type ReloadState, refresh, reload } from './reload.ts'
import { createSharedSecrets, type SharedSecrets } from './shared-secrets.ts'
import { buildSnapshot, type ConfigSnapshot, requireConfiguredAdministrator } from './snapshot.ts'
import { createStoredLayer, type StoredLayer } from './stored-layer.ts'

export interface LiveConfigOptions extends KernelOptions {
  /** Reads the files. The reader it returns adds the other layers. */
  load(): SettingsReader
  /** For commands that manage the store without serving: they may be about to create the first administrator. */
  readonly mayLackAdministrator?: boolean
}

export interface LiveConfig extends Live<ConfigSnapshot> {
  /** Opened with the configuration, and closed by the caller that opened the configuration. */
  readonly kernel: Kernel
  readonly runtime: StoredLayer
  readonly secrets: SharedSecrets
  /** Signs for services where no file has a key for that. All threads of a process have the same. */
  readonly generatedKey: KeyObject
  /** Reads all layers, files too, and drops what was set for this process only. A problem keeps the snapshot. */
  reload(): Promise<ReloadReport>
  /**
   * Reads the settings of the store, which this or another node has changed; files as they were last read. A problem
   * keeps all settings, but changes of administrators are applied.
   */
  refresh(): Promise<ReloadReport>
  /** Called each time the snapshot was replaced. Must not throw. */
  onChange(listener: (snapshot: ConfigSnapshot) => void): void
  joinReload(part: ReloadPart): void
}

/** Opens the kernel by files, environment and flags, then adds the settings of its store. */
export async function openLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const reader = options.load()
  const { values } = readStartable(reader, options)
  const kernel = await openKernel(values.store.url, toKernelSettings(values), options)
  try {
    return await createLiveConfig(kernel, reader, options)
  } catch (error) {
    await kernel.close()
    throw toStartError(error)
  }
}

/** Throws where a start would fail, before a store is created. */
function readStartable(reader: SettingsReader, { mayLackAdministrator }: LiveConfigOptions): Settings {
  const { settings, problems } = reader([])
  if (problems.length > 0) throw new ConfigError(problems)
  if (!mayLackAdministrator && !mayStoreExist(settings.values.store.url)) requireConfiguredAdministrator(settings)
  const misplaced = checkStoreFolder(settings)
  if (misplaced.length > 0) throw new ConfigError(misplaced)
  return settings
}

/** Whether the store may hold something. A database server is not asked. */
function mayStoreExist(url: string): boolean {
  const file = findStoreFile(url)
  return file === undefined ? !url.startsWith('sqlite:') : existsSync(file)
}

async function createLiveConfig(
  kernel: Kernel,
  reader: SettingsReader,
  { load, mayLackAdministrator = false }: LiveConfigOptions,
): Promise<LiveConfig> {
  const { hasher, log } = kernel
  const secrets = createSharedSecrets()
  const runtime = createStoredLayer(kernel.store, SYSTEM_CLOCK)
  const deps = { runtime, hasher, log, mayLackAdministrator, checkSecrets: secrets.check }
  const snapshot = createLive((await buildSnapshot(reader, deps, undefined)).next)
  kernel.follow(deriveLive(snapshot, ({ settings }) => toKernelSettings(settings.values)).get)
  const state: ReloadState = { load, reader, snapshot, deps, events: kernel.events, parts: [], listeners: [] }
  const inTurn = createTurns()
  return {
    get: snapshot.get,
    kernel,
    runtime,
    secrets,
    generatedKey: generatePrivateKey(),
    reload() {
      // another program has renamed the file, whether or not the configuration is valid
      kernel.audit.reopen()
      return inTurn(() => reload(state))
    },
    refresh: () => inTurn(() => refresh(state)),
    onChange: (listener) => void state.listeners.push(listener),
    joinReload: (part) => void state.parts.push(part),
  }
}
