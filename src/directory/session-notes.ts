import { LRUCache } from 'lru-cache'
import { type Clock, nowSeconds } from '../base/clock.ts'
import type { SessionUse } from './directory.ts'
import type { SessionRecord, SessionRecordStore } from './store-port.ts'

/** Uses of sessions on their way to the store. Requests never wait for them. */
export interface SessionNotes {
  /** `describe` is called only for a use that is written. */
  note(id: string, describe: () => SessionUse): void
  /** Writes what is noted so far. */
  flush(): Promise<void>
  /** For a session that was ended: a use noted before must not bring its record back. */
  forget(id: string): void
  close(): Promise<void>
}

const SECONDS_BETWEEN_NOTES = 60
const SECONDS_BETWEEN_PURGES = 60
const WRITE_EVERY_MS = 1000
/** The most rows of one transaction: other writers wait for it. */
const BATCH_SIZE = 200
/** While the store cannot be written, later uses are dropped. A session that is still used is noted again. */
const MAX_PENDING = 20_000
const MAX_REMEMBERED = 100_000
const MAX_USER_AGENT_LENGTH = 256

type NotesStore = Pick<SessionRecordStore, 'putSessionRecords' | 'purgeSessionRecords'>

export const createSessionNotes = (store: NotesStore, clock: Clock): SessionNotes => new BatchedNotes(store, clock)

class BatchedNotes implements SessionNotes {
  readonly #store: NotesStore
  readonly #clock: Clock
  readonly #pending = new Map<string, SessionRecord>()
  /** The minute in which each session was noted last. */
  readonly #notedAt = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #purgedAt: number

  constructor(store: NotesStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#purgedAt = nowSeconds(clock)
  }

  note(id: string, describe: () => SessionUse): void {
    const now = nowSeconds(this.#clock)
    const minute = now - (now % SECONDS_BETWEEN_NOTES)
    if (this.#notedAt.get(id) === minute || this.#pending.size >= MAX_PENDING) return
    this.#notedAt.set(id, minute)
    this.#pending.set(id, toRecord(describe(), minute, this.#pending.get(id)))
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), WRITE_EVERY_MS).unref()
  }

  forget(id: string): void {
    this.#pending.delete(id)
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // one after the other: a later flush waits for records that an earlier one is writing
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write())
    return this.#writing
  }

  async close(): Promise<void> {
    await this.flush().catch(() => {})
  }

  async #write(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = [...this.#pending.values()].slice(0, BATCH_SIZE)
      await this.#store.putSessionRecords(batch)
      for (const record of batch) if (this.#pending.get(record.id) === record) this.#pending.delete(record.id)
    }
    await this.#purge()
  }

  async #purge(): Promise<void> {
    const now = nowSeconds(this.#clock)
    if (now - this.#purgedAt < SECONDS_BETWEEN_PURGES) return
    this.#purgedAt = now
    await this.#store.purgeSessionRecords(now)
  }
}

const toRecord = (use: SessionUse, minute: number, earlier: SessionRecord | undefined): SessionRecord => {
  const createdAt = Math.min(use.createdAt, earlier?.createdAt ?? use.createdAt)
  return {
    ...use,
    // a token may be used at the other door before the record of its session is written
    door: earlier?.door ?? use.door,
    createdAt,
    seenAt: Math.max(minute, createdAt),
    // a use later in the same minute is not noted
    expiresAt: use.expiresAt + SECONDS_BETWEEN_NOTES,
    userAgent: use.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
  }
}
