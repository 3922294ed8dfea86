// The current configuration: builds the first config snapshot (`snapshot.ts`) and keeps it until a reload replaces it.
import type { KeyObject } from 'node:crypto'
import { createLive, type Live, type LiveCell } from '../base/live.ts'
import { deriveSecret } from '../base/siblings.ts'
import { createTurns } from '../base/turns.ts'
import type { RuntimeEntry } from '../config/layers.ts'
import type { SettingsReader } from '../config/load.ts'
import type { Settings } from '../config/settings.ts'
import { type Kernel, type KernelOptions, openKernel, toStartError } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import { derivePrivateKey, PRIVATE_KEY_SEED_BYTES } from '../keys/new-secret.ts'
import { ConfigError, checkStoreFolder, mayStoreExist } from './load.ts'
import { createReload, type ReloadPart, type ReloadReport, type ReloadState } from './reload.ts'
import { createSharedSecrets, type SharedSecrets } from './shared-secrets.ts'
import {
  type BuiltSnapshot,
  buildSnapshot,
  type ConfigSnapshot,
  checkAdministrators,
  rebuildFromStore,
  type SnapshotDeps,
} from './snapshot.ts'
import { createMemoryLayer, createStoredLayer, type StoredLayer, shareVolatile } from './stored-layer.ts'

export interface LiveConfigOptions extends KernelOptions {
  /** Reads the files. The reader it returns adds the other layers. */
  load(): SettingsReader
  /** For commands that manage the store without serving: they may be about to create the first administrator. */
  readonly mayLackAdministrator?: boolean
}

/**
 * Who learns of a new snapshot when: those who use it first, then those who check with the new keys what was accepted
 * with the former ones.
 */
const CHANGE_ORDER = ['log', 'keys', 'open streams', 'upstreams', 'other nodes'] as const

type ChangeGroup = (typeof CHANGE_ORDER)[number]

type ChangeListener = (snapshot: ConfigSnapshot) => void

export interface LiveConfig extends Live<ConfigSnapshot> {
  /** Opened with the configuration, and closed by the caller that opened the configuration. */
  readonly kernel: Kernel
  readonly runtime: StoredLayer
  readonly secrets: SharedSecrets
  /** Signs for services where no file has a key for that. Siblings have the same. */
  readonly generatedKey: KeyObject
  /** Reads all layers, files too, and drops what was set until then only. A problem in any sibling keeps the snapshot. */
  reload(): Promise<ReloadReport>
  /** Called before this process serves: reloads if its siblings have read other files. Throws if that fails. */
  agree(): Promise<void>
  /**
   * Reads the settings of the store, which this or another node has changed; files as they were last read. A problem
   * keeps all settings, but changes of administrators are applied.
   */
  refresh(): Promise<ReloadReport>
  /** Runs `work` as if this were set and the server had started again since. Nothing else sees it. */
  tryChange(entry: RuntimeEntry, work: () => Promise<void>): Promise<void>
  /** Called each time the snapshot was replaced, in the order of `CHANGE_ORDER`. Must not throw. */
  onChange(group: ChangeGroup, listener: ChangeListener): void
  joinReload(part: ReloadPart): void
}

/** Opens the kernel by files, environment and flags, then adds the settings of its store. */
export async function openLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const reader = options.load()
  const { values } = readStartable(reader, options)
  const kernel = await openKernel(values, options)
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
  const { hasher, log, siblings, store, clock } = kernel
  const secrets = createSharedSecrets()
  const volatile = createMemoryLayer()
  const unannounced = { ...store, ...store.unannounced }
  const ownSecret = deriveSecret(siblings.seed, 'session cookies').toString('hex')
  const common = { hasher, log, mayLackAdministrator, ownSecret, checkSecrets: secrets.check }
  const deps = { ...common, runtime: createStoredLayer(unannounced, clock, volatile) }
  const fresh = { ...common, runtime: createStoredLayer(unannounced, clock) }
  const snapshot = createLive((await buildSnapshot(reader, deps, undefined)).next)
  kernel.follow(() => snapshot.get().settings.values)
  const inTurn = createTurns()
  const state: State = {
    ...{ kernel, load, reader, snapshot, deps, fresh, volatile, inTurn },
    replace: (built) => replaceSnapshot(state, built),
    parts: [],
    listeners: [],
  }
  const refreshInTurn = () => inTurn(() => refresh(state))
  const shared = await shareVolatile(volatile, siblings, refreshInTurn)
  return {
    get: snapshot.get,
    kernel,
    runtime: createStoredLayer(store, clock, shared),
    secrets,
    generatedKey: derivePrivateKey(deriveSecret(siblings.seed, 'services', PRIVATE_KEY_SEED_BYTES)),
    ...createReload(state),
    refresh: refreshInTurn,
    tryChange: (entry, work) => tryChange(state, entry, work),
    onChange: (group, listener) => void state.listeners.push({ group, listener }),
    joinReload: (part) => void state.parts.push(part),
  }
}

interface State extends ReloadState {
  readonly deps: SnapshotDeps
  readonly snapshot: LiveCell<ConfigSnapshot>
  readonly listeners: { readonly group: ChangeGroup; readonly listener: ChangeListener }[]
}

async function refresh(state: State): Promise<ReloadReport> {
  const { deps, snapshot, reader } = state
  const built = await rebuildFromStore(reader, deps, snapshot.get())
  // a reload has been applied meanwhile
  if (state.reader !== reader) return refresh(state)
  const report = replaceSnapshot(state, built)
  for (const problem of report.problems) deps.log.error('settings in the store cannot be applied', { problem })
  if (snapshot.get().administrators.size === 0) deps.log.error('there is no administrator left')
  return report
}

/** Settings that contradict each other are not tried: a change to them is refused in any case. */
async function tryChange({ deps, reader, snapshot }: State, entry: RuntimeEntry, work: () => Promise<void>) {
  const { entries } = await deps.runtime.read()
  const others = entries.filter(({ section, key }) => section !== entry.section || key !== entry.key)
  const { settings, problems } = reader([...others, entry])
  if (problems.length === 0) await snapshot.runWith({ ...snapshot.get(), settings, configured: settings }, work)
}

function replaceSnapshot(
  { snapshot, listeners }: Pick<State, 'snapshot' | 'listeners'>,
  { next, ...report }: BuiltSnapshot,
): ReloadReport {
  snapshot.set(next)
  for (const each of CHANGE_ORDER) for (const { group, listener } of listeners) if (group === each) listener(next)
  return { isApplied: report.problems.length === 0, ...report }
}
