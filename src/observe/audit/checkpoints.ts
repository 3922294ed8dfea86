/**
 * The checkpoints of this node. Before a chain of the store is continued and signed, it is compared with the last
 * checkpoint. Otherwise an attacker who can write to the store could have another history signed.
 */
import type { Clock } from '../../base/clock.ts'
import type { SecurityEvents } from '../security-events.ts'
import type { AuditSigningKey } from './audit-key.ts'
import { CHAIN_START, type ChainPlace } from './audit-record.ts'
import type { AuditChain, AuditStore, SignChain } from './audit-store.ts'
import { checkCheckpoint, readCheckpoint, signCheckpoint } from './checkpoint.ts'
import { adoptSharedCheckpoint, loadOwnCheckpoint, toCheckpointPath, writeCheckpoint } from './checkpoint-files.ts'
import { Delivery } from './delivery.ts'

export interface CheckpointsOptions {
  /** Name of the chain. */
  node(): string
  readonly store: Pick<AuditStore, 'findAuditHash'>
  /** `undefined`: nothing is signed, and nothing is remembered after the end of the process. */
  readonly key: AuditSigningKey | undefined
  /** The file of the key. The newest checkpoint is in a file beside it. */
  readonly keyFile: string
  readonly clock: Clock
  readonly events: Pick<SecurityEvents, 'record'>
}

export class Checkpoints {
  /** Writes the newest checkpoint, whatever was the newest when an item was added. */
  readonly file: Delivery<'newest'>
  readonly #options: CheckpointsOptions
  #isLoaded = false
  #last: ChainPlace | undefined
  #signed: { readonly place: ChainPlace; readonly text: string | undefined } | undefined
  #newest = ''

  constructor(options: CheckpointsOptions) {
    this.#options = options
    const write = async (waiting: readonly 'newest'[]) => {
      await writeCheckpoint(toCheckpointPath(options.keyFile, options.node()), this.#newest)
      return waiting.length
    }
    this.file = new Delivery({ name: 'checkpoint', write }, options.events)
  }

  /** Called in the transaction that changes the chain. */
  readonly sign: SignChain = (chain) => {
    const { key, clock } = this.#options
    const text = key && signCheckpoint({ ...chain, time: clock.nowMs() }, key)
    const { sequence, hash } = chain
    this.#signed = { place: { sequence, hash }, text }
    return text
  }

  /** The chain that was signed last is in the store. */
  onStored(): void {
    if (!this.#signed) return
    this.#last = this.#signed.place
    if (this.#signed.text === undefined) return
    this.#newest = this.#signed.text
    // one may be under way with the checkpoint before; the second writes this one
    if (this.file.figures().waiting < 2) this.file.add('newest')
  }

  /**
   * Why the chain in the store is not the one that this node has written, and the sequences of the last checkpoint and of
   * the end in the store. `undefined`: it continues the last checkpoint.
   */
  async findBreak(chain: AuditChain | undefined) {
    if (!this.#isLoaded) this.#load(chain)
    const last = this.#last
    const reason = last && (await this.#compare(chain, last))
    if (!last || reason === undefined) return undefined
    const found = chain?.sequence ?? 0
    // this node goes on after its own last record, so that the break stays visible in the chain
    const end = { sequence: Math.max(found, last.sequence), hash: last.hash }
    return { reason, expected: last.sequence, found, end }
  }

  /** The file counts even if another key has signed it: an attacker who can write to the store cannot write it. */
  #load(chain: AuditChain | undefined): void {
    this.#isLoaded = true
    const { key, keyFile, node, events } = this.#options
    if (!key) return
    const onUnchecked = (reason: string) => events.record('audit.unchecked', { reason })
    adoptSharedCheckpoint(keyFile)
    const { checkpoint, problem } = loadOwnCheckpoint(keyFile, node())
    if (problem !== undefined && chain?.checkpoint !== undefined) onUnchecked(problem)
    if (!checkpoint) return
    this.#last = { sequence: checkpoint.sequence, hash: checkpoint.hash }
    const check = checkCheckpoint(checkpoint, [key])
    if (check === 'unknown') onUnchecked(`it was signed with the key ${checkpoint.key}; the key is now ${key.id}`)
    if (check === 'invalid') onUnchecked('its signature is wrong')
  }

  async #compare(chain: AuditChain | undefined, last: ChainPlace): Promise<string | undefined> {
    const { sequence, hash } = chain ?? CHAIN_START
    if (sequence === last.sequence && hash === last.hash) return undefined
    if (!chain || sequence < last.sequence) return 'the store ends before the last checkpoint'
    // a process with the same name and key may have written more
    if (!this.#isSigned(chain)) return 'the store has another end, which this node did not sign'
    if (chain.purged.sequence >= last.sequence) return undefined
    const stored = await this.#options.store.findAuditHash(this.#options.node(), last.sequence)
    return stored === last.hash ? undefined : 'the store has another record at the last checkpoint'
  }

  /** The checkpoint in the store describes the chain completely. Without a key there is nothing to compare. */
  #isSigned({ checkpoint: text, ...chain }: AuditChain): boolean {
    const { key } = this.#options
    if (!key) return true
    const signed = readCheckpoint(text ?? '')
    return signed !== undefined && checkCheckpoint({ ...signed, ...chain }, [key]) === 'valid'
  }
}
