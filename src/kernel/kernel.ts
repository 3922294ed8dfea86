// What the server and every command that opens the store need: the store, its lock and its time, hasher, security events, audit.
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { createAlone, type Siblings, type Topic } from '../base/siblings.ts'
import { shareNext } from '../base/turns.ts'
import type { EventTable } from '../observe/security-event-table.ts'
import {
  createSecurityEvents,
  type RunningSecurityEvents,
  type SecurityEventsDeps,
  toLogSink,
} from '../observe/security-events.ts'
import { createHasher, defaultJobs, type Hasher, type HasherOptions } from '../passwords/hasher.ts'
import {
  type OpenStore,
  openStore,
  type StoreOptions,
  type StoreRow,
  type StoreSettings,
} from '../store/create-store.ts'
import { describeHolder, isHeldHere, lockStore, type StoreLock } from '../store/lock.ts'
import type { PostgresOptions } from '../store/postgres/options.ts'
import { openStoreClock, type StoreClock } from '../store/store-clock.ts'
import { Audit, type AuditSettings } from './audit.ts'
import { reasonOf, StartError, StoreBusy } from './start-error.ts'

export interface KernelSettings extends AuditSettings, StoreSettings {
  readonly store: {
    readonly url: string
    /** How long a start waits for a store that cannot be reached, in milliseconds. */
    readonly 'start-timeout': number
    /** The connections of all processes of this server together. */
    readonly 'max-connections': number
    readonly pooling: PostgresOptions['pooling']
    readonly 'listen-url': string
  }
  /** How many passwords may wait to be hashed. */
  readonly hashing: { readonly queue: number }
}

/** What modules add to the tables of the kernel. */
export interface KernelRows {
  readonly events: EventTable
  readonly store: readonly StoreRow[]
}

export interface KernelOptions {
  readonly rows: KernelRows
  readonly log: Log
  /** For a command, which prints results of its own on standard output. */
  readonly isCommand?: boolean
  /** How long to wait for another process to release the store; a few seconds by default. */
  readonly lockWaitMs?: number
  /** The other processes of this server; by default there are none. */
  readonly siblings?: Siblings
  /** None may throw. */
  readonly observer?: Pick<StoreOptions, 'onOperation'> &
    Pick<HasherOptions, 'onWaited'> &
    Pick<SecurityEventsDeps, 'onEvent'>
}

export interface Kernel {
  readonly log: Log
  readonly store: OpenStore
  /** The time that all nodes of the store have in common. */
  readonly clock: StoreClock
  readonly hasher: Hasher
  readonly events: RunningSecurityEvents
  readonly audit: Audit
  readonly siblings: Siblings
  /** From now on these settings count, called for each use. */
  follow(settings: () => KernelSettings): void
  /** Writes the audit records that are left, then closes the store and releases its lock. */
  close(): Promise<void>
}

/** A sibling has written a change to the store. The reply means that the data from before is no longer used. */
export const CHANGED: Topic<undefined> = { name: 'changed' }

/** One announcement at a time: the next one is for all changes that were written meanwhile. */
const createAnnouncement = ({ count, tellAll }: Siblings) =>
  count === 1 ? undefined : shareNext(() => tellAll(CHANGED, undefined))

/** `first` counts until settings are given to follow: those in the store can be read only once it is open. */
export async function openKernel(first: KernelSettings, options: KernelOptions): Promise<Kernel> {
  const { log, rows, observer, isCommand = false, siblings = createAlone() } = options
  let settings = () => first
  const { url, 'start-timeout': startMs } = first.store
  const store = await openLocked(url, options, {
    log,
    waitMs: isCommand ? 0 : startMs,
    postgres: toPostgresOptions(first.store, siblings, isCommand),
    announce: createAnnouncement(siblings),
    onOperation: observer?.onOperation,
    rows: rows.store,
    settings: () => settings(),
  })
  try {
    const clock = await openStoreClock(store, { log })
    // each process has its share of the cores and of the queue
    const divide = (all: number) => Math.ceil(all / siblings.count)
    const hasher = createHasher({
      jobs: divide(defaultJobs()),
      queue: () => divide(settings().hashing.queue),
      onWaited: observer?.onWaited,
    })
    // events are written to the audit trail, and the audit trail reports its failures as events
    const events = createSecurityEvents({
      rows: rows.events,
      node: () => settings().node.name,
      sinks: [toLogSink(log), (record) => audit.append(record)],
      requireRecording: () => audit.requireRecording(),
      clock,
      ...(observer?.onEvent && { onEvent: observer.onEvent }),
    })
    const audit = new Audit({
      settings: () => settings(),
      store,
      storeUrl: url,
      clock,
      events,
      log,
      isCommand,
      siblings,
    })
    if (!isCommand) clock.start(siblings.isFirst)
    const follow: Kernel['follow'] = (current) => {
      settings = current
    }
    const close = async () => {
      events.flush()
      await audit.close()
      await clock.stop()
      await store.close()
    }
    return { log, store, clock, hasher, events, audit, siblings, follow, close }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Each process has its share of the connections: one of them watches the server, and operations need another. */
export const toPostgresOptions = (
  { pooling, 'listen-url': listenUrl, 'max-connections': all }: KernelSettings['store'],
  { count, place }: Pick<Siblings, 'count' | 'place'>,
  isCommand: boolean,
): PostgresOptions => {
  const maxConnections = Math.max(2, Math.floor(all / count))
  return {
    pooling,
    listenUrl,
    maxConnections,
    // one process says it for all
    processes: isCommand || place > 1 ? undefined : count,
  }
}

/** A command releases the store soon; another server does not. */
const LOCK_WAIT_MS = 3000

/** The store, which releases its lock when it is closed. */
async function openLocked(url: string, { lockWaitMs, siblings }: KernelOptions, how: StoreOptions): Promise<OpenStore> {
  // the supervisor of several processes holds the lock
  const lock = siblings && siblings.count > 1 ? undefined : await requireLock(url, lockWaitMs)
  try {
    const store = await openStore(url, how)
    return { ...store, close: () => store.close().finally(lock?.release) }
  } catch (error) {
    lock?.release()
    throw toOpenError(error)
  }
}

/** Locks the store for this process, or throws if another one uses it. */
export async function requireLock(url: string, waitMs = LOCK_WAIT_MS): Promise<StoreLock> {
  const lock = await lockStore(url, waitMs).catch((error) => {
    throw toOpenError(error)
  })
  if (lock) return lock
  throw new StoreBusy(
    isHeldHere(url)
      ? `This program uses the store already, with another Cardea. Close that one first, or keep one for all modules: ${KEPT}`
      : `Another Cardea process${describeHolder(url)} is using this store. Stop it, or configure another store`,
  )
}

/** Development servers load the modules of a program again, and keep the global object. */
const KEPT = 'const cardea = await (globalThis.cardea ??= createCardea(…))'

const toOpenError = (error: unknown): StartError =>
  error instanceof StartError
    ? error
    : new StartError(`The store cannot be opened: ${reasonOf(error)} (see --store.url)`, { cause: error })

/** The store may fail after it was opened, for instance where the file is damaged. */
export const toStartError = (error: unknown): unknown =>
  error instanceof Refusal && error.code === 'store_unavailable'
    ? new StartError(`The store cannot be used: ${reasonOf(error)} (see --store.url)`, { cause: error })
    : error
