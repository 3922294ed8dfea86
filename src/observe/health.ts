/**
 * The health of this server: one table of checks. Everything that says whether the server works reads it: the probes, the
 * health paths of the doors, the admin API, the list of nodes, and through them the command line and the console.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/** A part that Cardea cannot work without. */
export interface HealthCheck {
  readonly name: string
  /** The only door that needs it. Left out: every door does. */
  readonly door?: string
  /** Looks now. `undefined`: the part works. */
  find(): Promise<HealthProblem | undefined>
  /** What an operator should change, for each server behind this part. */
  findings?(): readonly HealthFinding[]
}

export interface HealthProblem {
  /** In words for the operator. */
  readonly reason: string
  /** Requests are served all the same, for now. */
  readonly isBridged?: boolean
  /** The server stays ready: nothing that all requests need has failed. */
  readonly isWarning?: boolean
  /** The status with which an upstream asks load balancers to send no requests, such as `maintenance_mode`. */
  readonly status?: string
}

export interface HealthFinding {
  /** URL of the server. */
  readonly upstream: string
  readonly problem: string
  readonly reason: string
  /** What to change. */
  readonly check: string
}

export const HEALTH_STATES = ['ok', 'warning', 'failed'] as const
export type HealthState = (typeof HEALTH_STATES)[number]

/** The result of a check. */
export interface HealthPart extends Pick<HealthCheck, 'name' | 'door'> {
  readonly state: HealthState
  /** `undefined`: it works. */
  readonly problem: HealthProblem | undefined
  readonly findings: readonly HealthFinding[]
}

export type CheckHealth = () => Promise<readonly HealthPart[]>

/** Called with the result of every check. Must not throw. */
export type HealthListener = (parts: readonly HealthPart[]) => void

interface HealthSources {
  readonly directory: {
    /** Rejects if the store cannot be read. */
    catchUp(): Promise<void>
    /** Whether the user data is fresh enough to authenticate requests. */
    isFresh(): Promise<boolean>
  }
  readonly store: { checkWrites(): Promise<void> }
  readonly rings: readonly { readonly problem: { readonly reason: string } | undefined }[]
  /** The clock, and the parts that are configured: upstreams, providers, certificates, workers, other nodes. */
  readonly others: readonly HealthCheck[]
  readonly audit: {
    /** Whether what cannot be recorded is refused. */
    readonly isRequired: boolean
    /** Why records cannot be written; `undefined`: they can. */
    findProblem(): string | undefined
  }
}

/** Services are not in the table: each serves only its own paths. */
const listChecks = ({ directory, store, rings, others, audit }: HealthSources): readonly HealthCheck[] => [
  {
    name: 'store',
    async find() {
      const unread = await findFailure(directory.catchUp)
      if (unread !== undefined) return { reason: unread, isBridged: await directory.isFresh() }
      const unwritten = await findFailure(store.checkWrites)
      return unwritten === undefined ? undefined : { reason: unwritten }
    },
  },
  {
    // after a failed reload the old secrets stay in use, but a restart would fail and other nodes may have new ones
    name: 'keys',
    async find() {
      const problem = rings.find((ring) => ring.problem)?.problem
      return problem && { reason: problem.reason, isBridged: true }
    },
  },
  ...(audit.isRequired ? [createAuditCheck(audit)] : []),
  ...others,
]

const createAuditCheck = ({ findProblem }: HealthSources['audit']): HealthCheck => ({
  name: 'audit',
  async find() {
    const reason = findProblem()
    // existing sessions are served meanwhile
    return reason === undefined ? undefined : { reason, isBridged: true }
  },
})

/** The check of a part that requests can do without. `findReason` returns `undefined` while it works. */
export const createWarning = (name: string, findReason: () => string | undefined): HealthCheck => ({
  name,
  async find() {
    const reason = findReason()
    return reason === undefined ? undefined : { reason, isWarning: true }
  },
})

const MAX_STORE_MS = 1000
const MAX_MS = 3000

async function findFailure(work: () => Promise<void>): Promise<string | undefined> {
  try {
    const done = work().then(() => undefined)
    return await inTime(done, MAX_STORE_MS, NO_RESPONSE)
  } catch (error) {
    return (error instanceof Refusal ? error.detail : undefined) ?? 'the store cannot be used'
  }
}

const NO_RESPONSE = 'no response in time'

/** One check serves all callers of a second: anonymous clients must not cause any number of requests to the parts. */
export function createHealth(sources: () => HealthSources, listeners: readonly HealthListener[]): CheckHealth {
  const report = (parts: readonly HealthPart[]): readonly HealthPart[] => {
    for (const listener of listeners) listener(parts)
    return parts
  }
  let current: { readonly names: string; readonly parts: Promise<readonly HealthPart[]> } | undefined
  return () => {
    const checks = listChecks(sources())
    // the start and a reload of the configuration add upstreams
    const names = checks.map(({ name }) => name).join()
    if (current?.names === names) return current.parts
    const started = { names, parts: Promise.all(checks.map(lookAt)).then(report) }
    current = started
    const forget = () => {
      if (current === started) current = undefined
    }
    void started.parts.then(() => setTimeout(forget, SHARED_MS).unref())
    return started.parts
  }
}

const SHARED_MS = 1000

async function lookAt(check: HealthCheck): Promise<HealthPart> {
  const { name, door } = check
  const problem = await inTime<HealthProblem | undefined>(check.find(), MAX_MS, { reason: NO_RESPONSE }).catch(
    (): HealthProblem => ({ reason: 'the check failed' }),
  )
  const state = problem === undefined ? 'ok' : problem.isWarning ? 'warning' : 'failed'
  return { name, ...(door !== undefined && { door }), state, problem, findings: check.findings?.() ?? [] }
}

/** Logs what differs from the check before. */
export function createHealthLog(log: Log): HealthListener {
  const known = new Map<string, string>()
  return (parts) => {
    for (const { name, state, problem } of parts) {
      const before = known.get(name) ?? ''
      const text = problem ? `${state === 'failed' ? 'not ready' : 'warning'}: ${name}: ${problem.reason}` : ''
      // a number that is measured differs with every check
      const now = text.replaceAll(/\d+/g, '#')
      known.set(name, now)
      if (now !== '' && now !== before) log.warn(text, { part: name })
      if (now === '' && before !== '') log.info(`works again: ${name}`, { part: name })
    }
  }
}

async function inTime<T>(work: Promise<T>, maxMs: number, late: T): Promise<T> {
  const done = new AbortController()
  const timeout = pause(maxMs, late, { signal: done.signal, ref: false })
  try {
    return await Promise.race([work, timeout])
  } finally {
    timeout.catch(() => {})
    done.abort()
  }
}

/** What keeps this door from serving requests; `undefined`: nothing. */
export const findDoorProblem = (parts: readonly HealthPart[], name: string): HealthPart | undefined =>
  parts.find(({ door = name, state, problem }) => door === name && state === 'failed' && !problem?.isBridged)

export const isReady = (parts: readonly Pick<HealthPart, 'state'>[]): boolean =>
  parts.every(({ state }) => state !== 'failed')
