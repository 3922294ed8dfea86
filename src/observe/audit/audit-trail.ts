/**
 * The audit trail of this node. It is the only owner of the node's chain: it seals the records of all events, writes
 * them to the store and passes them on to the destinations. No request waits for it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { createNotifier, type Notifier } from '../../base/notifier.ts'
import type { SecurityRecord } from '../security-record.ts'
import { type AuditRecord, CHAIN_START, type ChainPlace, sealAll } from './audit-record.ts'
import type { AuditStore } from './audit-store.ts'
import type { ChainBreak, Checkpoints } from './checkpoints.ts'
import type { AuditFigures, FailureReporter } from './failure-reporter.ts'

export interface AuditTrail {
  /** Takes the record over. Never waits and never throws. */
  append(record: SecurityRecord): void
  /** Called with every record once it is sealed, in order. Returns a function that removes the listener. */
  onRecord(listener: (record: AuditRecord) => void): () => void
  /** Resolves when all records so far are in the store. Throws if the store cannot be written. */
  flush(): Promise<void>
  /** Deletes records that are older. Returns how many. */
  purge(beforeMs: number): Promise<number>
  figures(): AuditFigures
  /** Writes what is left, unless the store cannot be written. */
  close(): Promise<void>
}

export interface AuditTrailDeps {
  readonly node: string
  readonly store: AuditStore
  readonly checkpoints: Pick<Checkpoints, 'sign' | 'onStored' | 'findBreak'>
  readonly reporter: AuditReporter
  readonly clock: Clock
  readonly log: Log
  /** How long a record waits for others, so that they are written together. */
  readonly lingerMs?: number
  readonly maxWaiting?: number
}

/** Records events about the trail itself. */
export interface AuditReporter extends FailureReporter {
  /** The chain in the store is not the one that this node has written. */
  onBroken(found: ChainBreak): void
}

const LINGER_MS = 100
/** While the store cannot be written. About 10 MB of memory. */
const MAX_WAITING = 10_000
/** The most rows of one transaction: other writers wait for it. */
const BATCH_SIZE = 200
const FIRST_RETRY_MS = 250
const MAX_RETRY_MS = 10_000
/** How long `close` tries to write what is left. */
const CLOSE_MS = 5000

export const createAuditTrail = (deps: AuditTrailDeps): AuditTrail => new ChainOwner(deps)

