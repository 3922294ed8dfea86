import { messageOf, Refusal } from '../../base/errors.ts'
import { yieldToOthers } from '../../base/pace.ts'
import { waitAtMost } from '../../base/sleep.ts'
import { createTurns } from '../../base/turns.ts'
import type { SecurityEvents } from '../security-events.ts'

/** The store, the file with the checkpoint, or a destination outside the store. */
export interface DeliveryTarget<T> {
  /** For logs, events and metrics. */
  readonly name: string
  /**
   * Writes the first of these items, and returns how many. Throws if one of them may be missing there. Without items it
   * only finds out whether the target works.
   */
  write(waiting: readonly T[]): Promise<number>
}

export interface DeliveryFigures {
  /** Items that are not written yet. */
  readonly waiting: number
  /** Items that were lost because too many were waiting, since the start. */
  readonly lost: number
  /** Why the last attempt to write failed; `undefined`: it succeeded. */
  readonly problem: string | undefined
}

export interface DeliveryPace {
  /** How long an item waits for others, so that they are written together. */
  readonly lingerMs: number
  readonly maxWaiting: number
  readonly firstRetryMs: number
}

/** Records take about 10 MB of memory then. */
const DEFAULT_PACE: DeliveryPace = { lingerMs: 0, maxWaiting: 10_000, firstRetryMs: 250 }
const MAX_RETRY_MS = 10_000
/** How long `close` tries to write what is left. */
const CLOSE_MS = 5000

/** Writes items in order, and again after a failure. Holds a bounded number, and counts the others as lost. */
export class Delivery<T> {
  readonly #target: DeliveryTarget<T>
  readonly #events: Pick<SecurityEvents, 'record'>
  readonly #pace: DeliveryPace
  /** Runs work while nothing is written. */
  readonly runAlone = createTurns()
  #waiting: T[] = []
  /** Written once already, and perhaps not arrived. They come before those that wait. */
  #unsure: T[] = []
  #lost = 0
  #unreportedLost = 0
  #failure: { readonly sinceMs: number; readonly reason: string; attempts: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(target: DeliveryTarget<T>, events: Pick<SecurityEvents, 'record'>, pace: Partial<DeliveryPace> = {}) {
    this.#target = target
    this.#events = events
    this.#pace = { ...DEFAULT_PACE, ...pace }
  }

  get name(): string {
    return this.#target.name
  }

  /** Never waits and never throws. */
  add(item: T): void {
    if (this.#waiting.length >= this.#pace.maxWaiting || this.#isClosed) {
      this.#lost += 1
      this.#unreportedLost += 1
      return
    }
    this.#waiting.push(item)
    this.#schedule()
  }

  /** Resolves when all items are written, also those that are added meanwhile. Throws if they cannot be written now. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    return this.runAlone(() => this.#writeAll())
  }

  /** Finds out whether the target works, without an item. */
  async probe(): Promise<void> {
    await this.runAlone(() => this.#target.write([])).catch((error) => this.#noteFailure(error))
  }

  /** These items were written, but may not have arrived. They are written again. */
  writeAgain(items: readonly T[], error: Error): void {
    if (this.#isClosed) return
    this.#unsure.push(...items)
    this.#noteFailure(error)
  }

  figures(): DeliveryFigures {
    return { waiting: this.#waiting.length + this.#unsure.length, lost: this.#lost, problem: this.#failure?.reason }
  }

  /** Writes what is left, unless the target cannot be written. */
  async close(): Promise<void> {
    await waitAtMost([this.figures().waiting > 0 ? this.flush() : this.runAlone(async () => {})], CLOSE_MS)
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isClosed || this.#timer) return
    const { lingerMs, firstRetryMs } = this.#pace
    const waitMs = this.#failure ? Math.min(MAX_RETRY_MS, firstRetryMs * 2 ** this.#failure.attempts) : lingerMs
    this.#timer = setTimeout(() => void this.flush().catch(() => {}), waitMs).unref()
  }

  async #writeAll(): Promise<void> {
    while (this.figures().waiting > 0 || this.#failure) {
      this.#waiting.unshift(...this.#unsure.splice(0))
      try {
        this.#waiting.splice(0, await this.#target.write(this.#waiting))
      } catch (error) {
        this.#noteFailure(error)
        throw error
      }
      this.#noteSuccess()
      // a batch for SQLite takes up to 20 ms, in which no request is served
      if (this.figures().waiting > 0) await yieldToOthers()
    }
  }

  #noteFailure(error: unknown): void {
    if (this.#failure) this.#failure.attempts += 1
    else {
      const reason = describeFailure(error)
      this.#failure = { sinceMs: performance.now(), reason, attempts: 0 }
      this.#events.record('audit.failed', { destination: this.name, reason })
    }
    this.#schedule()
  }

  #noteSuccess(): void {
    const [failure, count] = [this.#failure, this.#unreportedLost]
    this.#failure = undefined
    this.#unreportedLost = 0
    const destination = this.name
    const seconds = failure && Math.round((performance.now() - failure.sinceMs) / 1000)
    if (seconds !== undefined) this.#events.record('audit.recovered', { destination, seconds })
    if (count > 0) this.#events.record('audit.lost', { destination, count })
  }
}

/** A refusal of the store keeps its reason in `detail`, and `fetch` in the cause of its error. */
function describeFailure(error: unknown): string {
  if (error instanceof Refusal && error.detail !== undefined) return error.detail
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`
}
