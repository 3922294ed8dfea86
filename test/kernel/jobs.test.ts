import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createAlone, type Siblings } from '../../src/base/siblings.ts'
import type { Job, NewJob } from '../../src/directory/store-port/jobs.ts'
import { type JobKind, listJobChecks, startJobs } from '../../src/kernel/jobs.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { openStore } from '../../src/store/create-store.ts'
import { waitUntil } from '../support/wait.ts'

const job = (key: string, payload = ''): NewJob => ({ kind: 'note', key, payload })

const IDLE: JobKind = { isUsed: () => true, run: async () => {}, backOffMs: () => 10 }

/** A store in memory and a clock that tests set; `start` begins to do its jobs with this kind. */
async function createScene(t: TestContext) {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  const time = { nowMs: 1000 }
  const clock = { nowMs: () => time.nowMs }
  const metrics = createMetrics()
  const stops: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const stop of stops) await stop()
    await store.close()
  })
  const start = (kind: Partial<JobKind>, given: Partial<Siblings> = {}) => {
    const siblings = { ...createAlone(), ...given }
    const whole: JobKind = { ...IDLE, ...kind }
    const runner = startJobs({ note: whole }, { store, clock, siblings, metrics, log: SILENT_LOG })
    stops.push(runner.stop)
    return runner
  }
  const isEmpty = async () => (await store.findNextJobMs()) === undefined
  return { store, time, clock, metrics, start, isEmpty }
}

