import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLimits, type LimitSettings } from '../../../src/auth/limits/limits.ts'
import { countTogether } from '../../../src/auth/limits/together.ts'
import { Refusal } from '../../../src/base/errors.ts'
import { joinWorkers } from '../../support/siblings.ts'

const BOB = { peer: '192.0.2.1', name: 'bob', salt: 's1', version: 'v1' }
const SETTINGS: LimitSettings = {
  lock: { mode: 'enforce', threshold: 5, lifetimeMs: 300_000 },
  account: { burst: 20, refillPerMinute: 1 },
  peer: { burst: 100, refillPerMinute: 10 },
  signUps: { perPeer: 3, total: 1000 },
  maxCounters: 100,
}

const CLOCK = { nowMs: () => 1_000_000 }

async function startWorkers(count: number) {
  const joined = await joinWorkers(count)
  return joined.map((worker) => {
    const limits = createLimits({ settings: () => SETTINGS, clock: CLOCK })
    return { ...worker, ...countTogether(limits, worker.siblings) }
  })
}

/** `done`, or the code of the refusal. */
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => {
      assert.ok(error instanceof Refusal)
      return error.code
    },
  )

describe('workers that count together', () => {
  it('give as many parallel guesses as one', async () => {
    const workers = await startWorkers(3)
    const guesses = Array.from({ length: 30 }, (_, at) => workers[at % 3]?.countFailure(BOB) as Promise<void>)
    const outcomes = await Promise.all(guesses.map(outcomeOf))
    assert.deepEqual(
      [outcomes.filter((each) => each === 'done').length, outcomes.filter((each) => each === 'account_locked').length],
      [5, 25],
    )
  })

  it('refuse a right password that came with too many wrong ones', async () => {
    const [one, two] = await startWorkers(2)
    assert.ok(one && two)
    const wrong = Array.from({ length: 5 }, () => one.countFailure(BOB))
    assert.equal(await outcomeOf(Promise.all(wrong).then(() => two.confirm(BOB))), 'account_locked')
    assert.equal(await outcomeOf(two.confirm({ ...BOB, name: 'ada' })), 'done')
  })

  it('all know of a failure before the client does', async () => {
    const workers = await startWorkers(2)
    for (let turn = 0; turn < 5; turn += 1) {
      for (const { isAllowed } of workers) assert.ok(isAllowed(BOB))
      await workers[turn % 2]?.countFailure(BOB)
    }
    for (const { isAllowed } of workers) assert.equal(isAllowed(BOB), false)
  })

  it('accept nothing while the first one cannot count', async () => {
    const [starting, serving] = await joinWorkers(2)
    assert.ok(starting && serving)
    const limits = createLimits({ settings: () => SETTINGS, clock: CLOCK })
    const { confirm, countFailure } = countTogether(limits, serving.siblings)
    assert.equal(await outcomeOf(confirm(BOB)), 'overloaded')
    assert.equal(await outcomeOf(countFailure(BOB)), 'overloaded')
  })

  it('go on counting when the first one ends', async () => {
    const [one, two, three] = await startWorkers(3)
    assert.ok(one && two && three)
    for (let turn = 0; turn < 4; turn += 1) await three.countFailure(BOB)
    one.member.leave()
    const outcomes = await Promise.all([two, three, three].map(({ countFailure }) => outcomeOf(countFailure(BOB))))
    assert.deepEqual(outcomes.toSorted(), ['account_locked', 'account_locked', 'done'])
  })

  it('all lift a lock', async () => {
    const workers = await startWorkers(2)
    for (let turn = 0; turn < 5; turn += 1) await workers[0]?.countFailure(BOB)
    await workers[1]?.lift(BOB)
    for (const { isAllowed } of workers) assert.ok(isAllowed(BOB))
  })

  it('let a client in that proved the password at another worker, while others attack the account', async () => {
    const [one, two] = await startWorkers(2)
    assert.ok(one && two)
    two.countSuccess(BOB)
    for (let at = 0; at < 20; at += 1) await one.countFailure({ ...BOB, peer: `198.51.100.${at}` })
    assert.deepEqual([one.isAllowed(BOB), two.isAllowed(BOB)], [true, true])
    assert.deepEqual(
      [one, two].map(({ isAllowed }) => isAllowed({ ...BOB, peer: '203.0.113.1' })),
      [false, false],
    )
  })

  it('let as many parallel clients sign up as one', async () => {
    const workers = await startWorkers(3)
    const signUps = Array.from({ length: 12 }, (_, at) => workers[at % 3]?.signUp(BOB, async () => {}) as Promise<void>)
    const outcomes = await Promise.all(signUps.map(outcomeOf))
    assert.equal(outcomes.filter((each) => each === 'done').length, 3)
    assert.equal(outcomes.filter((each) => each === 'too_many_sign_ups').length, 9)
  })

  it('do not count a user that could not be created', async () => {
    const [one, two] = await startWorkers(2)
    assert.ok(one && two)
    const fail = () => Promise.reject(new Refusal('conflict'))
    for (let turn = 0; turn < 5; turn += 1) assert.equal(await outcomeOf(two.signUp(BOB, fail)), 'conflict')
    assert.equal(await outcomeOf(one.signUp(BOB, async () => {})), 'done')
  })
})
