import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { JobQueue } from '../../src/base/job-queue.ts'
import { createHasher } from '../../src/passwords/hasher.ts'

/** A job that ends when the test ends it. */
function createJob(name: string, log: string[]) {
  const gate = Promise.withResolvers<string>()
  const run = () => {
    log.push(name)
    return gate.promise
  }
  return { run, end: () => gate.resolve(name), fail: (error: Error) => gate.reject(error) }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
const isOverloaded = (error: unknown) => error instanceof Refusal && error.code === 'overloaded'

describe('queue of jobs', () => {
  it('runs a fixed number at once and the others in order', async () => {
    const started: string[] = []
    const queue = new JobQueue({ jobs: 2, queue: () => 10 })
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((name) => createJob(name, started))
    const results = Promise.all(jobs.map((job) => queue.run(job.run)))
    await settle()
    assert.deepEqual(started, ['a', 'b'])
    assert.deepEqual(queue.load(), { running: 2, waiting: 3 })
    jobs[1]?.end()
    await settle()
    assert.deepEqual(started, ['a', 'b', 'c'])
    for (const job of jobs) job.end()
    assert.deepEqual(await results, ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(started, ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(queue.load(), { running: 0, waiting: 0 })
  })

  it('a new job does not overtake a waiting one', async () => {
    const started: string[] = []
    const queue = new JobQueue({ jobs: 1, queue: () => 10 })
    const [first, second, third] = ['first', 'second', 'third'].map((name) => createJob(name, started))
    const running = [queue.run(first?.run as () => Promise<string>), queue.run(second?.run as () => Promise<string>)]
    first?.end()
    await running[0]
    running.push(queue.run(third?.run as () => Promise<string>))
    second?.end()
    third?.end()
    await Promise.all(running)
    assert.deepEqual(started, ['first', 'second', 'third'])
  })

  it('rejects jobs above its limit with Retry-After, and keeps working', async () => {
    const clock = { nowMs: () => 0 }
    let now = 0
    clock.nowMs = () => now
    const queue = new JobQueue({ jobs: 1, queue: () => 2, clock })
    const slow = createJob('slow', [])
    const before = queue.run(slow.run)
    now = 50_000
    slow.end()
    await before
    const job = createJob('x', [])
    const accepted = [1, 2, 3].map(() => queue.run(job.run))
    await assert.rejects(queue.run(job.run), (error) => {
      // one job lasted 50 s and counts for a fifth; two wait
      assert.ok(error instanceof Refusal && error.code === 'overloaded')
      assert.equal(error.retryAfterSeconds, 20)
      return true
    })
    job.end()
    assert.deepEqual(await Promise.all(accepted), ['x', 'x', 'x'])
    assert.equal(await queue.run(job.run), 'x')
  })

  it('reports how long each job has waited, and how many were rejected', async () => {
    let now = 0
    const waited: number[] = []
    const queue = new JobQueue({
      jobs: 1,
      queue: () => 1,
      clock: { nowMs: () => now },
      onWaited: (ms) => waited.push(ms),
    })
    const job = createJob('x', [])
    const accepted = [queue.run(job.run), queue.run(job.run)]
    await assert.rejects(queue.run(job.run), isOverloaded)
    now = 250
    job.end()
    await Promise.all(accepted)
    assert.deepEqual(waited, [0, 250])
    assert.equal(queue.countRefused(), 1)
  })

  it('the limit is read for each job', async () => {
    let bound = 0
    const queue = new JobQueue({ jobs: 1, queue: () => bound })
    const job = createJob('x', [])
    const first = queue.run(job.run)
    await assert.rejects(queue.run(job.run), isOverloaded)
    bound = 1
    const second = queue.run(job.run)
    await assert.rejects(queue.run(job.run), isOverloaded)
    bound = Number.NaN
    await assert.rejects(queue.run(job.run), isOverloaded)
    job.end()
    assert.deepEqual(await Promise.all([first, second]), ['x', 'x'])
  })

  it('a job aborted while it waits leaves the queue and never runs', async () => {
    const started: string[] = []
    const queue = new JobQueue({ jobs: 1, queue: () => 1 })
    const [first, gone, last] = ['first', 'gone', 'last'].map((name) => createJob(name, started))
    const one = queue.run(first?.run as () => Promise<string>)
    const controller = new AbortController()
    const two = queue.run(gone?.run as () => Promise<string>, { signal: controller.signal })
    controller.abort()
    await assert.rejects(two, { name: 'AbortError' })
    const three = queue.run(last?.run as () => Promise<string>)
    first?.end()
    last?.end()
    assert.deepEqual(await Promise.all([one, three]), ['first', 'last'])
    assert.deepEqual(started, ['first', 'last'])
  })

  it('calls begin when the turn has come, and runs no job that it rejects', async () => {
    const started: string[] = []
    const queue = new JobQueue({ jobs: 1, queue: () => 10 })
    const first = createJob('first', started)
    let isLocked = false
    const begin = () => {
      if (isLocked) throw new Refusal('account_locked')
    }
    const running = queue.run(first.run, { begin })
    const guesses = [1, 2, 3].map(() => queue.run(createJob('guess', started).run, { begin }))
    const other = queue.run(async () => 'other')
    isLocked = true
    first.end()
    assert.equal(await running, 'first')
    const outcomes = await Promise.allSettled(guesses)
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason.code === 'account_locked'))
    assert.equal(await other, 'other')
    assert.deepEqual([started, queue.load()], [['first'], { running: 0, waiting: 0 }])
  })

  it('lets other work have its turn between jobs that begin rejects', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 100 })
    const first = createJob('first', [])
    const running = queue.run(first.run)
    const begin = () => {
      throw new Refusal('account_locked')
    }
    const late = Array.from({ length: 50 }, () => queue.run(async () => {}, { begin }).catch(() => 'rejected'))
    first.end()
    await running
    await settle()
    await settle()
    assert.ok(queue.load().waiting > 40, `${queue.load().waiting} wait`)
    assert.deepEqual(new Set(await Promise.all(late)), new Set(['rejected']))
    await settle()
    assert.deepEqual(queue.load(), { running: 0, waiting: 0 })
  })

  it('full of jobs of one lane, it makes room for another lane', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 3 })
    const first = createJob('first', [])
    const running = queue.run(first.run, { lane: 'a' })
    const many = [1, 2, 3].map((at) => queue.run(async () => `a${at}`, { lane: 'a' }))
    const other = queue.run(async () => 'b', { lane: 'b' })
    await assert.rejects(many[2] ?? running, isOverloaded)
    await assert.rejects(
      queue.run(async () => 'a4', { lane: 'a' }),
      isOverloaded,
    )
    first.end()
    assert.deepEqual(await Promise.all([running, many[0], many[1], other]), ['first', 'a1', 'a2', 'b'])
  })

  it('removes its listener from a signal that outlives the wait', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 1 })
    const { signal } = new AbortController()
    await Promise.all([queue.run(async () => 'first'), queue.run(async () => 'second', { signal })])
    assert.deepEqual(getEventListeners(signal, 'abort'), [])
  })

  it('a job aborted before it is queued never runs', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 1 })
    await assert.rejects(queue.run(createJob('x', []).run, { signal: AbortSignal.abort() }), { name: 'AbortError' })
    assert.deepEqual(queue.load(), { running: 0, waiting: 0 })
  })

  it('an abort while the job runs does not free its place before it ends', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 0 })
    const controller = new AbortController()
    const job = createJob('x', [])
    const running = queue.run(job.run, { signal: controller.signal })
    controller.abort()
    assert.deepEqual(queue.load(), { running: 1, waiting: 0 })
    job.end()
    assert.equal(await running, 'x')
  })

  it('a job that throws, at once or later, does not affect others', async () => {
    const queue = new JobQueue({ jobs: 1, queue: () => 10 })
    const job = createJob('later', [])
    const outcomes = Promise.allSettled([
      queue.run(() => {
        throw new Error('at once')
      }),
      queue.run(job.run),
      queue.run(async () => 'fine'),
    ])
    await settle()
    job.fail(new Error('later'))
    assert.deepEqual(
      (await outcomes).map((outcome) => outcome.status),
      ['rejected', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(queue.load(), { running: 0, waiting: 0 })
  })

  it('rejects a limit of no jobs', () => {
    for (const jobs of [0, -1, 1.5, Number.NaN]) assert.throws(() => new JobQueue({ jobs, queue: () => 1 }), RangeError)
  })
})

describe('hasher and its queue', () => {
  it('a thousand verifications all finish, cheap ones too', async () => {
    const hasher = createHasher({ jobs: 2, queue: () => 1000 })
    const decoy = { unit: 'sha256', amount: 1 }
    const stored = await hasher.hash('right', { scheme: 'pbkdf2', prf: 'sha256', iterations: 1 })
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        hasher.verify(i % 3 ? stored : undefined, i % 2 ? 'right' : 'wrong', { decoy }),
      ),
    )
    assert.deepEqual(
      answers,
      Array.from({ length: 1000 }, (_, i) => i % 3 !== 0 && i % 2 === 1),
    )
  })

  it('rejects jobs above its limit', async () => {
    const hasher = createHasher({ jobs: 1, queue: () => 1 })
    const parameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: 1000 } as const
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => hasher.hash('x', parameters)))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    )
  })
})
