import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Balancer, type Connections } from '../../src/gateway/connections.ts'

// the balancer never uses them
const CONNECTIONS = {} as Connections

function createPair() {
  let nowMs = 1000
  const balancer = new Balancer(
    [
      ['http://a', CONNECTIONS],
      ['http://b', CONNECTIONS],
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

const NONE: readonly never[] = []

test('chooses the server with the fewest requests, equals in turn', () => {
  const { balancer, a, b } = createPair()
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE), balancer.choose(NONE)], [a, b, a])
  a.open = 2
  b.open = 1
  assert.equal(balancer.choose(NONE), b)
})

test('does not choose a server that was tried', () => {
  const { balancer, a, b } = createPair()
  assert.equal(balancer.choose([a]), b)
  assert.equal(balancer.choose([a, b]), undefined)
})

test('skips a server that is down, longer with each failure, at most five seconds', () => {
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

test('uses a deprioritized server after all others, but never skips it', () => {
  const { balancer, a, b, wait } = createPair()
  balancer.deprioritize(a)
  b.open = 9
  assert.deepEqual([balancer.choose(NONE), balancer.choose(NONE)], [b, b])
  balancer.deprioritize(b)
  a.open = 10
  assert.deepEqual([balancer.choose(NONE), balancer.choose([b])], [b, a])
  balancer.markDown(b)
  assert.equal(balancer.choose(NONE), a)
  wait(250)
  assert.equal(a.deprioritizedUntilMs, 1250)
  balancer.deprioritize(a)
  assert.equal(a.deprioritizedUntilMs, 1750)
  balancer.markUp(a)
  assert.deepEqual([a.deprioritizedUntilMs, a.failures], [0, 0])
})

test('deprioritizes a server from the second broken connection in a row', () => {
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

test('counts simultaneous failures as one', () => {
  const { balancer, a } = createPair()
  for (let i = 0; i < 10; i += 1) balancer.markDown(a)
  assert.equal(a.failures, 1)
})

test('a response marks a server up', () => {
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

test('if all servers are down, tries the one due first with one request at a time', () => {
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
  assert.equal(balancer.choose([b]), undefined)
  assert.equal(balancer.choose(NONE), b)
})
