/** A job that waits for its turn. */
export interface Waiting {
  /** Jobs of one lane are served in order; lanes are served in turn. */
  readonly lane: string
  /** Whether its lane goes before those that are not preferred. */
  isPreferred(): boolean
  readonly sinceMs: number
}

interface Lane<W> {
  readonly jobs: Set<W>
  /** Whether no job of the lane has run yet. */
  readonly isNew: boolean
}

/** From this wait on, new lanes are preferred. */
const PATIENCE_MS = 500
/** Every eighth turn goes to lanes that are not preferred, so that they wait longer but never starve. */
const TURNS_FOR_OTHERS = 8

/** Jobs that wait, by lane. */
export class Lanes<W extends Waiting> {
  /** In the order of turns: a lane that was served goes to the end. */
  readonly #lanes = new Map<string, Lane<W>>()
  #size = 0
  #turn = 0

  size(): number {
    return this.#size
  }

  add(job: W): void {
    const lane = this.#lanes.get(job.lane) ?? { jobs: new Set<W>(), isNew: true }
    this.#lanes.set(job.lane, lane)
    lane.jobs.add(job)
    this.#size += 1
  }

  delete(job: W): void {
    const lane = this.#lanes.get(job.lane)
    if (!lane?.jobs.delete(job)) return
    this.#size -= 1
    if (lane.jobs.size === 0) this.#lanes.delete(job.lane)
  }

  /** Removes and returns the job whose turn it is. */
  next(nowMs: number): W | undefined {
    this.#turn += 1
    const [preferred, others] = split(this.#lanes.values())
    const isForOthers = others.length > 0 && (preferred.length === 0 || this.#turn % TURNS_FOR_OTHERS === 0)
    const job = this.#choose(isForOthers ? others : preferred, nowMs)
    const lane = job && this.#lanes.get(job.lane)
    if (!job || !lane) return undefined
    this.delete(job)
    this.#lanes.delete(job.lane)
    if (lane.jobs.size > 0) this.#lanes.set(job.lane, { ...lane, isNew: false })
    return job
  }

  /**
   * Removes and returns a job that must make room for this one; `undefined` if there is none. A job that is not preferred
   * makes room for one that is; among equals a longer lane makes room for a shorter one.
   */
  displaceFor(newcomer: W): W | undefined {
    const victim = findLeast([...this.#lanes.values()])
    if (!victim || !this.#isBehind(victim, newcomer)) return undefined
    const job = [...victim.jobs].at(-1)
    if (job) this.delete(job)
    return job
  }

  /** Whether the lane has a lower priority than the lane of a job that is to be added. */
  #isBehind({ jobs }: Lane<W>, newcomer: W): boolean {
    const [first] = jobs
    if (first?.isPreferred() !== newcomer.isPreferred()) return newcomer.isPreferred()
    const ownLength = (this.#lanes.get(newcomer.lane)?.jobs.size ?? 0) + 1
    return jobs.size > ownLength
  }

  /** While lanes wait too long, every other turn goes to the newest one, so that it need not wait for all others. */
  #choose(candidates: readonly W[], nowMs: number): W | undefined {
    const [first] = candidates
    if (!first || nowMs - first.sinceMs <= PATIENCE_MS || this.#turn % 2 === 0) return first
    return candidates.findLast(({ lane }) => this.#lanes.get(lane)?.isNew) ?? first
  }
}

/** The first job of each lane: of those that are preferred, and of the others. */
function split<W extends Waiting>(lanes: Iterable<Lane<W>>): readonly [preferred: W[], others: W[]] {
  const halves: readonly [W[], W[]] = [[], []]
  for (const { jobs } of lanes) {
    const [first] = jobs
    if (first) halves[first.isPreferred() ? 0 : 1].push(first)
  }
  return halves
}

/** The lane with the lowest priority: one that is not preferred, then the longest. */
function findLeast<W extends Waiting>(lanes: readonly Lane<W>[]): Lane<W> | undefined {
  const isPreferred = ({ jobs: [first] }: Lane<W>) => first?.isPreferred() ?? true
  const others = lanes.filter((lane) => !isPreferred(lane))
  const among = others.length > 0 ? others : lanes
  return among.reduce<Lane<W> | undefined>(
    (longest, lane) => (longest && longest.jobs.size >= lane.jobs.size ? longest : lane),
    undefined,
  )
}
