/**
 * The audit trail of this process. It is the only owner of its chain: it seals the records of all events, writes
 * them to the store and passes them on to the destinations. No request waits for it.
 */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { createNotifier, type Notifier } from '../../base/notifier.ts'
import type { SecurityEvents } from '../security-events.ts'
import type { SecurityRecord } from '../security-record.ts'
import { type AuditRecord, CHAIN_START, type ChainPlace, sealAll } from './audit-record.ts'
import type { AuditStore } from './audit-store.ts'
import type { Checkpoints } from './checkpoints.ts'
import { Delivery, type DeliveryPace } from './delivery.ts'

export interface AuditTrailOptions {
  /** Name of the chain. */
  node(): string
  readonly store: AuditStore
  readonly clock: Clock
  readonly checkpoints: Checkpoints
  readonly events: Pick<SecurityEvents, 'record'>
  readonly log: Log
  readonly pace?: Partial<DeliveryPace>
}

const LINGER_MS = 100
/** The most rows of one transaction: other writers wait for it. */
const BATCH_SIZE = 200

export class AuditTrail {
  /** Takes the records over, and writes them to the store. */
  readonly delivery: Delivery<SecurityRecord>
  readonly #options: AuditTrailOptions
  readonly #listeners: Notifier<AuditRecord>
  /** The first of the records that wait, sealed. */
  #sealed: AuditRecord[] = []
  /** The sequence up to which the listeners have the records. */
  #passedOn = 0
  /** The end of the chain with the sealed records. `undefined`: not loaded yet. */
  #end: ChainPlace | undefined
  #stored: ChainPlace = CHAIN_START

  constructor(options: AuditTrailOptions) {
    this.#options = options
    this.#listeners = createNotifier(options.log)
    const target = { name: 'store', write: (waiting: readonly SecurityRecord[]) => this.#write(waiting) }
    this.delivery = new Delivery(target, options.events, { lingerMs: LINGER_MS, ...options.pace })
  }

  /** Called with every record once it is sealed, in order. Returns a function that removes the listener. */
  onRecord(listener: (record: AuditRecord) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Deletes records that are older. Returns how many. */
  purge(beforeMs: number): Promise<number> {
    return this.delivery.runAlone(async () => {
      const { node, store, clock, checkpoints } = this.#options
      if (!this.#end) await this.#continueFromStore()
      const chain = { node: node(), after: this.#stored, sign: checkpoints.sign }
      const deleted = await store.purgeAudit({ ...chain, beforeMs, nowMs: clock.nowMs() })
      if (deleted > 0) checkpoints.onStored()
      return deleted
    })
  }

  async #write(waiting: readonly SecurityRecord[]): Promise<number> {
    if (!this.#end) await this.#continueFromStore()
    this.#seal(waiting)
    try {
      return await this.#writeBatch()
    } catch (error) {
      // the other destinations get the records even so
      this.#passOn(this.#sealed)
      throw error
    }
  }

  #seal(waiting: readonly SecurityRecord[]): void {
    if (!this.#end) return
    const node = this.#options.node()
    const added = waiting.slice(this.#sealed.length).map((record) => ({ ...record, node }))
    const sealed = sealAll(added, this.#end)
    this.#sealed.push(...sealed)
    this.#end = sealed.at(-1) ?? this.#end
  }

  async #writeBatch(): Promise<number> {
    const { node, store, clock, checkpoints } = this.#options
    const [first, ...others] = this.#sealed.slice(0, BATCH_SIZE)
    if (!first) return 0
    const batch = {
      node: node(),
      after: this.#stored,
      records: [first, ...others],
      nowMs: clock.nowMs(),
    } as const
    if (!(await store.appendAudit({ ...batch, sign: checkpoints.sign }))) {
      await this.#continueFromStore()
      return 0
    }
    const { sequence, hash } = others.at(-1) ?? first
    this.#stored = { sequence, hash }
    checkpoints.onStored()
    this.#passOn(this.#sealed.splice(0, others.length + 1))
    return others.length + 1
  }

  /** The chain goes on where it ended, also after another process with the same node name has continued it. */
  async #continueFromStore(): Promise<void> {
    const { node, store, checkpoints, events } = this.#options
    const chain = await store.findAuditChain(node())
    const found = await checkpoints.findBreak(chain)
    this.#stored = chain ? { sequence: chain.sequence, hash: chain.hash } : CHAIN_START
    const end = found?.end ?? this.#stored
    this.#sealed = sealAll(this.#sealed, end)
    this.#end = this.#sealed.at(-1) ?? end
    if (found) events.record('audit.broken', { reason: found.reason, expected: found.expected, found: found.found })
  }

  #passOn(records: readonly AuditRecord[]): void {
    for (const record of records) {
      if (record.sequence <= this.#passedOn) continue
      this.#passedOn = record.sequence
      this.#listeners.notify(record)
    }
  }
}
