// The current configuration. `snapshot.ts` builds a config snapshot from all layers; here it is kept, replaced as a
// whole on reload, and announced to listeners.
import { existsSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createLive, type Live, type LiveCell } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import type { Store } from '../directory/store-port.ts'
import type { VerificationKey } from '../keys/key.ts'
import {
  createSecurityEvents,
  type RunningSecurityEvents,
  type SecurityEvents,
  toLogSink,
} from '../observe/security-events.ts'
import { DEFAULT_MAX_STRENGTH, toMaxStrength } from '../passwords/hash-policy.ts'
import { createHasher, type Hasher } from '../passwords/hasher.ts'
import { openStore } from '../store/create-store.ts'
import { lockStore, type StoreLock } from '../store/lock.ts'
import { findStoreFile } from '../store/store-url.ts'
import { recordAdministratorChanges, recordOptionChanges } from './option-events.ts'
import { toHashParameters } from './password-options.ts'
import { createSharedSecrets, type SharedSecrets, type Use } from './shared-secrets.ts'
import {
  type BuiltSnapshot,
  buildSnapshot,
  type ConfigSnapshot,
  rebuildFromStore,
  requireConfiguredAdministrator,
  type SnapshotDeps,
} from './snapshot.ts'
import { ConfigError, StartError, StoreBusy } from './start-error.ts'
import { createStoredLayer, type StoredLayer } from './stored-layer.ts'

export interface LiveConfigOptions {
  /** Reads the files. The reader it returns adds the other layers. */
  load(): SettingsReader
  readonly log: Log
  /** For commands that manage the store without serving: they may be about to create the first administrator. */
  readonly mayLackAdministrator?: boolean
  /** How long to wait for another process to release the store; a few seconds by default. */
  readonly lockWaitMs?: number
}

export interface ReloadReport {
  readonly isApplied: boolean
  /** Why it was not applied, each with its place. */
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  /** Changed options that take effect only after a restart. */
  readonly needRestart: readonly string[]
}

/** Something that is reloaded with the configuration: all of it is applied, or nothing. */
export interface ReloadPart {
  /** Reads it for these settings, without applying it. */
  prepare(settings: Settings): Promise<PreparedPart>
}

export interface PreparedPart {
  /** Each with its place. */
  readonly problems: readonly string[]
  /** The secrets it would use, and what for. */
  readonly secrets?: readonly [use: Use, keys: readonly VerificationKey[]]
  /** Called only if no part has a problem, just before the snapshot is replaced. Must not throw. */
  apply(): void
}

