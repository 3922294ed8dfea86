import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBalancer } from '../../src/gateway/balancer.ts'

function createPair() {
  let nowMs = 1000
  const balancer = createBalancer(
    [
      ['http://a', 'a'],
      ['http://b', 'b'],
    ],
    { nowMs: () => nowMs },
  )
  const [a, b] = balancer.servers
  assert.ok(a && b)
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { balancer, a, b, wait }
}

const NONE = new Set<never>()

test('the fewest under way is chosen, equals in turn', () => {
  const { balancer, a, b } = createPair()
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE), balancer.choose(NONE)], [a, b, a])
  a.open = 2
  b.open = 1
  assert.equal(balancer.choose(NONE), b)
})

test('who was tried is not chosen again', () => {
  const { balancer, a, b } = createPair()
  assert.equal(balancer.choose(new Set([a])), b)
  assert.equal(balancer.choose(new Set([a, b])), undefined)
})

test('who refused rests, the longer the more often, and at most five seconds', () => {
  const { balancer, a, b, wait } = createPair()
  balancer.markDown(a)
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE)], [b, b])
  wait(250)
  assert.equal(balancer.choose(NONE), a)
  const rests: number[] = []
  for (let i = 0; i < 8; i += 1) {
    balancer.markDown(a)
    const before = a.downUntilMs
    wait(0)
    rests.push(before)
    wait(10_000)
  }
  const longest = rests.map((until, at) => until - (1250 + at * 10_000))
  assert.deepEqual(longest, [500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
})

test('who is slow is asked after all others, and never refused', () => {
  const { balancer, a, b, wait } = createPair()
  balancer.deprioritize(a)
  b.open = 9
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE)], [b, b])
  balancer.deprioritize(b)
  a.open = 10
  assert.deepEqual([balancer.choose(NONE), balancer.choose(new Set([b]))], [b, a])
  balancer.markDown(b)
  assert.equal(balancer.choose(NONE), a)
  wait(250)
  assert.equal(a.deprioritizedUntilMs, 1250)
  balancer.deprioritize(a)
  assert.equal(a.deprioritizedUntilMs, 1750)
  balancer.markUp(a)
  assert.deepEqual([a.deprioritizedUntilMs, a.failures], [0, 0])
})

test('a connection that breaks without an answer is doubted from the second in a row on', () => {
  const { balancer, a, b } = createPair()
  balancer.suspect(a)
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE)], [a, b])
  balancer.markUp(a)
  balancer.suspect(a)
  assert.equal(balancer.choose(NONE), a)
  balancer.suspect(a)
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE)], [b, b])
  assert.equal(a.downUntilMs, 0)
})

test('many failures at once count as one', () => {
  const { balancer, a } = createPair()
  for (let i = 0; i < 10; i += 1) balancer.markDown(a)
  assert.equal(a.failures, 1)
})

test('an answer ends the rest', () => {
  const { balancer, a, b } = createPair()
  balancer.markDown(a)
  balancer.markDown(b)
  a.open = 1
  b.open = 1
  assert.equal(balancer.choose(NONE), undefined)
  assert.equal(balancer.createRefusal().retryAfterSeconds, 1)
  balancer.markUp(b)
  assert.equal(balancer.choose(NONE), b)
})

test('where all rest the one due soonest is tried, by one request at a time', () => {
  const { balancer, a, b, wait } = createPair()
  balancer.markDown(b)
  wait(10)
  balancer.markDown(a)
  assert.equal(balancer.choose(NONE), b)
  b.open = 1
  assert.equal(balancer.choose(NONE), a)
  a.open = 1
  assert.equal(balancer.choose(NONE), undefined)
  b.open = 0
  assert.equal(balancer.choose(new Set([b])), undefined)
  assert.equal(balancer.choose(NONE), b)
})
