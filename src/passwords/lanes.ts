/** A job that waits for its turn. */
export interface Waiting {
  /** Jobs of one lane are served in order; lanes are served in turn. */
  readonly lane: string
  /** Whether its lane goes before those that are not preferred. */
  isPreferred(): boolean
  readonly sinceMs: number
}

/** Jobs that wait, by lane. */
export interface Lanes<W extends Waiting> {
  size(): number
  add(job: W): void
  delete(job: W): void
  /** Removes and returns the job whose turn it is. */
  next(nowMs: number): W | undefined
  /**
   * Removes and returns a job that must make room for this one; `undefined` if there is none. A job that is not preferred
   * makes room for one that is; among equals a longer lane makes room for a shorter one.
   */
  displaceFor(job: W): W | undefined
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

export function createLanes<W extends Waiting>(): Lanes<W> {
  // in the order of turns: a lane that was served goes to the end
  const lanes = new Map<string, Lane<W>>()
  let size = 0
  let turn = 0

  const remove = (job: W, lane: Lane<W>) => {
    if (!lane.jobs.delete(job)) return
    size -= 1
    if (lane.jobs.size === 0) lanes.delete(job.lane)
  }

  /** While lanes wait too long, every other turn goes to the newest one, so that it need not wait for all others. */
  const choose = (candidates: readonly W[], nowMs: number): W | undefined => {
    const [first] = candidates
    if (!first || nowMs - first.sinceMs <= PATIENCE_MS || turn % 2 === 0) return first
    return candidates.findLast(({ lane }) => lanes.get(lane)?.isNew) ?? first
  }

  return {
    size: () => size,
    add(job) {
      const lane = lanes.get(job.lane) ?? { jobs: new Set<W>(), isNew: true }
      lanes.set(job.lane, lane)
      lane.jobs.add(job)
      size += 1
    },
    delete(job) {
      const lane = lanes.get(job.lane)
      if (lane) remove(job, lane)
    },
    next(nowMs) {
      turn += 1
      const [preferred, others] = split(lanes.values())
      const isForOthers = others.length > 0 && (preferred.length === 0 || turn % TURNS_FOR_OTHERS === 0)
      const job = choose(isForOthers ? others : preferred, nowMs)
      const lane = job && lanes.get(job.lane)
      if (!job || !lane) return undefined
      remove(job, lane)
      lanes.delete(job.lane)
      if (lane.jobs.size > 0) lanes.set(job.lane, { ...lane, isNew: false })
      return job
    },
    displaceFor(newcomer) {
      const victim = findLeast([...lanes.values()])
      if (!victim) return undefined
      const [first] = victim.jobs
      const ownLength = (lanes.get(newcomer.lane)?.jobs.size ?? 0) + 1
      const isBehind = first?.isPreferred() === false && newcomer.isPreferred()
      const isEqual = first?.isPreferred() === newcomer.isPreferred()
      if (!isBehind && !(isEqual && victim.jobs.size > ownLength)) return undefined
      const job = [...victim.jobs].at(-1)
      if (job) remove(job, victim)
      return job
    },
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
