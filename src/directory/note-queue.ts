import { createLruCache } from '../base/caches.ts'
import { type Clock, nowSeconds } from '../base/clock.ts'

export const SECONDS_BETWEEN_NOTES = 60
const SECONDS_BETWEEN_PURGES = 60
const WRITE_EVERY_MS = 1000
/** The most rows of one transaction: other writers wait for it. */
const BATCH_SIZE = 200
/** While the store cannot be written, further notes are dropped. A later use is noted again. */
const MAX_PENDING = 20_000
const MAX_REMEMBERED = 100_000

type Write<T> = (notes: readonly T[]) => Promise<void>
type Purge = (nowSeconds: number) => Promise<unknown>

/** Notes on their way to the store, one per key and minute. Requests never wait for them. */
export class NoteQueue<T extends object> {
  readonly #store: Write<T>
  readonly #purgeBefore: Purge
  readonly #clock: Clock
  readonly #pending = new Map<string, T>()
  /** The minute in which each key was noted last. */
  readonly #notedAt = createLruCache<number>(MAX_REMEMBERED)
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #purgedAt: number

  /** `purge` deletes notes that are too old. It is called from time to time. */
  constructor(write: Write<T>, purge: Purge, clock: Clock) {
    this.#store = write
    this.#purgeBefore = purge
    this.#clock = clock
    this.#purgedAt = nowSeconds(clock)
  }

  /** Calls `describe` unless the key was noted in this minute already. `earlier`: a note that is not written yet. */
  note(key: string, describe: (minute: number, earlier: T | undefined) => T): void {
    const now = nowSeconds(this.#clock)
    const minute = now - (now % SECONDS_BETWEEN_NOTES)
    if (this.#notedAt.get(key) === minute || this.#pending.size >= MAX_PENDING) return
    this.#notedAt.set(key, minute)
    this.#pending.set(key, describe(minute, this.#pending.get(key)))
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), WRITE_EVERY_MS).unref()
  }

  /** Drops a note that is not written yet. */
  forget(key: string): void {
    this.#pending.delete(key)
  }

  /** Writes what is noted so far. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // one after the other: a later flush waits for notes that an earlier one is writing
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  /** Writes what is noted so far, if the store can be written. */
  async close(): Promise<void> {
    await this.flush().catch(() => {})
  }

  async #write(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, BATCH_SIZE)
      await this.#store(batch.map(([, note]) => note))
      for (const [key, note] of batch) if (this.#pending.get(key) === note) this.#pending.delete(key)
    }
    await this.#purge()
  }

  async #purge(): Promise<void> {
    const now = nowSeconds(this.#clock)
    if (now - this.#purgedAt < SECONDS_BETWEEN_PURGES) return
    this.#purgedAt = now
    await this.#purgeBefore(now)
  }
}