describe('jobs', () => {
  it('are done once each, those of one key in order', async (t) => {
    const { store, start, isEmpty } = await createScene(t)
    const done: string[] = []
    await store.addJobs([job('ada', '1'), job('ada', '2'), job('bob', '1')])
    start({ run: async ({ key, payload }) => void done.push(`${key}${payload}`) })
    await waitUntil(isEmpty)
    await store.addJobs([job('ada', '3')])
    await waitUntil(isEmpty)
    assert.deepEqual(done.toSorted(), ['ada1', 'ada2', 'ada3', 'bob1'])
    assert.deepEqual(
      done.filter((each) => each.startsWith('ada')),
      ['ada1', 'ada2', 'ada3'],
    )
  })

  it('are tried again after the pause of their kind, until they succeed', async (t) => {
    const { store, time, metrics, start, isEmpty } = await createScene(t)
    const attempts: number[] = []
    await store.addJobs([job('ada')])
    start({
      async run(each: Job) {
        attempts.push(each.attempts)
        if (attempts.length < 3) throw new Refusal('upstream_failed', { detail: 'it is down' })
      },
      backOffMs: (made) => made * 100,
    })
    await waitUntil(async () => (await store.findNextJobMs()) === 1100)
    const [counted] = await store.countJobs()
    assert.deepEqual([counted?.failed, counted?.problem], [1, 'it is down'])
    time.nowMs = 1100
    await waitUntil(async () => (await store.findNextJobMs()) === 1300)
    time.nowMs = 1300
    await waitUntil(isEmpty)
    assert.deepEqual(attempts, [1, 2, 3])
    assert.equal(metrics.counter('cardea_job_runs_total', { kind: 'note', outcome: 'failed' }).count, 2)
    assert.equal(metrics.counter('cardea_job_runs_total', { kind: 'note', outcome: 'done' }).count, 1)
  })

  it('that failed while the clock was ahead are tried again when it is set, and wait for 15 minutes at most', async (t) => {
    const { store, time, start, isEmpty } = await createScene(t)
    const day = 86_400_000
    time.nowMs = day
    const { now } = performance
    let passedMs = 0
    t.mock.method(performance, 'now', () => now.call(performance) + passedMs)
    let isDown = true
    await store.addJobs([job('ada')])
    start({
      run: () => (isDown ? Promise.reject(new Error('it is down')) : Promise.resolve()),
      backOffMs: () => day,
    })
    await waitUntil(async () => (await store.findNextJobMs()) === day + 900_000)
    isDown = false
    time.nowMs = 1000
    // they are looked for from time to time
    passedMs = 5000
    await waitUntil(isEmpty)
  })

  it('are given up when they have failed for too long', async (t) => {
    const { store, time, start, isEmpty } = await createScene(t)
    const givenUp: string[] = []
    await store.addJobs([job('ada')])
    start({
      run: () => Promise.reject(new Error('no such address')),
      giveUpAfterMs: 50,
      giveUp: async ({ key }, reason) => void givenUp.push(`${key}: ${reason}`),
    })
    await waitUntil(async () => (await store.findNextJobMs()) === 1010)
    time.nowMs = 1050
    await waitUntil(isEmpty)
    assert.deepEqual(givenUp, ['ada: no such address'])
  })

  it('are left to the first process of the server', async (t) => {
    const { store, start, isEmpty } = await createScene(t)
    let isFirst = false
    let runs = 0
    await store.addJobs([job('ada')])
    start(
      {
        run: async () => {
          assert.ok(isFirst)
          runs += 1
        },
      },
      { isFirst: () => isFirst, count: 2 },
    )
    isFirst = true
    await waitUntil(isEmpty)
    assert.equal(runs, 1)
  })

  it('are due again at once when a server stops, or was killed', async (t) => {
    const { store, time, start, isEmpty } = await createScene(t)
    const begun = Promise.withResolvers<void>()
    await store.addJobs([job('ada')])
    const first = start({
      run: (_, signal) => {
        begun.resolve()
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      },
    })
    await begun.promise
    await first.stop()
    assert.equal(await store.findNextJobMs(), 0)
    // as a killed process leaves it
    await store.claimJobs({ kind: 'note', claim: 'killed', nowMs: time.nowMs, untilMs: time.nowMs + 30_000, limit: 1 })
    start({})
    await waitUntil(isEmpty)
  })

  it('are due again at once where one of several processes was killed, or all of them', async (t) => {
    const { store, time, start, isEmpty } = await createScene(t)
    const claimAs = (process: string) =>
      store.claimJobs({ kind: 'note', claim: `${process}/a`, nowMs: time.nowMs, untilMs: 90_000, limit: 1 })
    const ends: ((place: number) => void)[] = []
    let isFirst = true
    const another: Partial<Siblings> = {
      count: 2,
      instance: 'this server',
      isFirst: () => isFirst,
      onEnded: (listener) => void ends.push(listener),
    }
    await store.addJobs([job('ada')])
    await claimAs('an earlier server/1')
    start({}, { ...another, wasComplete: () => false })
    await waitUntil(isEmpty)
    await store.addJobs([job('bob')])
    isFirst = false
    await claimAs('this server/2')
    for (const end of ends) end(2)
    isFirst = true
    for (const end of ends) end(3)
    assert.equal(await store.findNextJobMs(), 90_000)
    for (const end of ends) end(2)
    await waitUntil(isEmpty)
  })

  it('of a kind that this version does not know are left alone', async (t) => {
    const { store, start } = await createScene(t)
    await store.addJobs([{ ...job('ada'), kind: 'later' }, job('bob')])
    start({})
    await waitUntil(async () => !(await store.hasJob('note', 'bob')))
    assert.equal(await store.findNextJobMs(), 0)
    assert.equal(await store.hasJob('later', 'ada'), true)
  })

  it('that fail for a minute are a warning of the health', async (t) => {
    const { store, time, clock, start } = await createScene(t)
    assert.deepEqual(listJobChecks({ note: { ...IDLE, isUsed: () => false } }, store, clock), [])
    const [check] = listJobChecks({ note: IDLE }, store, clock)
    assert.ok(check)
    await store.addJobs([job('ada')])
    start({ run: () => Promise.reject(new Error('it is down')), backOffMs: () => 500_000 })
    await waitUntil(async () => (await store.findNextJobMs()) === 501_000)
    assert.equal(await check.find(), undefined)
    time.nowMs = 61_000
    assert.deepEqual(await check.find(), { reason: '1 of note fail: it is down', isWarning: true })
  })
})
