/**
 * What clients were told, with the times: which changes of a credential were acknowledged, and what each node decided
 * about it. A decision is right if it is explained by a state that was current at most a moment before, and that is not
 * older than what the same node has acknowledged.
 */

/** All times are of one monotonic clock, in milliseconds. */
export interface HistoryChange {
  /** The credential, or the user that it belongs to. */
  readonly subject: string
  /** Whether it is accepted from now on. */
  readonly isValid: boolean
  /** When the request was sent: the change may count from then on. */
  readonly sentMs: number
  /** When it was acknowledged; left out: it may have happened or not. */
  readonly acknowledgedMs?: number | undefined
  /** The node that acknowledged it. */
  readonly node?: string | undefined
}

export interface HistoryDecision {
  readonly subject: string
  readonly node: string
  readonly isAccepted: boolean
  readonly startMs: number
  readonly endMs: number
}

export interface Unexplained extends HistoryDecision {
  /** The last acknowledged change that the node has not followed. */
  readonly missed: HistoryChange
}

/** How old the state may be that explains a decision. */
export const GRACE_MS = 1000

/** Before its first change a credential is not valid. */
const toFirst = (subject: string): HistoryChange => ({ subject, isValid: false, sentMs: -Infinity })

export class History {
  readonly #changes = new Map<string, HistoryChange[]>()
  readonly #decisions: HistoryDecision[] = []

  /** The changes of a subject in their order: it has one writer, which waits for each response. */
  change(change: HistoryChange): void {
    this.changesOf(change.subject).push(change)
  }

  decide(decision: HistoryDecision): void {
    this.#decisions.push(decision)
  }

  get subjects(): readonly string[] {
    return [...this.#changes.keys()]
  }

  get decisions(): readonly HistoryDecision[] {
    return this.#decisions
  }

  changesOf(subject: string): HistoryChange[] {
    const known = this.#changes.get(subject) ?? [toFirst(subject)]
    this.#changes.set(subject, known)
    return known
  }

  /** Decisions that no state explains. */
  check(graceMs = GRACE_MS): readonly Unexplained[] {
    return this.#decisions.flatMap((decision) => {
      const missed = this.#findMissed(decision, graceMs)
      return missed ? [{ ...decision, missed }] : []
    })
  }

  /** Whether the last state of a subject is known: no change after the last acknowledged one may have happened. */
  findLast(subject: string): HistoryChange | undefined {
    const last = this.changesOf(subject).at(-1)
    return last?.acknowledgedMs === undefined ? undefined : last
  }

  #findMissed(decision: HistoryDecision, graceMs: number): HistoryChange | undefined {
    const changes = this.changesOf(decision.subject)
    const isOver = ({ acknowledgedMs = Infinity, node }: HistoryChange) =>
      acknowledgedMs <= decision.startMs - (node === decision.node ? 0 : graceMs)
    // states before the last change that the node must know are over
    const first = Math.max(0, changes.findLastIndex(isOver))
    const isExplained = changes
      .slice(first)
      .some(({ isValid, sentMs }) => sentMs <= decision.endMs && isValid === decision.isAccepted)
    return isExplained ? undefined : changes[first]
  }
}
