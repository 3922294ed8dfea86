import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Guess } from '../../../src/auth/limits/guess.ts'
import { createLimits, type LimitSettings, type LimitsOptions } from '../../../src/auth/limits/limits.ts'
import { countTogether } from '../../../src/auth/limits/together.ts'
import { Refusal } from '../../../src/base/errors.ts'
import type { LogFields } from '../../../src/base/log.ts'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { createAlone } from '../../../src/base/siblings.ts'

const BOB: Guess = { peer: '192.0.2.1', name: 'bob', salt: 's1', version: 'v1' }

const SETTINGS: LimitSettings = {
  lock: { mode: 'enforce', threshold: 5, lifetimeMs: 300_000 },
  account: { burst: 20, refillPerMinute: 1 },
  peer: { burst: 100, refillPerMinute: 10 },
  signUps: { perPeer: 10, total: 1000 },
  maxCounters: 100,
}

type Changes = { readonly [K in keyof LimitSettings]?: Partial<LimitSettings[K]> }

function setUp(changes: Changes = {}, options: Partial<LimitsOptions> = {}) {
  let now = 1_000_000
  let current = merge(changes)
  const limits = createLimits({ settings: () => current, clock: { nowMs: () => now }, ...options })
  /** `allowed`, or the code of the refusal. */
  const ask = (guess: Guess): string => {
    try {
      limits.requireAllowed(guess)
      return 'allowed'
    } catch (error) {
      assert.ok(error instanceof Refusal)
      return error.code
    }
  }
  return {
    ...limits,
    signUp: countTogether(limits, createAlone()).signUp,
    ask,
    fail(times: number, guess = BOB) {
      for (let i = 0; i < times; i += 1) limits.countFailure(guess)
    },
    pass(ms: number) {
      now += ms
    },
    set(next: Changes) {
      current = merge(next)
    },
  }
}

const merge = ({ maxCounters, ...changes }: Changes): LimitSettings => ({
  lock: { ...SETTINGS.lock, ...changes.lock },
  account: { ...SETTINGS.account, ...changes.account },
  peer: { ...SETTINGS.peer, ...changes.peer },
  signUps: { ...SETTINGS.signUps, ...changes.signUps },
  maxCounters: (maxCounters as number | undefined) ?? SETTINGS.maxCounters,
})

const fromPeer = (at: number): Guess => ({ ...BOB, peer: `198.51.100.${at}` })
const ofName = (at: number): Guess => ({ peer: BOB.peer, name: `name ${at}` })

describe('lock of name and peer', () => {
  it('starts with the failure that reaches the threshold', () => {
    const { fail, ask } = setUp()
    fail(4)
    assert.equal(ask(BOB), 'allowed')
    fail(1)
    assert.equal(ask(BOB), 'account_locked')
  })

  it('does not count attempts that were not checked', () => {
    const { fail, ask } = setUp()
    fail(4)
    for (let i = 0; i < 10; i += 1) ask(BOB)
    assert.equal(ask(BOB), 'allowed')
  })

  const others: [string, Guess][] = [
    ['another peer', { ...BOB, peer: '192.0.2.2' }],
    ['another name', { ...BOB, name: 'eve' }],
    ['a new password', { ...BOB, salt: 's2' }],
    ['parts cut elsewhere', { peer: '192.0.2.1b', name: 'ob', salt: 's1' }],
  ]
  for (const [name, guess] of others) {
    it(`counts ${name} separately`, () => {
      const { fail, ask } = setUp()
      fail(9)
      assert.equal(ask(guess), 'allowed')
    })
  }

  it('locks unknown names too', () => {
    const { countFailure, ask } = setUp({ lock: { threshold: 1 } })
    countFailure({ peer: 'p', name: 'unknown' })
    assert.equal(ask({ peer: 'p', name: 'unknown' }), 'account_locked')
  })

  it('ends its lifetime after the first failure, not the last', () => {
    const { fail, pass, ask } = setUp()
    fail(4)
    pass(299_999)
    fail(1)
    assert.equal(ask(BOB), 'account_locked')
    pass(1)
    assert.equal(ask(BOB), 'allowed')
    fail(4)
    assert.equal(ask(BOB), 'allowed')
    fail(1)
    assert.equal(ask(BOB), 'account_locked')
  })

  it('follows its options at once', () => {
    const { fail, pass, ask, set } = setUp()
    fail(3)
    set({ lock: { threshold: 3 } })
    assert.equal(ask(BOB), 'account_locked')
    pass(1000)
    set({ lock: { threshold: 3, lifetimeMs: 1000 } })
    assert.equal(ask(BOB), 'allowed')
  })

  it('neither locks nor counts in mode off', () => {
    const { fail, ask, set } = setUp({ lock: { mode: 'off' } })
    fail(9)
    assert.equal(ask(BOB), 'allowed')
    set({})
    assert.equal(ask(BOB), 'allowed')
  })

  it('logs once in mode warn, and does not reject', () => {
    const warnings: (LogFields | undefined)[] = []
    const log = { ...SILENT_LOG, warn: (_: string, fields?: LogFields) => void warnings.push(fields) }
    const { fail, ask } = setUp({ lock: { mode: 'warn' } }, { log })
    fail(4)
    assert.deepEqual(warnings, [])
    fail(4)
    assert.equal(ask(BOB), 'allowed')
    assert.deepEqual(warnings, [{ name: 'bob', peer: '192.0.2.1' }])
  })

  it('holds for a known peer too', () => {
    const { fail, ask, countSuccess } = setUp()
    fail(5)
    countSuccess(BOB)
    assert.equal(ask(BOB), 'account_locked')
  })
})

