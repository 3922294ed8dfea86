import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findTop, toCount, toMilliseconds, toShort } from '../../console/src/numbers.ts'
import { toExact, toMoment, toRelative, toTick } from '../../console/src/times.ts'

const VALUES = [
  0, 0.04, 0.5, 7, 12.34, 999, 999.9, 1000, 1234, 12_345.6, 99_949, 950_000, 999_940, 1_000_000, 2_500_000_000,
]

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const FULL = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

describe('numbers of the console', () => {
  it('are written as English readers expect', () => {
    for (const value of VALUES) assert.equal(toCount(value), FULL.format(value))
  })

  it('are shortened with the usual units', () => {
    for (const value of [...VALUES, 999.96, 999_960]) assert.equal(toShort(value), SHORT.format(value))
  })

  it('of an axis reach the highest value, however far above the others it is', () => {
    const usual = Array.from({ length: 40 }, (_, at) => 10 + (at % 5))
    assert.equal(Math.round(findTop([])), 1)
    assert.equal(Math.round(findTop(usual)), Math.round(14 * 1.1))
    assert.equal(Math.round(findTop([...usual, 10_000])), 11_000)
    assert.equal(Math.round(findTop([0, 0, 0, 50])), 55)
  })

  it('of milliseconds have the unit that fits', () => {
    const rows = { '0 ms': 0, '4.2 ms': 4.23, '350 ms': 350.4, '1.5 s': 1500, '10 s': 10_000, '3 min': 180_000 }
    for (const [text, value] of Object.entries(rows)) assert.equal(toMilliseconds(value), text)
  })
})

const MINUTE = 60
const DAY = 86_400
const DISTANCES: Readonly<Record<string, number>> = {
  'just now': -59,
  '1 min. ago': -MINUTE,
  '59 min. ago': -60 * MINUTE + 1,
  'in 2 hr.': 120 * MINUTE,
  '1 day ago': -DAY,
  '8 days ago': -8 * DAY - MINUTE,
  'in 3 mo.': 90 * DAY,
  '2 yr. ago': -740 * DAY,
}

describe('times of the console', () => {
  it('are written as English readers expect, in every month', () => {
    const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
    const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
    for (let month = 0; month < 12; month += 1) {
      const date = new Date(2026, month, 3 + month, month, 4, 5)
      assert.equal(toExact(date), exact.format(date))
      assert.equal(toMoment(date.getTime() / 1000), exact.format(date).replace(' 2026', '').slice(0, -':05'.length))
      assert.equal(toTick(new Date(2026, month, 9).getTime() / 1000), day.format(new Date(2026, month, 9)))
    }
  })

  it('are said by their distance from now', () => {
    for (const [text, distance] of Object.entries(DISTANCES)) assert.equal(toRelative(5e8 + distance, 5e8), text)
  })
})
