// What is in force: settings and administrators as one value, replaced as a whole.
import { randomBytes } from 'node:crypto'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { compareSettings } from '../config/compare.ts'
import type { Reading } from '../config/read.ts'
import type { RuntimeEntry } from '../config/runtime.ts'
import type { Settings } from '../config/settings.ts'
import { createHasher, type Hasher } from '../identity/password/hasher.ts'
import type { Store } from '../identity/ports.ts'
import type { Account } from '../identity/sign-in.ts'
import { openStore } from '../store/open.ts'
import { enforceAdministrators } from './administrators.ts'
import { toHashParameters } from './options.ts'
import { createStoredLayer, type StoredLayer } from './runtime.ts'
import { ConfigError, StartError } from './start-error.ts'

export interface StateOptions {
  /** Reads every layer anew; the run-time layer is given. */
  read(runtime: readonly RuntimeEntry[]): Reading
  readonly log: Log
}

interface StateNeeds extends StateOptions {
  readonly runtime: StoredLayer
}

export interface InForce {
  readonly settings: Settings
  readonly administrators: ReadonlyMap<string, Account>
}

export interface ReloadReport {
  readonly isApplied: boolean
  /** Why not, place by place. */
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  /** Changed options that wait for a restart. */
  readonly needRestart: readonly string[]
}

export interface State extends Live<InForce> {
  readonly hasher: Hasher
  readonly store: Store
  readonly runtime: StoredLayer
  reload(): Promise<ReloadReport>
}

const NO_ADMINISTRATOR = `No administrator is configured, so nobody could manage this server: not starting.
Make one, with any of these:
  cardea init                       makes a folder with a configuration and an administrator
  [admins] in a configuration file  name = password (hashed at start)
  --admins.NAME PASSWORD            or CARDEA_ADMINS__NAME in the environment`

/** Opens the store the configuration names, then brings everything into force. */
export async function createState(options: StateOptions): Promise<State> {
  const first = options.read([])
  if (first.problems.length > 0) throw new ConfigError(first.problems)
  const store = await openNamedStore(first.settings.values.store.url, options.log)
  try {
    return await bringIntoForce({ ...options, runtime: createStoredLayer(store, SYSTEM_CLOCK) }, store)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openNamedStore(url: string, log: Log): Promise<Store> {
  try {
    return await openStore(url, { log })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(`The store cannot be opened: ${why} (see --store.url)`, { cause: error })
  }
}

async function bringIntoForce(options: StateNeeds, store: Store): Promise<State> {
  const { log } = options
  const queue = { now: 0 }
  const hasher = createHasher({ queue: () => queue.now })
  const prepare = async (
    before?: Settings,
  ): Promise<InForce & { needRestart: readonly string[]; changed: readonly string[] }> => {
    const fresh = await readChecked(options, before === undefined)
    const compared = before ? compareSettings(before, fresh) : { settings: fresh, applied: [], needRestart: [] }
    const { settings } = compared
    queue.now = settings.values.hashing.queue
    const administrators = await enforceAdministrators(settings, {
      runtime: options.runtime,
      hasher,
      parameters: toHashParameters(settings.values),
      log,
    })
    if (administrators.size === 0) throw new StartError(NO_ADMINISTRATOR)
    return { settings, administrators, changed: compared.applied, needRestart: compared.needRestart }
  }

  const inForce = createLive<InForce>(await prepare())
  const reload = async (): Promise<ReloadReport> => {
    try {
      const { changed, needRestart, ...next } = await prepare(inForce.get().settings)
      inForce.set(next)
      return { isApplied: true, problems: [], changed, needRestart }
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return { isApplied: false, problems: error.message.split('\n'), changed: [], needRestart: [] }
    }
  }
  return { get: inForce.get, hasher, store, runtime: options.runtime, reload: singleFlight(reload) }
}

/** A reload asked for while one runs is the next one: it must see what was written meanwhile. */
function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const run = last.then(work, work)
    last = run.catch(() => {})
    return run
  }
}

async function readChecked(options: StateNeeds, isFirst: boolean): Promise<Settings> {
  const reading = options.read(await options.runtime.list())
  if (reading.problems.length > 0) throw new ConfigError(reading.problems)
  if (isFirst && reading.settings.values.couchdb.uuid === '') {
    await options.runtime.set('couchdb', 'uuid', randomBytes(16).toString('hex'))
    return readChecked(options, false)
  }
  for (const warning of reading.warnings) options.log.warn(warning)
  return reading.settings
}
