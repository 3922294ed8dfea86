/**
 * The health of this server: one table of checks. Everything that says whether the server works reads it: the probes, the
 * health paths of the doors, the admin API, the list of nodes, and through them the command line and the console.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { HealthState } from './health-states.ts'

/** A part that Cardea works with. Its problems say whether requests can do without it. */
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
  /** What was thrown, for the log only. */
  readonly cause?: unknown
}

export interface HealthFinding {
  /** URL of the server. */
  readonly upstream: string
  readonly problem: string
  readonly reason: string
  /** What to change. */
  readonly check: string
}

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
  readonly store: {
    checkWrites(): Promise<void>
    /** What went wrong lately, although the store can be read and written. */
    findProblem(): string | undefined
  }
  readonly rings: readonly { readonly problem: { readonly reason: string } | undefined }[]
  /** The clock, and the parts that are configured: upstreams, token issuers, certificates, siblings, other nodes. */
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
      const isBridged = unread !== undefined && (await directory.isFresh())
      const failure = unread ?? (await findFailure(store.checkWrites))
      const reason = store.findProblem()
      // what went wrong lately may be why there is no response
      if (failure) return { ...failure, ...(failure === LATE && reason !== undefined && { reason }), isBridged }
      return reason === undefined ? undefined : { reason, isBridged: true }
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
const LATE: HealthProblem = Object.freeze({ reason: 'no response in time' })

/**
 * What the store says, for the check of another part. If the store fails or does not respond in time, its own check reports
 * that, with whether requests are served all the same; the other part gets `otherwise`.
 */
export const askStore = <T>(work: Promise<T>, otherwise: T): Promise<T> =>
  inTime(work, MAX_STORE_MS, otherwise).catch(() => otherwise)

async function findFailure(work: () => Promise<void>): Promise<HealthProblem | undefined> {
  try {
    const done = work().then(() => undefined)
    return await inTime<HealthProblem | undefined>(done, MAX_STORE_MS, LATE)
  } catch (cause) {
    return { reason: (cause instanceof Refusal ? cause.detail : undefined) ?? 'the store cannot be used', cause }
  }
}

/** One check serves all callers of a second: anonymous clients must not cause any number of requests to the parts. */
export function createHealth(sources: () => HealthSources, listeners: readonly HealthListener[]): CheckHealth {
  let current: { readonly names: string; readonly parts: Promise<readonly HealthPart[]> } | undefined
  return () => {
    const checks = listChecks(sources())
    // the start and a reload of the configuration add upstreams
    const names = checks.map(({ name }) => name).join()
    if (current?.names === names) return current.parts
    const started = { names, parts: Promise.all(checks.map(lookAt)) }
    current = started
    const forget = () => {
      if (current === started) current = undefined
    }
    void started.parts.then((parts) => {
      // one that began before, with fewer parts, may end after this one
      if (current === started) for (const listener of listeners) listener(parts)
      setTimeout(forget, SHARED_MS).unref()
    })
    return started.parts
  }
}

const SHARED_MS = 1000

async function lookAt(check: HealthCheck): Promise<HealthPart> {
  const { name, door } = check
  const part = { name, ...(door !== undefined && { door }) }
  try {
    const problem = await inTime<HealthProblem | undefined>(check.find(), MAX_MS, LATE)
    const state = problem === undefined ? 'ok' : problem.isWarning ? 'warning' : 'failed'
    return { ...part, state, problem, findings: check.findings?.() ?? [] }
  } catch (cause) {
    return { ...part, state: 'failed', problem: { reason: 'the check failed', cause }, findings: [] }
  }
}

/** Logs what differs from the check before. */
export function createHealthLog(log: Log): HealthListener {
  const known = new Map<string, string>()
  return (parts) => {
    for (const { name, state, problem } of parts) {
      const before = known.get(name) ?? ''
      const cause = problem?.cause
      const text = problem ? `${state === 'failed' ? 'not ready' : 'warning'}: ${name}: ${problem.reason}` : ''
      // a number that is measured differs with every check
      const now = text.replaceAll(/\d+/g, '#')
      known.set(name, now)
      if (now !== '' && now !== before) log.warn(text, { part: name, ...(cause !== undefined && { error: cause }) })
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
