// The current configuration: builds the first config snapshot (`snapshot.ts`) and keeps it until a reload replaces it.
import type { KeyObject } from 'node:crypto'
import { createLive, deriveLive, type Live, type LiveCell } from '../base/live.ts'
import { createTurns } from '../base/turns.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { SettingsReader } from '../config/load.ts'
import { renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { type Kernel, type KernelOptions, openKernel, toStartError } from '../kernel/kernel.ts'
import { reasonOf, StartError } from '../kernel/start-error.ts'
import type { VerificationKey } from '../keys/key.ts'
import { generatePrivateKey } from '../keys/new-secret.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { toKernelSettings } from './kernel-settings.ts'
import { ConfigError, checkStoreFolder, mayStoreExist } from './load.ts'
import { recordAdministratorChanges, recordOptionChanges } from './option-events.ts'
import { createSharedSecrets, type SharedSecrets, type Use } from './shared-secrets.ts'
import {
  type BuiltSnapshot,
  buildSnapshot,
  type ConfigSnapshot,
  checkAdministrators,
  rebuildFromStore,
  type SnapshotDeps,
} from './snapshot.ts'
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
  /** Runs `work` as if this were set and the server had started again since. Nothing else sees it. */
  tryChange(entry: RuntimeEntry, work: () => Promise<void>): Promise<void>
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
  const isNew = !mayLackAdministrator && !mayStoreExist(settings.values.store.url)
  const missing = isNew ? checkAdministrators(settings) : undefined
  if (missing !== undefined) throw new StartError(missing)
  const misplaced = checkStoreFolder(settings)
  if (misplaced.length > 0) throw new ConfigError(misplaced)
  return settings
}

async function createLiveConfig(
  kernel: Kernel,
  reader: SettingsReader,
  { load, mayLackAdministrator = false }: LiveConfigOptions,
): Promise<LiveConfig> {
  const { hasher, log } = kernel
  const secrets = createSharedSecrets()
  const runtime = createStoredLayer(kernel.store, kernel.clock)
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
    tryChange: (entry, work) => tryChange(state, entry, work),
    onChange: (listener) => void state.listeners.push(listener),
    joinReload: (part) => void state.parts.push(part),
  }
}

// Replaces the config snapshot: on reload with the files read again, on refresh with the settings of the store only.

export interface ReloadReport {
  readonly isApplied: boolean
  /** Why it was not applied, each with its place. */
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  /** Changed options that take effect only after a restart. */
  readonly needRestart: readonly string[]
  /** The options whose files had other secrets than before, each with their number. */
  readonly secrets?: readonly string[]
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
  /** Set if its secrets differ from the current ones: the option, and how many there are. */
  readonly replaced?: string
  /** Called only if no part has a problem, just before the snapshot is replaced. Must not throw. */
  apply(): void
}

interface ReloadState {
  /** Reads the files. The reader it returns adds the other layers. */
  readonly load: () => SettingsReader
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
  const restore = deps.runtime.volatile.drop()
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
  const report = { ...replaceSnapshot(state, built), secrets: parts.replaced }
  const changed = [...report.changed, ...report.needRestart]
  events.record('configuration.reloaded', { changed })
  recordOptionChanges(events, changed, before.configured, snapshot.get().configured)
  recordAdministratorChanges(events, before, snapshot.get())
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

/** Settings that contradict each other are not tried: a change to them is refused in any case. */
async function tryChange({ deps, reader, snapshot }: ReloadState, entry: RuntimeEntry, work: () => Promise<void>) {
  const { entries } = await deps.runtime.read()
  const others = entries.filter(({ section, key }) => section !== entry.section || key !== entry.key)
  const { settings, problems } = reader([...others, entry])
  if (problems.length === 0) await snapshot.runWith({ ...snapshot.get(), settings, configured: settings }, work)
}

function replaceSnapshot({ snapshot, listeners }: ReloadState, { next, ...report }: BuiltSnapshot): ReloadReport {
  snapshot.set(next)
  for (const listener of listeners) listener(next)
  return { isApplied: report.problems.length === 0, ...report }
}

const summarize = ([first = '', ...others]: readonly string[]): string =>
  others.length > 0 ? `${first} (and ${others.length} more)` : first

/** Reads every part, without applying any. If the settings are invalid, the parts are read for the current ones. */
async function prepareParts({ parts, deps, snapshot }: ReloadState, reader: SettingsReader) {
  const { settings, problems } = reader((await deps.runtime.read()).entries)
  const read = problems.length > 0 ? snapshot.get().configured : settings
  const prepared = await Promise.all(parts.map((part) => part.prepare(read)))
  const found = [...problems.map(renderProblem), ...prepared.flatMap((part) => part.problems)]
  const newSecrets = new Map(prepared.flatMap((part) => (part.secrets ? [part.secrets] : [])))
  const shared = found.length === 0 ? deps.checkSecrets(read, newSecrets) : undefined
  return {
    problems: shared === undefined ? found : [shared],
    replaced: prepared.flatMap((part) => part.replaced ?? []),
    apply: () => {
      for (const part of prepared) part.apply()
    },
  }
}
