import assert from 'node:assert/strict'
import { type JobClaim, MAX_JOB_WAIT_MS, type NewJob } from '../../src/directory/store-port/jobs.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { StoreTests } from './store.ts'
import { isRefusal, lastSequence } from './store-values.ts'

const job = (key: string, payload = '', kind = 'mail'): NewJob => ({ kind, key, payload })

const claim = (of: string, nowMs: number, more: Partial<JobClaim> = {}): JobClaim => ({
  kind: 'mail',
  claim: of,
  nowMs,
  untilMs: nowMs + 100,
  limit: 10,
  ...more,
})

const claimed = async (store: Store, asked: JobClaim): Promise<readonly string[]> =>
  (await store.claimJobs(asked)).map(({ key, payload }) => `${key}${payload}`)

export const JOB_TESTS: StoreTests = {
  async 'gives each job to one of several callers'({ store, openAnother }) {
    const other = await openAnother()
    const keys = Array.from({ length: 20 }, (_, index) => `key${index}`)
    await store.addJobs(keys.map((key) => job(key)))
    const each = await Promise.all(
      [store, other, store, other].map((one, index) => claimed(one, claim(`claim${index}`, 1000))),
    )
    assert.deepEqual(each.flat().sort(), keys.sort())
    assert.deepEqual(await claimed(other, claim('later', 1099)), [])
  },

  async 'gives the jobs of one kind and key out one after the other, in order'({ store }) {
    await store.addJobs([job('ada', '1'), job('ada', '2')])
    await store.addJobs([job('bob', '1'), job('ada', '3'), job('ada', '4', 'other')])
    const [first] = await store.claimJobs(claim('a', 1000))
    assert.deepEqual(await claimed(store, claim('b', 1050)), [])
    await store.postponeJob(first?.id ?? 0, 'a', { dueMs: 1090, problem: 'not yet' })
    assert.deepEqual(await claimed(store, claim('c', 1060)), [])
    const [again] = await store.claimJobs(claim('d', 1090))
    assert.deepEqual([again?.key, again?.payload, again?.attempts, again?.begunMs], ['ada', '1', 2, 1000])
    await store.finishJob(again?.id ?? 0, 'd')
    assert.deepEqual(await claimed(store, claim('e', 1091)), ['ada2'])
    assert.deepEqual(await claimed(store, claim('f', 1091, { kind: 'other' })), ['ada4'])
  },

  async 'gives a job out again when its claim has ended, and ignores the earlier one'({ store, openAnother }) {
    const other = await openAnother()
    await store.addJobs([job('ada')])
    const [{ id } = { id: 0 }] = await store.claimJobs(claim('killed', 1000))
    assert.deepEqual(await claimed(other, claim('next', 1100)), ['ada'])
    await store.finishJob(id, 'killed')
    await store.postponeJob(id, 'killed', { dueMs: 0, problem: 'late' })
    assert.equal(await store.hasJob('mail', 'ada'), true)
    assert.equal(await store.findNextJobMs(), 1200)
    await other.finishJob(id, 'next')
    assert.equal(await store.hasJob('mail', 'ada'), false)
    assert.equal(await store.findNextJobMs(), undefined)
  },

  async 'makes claimed jobs due again for the only process of a store'({ store }) {
    await store.addJobs([job('ada'), job('bob')])
    const [, bob] = await store.claimJobs(claim('killed', 1000))
    await store.postponeJob(bob?.id ?? 0, 'killed', { dueMs: 5000, problem: 'not yet' })
    await store.releaseJobs('')
    assert.deepEqual(await claimed(store, claim('next', 1001)), ['ada'])
  },

  async 'makes the jobs due again that a process has claimed, and no others'({ store }) {
    await store.addJobs([job('ada'), job('bob'), job('carl')])
    for (const owner of ['server/1/a', 'server/2/b', 'server/12/c'])
      await store.claimJobs(claim(owner, 1000, { limit: 1 }))
    await store.releaseJobs('server/1/')
    assert.deepEqual(await claimed(store, claim('next', 1001)), ['ada'])
  },

  async 'gives out no job before it is due'({ store }) {
    await store.addJobs([job('ada')])
    const [{ id } = { id: 0 }] = await store.claimJobs(claim('failed', 1000))
    await store.postponeJob(id, 'failed', { dueMs: 2000, problem: 'not yet' })
    assert.equal(await store.findNextJobMs(), 2000)
    assert.deepEqual(await claimed(store, claim('a', 1999)), [])
    assert.deepEqual(await claimed(store, claim('b', 2000)), ['ada'])
  },

  async 'gives out a job that is due later than any pause: the clock was ahead'({ store }) {
    const dueMs = 2 * MAX_JOB_WAIT_MS
    await store.addJobs([job('ada', '1'), job('ada', '2'), job('bob')])
    const jobs = await store.claimJobs(claim('ahead', dueMs - 100))
    for (const { id } of jobs) await store.postponeJob(id, 'ahead', { dueMs, problem: 'not yet' })
    assert.deepEqual(await claimed(store, claim('in time', dueMs - MAX_JOB_WAIT_MS)), [])
    assert.deepEqual(await claimed(store, claim('set back', 1000)), ['ada1', 'bob'])
    assert.deepEqual(await claimed(store, claim('once', 1001)), [])
  },

  async 'counts the jobs of each kind, and those that failed'({ store }) {
    assert.deepEqual(await store.countJobs(), [])
    await store.addJobs([job('ada'), job('bob'), job('ada', '', 'other')])
    const [first] = await store.claimJobs(claim('a', 1000, { limit: 1 }))
    await store.postponeJob(first?.id ?? 0, 'a', { dueMs: 1, problem: 'refused\0\ud800' })
    assert.deepEqual(await store.countJobs(), [
      { kind: 'mail', count: 2, failed: 1, failedSinceMs: 1000, problem: 'refused\ufffd\ufffd' },
      { kind: 'other', count: 1, failed: 0, failedSinceMs: 0, problem: '' },
    ])
  },

  async 'is no change of the directory, and refuses what cannot be stored'({ store }) {
    await store.addJobs([job('ada')])
    assert.equal(await lastSequence(store), 0)
    await assert.rejects(store.addJobs([job('a\0')]), isRefusal('bad_request'))
    await assert.rejects(store.addJobs([job('bob', '\ud800')]), isRefusal('bad_request'))
    assert.equal(await store.hasJob('mail', 'a\0'), false)
  },
}
