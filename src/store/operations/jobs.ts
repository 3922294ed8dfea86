import {
  type Job,
  type JobCount,
  type JobStore,
  MAX_JOB_WAIT_MS,
  type NewJob,
} from '../../directory/store-port/jobs.ts'
import { type Engine, many, numberOf, one, type Row, type StoreSteps, textOf } from '../engine.ts'
import { isKey, requireKey, requirePageSize, requireStorableText, toStorable } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'
import { lockCounters } from './changes.ts'

export const createJobStore = (engine: Engine): JobStore => ({
  async addJobs(jobs) {
    if (jobs.length === 0) return
    await engine.transact(function* () {
      yield* lockCounters()
      yield* putJobs(jobs)
    })
  },
  async hasJob(kind, key) {
    return isKey(key) && (await engine.ask(one(STATEMENTS.findJob, kind, key))).length > 0
  },
  async findNextJobMs() {
    const [row] = await engine.ask(one(STATEMENTS.findNextJob))
    return row && numberOf(row, 'due_ms')
  },
  async claimJobs({ kind, claim, nowMs, untilMs, limit }) {
    requirePageSize(limit)
    const latestMs = nowMs + MAX_JOB_WAIT_MS
    const rows = await engine.ask(one(STATEMENTS.claimJobs, kind, claim, nowMs, untilMs, limit, latestMs))
    return rows.map(readJob).sort((a, b) => a.id - b.id)
  },
  async finishJob(id, claim) {
    await engine.ask(one(STATEMENTS.finishJob, id, claim))
  },
  async postponeJob(id, claim, { dueMs, problem }) {
    await engine.ask(one(STATEMENTS.postponeJob, id, claim, dueMs, toStorable(problem)))
  },
  async releaseJobs(claims) {
    await engine.ask(one(STATEMENTS.releaseJobs, claims))
  },
  countJobs: async () => (await engine.ask(one(STATEMENTS.countJobs))).map(readCount),
})

const DUE_AT_ONCE = 0

/** For a transaction that has locked the counters: the numbers of jobs are in the order of their transactions. */
export function* putJobs(jobs: readonly NewJob[]): StoreSteps<void> {
  if (jobs.length === 0) return
  const [last] = yield one(STATEMENTS.findLastJob)
  const before = last ? numberOf(last, 'id') : 0
  const rows = jobs.map(({ kind, key, payload }, index) => {
    requireKey(key, 'the key of a job')
    requireStorableText(payload, 'a job')
    return [before + 1 + index, kind, key, payload, DUE_AT_ONCE]
  })
  yield many(STATEMENTS.putJob, rows)
}

const readJob = (row: Row): Job => ({
  id: numberOf(row, 'id'),
  kind: textOf(row, 'kind'),
  key: textOf(row, 'key'),
  payload: textOf(row, 'payload'),
  attempts: numberOf(row, 'attempts'),
  begunMs: numberOf(row, 'begun_ms'),
})

const readCount = (row: Row): JobCount => ({
  kind: textOf(row, 'kind'),
  count: numberOf(row, 'count'),
  failed: numberOf(row, 'failed'),
  failedSinceMs: numberOf(row, 'failed_since_ms'),
  problem: textOf(row, 'problem'),
})
