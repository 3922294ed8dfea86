import { median } from '../figures.mjs'

export const renderNumber = (value) =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 1000 ? 1 : 0 })

/**
 * So many rounds of every contestant, in turn, so that what else the machine does falls on all alike. Gives the median
 * of each.
 */
export async function contest(contestants, rounds) {
  const results = contestants.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of contestants.entries()) results[index].push(await run())
  }
  return results.map(median)
}

/** How often something can be done in a second, tried for so long. `work` does it `batch` times. */
export async function countPerSecond(work, { ms, batch }) {
  const startMs = performance.now()
  let done = 0
  do {
    await work(batch)
    done += batch
  } while (performance.now() - startMs < ms)
  return (done * 1000) / (performance.now() - startMs)
}
