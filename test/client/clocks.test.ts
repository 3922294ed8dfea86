// A session lasts as long as time passes, whatever the clock of the device says.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Credential, LiveSession } from '../../client/src/credential.ts'
import { SessionKeeper } from '../../client/src/session-keeper.ts'

const SLIDING_MS = 600_000
const HOUR_MS = 3_600_000

/** A client that has just signed in, with a request that is open. */
function open(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let [wallMs, steadyMs] = [Date.now(), performance.now()]
  t.mock.method(Date, 'now', () => wallMs)
  t.mock.method(performance, 'now', () => steadyMs)
  const toLive = (): LiveSession => ({
    session: { name: 'ada', roles: [] },
    expiresAt: wallMs + SLIDING_MS,
    slidingMs: SLIDING_MS,
  })
  const unused = () => assert.fail('not expected in this test')
  const state = { renewals: 0, isLive: true }
  const credential: Credential = {
    ...{ send: unused, signIn: unused, accept: unused, signOut: unused, findCached: unused },
    renew: async () => {
      state.renewals += 1
      return state.isLive ? toLive() : null
    },
    isDue: () => false,
    hasExpired: () => false,
  }
  const keeper = new SessionKeeper('http://clocks.example/', credential, false)
  t.after(() => keeper.close())
  const log: string[] = []
  keeper.onChange((change) => log.push(change))
  keeper.signedIn(toLive())
  return {
    keeper,
    log,
    state,
    request: keeper.begin(),
    pass(ms: number): void {
      wallMs += ms
      steadyMs += ms
      t.mock.timers.tick(ms)
    },
    setClock(ms: number): void {
      wallMs += ms
    },
  }
}

test('a clock that is set back postpones no renewal', async (t) => {
  const { request, state, pass, setClock } = open(t)
  pass(100_000)
  request.accepted()
  setClock(-HOUR_MS)
  for (let i = 0; i < 11; i += 1) pass(50_000)
  await setImmediate()
  assert.ok(state.renewals > 0)
})

test('a session that ended in its time has expired, whatever the clock says', async (t) => {
  const { keeper, log, state, pass, setClock } = open(t)
  setClock(-HOUR_MS)
  state.isLive = false
  pass(SLIDING_MS)
  await keeper.check()
  assert.deepEqual(log, ['signed_in', 'expired'])
})

test('a session expires while the device sleeps, when no timer runs and only the wall clock goes on', async (t) => {
  const { keeper, log, state, setClock } = open(t)
  setClock(SLIDING_MS)
  state.isLive = false
  await keeper.check()
  assert.deepEqual(log, ['signed_in', 'expired'])
})

test('a session that ends before its time was revoked', async (t) => {
  const { keeper, log, state, pass } = open(t)
  pass(100_000)
  state.isLive = false
  await keeper.check()
  assert.deepEqual(log, ['signed_in', 'revoked'])
})