export interface LiveConfig extends Live<ConfigSnapshot> {
  readonly hasher: Hasher
  readonly store: Store
  readonly runtime: StoredLayer
  readonly secrets: SharedSecrets
  readonly events: RunningSecurityEvents
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

/** Opens the configured store and builds the first snapshot. */
export async function createLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const reader = options.load()
  const first = reader([])
  if (first.problems.length > 0) throw new ConfigError(first.problems)
  const { values } = first.settings
  // checked first, so that a start without an administrator does not create a store
  if (!options.mayLackAdministrator && !mayStoreExist(values.store.url)) requireConfiguredAdministrator(first.settings)
  const store = await openNamedStore(values.store.url, options)
  try {
    return await startLiveConfig(options, store, { reader, queue: values.hashing.queue })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Whether the store may hold something. A database server is not asked. */
function mayStoreExist(url: string): boolean {
  const file = findStoreFile(url)
  return file === undefined ? !url.startsWith('sqlite:') : existsSync(file)
}

/** A command releases the store soon; another server does not. */
const LOCK_WAIT_MS = 3000

async function openNamedStore(url: string, { log, lockWaitMs = LOCK_WAIT_MS }: LiveConfigOptions): Promise<Store> {
  try {
    const lock = await lockStore(url, lockWaitMs)
    if (!lock) throw new StoreBusy('Another Cardea works on this store. Stop it, or give this one a store of its own')
    return await openLocked(url, lock, log)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`The store cannot be opened: ${reasonOf(error)} (see --store.url)`, { cause: error })
  }
}

/** For the operator: includes the detail that clients do not see. */
function reasonOf(error: unknown): string {
  const detail = error instanceof Refusal && error.detail !== undefined ? ` ${error.detail}` : ''
  return `${error instanceof Error ? error.message : String(error)}${detail}`
}

async function openLocked(url: string, lock: StoreLock, log: Log): Promise<Store> {
  try {
    const store = await openStore(url, { log })
    return { ...store, close: () => store.close().finally(lock.release) }
  } catch (error) {
    lock.release()
    throw error
  }
}

interface FirstReading {
  readonly reader: SettingsReader
  /** The size of the hashing queue until there is a snapshot. */
  readonly queue: number
}

async function startLiveConfig(options: LiveConfigOptions, store: Store, first: FirstReading): Promise<LiveConfig> {
  const { log, mayLackAdministrator = false } = options
  const { reader } = first
  const secrets = createSharedSecrets()
  let queue = () => first.queue
  let maxStrength = () => DEFAULT_MAX_STRENGTH
  const deps: SnapshotDeps = {
    runtime: createStoredLayer(store, SYSTEM_CLOCK),
    hasher: createHasher({ queue: () => queue(), maxStrength: () => maxStrength() }),
    log,
    mayLackAdministrator,
    checkSecrets: secrets.check,
  }
  const snapshot = createLive((await buildSnapshot(reader, deps, undefined)).next)
  queue = () => snapshot.get().settings.values.hashing.queue
  maxStrength = () => toMaxStrength(toHashParameters(snapshot.get().settings.values))
  const events = createSecurityEvents({ node: () => snapshot.get().settings.values.node.name, sinks: [toLogSink(log)] })
  const state: ReloadState = { load: options.load, reader, snapshot, deps, events, parts: [], listeners: [] }
  const inTurn = createTurns()
  return {
    get: snapshot.get,
    hasher: deps.hasher,
    store,
    runtime: deps.runtime,
    secrets,
    events,
    reload: () => inTurn(() => reload(state)),
    refresh: () => inTurn(() => refresh(state)),
    onChange: (listener) => void state.listeners.push(listener),
    joinReload: (part) => void state.parts.push(part),
  }
}

interface ReloadState {
  readonly load: LiveConfigOptions['load']
  /** Reads the files as of the last reload. */
  reader: SettingsReader
  readonly snapshot: LiveCell<ConfigSnapshot>
  readonly deps: SnapshotDeps
  readonly events: SecurityEvents
  readonly parts: ReloadPart[]
  readonly listeners: ((snapshot: ConfigSnapshot) => void)[]
}

async function reload(state: ReloadState): Promise<ReloadReport> {
  const { deps, events } = state
  const restore = deps.runtime.dropVolatile()
  try {
    return await loadAndReplace(state)
  } catch (error) {
    restore()
    // any error keeps the current snapshot, an unreachable store or a full hashing queue too
    const reason = error instanceof StartError ? error.message : `it could not be read: ${reasonOf(error)}`
    const problems = reason.split('\n')
    events.record('reload.failed', { source: 'configuration', reason: summarize(problems) })
    return { isApplied: false, problems, changed: [], needRestart: [] }
  }
}

async function loadAndReplace(state: ReloadState): Promise<ReloadReport> {
  const { deps, events, snapshot } = state
  const before = snapshot.get()
  const reader = state.load()
  // checked first, because the next step hashes plain-text passwords and writes the hashes to the files
  const parts = await prepareParts(state, reader)
  if (parts.problems.length > 0) throw new StartError(parts.problems.join('\n'))
  const built = await buildSnapshot(reader, deps, before)
  state.reader = reader
  parts.apply()
  const report = replaceSnapshot(state, built)
  recordReload(events, report, before, snapshot.get())
  if (report.needRestart.length > 0)
    deps.log.warn('these changes take effect after a restart', { options: report.needRestart })
  return report
}

async function refresh(state: ReloadState): Promise<ReloadReport> {
  const { deps, snapshot, reader } = state
  const report = replaceSnapshot(state, await rebuildFromStore(reader, deps, snapshot.get()))
  for (const problem of report.problems) deps.log.error('settings in the store cannot be applied', { problem })
  if (snapshot.get().administrators.size === 0) deps.log.error('there is no administrator left')
  return report
}

function replaceSnapshot({ snapshot, listeners }: ReloadState, { next, ...report }: BuiltSnapshot): ReloadReport {
  snapshot.set(next)
  for (const listener of listeners) listener(next)
  return { isApplied: report.problems.length === 0, ...report }
}

function recordReload(
  events: SecurityEvents,
  report: ReloadReport,
  before: ConfigSnapshot,
  after: ConfigSnapshot,
): void {
  const changed = [...report.changed, ...report.needRestart]
  events.record('configuration.reloaded', { changed })
  recordOptionChanges(events, changed, before.configured, after.configured)
  recordAdministratorChanges(events, before, after)
}

const summarize = ([first = '', ...others]: readonly string[]): string =>
  others.length > 0 ? `${first} (and ${others.length} more)` : first

/** Reads every part, without applying any. If the settings are invalid, the parts are read for the current ones. */
async function prepareParts({ parts, deps, snapshot }: ReloadState, reader: SettingsReader): Promise<PreparedPart> {
  const { settings, problems } = reader((await deps.runtime.read()).entries)
  const read = problems.length > 0 ? snapshot.get().configured : settings
  const prepared = await Promise.all(parts.map((part) => part.prepare(read)))
  const found = [...problems.map(renderProblem), ...prepared.flatMap((part) => part.problems)]
  const newSecrets = new Map(prepared.flatMap((part) => (part.secrets ? [part.secrets] : [])))
  const shared = found.length === 0 ? deps.checkSecrets(read, newSecrets) : undefined
  return {
    problems: shared === undefined ? found : [shared],
    apply: () => {
      for (const part of prepared) part.apply()
    },
  }
}

/** Runs one after the other, so that each sees what the one before has written. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => {})
    return run
  }
}
