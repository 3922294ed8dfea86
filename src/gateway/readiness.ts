/** Whether the upstream servers can be used. Requests are forwarded anyway: an upstream may be repaired at any time. */
import type { Log } from '../base/log.ts'
import type { HealthCheck, HealthProblem } from '../observe/health.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamFinding } from './upstream-check.ts'

export type UpstreamRegistry = ReturnType<typeof createUpstreamRegistry>

/** All upstreams of the doors and services. */
export function createUpstreamRegistry(log: Log) {
  const upstreams: Upstream[] = []
  const inspected: InspectedUpstream[] = []
  const readiness = new UpstreamReadiness(inspected, log)
  return {
    readiness,
    /** Registers an upstream, which `close` then closes. With `inspection`, its readiness is tracked. */
    register(upstream: Upstream, inspection?: Omit<InspectedUpstream, 'upstream'>): Upstream {
      upstreams.push(upstream)
      if (inspection) inspected.push({ ...inspection, upstream })
      return upstream
    },
    /** The upstream of a door; `undefined`: none is configured. */
    find: (door: string): Upstream | undefined => {
      const upstream = upstreams.find((each) => inspected.some((one) => one.upstream === each && one.door === door))
      return upstream?.isSet() ? upstream : undefined
    },
    /** The figures of all upstream servers now; those of services under the door `service`. */
    listServers: () =>
      upstreams.flatMap((upstream) => {
        const door = inspected.find((each) => each.upstream === upstream)?.door ?? 'service'
        return upstream.listServers().map((server) => ({ ...server, door }))
      }),
    async close(): Promise<void> {
      readiness.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}

export interface InspectedUpstream {
  readonly door: string
  readonly upstream: Pick<Upstream, 'isSet' | 'inspect' | 'checkHealth' | 'listServers'>
  /** The path that tells whether the server can be used. */
  readonly healthPath: string
}

/** How often upstreams are inspected again, if one has a problem and otherwise. */
const RETRY_MS = 5000
const REPEAT_MS = 60_000
/** Clients may cause any number of requests that are rejected. */
const FRESH_MS = 1000

export class UpstreamReadiness {
  readonly #upstreams: readonly InspectedUpstream[]
  readonly #log: Log
  /** What the last inspection found, by door. */
  readonly #findings = new Map<string, readonly UpstreamFinding[]>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #hasStarted = false
  #begun = 0
  #inspectedAtMs = 0
  #running: Promise<void> = Promise.resolve()

  constructor(upstreams: readonly InspectedUpstream[], log: Log) {
    this.#upstreams = upstreams
    this.#log = log
  }

  /** One check for each configured upstream. */
  checks(): readonly HealthCheck[] {
    return this.#listConfigured().map((inspected) => ({
      name: `upstream.${inspected.door}`,
      door: inspected.door,
      find: () => this.#findProblem(inspected),
      findings: () => this.#findings.get(inspected.door) ?? [],
    }))
  }

  /** Begins to inspect every upstream, and repeats it from now on. */
  readonly inspect = (): void => {
    this.#hasStarted = true
    this.#begun += 1
    // in sequence, so that the last result belongs to the last call
    this.#running = this.#running
      .then(() => this.#inspectOnce())
      .catch((error) => this.#log.error('upstream servers not inspected', { error }))
      .finally(() => {
        this.#begun -= 1
        this.#inspectedAtMs = performance.now()
        this.#scheduleNext()
      })
  }

  /** A request has shown that an upstream cannot be used. Inspects soon, at most once a second. */
  readonly inspectAgain = (): void => {
    if (!this.#hasStarted || this.#isStopped || this.#begun > 0) return
    clearTimeout(this.#timer)
    const ageMs = performance.now() - this.#inspectedAtMs
    this.#timer = setTimeout(this.inspect, Math.max(FRESH_MS - ageMs, 0)).unref()
  }

  /** The findings of the inspections that were begun. */
  async settled(): Promise<readonly UpstreamFinding[]> {
    await this.#running
    return this.#listFindings()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #listConfigured(): readonly InspectedUpstream[] {
    return this.#upstreams.filter(({ upstream }) => upstream.isSet())
  }

  #listFindings(): readonly UpstreamFinding[] {
    return this.#listConfigured().flatMap(({ door }) => this.#findings.get(door) ?? [])
  }

  async #inspectOnce(): Promise<void> {
    clearTimeout(this.#timer)
    for (const { door, upstream } of this.#listConfigured()) {
      const found = await upstream.inspect()
      // its connections were closed meanwhile
      if (this.#isStopped) return
      this.#report(door, this.#findings.get(door) ?? [], found)
      this.#findings.set(door, found)
    }
  }

  #scheduleNext(): void {
    if (this.#isStopped) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.inspect, this.#listFindings().length > 0 ? RETRY_MS : REPEAT_MS).unref()
  }

  /** Warns once of each problem, and logs when all of them are solved. */
  #report(door: string, before: readonly UpstreamFinding[], found: readonly UpstreamFinding[]): void {
    const isKnown = ({ upstream, problem, reason }: UpstreamFinding) =>
      before.some((other) => other.upstream === upstream && other.problem === problem && other.reason === reason)
    for (const finding of found.filter((each) => !isKnown(each)))
      this.#log.warn(`an upstream server of the ${door} door ${SENTENCES[finding.problem]}`, { ...finding })
    if (before.length > 0 && found.length === 0)
      this.#log.info(`the upstream servers of the ${door} door have no problems`)
  }

  async #findProblem({ door, upstream, healthPath }: InspectedUpstream): Promise<HealthProblem | undefined> {
    const { kind, status } = await upstream.checkHealth(healthPath)
    if (kind === 'down') {
      this.inspectAgain()
      return { reason: 'no server responds' }
    }
    if (status !== undefined) return { reason: `the server responds with the status ${status}`, status }
    // the first inspection has begun
    if (this.#hasStarted && !this.#findings.has(door)) await this.#running
    return describeFindings(this.#findings.get(door) ?? [], upstream.listServers().length)
  }
}

/** One server that works is enough. One that treats a client as another is too many: it gets its share of the requests. */
function describeFindings(findings: readonly UpstreamFinding[], servers: number): HealthProblem | undefined {
  const works = new Set(findings.map(({ upstream }) => upstream)).size < servers
  const counted = findings.filter(({ problem }) => problem !== 'unreachable' && !(works && problem === 'failed'))
  if (counted.length > 0) return { reason: renderFindings(counted) }
  return works && findings.length > 0 ? { reason: renderFindings(findings), isWarning: true } : undefined
}

const renderFindings = (findings: readonly UpstreamFinding[]): string =>
  findings.map(({ upstream, problem, reason }) => `${upstream} ${problem}: ${reason}`).join('; ')

const SENTENCES: Readonly<Record<UpstreamFinding['problem'], string>> = {
  unreachable: 'cannot be reached',
  failed: 'fails',
  'identity rejected': 'rejects the identity that Cardea signs',
  open: 'gives administrative rights to anonymous clients',
}
