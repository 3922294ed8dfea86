import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Lanes, type Waiting } from '../../src/base/lanes.ts'

interface Job extends Waiting {
  readonly name: string
}

/** `a1` is the first job of lane `a`; an upper-case lane has failed recently. */
const toJob = (name: string, sinceMs = 0): Job => ({
  name,
  lane: name[0] ?? '',
  sinceMs,
  isPreferred: () => name[0] === name[0]?.toLowerCase(),
})

function fill(names: string) {
  const lanes = new Lanes<Job>()
  for (const name of names.split(' ')) lanes.add(toJob(name))
  const serve = (nowMs = 0) => {
    const order: string[] = []
    for (let job = lanes.next(nowMs); job; job = lanes.next(nowMs)) order.push(job.name)
    return order.join(' ')
  }
  return { lanes, serve }
}

const orders: readonly (readonly [string, string, string])[] = [
  ['one lane in the order of arrival', 'a1 a2 a3', 'a1 a2 a3'],
  ['lanes in turn', 'a1 a2 a3 b1 c1 c2', 'a1 b1 c1 a2 c2 a3'],
  ['lanes without a failure first', 'A1 A2 b1 b2 c1', 'b1 c1 b2 A1 A2'],
  ['one of eight from lanes with a failure', 'A1 A2 b1 b2 b3 b4 b5 b6 b7 b8 b9', 'b1 b2 b3 b4 b5 b6 b7 A1 b8 b9 A2'],
]

describe('lanes of waiting jobs', () => {
  for (const [what, names, expected] of orders) {
    it(`serve ${what}`, () => assert.equal(fill(names).serve(), expected))
  }

  it('serve the newest lane in every other turn while others wait too long', () => {
    assert.equal(fill('a1 b1 c1 d1 e1').serve(501), 'e1 a1 d1 b1 c1')
  })

  it('serve a new lane before lanes that wait too long', () => {
    const { lanes } = fill('a1 b1 c1 d1 e1 f1')
    lanes.next(501)
    lanes.next(501)
    lanes.add(toJob('z1', 501))
    assert.equal(lanes.next(502)?.name, 'z1')
  })

  it('remove a job that is deleted', () => {
    const lanes = new Lanes<Job>()
    const [first, second] = [toJob('a1'), toJob('a2')]
    for (const job of [first, second, toJob('b1')]) lanes.add(job)
    lanes.delete(first)
    lanes.delete(first)
    assert.equal(lanes.size(), 2)
    assert.deepEqual([lanes.next(0)?.name, lanes.next(0)?.name, lanes.next(0)], ['a2', 'b1', undefined])
  })

  const displacements: readonly (readonly [string, string, string, string | undefined])[] = [
    ['the last job of the longest lane', 'a1 a2 b1 b2 b3', 'c1', 'b3'],
    ['the longest lane with a failure, even if others are longer', 'a1 a2 a3 B1 B2', 'c1', 'B2'],
    ['a single job with a failure for one without', 'a1 B1', 'c1', 'B1'],
    ['nothing for a lane of equal length', 'a1 b1', 'c1', undefined],
    ['nothing for a lane that would be the longest', 'a1 a2 b1', 'a3', undefined],
    ['nothing without a failure for one with', 'a1 a2 a3', 'B1', undefined],
    ['nothing when nothing waits', 'a1', 'b1', undefined],
  ]
  for (const [what, names, newcomer, expected] of displacements) {
    it(`displace ${what}`, () => {
      const { lanes } = fill(names)
      assert.equal(lanes.displaceFor(toJob(newcomer))?.name, expected)
      assert.equal(lanes.size(), names.split(' ').length - (expected === undefined ? 0 : 1))
    })
  }
})
