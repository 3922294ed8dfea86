/**
 * Checks the chain of one node, as it was read from the store. A record that is altered, missing or moved breaks the
 * chain. A checkpoint shows that newer records were removed, or that the whole chain was written again.
 */
import { type AuditRecord, type ChainPlace, hashRecord } from './audit-record.ts'
import type { AuditChain } from './audit-store.ts'
import { checkSignature, readCheckpoint, type SignedCheckpoint, type VerifyingKey } from './checkpoint.ts'
import type { LoadedCheckpoint } from './checkpoint-file.ts'
import { type Finding, type FindingKind, Findings } from './findings.ts'

export interface VerifyOptions {
  readonly keys: readonly VerifyingKey[]
  /** The checkpoint beside the key of this node. `undefined`: this node has no key. */
  readonly local?: LocalCheckpoint | undefined
}

export interface LocalCheckpoint extends LoadedCheckpoint {
  readonly node: string
}

export interface VerifiedChain {
  readonly node: string
  readonly records: number
  readonly first: number
  readonly last: number
  /** Up to where a valid checkpoint covers the chain; `undefined`: there is none. */
  readonly signedTo: number | undefined
  readonly findings: readonly Finding[]
}

/** The most records whose place is searched: each costs as many hashes as there are altered records. */
const MAX_COMPARED = 100

/** Reads the records one by one, in the order of their sequence. */
export class ChainVerifier {
  readonly #chain: AuditChain
  readonly #checkpoints: readonly SignedCheckpoint[]
  readonly #findings = new Findings()
  /** Records whose hash is wrong at their place. */
  readonly #suspects: AuditRecord[] = []
  readonly #first: number
  #last: ChainPlace
  #records = 0
  #signedTo: number | undefined

  constructor(chain: AuditChain, { keys, local }: VerifyOptions) {
    this.#chain = chain
    const stored = chain.checkpoint === undefined ? undefined : readCheckpoint(chain.checkpoint)
    if (chain.checkpoint !== undefined && !stored)
      this.#findPassing('checkpoint', 'the checkpoint in the store is damaged')
    if (chain.checkpoint === undefined && keys.length > 0)
      this.#findPassing('checkpoint', 'the store has no checkpoint')
    if (local?.problem !== undefined && local.node === chain.node) this.#findPassing('checkpoint', local.problem)
    const own = local?.checkpoint?.node === chain.node ? local.checkpoint : undefined
    this.#checkpoints = [stored, own]
      .filter((found) => found !== undefined)
      .filter((found) => this.#isTrusted(found, keys))
    this.#last = this.#findStart(stored)
    this.#first = this.#last.sequence + 1
  }

  add(record: AuditRecord): void {
    this.#records += 1
    const { sequence, previous, hash } = record
    const expected = this.#last.sequence + 1
    if (sequence > expected) this.#find('missing', describeMissing(expected, sequence - 1), hash)
    else if (sequence < expected)
      this.#find('reordered', `record ${sequence} follows record ${this.#last.sequence}`, hash)
    if (hashRecord(record) !== hash) this.#suspects.push(record)
    else if (sequence === expected && previous !== this.#last.hash)
      this.#find('reordered', `record ${sequence} was not written after record ${this.#last.sequence}`, this.#last.hash)
    this.#last = { sequence, hash }
    this.#compareWithCheckpoints(record)
  }

  end(): VerifiedChain {
    this.#reportSuspects()
    this.#requireEnd()
    return {
      node: this.#chain.node,
      records: this.#records,
      first: this.#first,
      last: this.#last.sequence,
      signedTo: this.#signedTo,
      findings: this.#findings.list(),
    }
  }

  #isTrusted(checkpoint: SignedCheckpoint, keys: readonly VerifyingKey[]): boolean {
    if (checkpoint.node !== this.#chain.node) this.#findPassing('checkpoint', 'the checkpoint belongs to another node')
    const check = checkSignature(checkpoint, keys)
    if (check === 'invalid') this.#findPassing('checkpoint', 'the signature of the checkpoint is wrong')
    if (check === 'unknown' && keys.length > 0)
      this.#findPassing(
        'checkpoint',
        `the checkpoint is signed with the key ${checkpoint.key}, which is not given: use --key`,
      )
    return check === 'valid' && checkpoint.node === this.#chain.node
  }

  /** A checkpoint also says which records were deleted because of their age. */
  #findStart(stored: SignedCheckpoint | undefined): ChainPlace {
    const { purged } = this.#chain
    const signed = this.#checkpoints.find((checkpoint) => checkpoint === stored)?.purged
    if (signed && (signed.sequence !== purged.sequence || signed.hash !== purged.hash))
      this.#findPassing(
        'missing',
        `the store says that records up to ${purged.sequence} were deleted because of their age, but its checkpoint says up to ${signed.sequence}`,
      )
    return signed ?? purged
  }

  #compareWithCheckpoints({ sequence, hash }: AuditRecord): void {
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.sequence !== sequence) continue
      if (checkpoint.hash === hash) this.#signedTo = Math.max(sequence, this.#signedTo ?? 0)
      else this.#findPassing('altered', `record ${sequence} is not the one that its checkpoint signed`)
    }
  }

  /** A record with a wrong hash was altered, unless its hash is right at the place of another one. */
  #reportSuspects(): void {
    const places = this.#suspects.map(({ sequence }) => sequence)
    for (const [index, record] of this.#suspects.entries()) {
      const { sequence, event, hash } = record
      const found = hashRecord(record)
      const origin = index < MAX_COMPARED && places.find((place) => hashRecord({ ...record, sequence: place }) === hash)
      if (origin) this.#find('reordered', `record ${sequence} was written as record ${origin}`, found)
      else this.#find('altered', `record ${sequence} (${event}) was altered`, found)
    }
  }

  #requireEnd(): void {
    const { sequence } = this.#last
    const expected = Math.max(this.#chain.sequence, ...this.#checkpoints.map((checkpoint) => checkpoint.sequence))
    if (sequence < expected) this.#findPassing('truncated', `${describeMissing(sequence + 1, expected)} at the end`)
    if (sequence === this.#chain.sequence && this.#last.hash !== this.#chain.hash)
      this.#findPassing('altered', `the last record ${sequence} is not the one that was written last`)
    // a chain whose records were all deleted because of their age has nothing to compare
    if (this.#records === 0 && this.#checkpoints.length > 0 && sequence === expected) this.#signedTo = sequence
  }

  #find(kind: FindingKind, message: string, evidence: string): void {
    this.#findings.add({ node: this.#chain.node, kind, message }, evidence)
  }

  #findPassing(kind: FindingKind, message: string): void {
    this.#findings.addPassing({ node: this.#chain.node, kind, message })
  }
}

const describeMissing = (from: number, to: number): string =>
  from === to ? `record ${from} is missing` : `records ${from} to ${to} are missing`
