/** Whether the upstream servers can be used. Requests are forwarded anyway: an upstream may be repaired at any time. */
import type { Log } from '../base/log.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamFinding } from './upstream-check.ts'

export interface UpstreamStatus {
  /** The door in front of it. */
  readonly door: string
  /** `false`: something is wrong, or it was not inspected yet. */
  readonly isReady: boolean
  readonly findings: readonly UpstreamFinding[]
}

export interface UpstreamReadiness {
  /** The result of the last inspection; empty where no upstream is configured. */
  list(): readonly UpstreamStatus[]
  /** Begins to inspect every upstream. */
  inspect(): void
  /** The result of the inspections that were begun. */
  settled(): Promise<readonly UpstreamStatus[]>
  /** One check for each configured upstream, made now. */
  checks(): readonly UpstreamCheck[]
  stop(): void
}

export interface UpstreamCheck {
  readonly door: string
  /** Why the upstream cannot be used; `undefined`: it can. */
  findProblem(): Promise<string | undefined>
}

export interface InspectedUpstream {
  readonly door: string
  readonly upstream: Pick<Upstream, 'isSet' | 'inspect' | 'checkHealth'>
  /** The path that tells whether the server can be used. */
  readonly healthPath: string
}

export interface ReadinessDeps {
  readonly upstreams: readonly InspectedUpstream[]
  readonly log: Log
}

/** How often an upstream with a problem is inspected again. */
const RETRY_MS = 5000

export const createReadiness = (deps: ReadinessDeps): UpstreamReadiness => new Readiness(deps)

class Readiness implements UpstreamReadiness {
  readonly #deps: ReadinessDeps
  /** Of the last inspection, by door. */
  readonly #findings = new Map<string, readonly UpstreamFinding[]>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #hasStarted = false
  #running: Promise<void> = Promise.resolve()

  constructor(deps: ReadinessDeps) {
    this.#deps = deps
  }

  list(): readonly UpstreamStatus[] {
    return this.#listConfigured().map(({ door }) => {
      const findings = this.#findings.get(door)
      return { door, isReady: findings?.length === 0, findings: findings ?? [] }
    })
  }

  checks(): readonly UpstreamCheck[] {
    return this.#listConfigured().map((inspected) => ({
      door: inspected.door,
      findProblem: () => this.#findProblem(inspected),
    }))
  }

  readonly inspect = (): void => {
    this.#hasStarted = true
    // in sequence, so that the last result belongs to the last call
    this.#running = this.#running
      .then(() => this.#inspectOnce())
      .catch((error) => this.#deps.log.error('upstream servers not inspected', { error }))
  }

  async settled(): Promise<readonly UpstreamStatus[]> {
    await this.#running
    return this.list()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #listConfigured(): readonly InspectedUpstream[] {
    return this.#deps.upstreams.filter(({ upstream }) => upstream.isSet())
  }

  async #inspectOnce(): Promise<void> {
    clearTimeout(this.#timer)
    for (const { door, upstream } of this.#listConfigured()) {
      const found = await upstream.inspect()
      report(this.#deps.log, door, { before: this.#findings.get(door), found })
      this.#findings.set(door, found)
    }
    const isDue = !this.#isStopped && this.list().some(({ isReady }) => !isReady)
    if (isDue) this.#timer = setTimeout(this.inspect, RETRY_MS).unref()
  }

  async #findProblem({ door, upstream, healthPath }: InspectedUpstream): Promise<string | undefined> {
    const health = await upstream.checkHealth(healthPath)
    if (health.kind === 'down') return 'no server responds'
    if (health.kind === 'unready') return `the server responds with the status ${health.status}`
    const found = this.#findings.get(door)
    if (found === undefined) return this.#hasStarted ? 'not inspected yet' : undefined
    return describeUnusable(found)
  }
}

/** One server that responds is enough, so those that could not be reached do not count. */
function describeUnusable(findings: readonly UpstreamFinding[]): string | undefined {
  const counted = findings.filter(({ problem }) => problem !== 'unreachable')
  if (counted.length === 0) return undefined
  return counted.map(({ upstream, problem, reason }) => `${upstream} ${problem}: ${reason}`).join('; ')
}

interface Inspection {
  /** `undefined`: this is the first one. */
  readonly before: readonly UpstreamFinding[] | undefined
  readonly found: readonly UpstreamFinding[]
}

/** Warns once of each problem, and logs when all of them are solved. */
function report(log: Log, door: string, { before = [], found }: Inspection): void {
  const isKnown = ({ upstream, problem, reason }: UpstreamFinding) =>
    before.some((other) => other.upstream === upstream && other.problem === problem && other.reason === reason)
  for (const finding of found.filter((each) => !isKnown(each)))
    log.warn(`the ${door} door is not ready: ${SENTENCES[finding.problem]}`, { ...finding })
  if (before.length > 0 && found.length === 0)
    log.info(`the ${door} door is ready: its upstream server has no problems`)
}

const SENTENCES: Readonly<Record<UpstreamFinding['problem'], string>> = {
  unreachable: 'its upstream server cannot be reached',
  'identity rejected': 'its upstream server rejects the identity that Cardea signs',
  open: 'its upstream server gives administrative rights to anonymous clients',
}
