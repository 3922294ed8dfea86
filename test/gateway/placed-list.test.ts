import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PlacedList } from '../../src/gateway/placed-list.ts'

const create = () => ({ place: -1 })

test('a list holds what was added and not removed, in whatever order', () => {
  const steps = fc.array(fc.record({ isAdded: fc.boolean(), at: fc.nat(50) }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (list) => {
      const placed = new PlacedList<{ place: number }>()
      const expected = new Set<{ place: number }>()
      for (const { isAdded, at } of list) {
        const item = isAdded ? create() : [...expected][at % Math.max(expected.size, 1)]
        if (item === undefined) continue
        if (isAdded) placed.add(item)
        else assert.ok(placed.remove(item))
        if (isAdded) expected.add(item)
        else expected.delete(item)
      }
      assert.deepEqual(new Set(placed.list()), expected)
      assert.equal(placed.size, expected.size)
    }),
  )
})

test('what stands nowhere, or in another list, is not removed', () => {
  const [one, other] = [new PlacedList<{ place: number }>(), new PlacedList<{ place: number }>()]
  const [mine, theirs] = [create(), create()]
  one.add(mine)
  other.add(theirs)
  assert.equal(one.remove(theirs), false)
  assert.equal(one.remove(create()), false)
  assert.ok(one.remove(mine))
  assert.equal(one.remove(mine), false)
  assert.deepEqual([one.size, other.size], [0, 1])
})
