import { createHash } from 'node:crypto'

export type FindingKind = 'altered' | 'missing' | 'reordered' | 'truncated' | 'checkpoint' | 'erased' | 'broken'

/** An operator knows of a finding and accepts it. */
export interface Acknowledgement {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly reason: string
}

export interface Finding {
  readonly node: string
  readonly kind: FindingKind
  /** What was found, in one sentence. */
  readonly message: string
  /** Names the finding when it is acknowledged. Left out if it is about the end of the trail, which the server repairs. */
  readonly id?: string
  readonly acknowledged?: Acknowledgement
}

type NewFinding = Omit<Finding, 'id' | 'acknowledged'>

const MAX_LASTING = 100
const ID_DIGITS = 16

/** What `verify` finds. From the hundredth on, findings are only counted. */
export class Findings {
  readonly #lasting: Finding[] = []
  readonly #passing: Finding[] = []
  readonly #furtherIds = createHash('sha256')
  #further: { readonly last: NewFinding; readonly count: number } | undefined

  /** `evidence` is what was found there: after another change of the same record the finding has another id. */
  add(finding: NewFinding, evidence: string): void {
    const { node, kind, message } = finding
    const id = toId(JSON.stringify([node, kind, message, evidence]))
    if (this.#lasting.length < MAX_LASTING) {
      this.#lasting.push({ ...finding, id })
      return
    }
    this.#furtherIds.update(id)
    this.#further = { last: finding, count: (this.#further?.count ?? 0) + 1 }
  }

  /** Adds a finding about the end of the trail. It cannot be acknowledged. */
  addPassing(finding: NewFinding): void {
    this.#passing.push(finding)
  }

  list(): readonly Finding[] {
    return [...this.#lasting, ...this.#countFurther(), ...this.#passing]
  }

  #countFurther(): readonly Finding[] {
    if (!this.#further) return []
    const { last, count } = this.#further
    const id = toId(this.#furtherIds.copy().digest('hex'))
    return [{ ...last, message: `${count} further findings; the last one: ${last.message}`, id }]
  }
}

const toId = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, ID_DIGITS)

export const isFindingId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text)
