import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { it } from 'node:test'

const FOLDER = new URL('../../scripts/bench/', import.meta.url)

const load = (name: string) => import(new URL(name, FOLDER).href)

it('every file of scripts/bench is a bench, a yardstick or the figures', async () => {
  for (const name of readdirSync(FOLDER).filter((each) => each.endsWith('.mjs'))) {
    if (name.startsWith('baseline-') || name === 'figures.mjs') continue
    const { bench } = await load(name)
    assert.equal(typeof bench?.run, 'function', name)
    assert.ok(bench.runs > 1 && bench.title && bench.about, name)
  }
})

const MEDIANS: readonly [numbers: number[], median: number][] = [
  [[3], 3],
  [[10, 9, 1], 9],
  [[4, 1, 3, 2], 2.5],
]

it('the median is the middle', async () => {
  const { median } = await load('figures.mjs')
  for (const [numbers, expected] of MEDIANS) assert.equal(median(numbers), expected)
})
