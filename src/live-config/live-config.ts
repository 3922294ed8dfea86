// The current configuration: opens the store, builds the first config snapshot (`snapshot.ts`) and keeps it until a
// reload (`reload.ts`) replaces it.
import { existsSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { createTurns } from '../base/turns.ts'
import type { SettingsReader } from '../config/load.ts'
import type { Store } from '../directory/store-port/store.ts'
import {
  createSecurityEvents,
  type RunningSecurityEvents,
  type SecurityEventsDeps,
  toLogSink,
} from '../observe/security-events.ts'
import { DEFAULT_MAX_STRENGTH, toMaxStrength } from '../passwords/hash-policy.ts'
import { createHasher, type Hasher, type HasherOptions } from '../passwords/hasher.ts'
import { openStore, type StoreOptions } from '../store/create-store.ts'
import { describeHolder, lockStore, type StoreLock } from '../store/lock.ts'
import { findStoreFile } from '../store/store-url.ts'
import { Audit } from './audit.ts'
import { checkStoreFolder } from './load.ts'
import { toHashParameters } from './password-options.ts'
import { type ReloadPart, type ReloadReport, type ReloadState, refresh, reload } from './reload.ts'
import { createSharedSecrets, type SharedSecrets } from './shared-secrets.ts'
import { buildSnapshot, type ConfigSnapshot, requireConfiguredAdministrator, type SnapshotDeps } from './snapshot.ts'
import { ConfigError, reasonOf, StartError, StoreBusy } from './start-error.ts'
import { createStoredLayer, type StoredLayer } from './stored-layer.ts'

export interface LiveConfigOptions {
  /** Reads the files. The reader it returns adds the other layers. */
  load(): SettingsReader
  readonly log: Log
  /** For commands that manage the store without serving: they may be about to create the first administrator. */
  readonly mayLackAdministrator?: boolean
  readonly observer?: LiveConfigObserver
  /** For a command, which prints results of its own on standard output. */
  readonly isCommand?: boolean
  /** How long to wait for another process to release the store; a few seconds by default. */
  readonly lockWaitMs?: number
}

/** Called for what the configuration's own parts do. None may throw. */
export interface LiveConfigObserver {
  /** After each operation of the store. */
  readonly onOperation?: StoreOptions['onOperation']
  /** With the time a password has waited to be hashed. */
  readonly onWaited?: HasherOptions['onWaited']
  readonly onEvent?: SecurityEventsDeps['onEvent']
}

export interface LiveConfig extends Live<ConfigSnapshot> {
  readonly hasher: Hasher
  readonly store: Store
  readonly runtime: StoredLayer
  readonly secrets: SharedSecrets
  readonly events: RunningSecurityEvents
  readonly audit: Audit
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
  /** Writes the audit records that are left, then closes the store. */
  close(): Promise<void>
}

/** Opens the configured store and builds the first snapshot. */
export async function createLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const reader = options.load()
  const first = reader([])
  if (first.problems.length > 0) throw new ConfigError(first.problems)
  const { values } = first.settings
  // checked first, so that a start without an administrator does not create a store
  if (!options.mayLackAdministrator && !mayStoreExist(values.store.url)) requireConfiguredAdministrator(first.settings)
  const misplaced = checkStoreFolder(first.settings)
  if (misplaced.length > 0) throw new ConfigError(misplaced)
  const store = await openNamedStore(values.store.url, options)
  try {
    return await startLiveConfig(options, store, reader, values.hashing.queue)
  } catch (error) {
    await store.close()
    throw toStartError(error)
  }
}

/** The store may fail after it was opened, for instance where the file is damaged. */
const toStartError = (error: unknown): unknown =>
  error instanceof Refusal && error.code === 'store_unavailable'
    ? new StartError(`The store cannot be used: ${reasonOf(error)} (see --store.url)`, { cause: error })
    : error

/** Whether the store may hold something. A database server is not asked. */
function mayStoreExist(url: string): boolean {
  const file = findStoreFile(url)
  return file === undefined ? !url.startsWith('sqlite:') : existsSync(file)
}

/** A command releases the store soon; another server does not. */
const LOCK_WAIT_MS = 3000

async function openNamedStore(url: string, options: LiveConfigOptions): Promise<Store> {
  const { lockWaitMs = LOCK_WAIT_MS } = options
  try {
    const lock = await lockStore(url, lockWaitMs)
    if (!lock)
      throw new StoreBusy(
        `Another Cardea process${describeHolder(url)} is using this store. Stop it, or configure another store`,
      )
    return await openLocked(url, lock, options)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`The store cannot be opened: ${reasonOf(error)} (see --store.url)`, { cause: error })
  }
}

async function openLocked(url: string, lock: StoreLock, { log, observer }: LiveConfigOptions): Promise<Store> {
  try {
    const store = await openStore(url, { log, onOperation: observer?.onOperation })
    return { ...store, close: () => store.close().finally(lock.release) }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLiveConfig(
  options: LiveConfigOptions,
  store: Store,
  reader: SettingsReader,
  firstQueue: number,
): Promise<LiveConfig> {
  const { secrets, deps, snapshot } = await createFirstSnapshot(options, store, reader, firstQueue)
  const { audit, events } = openEvents(options, store, snapshot)
  const state: ReloadState = {
    load: options.load,
    reader,
    snapshot,
    deps,
    events,
    parts: [],
    listeners: [],
  }
  const inTurn = createTurns()
  return {
    get: snapshot.get,
    hasher: deps.hasher,
    store,
    runtime: deps.runtime,
    secrets,
    events,
    audit,
    reload() {
      // another program has renamed the file, whether or not the configuration is valid
      audit.reopen()
      return inTurn(() => reload(state))
    },
    refresh: () => inTurn(() => refresh(state)),
    onChange: (listener) => void state.listeners.push(listener),
    joinReload: (part) => void state.parts.push(part),
    async close() {
      events.flush()
      await audit.close()
      await store.close()
    },
  }
}

/** The first snapshot needs the hasher, whose settings come from the snapshot as soon as there is one. */
async function createFirstSnapshot(
  { log, observer, mayLackAdministrator = false }: LiveConfigOptions,
  store: Store,
  reader: SettingsReader,
  firstQueue: number,
) {
  const secrets = createSharedSecrets()
  let queue = () => firstQueue
  let maxStrength = () => DEFAULT_MAX_STRENGTH
  const deps: SnapshotDeps = {
    runtime: createStoredLayer(store, SYSTEM_CLOCK),
    hasher: createHasher({
      queue: () => queue(),
      maxStrength: () => maxStrength(),
      onWaited: observer?.onWaited,
    }),
    log,
    mayLackAdministrator,
    checkSecrets: secrets.check,
  }
  const snapshot = createLive((await buildSnapshot(reader, deps, undefined)).next)
  queue = () => snapshot.get().settings.values.hashing.queue
  maxStrength = () => toMaxStrength(toHashParameters(snapshot.get().settings.values))
  return { secrets, deps, snapshot }
}

/** Events are written to the audit trail, and the audit trail reports its failures as events. */
function openEvents(options: LiveConfigOptions, store: Store, snapshot: ReloadState['snapshot']) {
  const { log, observer, isCommand = false } = options
  const config = () => snapshot.get().settings.values
  const events = createSecurityEvents({
    node: () => config().node.name,
    sinks: [toLogSink(log), (record) => audit.append(record)],
    requireRecording: () => audit.requireRecording(),
    ...(observer?.onEvent && { onEvent: observer.onEvent }),
  })
  const audit = new Audit({ config, store, events, log, isCommand })
  return { audit, events }
}