describe('limit per account', () => {
  const attack = ({ countFailure }: ReturnType<typeof setUp>, times: number) => {
    for (let at = 0; at < times; at += 1) countFailure(fromPeer(at))
  }

  it('rejects after 20 failures from 20 peers, and names the wait', () => {
    const limits = setUp()
    attack(limits, 19)
    assert.equal(limits.ask(BOB), 'allowed')
    attack(limits, 1)
    assert.equal(limits.ask(BOB), 'too_many_requests')
    assert.throws(() => limits.requireAllowed(BOB), { retryAfterSeconds: 60 })
  })

  it('forgives one failure a minute', () => {
    const limits = setUp()
    attack(limits, 20)
    limits.pass(59_999)
    assert.equal(limits.ask(BOB), 'too_many_requests')
    limits.pass(1)
    assert.equal(limits.ask(BOB), 'allowed')
  })

  it('does not concern other accounts', () => {
    const limits = setUp()
    attack(limits, 50)
    assert.equal(limits.ask({ ...BOB, name: 'eve' }), 'allowed')
  })

  it('does not concern a peer that proved the password before', () => {
    const limits = setUp()
    limits.countSuccess(BOB)
    attack(limits, 50)
    assert.equal(limits.ask(BOB), 'allowed')
  })

  const unknown: [string, Guess, ((limits: ReturnType<typeof setUp>) => void)?][] = [
    ['after a failure of that peer', BOB, (limits) => limits.countFailure(BOB)],
    ['after a change of the password', { ...BOB, version: 'v2' }],
    ['from another peer', { ...BOB, peer: '192.0.2.9' }],
    ['through another proxy', { ...BOB, directPeer: '127.0.0.1' }],
    ['a day later', BOB, (limits) => limits.pass(86_400_000)],
  ]
  for (const [when, guess, change] of unknown) {
    it(`concerns it again ${when}`, () => {
      const limits = setUp()
      limits.countSuccess(BOB)
      change?.(limits)
      attack(limits, 50)
      assert.equal(limits.ask(guess), 'too_many_requests')
    })
  }

  it('remembers at most 16 peers of one account', () => {
    const limits = setUp()
    for (let at = 0; at < 17; at += 1) limits.countSuccess(fromPeer(at))
    attack({ ...limits, countFailure: () => limits.countFailure({ ...BOB, peer: '203.0.113.1' }) }, 20)
    assert.equal(limits.ask(fromPeer(0)), 'too_many_requests')
    assert.equal(limits.ask(fromPeer(1)), 'allowed')
  })

  it('is off with 0', () => {
    const limits = setUp({ account: { burst: 0 } })
    attack(limits, 50)
    assert.equal(limits.ask(BOB), 'allowed')
  })
})

describe('limit per peer', () => {
  const attack = ({ countFailure }: ReturnType<typeof setUp>, times: number) => {
    for (let at = 0; at < times; at += 1) countFailure(ofName(at))
  }

  it('rejects after 100 failures for 100 names, and names the wait', () => {
    const limits = setUp()
    attack(limits, 99)
    assert.equal(limits.ask(BOB), 'allowed')
    attack(limits, 1)
    assert.throws(() => limits.requireAllowed(BOB), { code: 'too_many_requests', retryAfterSeconds: 6 })
    assert.equal(limits.ask({ ...BOB, peer: '192.0.2.2' }), 'allowed')
  })

  it('counts the direct peer in addition', () => {
    const limits = setUp()
    for (let at = 0; at < 100; at += 1)
      limits.countFailure({ ...ofName(at), peer: `10.0.0.${at}`, directPeer: '127.0.0.1' })
    assert.equal(limits.ask({ ...BOB, peer: '10.0.1.1', directPeer: '127.0.0.1' }), 'too_many_requests')
    assert.equal(limits.ask({ ...BOB, peer: '10.0.1.1' }), 'allowed')
    assert.equal(limits.ask({ ...BOB, peer: '127.0.0.1' }), 'too_many_requests')
  })

  it('counts a request without a forwarded address once', () => {
    const limits = setUp()
    for (let at = 0; at < 99; at += 1) limits.countFailure({ ...ofName(at), directPeer: BOB.peer })
    assert.equal(limits.ask(BOB), 'allowed')
  })

  it('does not count requests without a connection together', () => {
    const limits = setUp()
    for (let at = 0; at < 200; at += 1) limits.countFailure({ ...ofName(at), peer: '0.0.0.0' })
    assert.equal(limits.ask({ ...BOB, peer: '0.0.0.0' }), 'allowed')
  })

  it('takes a peer for clean again when its failures are forgiven', () => {
    const limits = setUp()
    assert.equal(limits.isClean(BOB), true)
    limits.fail(1)
    assert.equal(limits.isClean(BOB), false)
    assert.equal(limits.isClean({ ...BOB, peer: '10.0.0.1', directPeer: BOB.peer }), false)
    limits.pass(6000)
    assert.equal(limits.isClean(BOB), true)
  })
})

