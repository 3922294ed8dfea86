import { median } from '../figures.ts'

export const renderNumber = (value) =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 1000 ? 1 : 0 })

/** Runs all contestants in turn, so that other load of the machine affects all of them. Returns the median of each. */
export async function contest(contestants, rounds) {
  const results = contestants.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, run] of contestants.entries()) results[index].push(await run())
  }
  return results.map(median)
}

/** Repeats `work`, which does `batch` operations, for `ms` milliseconds. Returns the operations per second. */
export async function countPerSecond(work, { ms, batch }) {
  const startMs = performance.now()
  let done = 0
  do {
    await work(batch)
    done += batch
  } while (performance.now() - startMs < ms)
  return (done * 1000) / (performance.now() - startMs)
}
