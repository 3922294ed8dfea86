/**
 * The metrics of all processes of one server. Each process keeps what the others had counted when metrics were last
 * read, so that no count goes back when a process ends. The one that takes its place goes on with its counts.
 */
import type { Siblings, Topic } from '../base/siblings.ts'
import type { MetricName } from './metric-table.ts'
import { joinCopies, joinHighest, METRIC_NAMES, type Metrics, type MetricsCopy, toCounts } from './metrics.ts'

/** What the process at this place has counted, with those that had the place before. */
interface Placed {
  readonly place: number
  readonly copy: MetricsCopy
}

const READ: Topic<readonly MetricName[], Placed> = { name: 'metrics.read' }
const KEEP: Topic<readonly Placed[]> = { name: 'metrics.keep' }
const LIST_KEPT: Topic<undefined, readonly Placed[]> = { name: 'metrics.list-kept' }

/** Reads the metrics of all processes. */
export type ReadJoined = (names?: readonly MetricName[]) => Promise<MetricsCopy>

export async function joinMetrics(metrics: Metrics, siblings: Siblings) {
  const { place } = siblings
  const kept = new Map<number, MetricsCopy>()
  const keep = (counted: readonly Placed[]) => {
    for (const { place: at, copy } of counted) kept.set(at, joinHighest([kept.get(at) ?? {}, toCounts(copy)]))
  }
  siblings.answer(KEEP, keep)
  siblings.answer(LIST_KEPT, () => [...kept].map(([at, copy]) => ({ place: at, copy })))
  for (const counted of await siblings.askAll(LIST_KEPT, undefined)) keep(counted)
  const inherited = kept.get(place) ?? {}
  const readOwn = (names: readonly MetricName[]): Placed => {
    const before = Object.fromEntries(names.map((name) => [name, inherited[name] ?? []]))
    return { place, copy: joinCopies([metrics.copy(names), before]) }
  }
  siblings.answer(READ, readOwn)
  const read: ReadJoined = async (names = METRIC_NAMES) => {
    const running = [readOwn(names), ...(await siblings.askAll(READ, names))]
    keep(running)
    // what a client has seen must not be forgotten when this process ends
    await siblings.askAll(KEEP, running)
    const ended = [...kept].filter(([at]) => !running.some((each) => each.place === at))
    return joinCopies([...running.map(({ copy }) => copy), ...ended.map(([, copy]) => copy)])
  }
  return {
    read,
    /** Hands over what this process has counted. */
    async close(): Promise<void> {
      await siblings.askAll(KEEP, [readOwn(METRIC_NAMES)])
    },
  }
}