class ChainOwner implements AuditTrail {
  readonly #deps: AuditTrailDeps
  readonly #listeners: Notifier<AuditRecord>
  /** Not sealed yet. */
  #waiting: SecurityRecord[] = []
  /** Sealed, and not in the store yet. */
  #sealed: AuditRecord[] = []
  /** The sequence up to which the listeners have the records. */
  #delivered = 0
  /** The end of the chain with the sealed records. `undefined`: not loaded yet. */
  #end: ChainPlace | undefined
  #stored: ChainPlace = CHAIN_START
  #lost = 0
  #unreportedLost = 0
  #failure: { readonly sinceMs: number; readonly reason: string; attempts: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps
    this.#listeners = createNotifier(deps.log)
  }

  append(record: SecurityRecord): void {
    const { maxWaiting = MAX_WAITING } = this.#deps
    if (this.#waiting.length + this.#sealed.length >= maxWaiting || this.#isClosed) {
      this.#lost += 1
      this.#unreportedLost += 1
      return
    }
    this.#waiting.push(record)
    this.#schedule(this.#deps.lingerMs ?? LINGER_MS)
  }

  onRecord(listener: (record: AuditRecord) => void): () => void {
    return this.#listeners.add(listener)
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // one after the other: a later flush waits for records that an earlier one is writing
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeAll())
    return this.#writing
  }

  purge(beforeMs: number): Promise<number> {
    const purging = this.#writing.catch(() => {}).then(() => this.#purge(beforeMs))
    this.#writing = purging.then(
      () => {},
      () => {},
    )
    return purging
  }

  figures(): AuditFigures {
    const waiting = this.#waiting.length + this.#sealed.length
    return { waiting, lost: this.#lost, problem: this.#failure?.reason }
  }

  async close(): Promise<void> {
    const stop = new AbortController()
    const late = pause(CLOSE_MS, undefined, { signal: stop.signal }).catch(() => {})
    await Promise.race([this.flush().catch(() => {}), late])
    stop.abort()
    this.#isClosed = true
    clearTimeout(this.#timer)
    const { waiting } = this.figures()
    if (waiting > 0) this.#deps.log.error('audit records were lost: the store cannot be written', { count: waiting })
  }

  #schedule(ms: number): void {
    // a failing store has its own pace
    if (this.#isClosed || this.#timer) return
    this.#timer = setTimeout(() => void this.flush().catch(() => {}), this.#failure ? this.#retryMs() : ms).unref()
  }

  #retryMs(): number {
    return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failure?.attempts ?? 0))
  }

  async #writeAll(): Promise<void> {
    try {
      await this.#load()
      this.#sealWaiting()
      while (this.#sealed.length > 0) {
        await this.#writeBatch()
        this.#sealWaiting()
      }
      this.#reportLost()
    } catch (error) {
      this.#noteFailure(error)
      this.#schedule(0)
      throw error
    }
  }

  /** Continues the chain where it ended, also after the process was killed. */
  async #load(): Promise<void> {
    if (!this.#end) await this.#continueFromStore()
  }

  #sealWaiting(): void {
    if (this.#waiting.length === 0 || !this.#end) return
    const sealed = sealAll(this.#waiting, this.#end)
    this.#waiting = []
    this.#sealed.push(...sealed)
    this.#end = sealed.at(-1) ?? this.#end
  }

  async #writeBatch(): Promise<void> {
    const { node, store, checkpoints, clock } = this.#deps
    const { sign } = checkpoints
    const [first, ...others] = this.#sealed.slice(0, BATCH_SIZE)
    if (!first) return
    const append = { node, after: this.#stored, records: [first, ...others], nowMs: clock.nowMs(), sign } as const
    if (!(await store.appendAudit(append))) return this.#continueFromStore()
    const { sequence, hash } = others.at(-1) ?? first
    this.#stored = { sequence, hash }
    this.#noteSuccess()
    checkpoints.onStored()
    this.#deliver(this.#sealed.splice(0, others.length + 1))
  }

  /** Another process with the same node name may have continued the chain: its records come first. */
  async #continueFromStore(): Promise<void> {
    const { node, store, checkpoints, reporter } = this.#deps
    const chain = await store.findAuditChain(node)
    const found = await checkpoints.findBreak(chain)
    this.#stored = chain ? { sequence: chain.sequence, hash: chain.hash } : CHAIN_START
    const end = found?.end ?? this.#stored
    this.#sealed = sealAll(this.#sealed, end)
    this.#end = this.#sealed.at(-1) ?? end
    if (found) reporter.onBroken(found)
  }

  async #purge(beforeMs: number): Promise<number> {
    const { node, store, checkpoints } = this.#deps
    await this.#load()
    const deleted = await store.purgeAudit({ node, beforeMs, after: this.#stored, sign: checkpoints.sign })
    if (deleted > 0) checkpoints.onStored()
    return deleted
  }

  #deliver(records: readonly AuditRecord[]): void {
    for (const record of records) {
      if (record.sequence <= this.#delivered) continue
      this.#delivered = record.sequence
      this.#listeners.notify(record)
    }
  }

  /** The other destinations get the records even so. */
  #noteFailure(error: unknown): void {
    const reason = describe(error)
    if (this.#failure) this.#failure.attempts += 1
    else {
      this.#failure = { sinceMs: this.#deps.clock.nowMs(), reason, attempts: 0 }
      this.#deps.reporter.onFailed(reason)
      this.#sealWaiting()
    }
    this.#deliver(this.#sealed)
  }

  #noteSuccess(): void {
    const failure = this.#failure
    this.#failure = undefined
    if (failure) this.#deps.reporter.onRecovered(Math.round((this.#deps.clock.nowMs() - failure.sinceMs) / 1000))
  }

  #reportLost(): void {
    const count = this.#unreportedLost
    if (count === 0) return
    this.#unreportedLost = 0
    this.#deps.reporter.onLost(count)
  }
}

/** A refusal of the store keeps its reason in `detail`. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return 'detail' in error && typeof error.detail === 'string' ? error.detail : error.message
}
