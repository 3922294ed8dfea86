import { createLruCache } from '../base/caches.ts'
import { nowSeconds, type SharedClock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { yieldToOthers } from '../base/pace.ts'
import type { Siblings, Topic } from '../base/siblings.ts'
import { succeedsWithin } from '../base/sleep.ts'
import { createTurns } from '../base/turns.ts'

export const SECONDS_BETWEEN_NOTES = 60
const SECONDS_BETWEEN_PURGES = 60
const WRITE_EVERY_MS = 1000
/** The most rows of one transaction: other writers wait for it. */
const BATCH_SIZE = 200
/** While the store cannot be written, further notes are dropped. A later use is noted again. */
const MAX_PENDING = 20_000
const MAX_REMEMBERED = 100_000

/** Less than a sibling may take to reply: it is ended after that. */
const MAX_FLUSH_MS = 1000

export interface NoteQueueDeps {
  readonly clock: SharedClock
  /** They have notes of their own. */
  readonly siblings: Siblings
}

export type NoteQueue<T extends object> = ReturnType<typeof createNoteQueue<T>>

/**
 * Notes on their way to the store, one per key and minute. Requests never wait for them. `purge` deletes notes that are
 * too old. It is called from time to time. `topic` is what siblings ask each other to write such notes with.
 */
export function createNoteQueue<T extends object>(
  write: (notes: readonly T[]) => Promise<void>,
  purge: (nowSeconds: number) => Promise<unknown>,
  { clock, siblings, topic }: NoteQueueDeps & { readonly topic: Topic<undefined> },
) {
  const pending = new Map<string, T>()
  /** The minute in which each key was noted last. */
  const notedAt = createLruCache<number>(MAX_REMEMBERED)
  let timer: NodeJS.Timeout | undefined
  const inTurn = createTurns()
  let purgedAt = nowSeconds(clock.purge)
  const writeAll = async () => {
    while (pending.size > 0) {
      const batch = [...pending].slice(0, BATCH_SIZE)
      await write(batch.map(([, note]) => note))
      for (const [key, note] of batch) if (pending.get(key) === note) pending.delete(key)
      // SQLite never waits: without this pause no request would be served until all of them are written
      if (pending.size > 0) await yieldToOthers()
    }
    const now = nowSeconds(clock.purge)
    if (now - purgedAt < SECONDS_BETWEEN_PURGES) return
    purgedAt = now
    await purge(now)
  }
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    // a later flush waits for notes that an earlier one is writing
    return inTurn(writeAll)
  }
  siblings.answer(topic, () => inTime(flush()))
  return {
    /** Calls `describe` unless the key was noted in this minute already. `earlier`: a note that is not written yet. */
    note(key: string, describe: (minute: number, earlier: T | undefined) => T): void {
      const now = nowSeconds(clock)
      const minute = now - (now % SECONDS_BETWEEN_NOTES)
      if (notedAt.get(key) === minute || pending.size >= MAX_PENDING) return
      notedAt.set(key, minute)
      pending.set(key, describe(minute, pending.get(key)))
      timer ??= setTimeout(() => void flush().catch(() => {}), WRITE_EVERY_MS).unref()
    },
    /** Drops a note that is not written yet. */
    forget: (key: string): void => void pending.delete(key),
    /** Writes what this process has noted so far. */
    flush,
    /** Writes what all processes of the server have noted so far. Throws if one of them cannot. */
    flushAll: async (): Promise<void> => void (await Promise.all([flush(), siblings.tellAll(topic, undefined)])),
    /** For lists, which do not wait for a process that is slow. */
    flushSoon: async (): Promise<void> => void (await Promise.all([flush(), siblings.askAll(topic, undefined)])),
    /** Writes what is noted so far, if the store can be written. */
    close: (): Promise<void> => flush().catch(() => {}),
  }
}

async function inTime(work: Promise<void>): Promise<void> {
  if (await succeedsWithin(work, MAX_FLUSH_MS)) return
  throw new Refusal('store_unavailable', { detail: 'another process of the server could not write its notes' })
}
