import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { it } from 'node:test'

const FOLDER = new URL('../../bench/', import.meta.url)

const load = (name: string) => import(new URL(name, FOLDER).href)

it('every bench has a title, a description and a number of runs', async () => {
  const files = readdirSync(FOLDER).filter((each) => each.endsWith('.ts'))
  const benches = files.filter((name) => /^export const bench\b/m.test(readFileSync(new URL(name, FOLDER), 'utf8')))
  assert.ok(benches.length > 0)
  for (const name of benches) {
    const { bench } = await load(name)
    assert.equal(typeof bench?.run, 'function', name)
    assert.ok(bench.runs > 0 && bench.title && bench.about, name)
  }
})

const MEDIANS: readonly [numbers: number[], median: number][] = [
  [[3], 3],
  [[10, 9, 1], 9],
  [[4, 1, 3, 2], 2.5],
]

it('median returns the middle value', async () => {
  const { median } = await load('figures.ts')
  for (const [numbers, expected] of MEDIANS) assert.equal(median(numbers), expected)
})
