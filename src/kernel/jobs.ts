/**
 * Does the jobs of the store. Of all processes that share a store the first of each server looks for jobs, and a claim
 * gives each job to one of them. If that process is killed, the next first one of its server goes on at once, and without
 * one the job is due again when the claim ends.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Siblings } from '../base/siblings.ts'
import { createWakeableSleep } from '../base/sleep.ts'
import { type Job, type JobCount, type JobStore, MAX_JOB_PAUSE_MS } from '../directory/store-port/jobs.ts'
import { askStore, type HealthCheck } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'

/** One kind of job. */
export interface JobKind {
  /** Whether the configuration leads to such jobs: then the health has a row for jobs. */
  isUsed(): boolean
  /** Throws if it has to be tried again. It ends soon after the signal. */
  run(job: Job, signal: AbortSignal): Promise<void>
  /** How long to wait after this many attempts: at most 15 minutes. */
  backOffMs(attempts: number): number
  /** How long an attempt may take. Left out: 20 seconds. */
  readonly maxRunMs?: number
  /** From when on a job that fails is not tried again, counted from its first attempt. Left out: it always is. */
  readonly giveUpAfterMs?: number
  /** Called before such a job is removed. */
  giveUp?(job: Job, reason: string): Promise<void>
}

export type JobKinds = Readonly<Record<string, JobKind>>

export interface JobDeps {
  readonly store: JobStore & { readonly engine: string }
  readonly clock: Clock
  readonly siblings: Pick<Siblings, 'isFirst' | 'wasComplete' | 'onEnded' | 'count' | 'instance' | 'place'>
  readonly metrics: Metrics
  readonly log: Log
}

const POLL_MS = 250
/** While the configuration leads to no jobs: there may be some from before it was changed. */
const RARE_POLL_MS = 2000
const COUNT_MS = 5000
/** At the same time, for each kind. */
const MAX_RUNNING = 8
const MAX_RUN_MS = 20_000
/** A claim is longer than a job may run, so that no other process begins it meanwhile. */
const CLAIM_MARGIN_MS = 10_000

/** Looks for jobs until `stop` is called, which makes those that run due again. */
export function startJobs(kinds: JobKinds, deps: JobDeps): { stop(): Promise<void> } {
  const { store, siblings, log } = deps
  const stopping = new AbortController()
  const pause = createWakeableSleep()
  const runs = createRuns(kinds, deps, { signal: stopping.signal, onEnd: pause.wake })
  const count = createCounts(deps)
  const look = async () => {
    const nextMs = siblings.isFirst() ? await store.findNextJobMs() : undefined
    const isCounted = await count(nextMs !== undefined)
    // with each count also those that wait for too long, which are the last ones by their time
    if (nextMs !== undefined && (isCounted || nextMs <= deps.clock.nowMs())) await runs.begin()
  }
  const report = (error: unknown) => {
    // the store logs that it cannot be reached, and the next look finds the jobs
    if (!(error instanceof Refusal)) log.error('the jobs of the store cannot be read', { error })
  }
  siblings.onEnded((place) => {
    if (stopping.signal.aborted || !siblings.isFirst()) return
    store.releaseJobs(toClaims({ ...siblings, place })).catch(report)
  })
  const loop = async () => {
    // no other process can have the store, so what is claimed was left by one that was killed
    if (store.engine === 'sqlite' && isOnlyProcess(siblings)) await store.releaseJobs('').catch(report)
    while (!stopping.signal.aborted) {
      pause.beginWork()
      await look().catch(report)
      if (!stopping.signal.aborted) await pause.sleep(isAnyUsed(kinds) ? POLL_MS : RARE_POLL_MS)
    }
  }
  const looping = Object.keys(kinds).length > 0 ? loop() : Promise.resolve()
  return {
    async stop() {
      stopping.abort()
      pause.wake()
      await looping
      await runs.ended()
    },
  }
}

/** While a server starts, its first process is there before the others. */
const isOnlyProcess = ({ count, isFirst, wasComplete }: JobDeps['siblings']): boolean =>
  count === 1 || (isFirst() && !wasComplete())

/** What all claims of one process begin with. */
const toClaims = ({ instance, place }: Pick<Siblings, 'instance' | 'place'>): string => `${instance}/${place}/`

/** The jobs that this process has claimed. */
function createRuns(
  kinds: JobKinds,
  deps: JobDeps,
  { signal, onEnd }: { readonly signal: AbortSignal; readonly onEnd: () => void },
) {
  const { store, siblings, clock } = deps
  const running = Object.entries(kinds).map(([name, kind]) => ({ name, kind, own: new Set<Promise<void>>() }))
  const runJob = createJobRun(deps, signal)
  return {
    /** Claims jobs that are due, as many as may run. */
    async begin(): Promise<void> {
      for (const { name, kind, own } of running) {
        if (own.size >= MAX_RUNNING) continue
        const nowMs = clock.nowMs()
        const claim = `${toClaims(siblings)}${randomUUID()}`
        const untilMs = nowMs + (kind.maxRunMs ?? MAX_RUN_MS) + CLAIM_MARGIN_MS
        const limit = MAX_RUNNING - own.size
        for (const job of await store.claimJobs({ kind: name, claim, nowMs, untilMs, limit })) {
          const run = runJob(job, kind, claim).finally(() => {
            own.delete(run)
            onEnd()
          })
          own.add(run)
        }
      }
    },
    ended: () => Promise.all(running.flatMap(({ own }) => [...own])),
  }
}

