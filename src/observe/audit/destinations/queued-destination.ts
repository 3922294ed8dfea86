import { messageOf } from '../../../base/errors.ts'
import { createWakeableSleep } from '../../../base/sleep.ts'
import type { AuditRecord } from '../audit-record.ts'
import type { AuditFigures, FailureReporter } from '../failure-reporter.ts'
import type { Destination } from './destination.ts'

export interface QueuedDestinationDeps {
  readonly destination: Destination
  readonly reporter: FailureReporter
  readonly maxWaiting?: number
  readonly firstRetryMs?: number
}

const MAX_WAITING = 10_000
const BATCH_SIZE = 100
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 60_000
/** How long `close` tries to write what is left. */
const CLOSE_MS = 3000

/** Writes records in order, and again after a failure. Holds a bounded number, and counts the others as lost. */
export class QueuedDestination {
  readonly #deps: QueuedDestinationDeps
  readonly #pause = createWakeableSleep()
  #waiting: AuditRecord[] = []
  /** Written once already, and not arrived as far as is known. They come before those that wait. */
  #unsure: AuditRecord[] = []
  #running: Promise<void> | undefined
  #failure: { readonly sinceMs: number; readonly reason: string; attempts: number } | undefined
  #lost = 0
  #unreportedLost = 0
  #isClosing = false

  constructor(deps: QueuedDestinationDeps) {
    this.#deps = deps
    deps.destination.watch?.((records, error) => this.#writeAgain(records, error))
  }

  add(record: AuditRecord): void {
    if (this.#waiting.length >= (this.#deps.maxWaiting ?? MAX_WAITING)) {
      this.#lost += 1
      this.#unreportedLost += 1
      return
    }
    this.#waiting.push(record)
    this.#running ??= this.#run()
  }

  figures(): AuditFigures {
    return { waiting: this.#waiting.length + this.#unsure.length, lost: this.#lost, problem: this.#failure?.reason }
  }

  /** Finds out whether the destination works, without a record. */
  async probe(): Promise<void> {
    await this.#deps.destination.write([]).catch((error) => this.#noteFailure(error))
  }

  reopen(): void {
    this.#deps.destination.reopen?.()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#pause.wake()
    const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref())
    await Promise.race([this.#running, late])
    await this.#deps.destination.close()
  }

  #writeAgain(records: readonly AuditRecord[], error: Error): void {
    if (this.#isClosing) return
    this.#unsure.push(...records)
    this.#noteFailure(error)
    this.#running ??= this.#run()
  }

  /** Ends when nothing waits; while closing, at the first failure. */
  async #run(): Promise<void> {
    while (this.#waiting.length + this.#unsure.length > 0) {
      this.#waiting.unshift(...this.#unsure.splice(0))
      const batch = this.#waiting.slice(0, BATCH_SIZE)
      this.#pause.beginWork()
      try {
        await this.#deps.destination.write(batch)
        this.#waiting.splice(0, batch.length)
        this.#noteSuccess()
      } catch (error) {
        this.#noteFailure(error)
        if (this.#isClosing) break
        await this.#pause.sleep(this.#retryMs())
      }
    }
    this.#running = undefined
  }

  #retryMs(): number {
    const { firstRetryMs = FIRST_RETRY_MS } = this.#deps
    return Math.min(MAX_RETRY_MS, firstRetryMs * 2 ** (this.#failure?.attempts ?? 0))
  }

  #noteFailure(error: unknown): void {
    const reason = describeFailure(error)
    if (this.#failure) this.#failure.attempts += 1
    else {
      this.#failure = { sinceMs: performance.now(), reason, attempts: 0 }
      this.#deps.reporter.onFailed(reason)
    }
  }

  #noteSuccess(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) this.#deps.reporter.onRecovered(Math.round((performance.now() - failure.sinceMs) / 1000))
    const count = this.#unreportedLost
    this.#unreportedLost = 0
    if (count > 0) this.#deps.reporter.onLost(count)
  }
}

/** `fetch` keeps the reason in the cause of its error. */
function describeFailure(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`
}