describe('reached limits', () => {
  const setUpReports = () => {
    const reports: unknown[] = []
    const limits = setUp({ account: { burst: 0 } }, { onReached: (reached) => void reports.push(reached) })
    return { limits, reports }
  }

  it('are reported once, when they start', () => {
    const { limits, reports } = setUpReports()
    limits.fail(4)
    assert.deepEqual(reports, [])
    limits.fail(1)
    for (let turn = 0; turn < 10; turn += 1) limits.ask(BOB)
    assert.deepEqual(reports, [{ limit: 'lockout', name: 'bob', seconds: 300 }])
  })

  it('are reported once when a lock ends, unless it was lifted', () => {
    const ended: unknown[] = []
    const limits = setUp({ account: { burst: 0 } }, { onReached: () => {}, onEnded: (lock) => void ended.push(lock) })
    limits.fail(5)
    limits.fail(5, fromPeer(1))
    limits.pass(299_000)
    limits.reportEnded()
    assert.deepEqual(ended, [])
    limits.pass(2000)
    limits.reportEnded()
    limits.reportEnded()
    assert.deepEqual(ended, [
      { name: 'bob', peer: '192.0.2.1' },
      { name: 'bob', peer: '198.51.100.1' },
    ])
    limits.fail(5)
    limits.lift({ name: 'bob', salt: 's1' })
    limits.pass(400_000)
    limits.reportEnded()
    assert.equal(ended.length, 2)
  })

  it('are reported without a name that no account has', () => {
    const { limits, reports } = setUpReports()
    const guess: Guess = { name: 'a password typed as the name', peer: BOB.peer, version: undefined }
    for (let turn = 0; turn < 5; turn += 1) limits.countFailure(guess)
    assert.deepEqual(reports, [{ limit: 'lockout', name: '(unknown name)', seconds: 300 }])
  })

  it('are reported once for a direct peer that claims many addresses', () => {
    const { limits, reports } = setUpReports()
    const claim = (at: number): Guess => ({
      name: `n${at}`,
      peer: `10.0.${at >> 8}.${at & 255}`,
      directPeer: '127.0.0.1',
    })
    for (let at = 0; at < 100; at += 1) limits.countFailure(claim(at))
    for (let at = 100; at < 1000; at += 1) assert.equal(limits.ask(claim(at)), 'too_many_requests')
    assert.deepEqual(reports, [{ limit: 'peer', seconds: 6 }])
  })
})

describe('memory of counters', () => {
  it('keeps the counters with most failures when made-up names fill it', () => {
    const limits = setUp({ maxCounters: 20, peer: { burst: 0 }, lock: { threshold: 3 } })
    limits.fail(3)
    const account = { ...BOB, name: 'eve' }
    for (let at = 0; at < 20; at += 1) limits.countFailure({ ...account, peer: `198.51.100.${at}` })
    for (let at = 0; at < 1000; at += 1) limits.countFailure({ ...ofName(at), peer: `10.0.${at % 250}.1` })
    assert.equal(limits.ask(BOB), 'account_locked')
    assert.equal(limits.ask(account), 'too_many_requests')
  })

  it('drops expired counters first', () => {
    const limits = setUp({ maxCounters: 2, lock: { threshold: 3 } })
    limits.fail(5, { ...BOB, name: 'old' })
    limits.pass(300_000)
    limits.fail(3)
    limits.fail(1, { ...BOB, name: 'new' })
    assert.equal(limits.ask(BOB), 'account_locked')
  })
})