type RunJob = (job: Job, kind: JobKind, claim: string) => Promise<void>

function createJobRun({ store, clock, metrics, log }: JobDeps, stopped: AbortSignal): RunJob {
  const failing = new Set<string>()
  const countRun = (kind: string, outcome: string) => {
    metrics.counter('cardea_job_runs_total', { kind, outcome }).count += 1
  }
  const finish = async (job: Job, claim: string, outcome: string) => {
    countRun(job.kind, outcome)
    await store.finishJob(job.id, claim)
  }
  const fail = async (job: Job, kind: JobKind, claim: string, error: unknown) => {
    const reason = describe(error)
    const nowMs = clock.nowMs()
    const isLast = nowMs - job.begunMs >= (kind.giveUpAfterMs ?? Number.POSITIVE_INFINITY)
    if (!failing.has(job.kind) || isLast)
      log.warn(isLast ? 'a job failed and is given up' : 'a job failed: it is tried again', { kind: job.kind, reason })
    failing.add(job.kind)
    if (isLast) {
      await kind.giveUp?.(job, reason)
      return finish(job, claim, 'given up')
    }
    countRun(job.kind, 'failed')
    const dueMs = nowMs + Math.min(kind.backOffMs(job.attempts), MAX_JOB_PAUSE_MS)
    await store.postponeJob(job.id, claim, { dueMs, problem: reason })
  }
  return async (job, kind, claim) => {
    try {
      const error = await tryJob(job, kind, stopped)
      if (error === undefined) {
        if (failing.delete(job.kind)) log.info('jobs succeed again', { kind: job.kind })
        await finish(job, claim, 'done')
      } else if (stopped.aborted) await store.postponeJob(job.id, claim, { dueMs: 0, problem: '' })
      else await fail(job, kind, claim, error)
    } catch (error) {
      // what happened is not stored: the job is due again when the claim ends
      log.debug('the result of a job is not stored', { kind: job.kind, error })
    }
  }
}

/** What the job throws, or that it takes too long; `undefined`: it is done. */
async function tryJob(job: Job, kind: JobKind, stopped: AbortSignal): Promise<unknown> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(kind.maxRunMs ?? MAX_RUN_MS)])
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(new Error('it took too long'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([kind.run(job, signal), aborted.promise])
    return undefined
  } catch (error) {
    return error ?? new Error('it failed without a reason')
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** For the log and the store: the private half of a refusal is for operators. */
const describe = (error: unknown): string =>
  (error instanceof Refusal ? (error.detail ?? error.code) : undefined) ??
  (error instanceof Error ? error.message : 'it failed without a reason')

/** The number of jobs for the metrics, counted from time to time. Returns whether it was counted. */
function createCounts({ store, metrics }: JobDeps): (hasJobs: boolean) => Promise<boolean> {
  let counted: readonly JobCount[] = []
  let countedMs = Number.NEGATIVE_INFINITY
  metrics.collect('cardea_jobs', () => counted.map(({ kind, count }) => ({ labels: { kind }, value: count })))
  return async (hasJobs) => {
    if (!hasJobs) counted = []
    if (!hasJobs || performance.now() - countedMs < COUNT_MS) return false
    countedMs = performance.now()
    counted = await store.countJobs()
    return true
  }
}

/** A job that fails for less long is not worth a warning. */
const WARN_MS = 60_000

/** Warns of jobs that fail for longer. Requests do not need them. */
export const listJobChecks = (kinds: JobKinds, store: JobStore, clock: Clock): readonly HealthCheck[] =>
  isAnyUsed(kinds) ? [createJobsCheck(store, clock)] : []

const isAnyUsed = (kinds: JobKinds): boolean => Object.values(kinds).some((kind) => kind.isUsed())

const createJobsCheck = (store: JobStore, clock: Clock): HealthCheck => ({
  name: 'jobs',
  async find() {
    const counts = await askStore(store.countJobs(), [])
    const late = counts.filter(({ failed, failedSinceMs }) => failed > 0 && clock.nowMs() - failedSinceMs >= WARN_MS)
    if (late.length === 0) return undefined
    const describeLate = ({ kind, failed, problem }: JobCount) => `${failed} of ${kind} fail: ${problem}`
    return { reason: late.map(describeLate).join('; '), isWarning: true }
  },
})
