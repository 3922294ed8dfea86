import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRunningLimit } from '../../../src/modules/providers/connections.ts'
import { isRefused } from '../../support/directory.ts'

const [STRANGER, ATTACKER] = [{ peer: '192.0.2.1' }, { peer: '192.0.2.66' }]

describe('responses of a provider that are checked with it', () => {
  it('run 64 at a time, and clients take turns for the next place', async () => {
    const limit = createRunningLimit()
    await assert.rejects(limit('one', ATTACKER, () => Promise.reject(new Error('no'))))
    const { promise: held, resolve } = Promise.withResolvers<void>()
    const ended: string[] = []
    const note = async (name: string) => void ended.push(name)
    const running = Array.from({ length: 64 }, () => limit('one', ATTACKER, () => held))
    const waiting = Array.from({ length: 100 }, () => limit('one', ATTACKER, () => note('attacker')))
    const late = limit('one', STRANGER, () => note('stranger'))
    assert.equal(await limit('two', ATTACKER, async () => 'another provider'), 'another provider')
    assert.equal(ended.length, 0)
    resolve()
    await Promise.all([...running, ...waiting, late])
    assert.ok(ended.indexOf('stranger') < 3, `the stranger was number ${ended.indexOf('stranger')}`)
  })

  it('displace those of the client with most of them when too many wait', async () => {
    const limit = createRunningLimit()
    const { promise: held, resolve } = Promise.withResolvers<void>()
    const open = () => limit('one', ATTACKER, () => held)
    const attack = Array.from({ length: 1000 }, () => open().then(() => 'done', isRefused('overloaded')))
    // another address of the same network is the same client
    const sameNetwork = ['2001:db8::1', '2001:db8::2'].map((peer) => limit('one', { peer }, async () => 'done'))
    const late = limit('one', STRANGER, async () => 'done')
    resolve()
    assert.deepEqual(await Promise.all([late, ...sameNetwork]), ['done', 'done', 'done'])
    const outcomes = await Promise.all(attack)
    assert.deepEqual(new Set(outcomes), new Set(['done', true]))
  })

  it('of one client get no more places at several workers than at one', async () => {
    const { promise: held, resolve } = Promise.withResolvers<void>()
    let running = 0
    const workers = [createRunningLimit(2), createRunningLimit(2)]
    const hold = () => {
      running += 1
      return held
    }
    const all = workers.flatMap((limit) => Array.from({ length: 64 }, () => limit('one', ATTACKER, hold)))
    assert.equal(running, 64)
    resolve()
    await Promise.all(all)
  })

  it('wait no longer than their client', async () => {
    const limit = createRunningLimit()
    const { promise: held, resolve } = Promise.withResolvers<void>()
    const running = Array.from({ length: 64 }, () => limit('one', ATTACKER, () => held))
    const gone = limit('one', { ...STRANGER, signal: AbortSignal.abort(new Error('gone')) }, async () => 'never')
    await assert.rejects(gone, /gone/)
    resolve()
    await Promise.all(running)
  })
})