describe('limits of one account', () => {
  it('are found with the number of locked addresses', () => {
    const limits = setUp()
    assert.equal(limits.findLimit(BOB), undefined)
    limits.fail(5)
    limits.fail(5, fromPeer(1))
    limits.fail(4, fromPeer(2))
    limits.fail(5, { ...BOB, name: 'eve' })
    assert.deepEqual(limits.findLimit(BOB), { lockedPeers: 2, peers: [BOB.peer, fromPeer(1).peer], ms: 300_000 })
    assert.equal(limits.findLimit({ name: 'bob', salt: 'of a new password' }), undefined)
  })

  it('are found if all addresses have to wait', () => {
    const limits = setUp()
    for (let at = 0; at < 20; at += 1) limits.countFailure(fromPeer(at))
    assert.deepEqual(limits.findLimit(BOB), { lockedPeers: 0, peers: [], ms: 60_000 })
  })

  it('can be lifted, and those of others stay', () => {
    const limits = setUp()
    limits.fail(5)
    for (let at = 0; at < 20; at += 1) limits.countFailure(fromPeer(at))
    limits.fail(5, { ...BOB, name: 'eve' })
    limits.lift(BOB)
    assert.deepEqual(
      [limits.ask(BOB), limits.ask(fromPeer(99)), limits.findLimit(BOB)],
      ['allowed', 'allowed', undefined],
    )
    assert.equal(limits.ask({ ...BOB, name: 'eve' }), 'account_locked')
    limits.fail(5)
    assert.equal(limits.ask(BOB), 'account_locked')
  })

  it('that are lifted on one node are lifted on the others, before later failures', () => {
    const [here, there] = [setUp(), setUp()]
    there.fail(5)
    here.addFailures(there.take(), 0)
    there.fail(1)
    there.lift(BOB)
    here.addFailures(there.take(), 0)
    assert.deepEqual([here.ask(BOB), here.findLimit(BOB)], ['allowed', undefined])
    there.fail(5)
    here.addFailures(there.take(), 0)
    assert.equal(here.ask(BOB), 'account_locked')
  })
})

describe('failures of another node', () => {
  it('lock and limit as own ones do', () => {
    const [here, there] = [setUp(), setUp()]
    there.fail(5)
    for (let at = 0; at < 15; at += 1) there.countFailure(fromPeer(at))
    here.addFailures(there.take(), 0)
    assert.equal(here.ask(BOB), 'account_locked')
    assert.equal(here.ask(fromPeer(99)), 'too_many_requests')
    assert.deepEqual([there.take(), here.take()], [[], []])
  })

  it('count from the time they happened', () => {
    const [here, there] = [setUp(), setUp()]
    for (let at = 0; at < 20; at += 1) there.countFailure(fromPeer(at))
    here.addFailures(there.take(), 60_000)
    assert.equal(here.ask(fromPeer(99)), 'allowed')
  })

  it('of an unknown counter are ignored', () => {
    const here = setUp()
    const failures = [{ counter: 'later', key: 'k', count: 1 }] as unknown as Parameters<typeof here.addFailures>[0]
    assert.doesNotThrow(() => here.addFailures(failures, 1))
  })

  it('that could not be shared wait, in bounded memory', () => {
    const here = setUp()
    for (let at = 0; at < 12_000; at += 1) here.countFailure({ peer: '0.0.0.0', name: `n${at}` })
    const batch = here.take()
    assert.equal(batch.length, 1000)
    here.putBack(batch)
    let taken = 0
    for (let next = here.take(); next.length > 0; next = here.take()) taken += next.length
    assert.equal(taken, 10_000)
  })
})

it('sign-ups are allowed again an hour after the first, and one that fails is taken back', async () => {
  const { signUp, pass, take } = setUp({ signUps: { perPeer: 2 } })
  const client = { peer: '192.0.2.1' }
  const create = async () => 'created'
  const fail = () => Promise.reject(new Refusal('conflict'))
  await signUp(client, create)
  pass(1_800_000)
  await assert.rejects(signUp(client, fail), { code: 'conflict' })
  await signUp(client, create)
  await assert.rejects(signUp(client, create), { code: 'too_many_sign_ups', retryAfterSeconds: 1800 })
  assert.deepEqual(take(), [
    { counter: 'sign-up', key: '192.0.2.1', count: 2 },
    { counter: 'all-sign-ups', key: 'all', count: 2 },
  ])
  pass(1_800_000)
  assert.equal(await signUp(client, create), 'created')
})

it('a sign-up that fails after the hour gives no additional one', async () => {
  const { signUp, pass } = setUp({ signUps: { perPeer: 1 } })
  const late = async () => {
    pass(3_600_000)
    throw new Refusal('conflict')
  }
  await assert.rejects(signUp({ peer: '192.0.2.1' }, late))
  await signUp({ peer: '192.0.2.1' }, async () => {})
  await assert.rejects(
    signUp({ peer: '192.0.2.1' }, async () => {}),
    { code: 'too_many_sign_ups' },
  )
})
