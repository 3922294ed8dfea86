/**
 * Lets the processes that write to one file take turns. Nothing here blocks the event loop: SQLite refuses at once what
 * another process keeps it from, and this process tries again, the earliest of its writes first.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { attempt } from '../../base/errors.ts'
import { isBusy } from './errors.ts'

/** How long a write waits for other processes. */
const MAX_WAIT_MS = 10_000
/** Most transactions of another process end within this time. After it, attempts are rare, and cost no processor time. */
const EAGER_MS = 5
/** How long this process may write before it waits for another one that writes too. */
const TURN_MS = 10
/** How long it waits. The other one tries more often. */
const LEFT_MS = 10

/** Runs `work` when no other process writes, after all earlier work of this process. */
export type WriteTurns = <T>(work: () => T) => Promise<T>

export function createWriteTurns(database: DatabaseSync): WriteTurns {
  const waiting: (() => boolean)[] = []
  const others = watchOthers(database)
  const run = async () => {
    for (let isDone = waiting[0]; isDone; isDone = waiting[0]) {
      const sinceMs = performance.now()
      while (!isDone()) await (performance.now() - sinceMs < EAGER_MS ? nextTurn() : sleep(1))
      if (others.areNext()) await others.letWrite()
      waiting.shift()
    }
  }
  return (work) =>
    new Promise((resolve, reject) => {
      const lastMs = performance.now() + MAX_WAIT_MS
      const isDone = () => {
        try {
          resolve(work())
        } catch (error) {
          if (isBusy(error) && performance.now() < lastMs) return false
          reject(error)
        }
        return true
      }
      // the first one is tried at once
      if (waiting.push(isDone) === 1) void run()
    })
}

/** A process that has just written would always be the next one too, if it did not leave the next turn to the others. */
function watchOthers(database: DatabaseSync) {
  const statement = database.prepare('PRAGMA data_version')
  // the database may be closed meanwhile
  const readVersion = () => attempt(() => statement.get()?.['data_version'])
  let version = readVersion()
  let areWriting = false
  let turnEndsMs = 0
  const haveChanged = () => {
    const before = version
    version = readVersion()
    return version !== before
  }
  return {
    /** Whether it is the turn of others now. */
    areNext: (): boolean => {
      areWriting ||= haveChanged()
      return areWriting && performance.now() >= turnEndsMs
    },
    /** Waits until they have written once more, or do not want to. */
    async letWrite(): Promise<void> {
      const untilMs = performance.now() + LEFT_MS
      do {
        await nextTurn()
        areWriting = haveChanged()
      } while (!areWriting && performance.now() < untilMs)
      turnEndsMs = performance.now() + TURN_MS
    },
  }
}
