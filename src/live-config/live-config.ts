// What is in force: settings and administrators as one value, replaced as a whole.
import { existsSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createLive, type Live } from '../base/live.ts'
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
  type ConfigSnapshot,
  type PrepareDeps,
  type Prepared,
  prepareAll,
  prepareRuntime,
  requireConfiguredAdministrator,
} from './snapshot.ts'
import { ConfigError, StartError, StoreBusy } from './start-error.ts'
import { createStoredLayer, type StoredLayer } from './stored-layer.ts'

export interface LiveConfigOptions {
  /** Reads the files anew; what it gives reads every other layer too. */
  load(): SettingsReader
  readonly log: Log
  /** For who manages the store and serves nobody: an administrator may be what is to be made. */
  readonly mayLackAdministrator?: boolean
  /** How long to wait for who else works on the store; a few seconds unless given. */
  readonly lockWaitMs?: number
}

export interface ReloadReport {
  readonly isApplied: boolean
  /** Why not, place by place. */
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  /** Changed options that wait for a restart. */
  readonly needRestart: readonly string[]
}

/** What is read anew with the configuration: either all of it comes into force, or nothing. */
export interface ReloadPart {
  /** Reads it, for these settings. Nothing changes yet. */
  prepare(settings: Settings): Promise<PreparedPart>
}

export interface PreparedPart {
  /** Sentences with their place. */
  readonly problems: readonly string[]
  /** Secrets it brings into use, and what for. */
  readonly secrets?: readonly [use: Use, keys: readonly VerificationKey[]]
  /** Called only where nobody had a problem, just before what is in force is replaced. Must not throw. */
  take(): void
}

export interface LiveConfig extends Live<ConfigSnapshot> {
  readonly hasher: Hasher
  readonly store: Store
  readonly runtime: StoredLayer
  readonly secrets: SharedSecrets
  readonly events: RunningSecurityEvents
  /**
   * Reads everything anew, files too; what was set for this process alone is gone. Any problem keeps everything as it
   * is.
   */
  reload(): Promise<ReloadReport>
  /**
   * Reads the run-time layer anew, which this or another node has changed; files as they were last read. Problems keep
   * all settings as they are, administrators excepted.
   */
  refresh(): Promise<ReloadReport>
  /** Told each time what is in force was replaced. Must not throw. */
  onChange(listener: (snapshot: ConfigSnapshot) => void): void
  joinReload(part: ReloadPart): void
}

/** Opens the store the configuration names, then brings everything into force. */
export async function createLiveConfig(options: LiveConfigOptions): Promise<LiveConfig> {
  const reader = options.load()
  const first = reader([])
  if (first.problems.length > 0) throw new ConfigError(first.problems)
  const { values } = first.settings
  // known before a store is made for nobody
  if (!options.mayLackAdministrator && !isStoreThere(values.store.url)) requireConfiguredAdministrator(first.settings)
  const store = await openNamedStore(values.store.url, options)
  try {
    return await bringIntoForce(options, store, { reader, queue: values.hashing.queue })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Whether it may hold something. What is behind a server cannot be known without asking. */
function isStoreThere(url: string): boolean {
  const file = findStoreFile(url)
  return file === undefined ? !url.startsWith('sqlite:') : existsSync(file)
}

/** A command that is at work on a store will soon be done; another server will not. */
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

/** For whoever runs the server, so with the detail a client does not see. */
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

interface Beginning {
  readonly reader: SettingsReader
  readonly queue: number
}

async function bringIntoForce(options: LiveConfigOptions, store: Store, first: Beginning): Promise<LiveConfig> {
  const { load, log, mayLackAdministrator = false } = options
  const secrets = createSharedSecrets()
  let { reader } = first
  let queue = () => first.queue
  let maxStrength = () => DEFAULT_MAX_STRENGTH
  const deps: PrepareDeps = {
    runtime: createStoredLayer(store, SYSTEM_CLOCK),
    hasher: createHasher({ queue: () => queue(), maxStrength: () => maxStrength() }),
    log,
    mayLackAdministrator,
    checkSecrets: secrets.check,
  }
  const snapshot = createLive((await prepareAll(reader, deps, undefined)).next)
  queue = () => snapshot.get().settings.values.hashing.queue
  maxStrength = () => toMaxStrength(toHashParameters(snapshot.get().settings.values))
  const events = createSecurityEvents({ node: () => snapshot.get().settings.values.node.name, sinks: [toLogSink(log)] })

  const reload = async (): Promise<ReloadReport> => {
    const before = snapshot.get()
    const restore = deps.runtime.dropVolatile()
    try {
      const fresh = load()
      // looked at first, because passwords in clear are hashed and written back by what follows
      const { problems, take } = await prepareParts(parts, fresh, deps, snapshot.get())
      if (problems.length > 0) throw new StartError(problems.join('\n'))
      const prepared = await prepareAll(fresh, deps, snapshot.get())
      reader = fresh
      take()
      const report = apply(prepared)
      recordReload(events, report, before, snapshot.get())
      if (report.needRestart.length > 0) log.warn('these changes wait for a restart', { options: report.needRestart })
      return report
    } catch (error) {
      restore()
      // Whatever it is (a store that does not answer, too much work waiting), what is in force stays.
      const reason = error instanceof StartError ? error.message : `it could not be read: ${reasonOf(error)}`
      const problems = reason.split('\n')
      events.record('reload.failed', { source: 'configuration', reason: summarize(problems) })
      return { isApplied: false, problems, changed: [], needRestart: [] }
    }
  }
  const refresh = async (): Promise<ReloadReport> => {
    const report = apply(await prepareRuntime(reader, deps, snapshot.get()))
    for (const problem of report.problems) log.error('settings made at run time cannot be applied', { problem })
    if (snapshot.get().administrators.size === 0) log.error('there is no administrator left')
    return report
  }
  const apply = ({ next, ...report }: Prepared): ReloadReport => {
    snapshot.set(next)
    for (const listener of listeners) listener(next)
    return { isApplied: report.problems.length === 0, ...report }
  }
  const parts: ReloadPart[] = []
  const listeners: ((snapshot: ConfigSnapshot) => void)[] = []
  const inTurn = createTurns()
  return {
    get: snapshot.get,
    hasher: deps.hasher,
    store,
    runtime: deps.runtime,
    secrets,
    events,
    reload: () => inTurn(reload),
    refresh: () => inTurn(refresh),
    onChange: (listener) => void listeners.push(listener),
    joinReload: (part) => void parts.push(part),
  }
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

/** Everything a reload reads, before any of it counts. What is read beside a bad configuration is read by the old one. */
async function prepareParts(
  parts: readonly ReloadPart[],
  reader: SettingsReader,
  { runtime, checkSecrets }: PrepareDeps,
  { configured }: ConfigSnapshot,
): Promise<PreparedPart> {
  const { settings, problems } = reader((await runtime.read()).entries)
  const read = problems.length > 0 ? configured : settings
  const prepared = await Promise.all(parts.map((part) => part.prepare(read)))
  const found = [...problems.map(renderProblem), ...prepared.flatMap((part) => part.problems)]
  const brought = new Map(prepared.flatMap((part) => (part.secrets ? [part.secrets] : [])))
  const shared = found.length === 0 ? checkSecrets(read, brought) : undefined
  return {
    problems: shared === undefined ? found : [shared],
    take: () => {
      for (const part of prepared) part.take()
    },
  }
}

/** One after the other: who asks while another is at work is the next, and sees what was written meanwhile. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => {})
    return run
  }
}
