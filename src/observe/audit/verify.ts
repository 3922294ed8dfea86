/**
 * Checks the audit trail as it was read from the store. A record that is altered, missing or moved breaks the chain of
 * its node. A checkpoint shows that newer records were removed, or that a whole chain was written again.
 */
import { createPace } from '../../base/pace.ts'
import { isChainOf } from './audit-chains.ts'
import type { VerifyingKey } from './audit-key.ts'
import { type AuditRecord, CHAIN_START, type ChainPlace, hashRecord } from './audit-record.ts'
import type { AuditChain } from './audit-store.ts'
import { checkCheckpoint, readCheckpoint, type SignedCheckpoint } from './checkpoint.ts'
import type { LocalCheckpoints } from './checkpoint-files.ts'
import { checkErasures } from './erasure.ts'

export interface AuditFinding {
  readonly node: string
  readonly kind: 'altered' | 'missing' | 'reordered' | 'truncated' | 'checkpoint' | 'erased' | 'broken'
  /** What was found, in one sentence. */
  readonly message: string
}

export interface VerifyOptions {
  readonly keys: readonly VerifyingKey[]
  /** The checkpoints beside the key of this node. `undefined`: this node has no key. */
  readonly local?: LocalCheckpoints | undefined
  /** Whether only the key of this node is known. Other nodes may have other keys, or none: that is no finding then. */
  readonly hasOwnKeyOnly?: boolean
}

export interface VerifiedChain {
  readonly node: string
  readonly records: number
  readonly first: number
  readonly last: number
  /** Up to where a valid checkpoint covers the chain; `undefined`: there is none. */
  readonly signedTo: number | undefined
  /** Whether a checkpoint beside the key was compared with it. Without one, a chain that was rolled back is not found. */
  readonly hasFile: boolean
  readonly findings: readonly AuditFinding[]
}

export interface VerifiedTrail {
  readonly chains: readonly VerifiedChain[]
  readonly findings: readonly AuditFinding[]
}

/** All chains of a store. The records come in the order of node and sequence. */
export interface TrailContent {
  readonly chains: readonly AuditChain[]
  readonly records: AsyncIterable<AuditRecord>
}

export async function verifyTrail({ chains, records }: TrailContent, options: VerifyOptions): Promise<VerifiedTrail> {
  const verifiers = new Map(
    listExpected(chains, options).map((chain) => [chain.node, new ChainVerifier(chain, options)]),
  )
  const orphans = new Set<string>()
  const erasures = new ErasureCounts()
  // a server verifies the trail while it serves requests
  const pace = createPace()
  for await (const record of records) {
    if (pace.isDue()) await pace.rest()
    erasures.add(record)
    const verifier = verifiers.get(record.node)
    if (verifier) verifier.add(record)
    else orphans.add(record.node)
  }
  const verified = [...verifiers.values()].map((verifier) => verifier.end())
  const lost = [...orphans].map(
    (node) => ({ node, kind: 'missing', message: 'the end of the chain is missing' }) as const,
  )
  const found = [...listUnreadable(options), ...verified.flatMap(({ findings }) => findings)]
  return { chains: verified, findings: [...found, ...lost, ...erasures.list()] }
}

/** With the chains of which only a checkpoint beside the key is left. */
function listExpected(chains: readonly AuditChain[], { local }: VerifyOptions): readonly AuditChain[] {
  const expected = new Map(chains.map((chain) => [chain.node, chain]))
  for (const { checkpoint } of local?.files ?? [])
    if (checkpoint && !expected.has(checkpoint.node)) {
      const { node, purged } = checkpoint
      expected.set(node, { node, ...CHAIN_START, purged, checkpoint: undefined })
    }
  return [...expected.values()]
}

/** Files beside the key that are no checkpoints do not say whose they were. */
const listUnreadable = ({ local }: VerifyOptions): readonly AuditFinding[] =>
  (local?.files ?? []).flatMap(({ problem: message }) =>
    local && message !== undefined ? [{ node: local.node, kind: 'checkpoint', message }] : [],
  )

/** From this one on, the findings of a chain are only counted. */
const MAX_FINDINGS = 100
/** The most records whose place is searched: each costs as many hashes as there are altered records. */
const MAX_COMPARED = 100

/** Reads the records of one chain, in the order of their sequence. */
export class ChainVerifier {
  readonly #chain: AuditChain
  readonly #keys: readonly VerifyingKey[]
  /** Whether a checkpoint of this chain must be there, signed with one of the keys. */
  readonly #requiresKey: boolean
  readonly #checkpoints: readonly SignedCheckpoint[]
  readonly #hasFile: boolean
  readonly #findings: AuditFinding[] = []
  #further: { readonly count: number; readonly last: AuditFinding } | undefined
  /** Records whose hash is wrong at their place. */
  readonly #suspects: AuditRecord[] = []
  readonly #first: number
  #last: ChainPlace
  #records = 0
  #signedTo: number | undefined

