import { Acknowledgements } from './acknowledgement.ts'
import { type AuditRecord, CHAIN_START } from './audit-record.ts'
import type { AuditChain } from './audit-store.ts'
import type { VerifyingKey } from './checkpoint.ts'
import { checkErasures } from './erasure.ts'
import { type Finding, type FindingKind, Findings } from './findings.ts'
import { ChainVerifier, type VerifiedChain, type VerifyOptions } from './verify-chain.ts'

export interface VerifiedTrail {
  readonly chains: readonly VerifiedChain[]
  readonly findings: readonly Finding[]
}

/** All chains of a store. The records come in the order of node and sequence. */
export interface TrailContent {
  readonly chains: readonly AuditChain[]
  readonly records: AsyncIterable<AuditRecord>
}

export async function verifyTrail({ chains, records }: TrailContent, options: VerifyOptions): Promise<VerifiedTrail> {
  const expected = [...chains, ...listRemoved(chains, options)]
  const verifiers = new Map(expected.map((chain) => [chain.node, new ChainVerifier(chain, options)]))
  const evidence = new Evidence(options.keys)
  const acknowledgements = new Acknowledgements(options.keys)
  for await (const record of records) {
    acknowledgements.add(record)
    evidence.add(record)
    const verifier = verifiers.get(record.node)
    if (verifier) verifier.add(record)
    else evidence.noteOrphan(record)
  }
  const mark = (findings: readonly Finding[]) => findings.map((finding) => acknowledgements.mark(finding))
  const verified = [...verifiers.values()]
    .map((verifier) => verifier.end())
    .map((chain) => ({ ...chain, findings: mark(chain.findings) }))
  return { chains: verified, findings: [...verified.flatMap(({ findings }) => findings), ...mark(evidence.list())] }
}

/** A chain of which only the checkpoint beside the key is left. */
function listRemoved(chains: readonly AuditChain[], { local }: VerifyOptions): readonly AuditChain[] {
  const known = local?.checkpoint
  if (!known || chains.some(({ node }) => node === known.node)) return []
  return [{ node: known.node, ...CHAIN_START, purged: known.purged, checkpoint: undefined }]
}

/** What the records themselves say about the trail. */
class Evidence {
  readonly #keys: readonly VerifyingKey[]
  readonly #findings = new Findings()
  readonly #orphans = new Set<string>()
  /** How many records an erasure may have changed, by pseudonym. */
  readonly #announced = new Map<string, number>()
  /** How many it has changed. */
  readonly #erased = new Map<string, { readonly node: string; readonly sequence: number; count: number }>()

  constructor(keys: readonly VerifyingKey[]) {
    this.#keys = keys
  }

  add(record: AuditRecord): void {
    const { node, sequence, event, fields, erased } = record
    if (event === 'user.erased') this.#announced.set(String(fields['subject']), Number(fields['records']))
    if (event === 'audit.broken') this.#find(record, 'broken', String(fields['reason']))
    for (const problem of checkErasures(record, this.#keys)) this.#find(record, 'erased', problem)
    const pseudonyms = ['actor', 'subject'].filter((name) => Object.hasOwn(erased, name)).map((name) => fields[name])
    for (const pseudonym of new Set(pseudonyms.map(String))) {
      const known = this.#erased.get(pseudonym) ?? { node, sequence, count: 0 }
      this.#erased.set(pseudonym, { ...known, count: known.count + 1 })
    }
  }

  noteOrphan({ node }: AuditRecord): void {
    if (this.#orphans.has(node)) return
    this.#orphans.add(node)
    this.#findings.addPassing({ node, kind: 'missing', message: 'the end of the chain is missing' })
  }

  list(): readonly Finding[] {
    for (const [pseudonym, { node, sequence, count }] of this.#erased) {
      const announced = this.#announced.get(pseudonym) ?? 0
      if (count <= announced) continue
      const message = `record ${sequence}: ${count} records name ${pseudonym}, but only ${announced} were erased under that name`
      this.#findings.add({ node, kind: 'erased', message }, pseudonym)
    }
    return this.#findings.list()
  }

  #find(record: AuditRecord, kind: FindingKind, problem: string): void {
    const { node, sequence, hash, fields } = record
    this.#findings.add({ node, kind, message: `record ${sequence}: ${problem}` }, JSON.stringify([hash, fields]))
  }
}
