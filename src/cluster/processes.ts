// The processes of this server that serve requests: the workers, or the only one.
import type { Siblings, Topic } from '../base/siblings.ts'
import type { ServingProcess } from '../directory/store-port/nodes.ts'
import type { HealthCheck } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'

interface Described extends ServingProcess {
  readonly isServing: boolean
}

/** `undefined`: it has finished its last request, and closes. */
const DESCRIBE: Topic<undefined, Described | undefined> = { name: 'processes.describe' }

export interface ProcessesDeps {
  readonly siblings: Siblings
  readonly metrics: Pick<Metrics, 'collectValue'>
  readonly startedAt: number
  lagMs(): number
  /** Whether this process accepts connections. */
  isServing(): boolean
}

export function openProcesses({ siblings, metrics, startedAt, lagMs, isServing }: ProcessesDeps) {
  const { place, count } = siblings
  let isPresent = true
  let serving = 0
  const describe = (): Described => ({
    place,
    pid: process.pid,
    startedAt,
    memoryBytes: process.memoryUsage.rss(),
    lagMs: Math.round(lagMs()),
    isServing: isServing(),
  })
  siblings.answer(DESCRIBE, () => (isPresent ? describe() : undefined))
  const listOthers = async () =>
    (await siblings.askAll(DESCRIBE, undefined)).filter((described) => described !== undefined)
  /** This process, which is asked, and the others that accept connections. */
  const listServing = async () => [describe(), ...(await listOthers()).filter((other) => other.isServing)]
  const check: HealthCheck = {
    name: 'workers',
    async find() {
      serving = (await listServing()).filter((each) => each.isServing).length
      if (serving >= count || !siblings.wasComplete()) return undefined
      return { reason: `only ${serving} of ${count} workers serve requests`, isWarning: true }
    },
  }
  if (count > 1) metrics.collectValue('cardea_workers', () => serving)
  return {
    /** None if the server has one process, which always serves. */
    checks: count > 1 ? [check] : [],
    /** By place. */
    async list(): Promise<readonly ServingProcess[]> {
      const all = (await listServing()).toSorted((one, other) => one.place - other.place)
      return all.map(({ isServing: _isServing, ...shown }) => shown)
    },
    /** This process has served its last request. Returns whether another one has not. */
    async leave(): Promise<boolean> {
      isPresent = false
      return (await listOthers()).length > 0
    },
  }
}
