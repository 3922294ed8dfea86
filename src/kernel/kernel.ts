// What the server and every command that opens the store need: the store, its lock and its time, hasher, security events, audit.
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Store } from '../directory/store-port/store.ts'
import {
  createSecurityEvents,
  type RunningSecurityEvents,
  type SecurityEventsDeps,
  toLogSink,
} from '../observe/security-events.ts'
import { createHasher, type Hasher, type HasherOptions } from '../passwords/hasher.ts'
import { openStore, type StoreOptions } from '../store/create-store.ts'
import { describeHolder, isHeldHere, lockStore } from '../store/lock.ts'
import { openStoreClock, type StoreClock } from '../store/store-clock.ts'
import { Audit, type AuditSettings } from './audit.ts'
import { reasonOf, StartError, StoreBusy } from './start-error.ts'

export interface KernelSettings extends AuditSettings {
  /** How long a start waits for a store that cannot be reached. */
  readonly startTimeoutMs: number
  /** How many passwords may wait to be hashed. */
  readonly hashQueue: number
}

export interface KernelOptions {
  readonly log: Log
  /** For a command, which prints results of its own on standard output. */
  readonly isCommand?: boolean
  /** How long to wait for another process to release the store; a few seconds by default. */
  readonly lockWaitMs?: number
  /** None may throw. */
  readonly observer?: Pick<StoreOptions, 'onOperation'> &
    Pick<HasherOptions, 'onWaited'> &
    Pick<SecurityEventsDeps, 'onEvent'>
}

export interface Kernel {
  readonly log: Log
  readonly store: Store
  /** The time that all nodes of the store have in common. */
  readonly clock: StoreClock
  readonly hasher: Hasher
  readonly events: RunningSecurityEvents
  readonly audit: Audit
  /** From now on these settings count, called for each use. */
  follow(settings: () => KernelSettings): void
  /** Writes the audit records that are left, then closes the store and releases its lock. */
  close(): Promise<void>
}

/** `first` counts until settings are given to follow: those in the store can be read only once it is open. */
export async function openKernel(url: string, first: KernelSettings, options: KernelOptions): Promise<Kernel> {
  const { log, observer, isCommand = false } = options
  let settings = () => first
  const store = await openLocked(url, { ...options, waitMs: isCommand ? 0 : first.startTimeoutMs })
  try {
    const clock = await openStoreClock(store, { log })
    const hasher = createHasher({
      queue: () => settings().hashQueue,
      onWaited: observer?.onWaited,
    })
    // events are written to the audit trail, and the audit trail reports its failures as events
    const events = createSecurityEvents({
      node: () => settings().node,
      sinks: [toLogSink(log), (record) => audit.append(record)],
      requireRecording: () => audit.requireRecording(),
      clock,
      ...(observer?.onEvent && { onEvent: observer.onEvent }),
    })
    const audit = new Audit({ settings: () => settings(), store, storeUrl: url, clock, events, log, isCommand })
    if (!isCommand) clock.start({ isKept: true })
    const follow: Kernel['follow'] = (current) => {
      settings = current
    }
    const close = async () => {
      events.flush()
      await audit.close()
      await clock.stop()
      await store.close()
    }
    return { log, store, clock, hasher, events, audit, follow, close }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** A command releases the store soon; another server does not. */
const LOCK_WAIT_MS = 3000

/** The store, which releases its lock when it is closed. */
async function openLocked(
  url: string,
  { log, observer, waitMs, lockWaitMs = LOCK_WAIT_MS }: KernelOptions & { readonly waitMs: number },
): Promise<Store> {
  try {
    const lock = await lockStore(url, lockWaitMs)
    if (!lock)
      throw new StoreBusy(
        isHeldHere(url)
          ? 'This program uses the store already, with another Cardea. Use that one, or close it before'
          : `Another Cardea process${describeHolder(url)} is using this store. Stop it, or configure another store`,
      )
    const store = await openStore(url, { log, waitMs, onOperation: observer?.onOperation }).catch((error) => {
      lock.release()
      throw error
    })
    return { ...store, close: () => store.close().finally(lock.release) }
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`The store cannot be opened: ${reasonOf(error)} (see --store.url)`, { cause: error })
  }
}

/** The store may fail after it was opened, for instance where the file is damaged. */
export const toStartError = (error: unknown): unknown =>
  error instanceof Refusal && error.code === 'store_unavailable'
    ? new StartError(`The store cannot be used: ${reasonOf(error)} (see --store.url)`, { cause: error })
    : error
