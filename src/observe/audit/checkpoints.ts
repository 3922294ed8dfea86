/**
 * The checkpoints of this node. Before a chain of the store is continued and signed, it is compared with the last
 * checkpoint. Otherwise an attacker who can write to the store could have another history signed.
 */
import type { Clock } from '../../base/clock.ts'
import { CHAIN_START, type ChainPlace } from './audit-record.ts'
import type { AuditChain, AuditStore, SignChain } from './audit-store.ts'
import { checkSignature, readCheckpoint, type SigningKey, signCheckpoint } from './checkpoint.ts'
import type { CheckpointFile } from './checkpoint-file.ts'

export interface CheckpointsDeps {
  readonly node: string
  readonly store: Pick<AuditStore, 'findAuditHash'>
  /** `undefined`: nothing is signed, and nothing is remembered after the end of the process. */
  readonly key: SigningKey | undefined
  readonly file: CheckpointFile
  readonly clock: Clock
  /** The chain cannot be compared with the checkpoint of an earlier process. */
  onUnchecked(reason: string): void
}

/** The chain in the store is not the one that this node has written. */
export interface ChainBreak {
  readonly reason: string
  /** The sequence of the last checkpoint. */
  readonly expected: number
  /** The sequence of the end in the store. */
  readonly found: number
  /** Where this node goes on: after its own last record, so that the break stays visible in the chain. */
  readonly end: ChainPlace
}

export class Checkpoints {
  readonly #deps: CheckpointsDeps
  #isLoaded = false
  #last: ChainPlace | undefined
  #signed: { readonly place: ChainPlace; readonly text: string | undefined } | undefined

  constructor(deps: CheckpointsDeps) {
    this.#deps = deps
  }

  /** Called in the transaction that changes the chain. */
  readonly sign: SignChain = (chain) => {
    const { key, clock } = this.#deps
    const text = key && signCheckpoint({ ...chain, time: clock.nowMs() }, key)
    const { sequence, hash } = chain
    this.#signed = { place: { sequence, hash }, text }
    return text
  }

  /** The chain that was signed last is in the store. */
  onStored(): void {
    if (!this.#signed) return
    this.#last = this.#signed.place
    if (this.#signed.text !== undefined) this.#deps.file.save(this.#signed.text)
  }

  /** `undefined`: the chain in the store continues the last checkpoint. */
  async findBreak(chain: AuditChain | undefined): Promise<ChainBreak | undefined> {
    if (!this.#isLoaded) this.#load(chain)
    const last = this.#last
    const reason = last && (await this.#compare(chain, last))
    if (!last || reason === undefined) return undefined
    const found = chain?.sequence ?? 0
    const end = { sequence: Math.max(found, last.sequence), hash: last.hash }
    return { reason, expected: last.sequence, found, end }
  }

  /** The file counts even if another key has signed it: an attacker who can write to the store cannot write it. */
  #load(chain: AuditChain | undefined): void {
    this.#isLoaded = true
    const { key, file, node, onUnchecked } = this.#deps
    if (!key) return
    const { checkpoint, problem } = file.load()
    if (problem !== undefined && chain?.checkpoint !== undefined) onUnchecked(problem)
    if (checkpoint?.node !== node) return
    this.#last = { sequence: checkpoint.sequence, hash: checkpoint.hash }
    const check = checkSignature(checkpoint, [key])
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
    const stored = await this.#deps.store.findAuditHash(this.#deps.node, last.sequence)
    return stored === last.hash ? undefined : 'the store has another record at the last checkpoint'
  }

  /** The checkpoint in the store describes the chain completely. Without a key there is nothing to compare. */
  #isSigned({ checkpoint: text, ...chain }: AuditChain): boolean {
    const { key } = this.#deps
    if (!key) return true
    const signed = readCheckpoint(text ?? '')
    return signed !== undefined && checkSignature({ ...signed, ...chain }, [key]) === 'valid'
  }
}