  constructor(chain: AuditChain, { keys, local, hasOwnKeyOnly = false }: VerifyOptions) {
    this.#chain = chain
    this.#keys = keys
    const isOwn = local !== undefined && isChainOf(local.node, chain.node)
    this.#requiresKey = keys.length > 0 && (isOwn || !hasOwnKeyOnly)
    const stored = chain.checkpoint === undefined ? undefined : readCheckpoint(chain.checkpoint)
    if (chain.checkpoint !== undefined && !stored) this.#find('checkpoint', 'the checkpoint in the store is damaged')
    if (chain.checkpoint === undefined && this.#requiresKey) this.#find('checkpoint', 'the store has no checkpoint')
    if (local?.node === chain.node && local.missing !== undefined) this.#find('checkpoint', local.missing)
    const kept = (local?.files ?? []).map(({ checkpoint }) => checkpoint).filter((each) => each?.node === chain.node)
    this.#checkpoints = [stored, ...kept].filter((each) => each !== undefined).filter((each) => this.#isTrusted(each))
    this.#hasFile = this.#checkpoints.some((each) => each !== stored)
    this.#last = this.#findStart(stored)
    this.#first = this.#last.sequence + 1
  }

  add(record: AuditRecord): void {
    this.#records += 1
    const { sequence, previous, hash, event, fields } = record
    const last = this.#last.sequence
    if (sequence > last + 1) this.#find('missing', describeMissing(last + 1, sequence - 1))
    else if (sequence <= last) this.#find('reordered', `record ${sequence} follows record ${last}`)
    if (hashRecord(record) !== hash) this.#suspects.push(record)
    else if (sequence === last + 1 && previous !== this.#last.hash)
      this.#find('reordered', `record ${sequence} was not written after record ${last}`)
    if (event === 'audit.broken') this.#find('broken', `record ${sequence}: ${fields['reason']}`)
    for (const problem of checkErasures(record, this.#keys)) this.#find('erased', `record ${sequence}: ${problem}`)
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
      hasFile: this.#hasFile,
      findings: [...this.#findings, ...this.#countFurther()],
    }
  }

  #isTrusted(checkpoint: SignedCheckpoint): boolean {
    const check = checkCheckpoint(checkpoint, this.#keys)
    if (checkpoint.node !== this.#chain.node) this.#find('checkpoint', 'the checkpoint belongs to another node')
    if (check === 'invalid') this.#find('checkpoint', 'the signature of the checkpoint is wrong')
    if (check === 'unknown' && this.#requiresKey)
      this.#find('checkpoint', `the checkpoint is signed with the key ${checkpoint.key}, which is not given: use --key`)
    return check === 'valid' && checkpoint.node === this.#chain.node
  }

  /** A checkpoint also says which records were deleted because of their age. */
  #findStart(stored: SignedCheckpoint | undefined): ChainPlace {
    const { purged } = this.#chain
    const signed = this.#checkpoints.find((checkpoint) => checkpoint === stored)?.purged
    if (signed && (signed.sequence !== purged.sequence || signed.hash !== purged.hash))
      this.#find(
        'missing',
        `the store says that records up to ${purged.sequence} were deleted because of their age, but its checkpoint says up to ${signed.sequence}`,
      )
    return signed ?? purged
  }

  #compareWithCheckpoints({ sequence, hash }: AuditRecord): void {
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.sequence !== sequence) continue
      if (checkpoint.hash === hash) this.#signedTo = Math.max(sequence, this.#signedTo ?? 0)
      else this.#find('altered', `record ${sequence} is not the one that its checkpoint signed`)
    }
  }

  /** A record with a wrong hash was altered, unless its hash is right at the place of another one. */
  #reportSuspects(): void {
    const places = this.#suspects.map(({ sequence }) => sequence)
    for (const [index, record] of this.#suspects.entries()) {
      const { sequence, event, hash } = record
      const origin = index < MAX_COMPARED && places.find((place) => hashRecord({ ...record, sequence: place }) === hash)
      if (origin) this.#find('reordered', `record ${sequence} was written as record ${origin}`)
      else this.#find('altered', `record ${sequence} (${event}) was altered`)
    }
  }

  #requireEnd(): void {
    const { sequence } = this.#last
    const expected = Math.max(this.#chain.sequence, ...this.#checkpoints.map((checkpoint) => checkpoint.sequence))
    if (sequence < expected) this.#find('truncated', `${describeMissing(sequence + 1, expected)} at the end`)
    if (sequence === this.#chain.sequence && this.#last.hash !== this.#chain.hash)
      this.#find('altered', `the last record ${sequence} is not the one that was written last`)
    // a chain whose records were all deleted because of their age has nothing to compare
    if (this.#records === 0 && this.#checkpoints.length > 0 && sequence === expected) this.#signedTo = sequence
  }

  #find(kind: AuditFinding['kind'], message: string): void {
    const finding = { node: this.#chain.node, kind, message }
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push(finding)
    else this.#further = { count: (this.#further?.count ?? 0) + 1, last: finding }
  }

  #countFurther(): readonly AuditFinding[] {
    if (!this.#further) return []
    const { count, last } = this.#further
    return [{ ...last, message: `${count} further findings; the last one: ${last.message}` }]
  }
}

const describeMissing = (from: number, to: number): string =>
  from === to ? `record ${from} is missing` : `records ${from} to ${to} are missing`

/** An erasure announces how many records of all chains it has changed. */
class ErasureCounts {
  readonly #announced = new Map<string, number>()
  readonly #found = new Map<string, { readonly node: string; readonly sequence: number; readonly count: number }>()

  add({ node, sequence, event, fields, erased }: AuditRecord): void {
    if (event === 'user.erased') this.#announced.set(String(fields['subject']), Number(fields['records']))
    const names = ['actor', 'subject'].filter((name) => Object.hasOwn(erased, name))
    for (const pseudonym of new Set(names.map((name) => String(fields[name])))) {
      const known = this.#found.get(pseudonym) ?? { node, sequence, count: 0 }
      this.#found.set(pseudonym, { ...known, count: known.count + 1 })
    }
  }

  list(): readonly AuditFinding[] {
    return [...this.#found].flatMap(([pseudonym, { node, sequence, count }]) => {
      const announced = this.#announced.get(pseudonym) ?? 0
      const message = `record ${sequence}: ${count} records name ${pseudonym}, but only ${announced} were erased under that name`
      return count > announced ? [{ node, kind: 'erased', message }] : []
    })
  }
}
