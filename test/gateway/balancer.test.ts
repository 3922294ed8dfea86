import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBalancer } from '../../src/gateway/balancer.ts'

function createPair() {
  let nowMs = 1000
  const group = createBalancer(
    [
      ['http://a', 'a'],
      ['http://b', 'b'],
    ],
    { nowMs: () => nowMs },
  )
  const [a, b] = group.members
  assert.ok(a && b)
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { group, a, b, wait }
}

const NONE = new Set<never>()

test('the fewest under way is chosen, equals in turn', () => {
  const { group, a, b } = createPair()
  assert.deepEqual([group.choose(NONE), group.choose(NONE), group.choose(NONE)], [a, b, a])
  a.open = 2
  b.open = 1
  assert.equal(group.choose(NONE), b)
})

test('who was tried is not chosen again', () => {
  const { group, a, b } = createPair()
  assert.equal(group.choose(new Set([a])), b)
  assert.equal(group.choose(new Set([a, b])), undefined)
})

test('who refused rests, the longer the more often, and at most five seconds', () => {
  const { group, a, b, wait } = createPair()
  group.rest(a)
  assert.deepEqual([group.choose(NONE), group.choose(NONE)], [b, b])
  wait(250)
  assert.equal(group.choose(NONE), a)
  const rests: number[] = []
  for (let i = 0; i < 8; i += 1) {
    group.rest(a)
    const before = a.restsUntilMs
    wait(0)
    rests.push(before)
    wait(10_000)
  }
  const longest = rests.map((until, at) => until - (1250 + at * 10_000))
  assert.deepEqual(longest, [500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
})

test('who is slow is asked after all others, and never refused', () => {
  const { group, a, b, wait } = createPair()
  group.avoid(a)
  b.open = 9
  assert.deepEqual([group.choose(NONE), group.choose(NONE)], [b, b])
  group.avoid(b)
  a.open = 10
  assert.deepEqual([group.choose(NONE), group.choose(new Set([b]))], [b, a])
  group.rest(b)
  assert.equal(group.choose(NONE), a)
  wait(250)
  assert.equal(a.avoidedUntilMs, 1250)
  group.avoid(a)
  assert.equal(a.avoidedUntilMs, 1750)
  group.revive(a)
  assert.deepEqual([a.avoidedUntilMs, a.failures], [0, 0])
})

test('a connection that breaks without an answer is doubted from the second in a row on', () => {
  const { group, a, b } = createPair()
  group.doubt(a)
  assert.deepEqual([group.choose(NONE), group.choose(NONE)], [a, b])
  group.revive(a)
  group.doubt(a)
  assert.equal(group.choose(NONE), a)
  group.doubt(a)
  assert.deepEqual([group.choose(NONE), group.choose(NONE)], [b, b])
  assert.equal(a.restsUntilMs, 0)
})

test('many failures at once count as one', () => {
  const { group, a } = createPair()
  for (let i = 0; i < 10; i += 1) group.rest(a)
  assert.equal(a.failures, 1)
})

test('an answer ends the rest', () => {
  const { group, a, b } = createPair()
  group.rest(a)
  group.rest(b)
  a.open = 1
  b.open = 1
  assert.equal(group.choose(NONE), undefined)
  assert.equal(group.refuse().retryAfterSeconds, 1)
  group.revive(b)
  assert.equal(group.choose(NONE), b)
})

test('where all rest the one due soonest is tried, by one request at a time', () => {
  const { group, a, b, wait } = createPair()
  group.rest(b)
  wait(10)
  group.rest(a)
  assert.equal(group.choose(NONE), b)
  b.open = 1
  assert.equal(group.choose(NONE), a)
  a.open = 1
  assert.equal(group.choose(NONE), undefined)
  b.open = 0
  assert.equal(group.choose(new Set([b])), undefined)
  assert.equal(group.choose(NONE), b)
})
