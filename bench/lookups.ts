// Lookups of a working set of names in directories of different size. Sizes: milliseconds of a turn, users of each
// directory.
import { join } from 'node:path'
import { SYSTEM_CLOCK } from '../src/base/clock.ts'
import { openTestNode } from '../test/support/directory.ts'
import { ratio } from './figures.ts'
import { withFolder } from './support/folder.ts'
import { contest, countPerSecond, renderNumber } from './support/measure.ts'
import { fillStore, nameOf } from './support/users.ts'

const TURN_MS = 300
const SIZES = [10_000, 100_000, 1_000_000]
const WORKING_SET = 10_000
const LEAST_SHARE = 0.8

/** A directory of `size` users, and the names to look up, spread over all of it. */
async function open(folder, size, clean) {
  const url = `sqlite:${join(folder, `${size}.db`)}`
  await fillStore(url, size)
  const scope = { after: (work) => clean.push(work) }
  const { directory } = await openTestNode(scope, {
    url,
    clock: SYSTEM_CLOCK,
    settings: { chttpd_auth: { auth_cache_size: WORKING_SET } },
  })
  const count = Math.min(WORKING_SET, ...SIZES, size)
  const names = Array.from({ length: count }, (_, index) => nameOf(Math.floor((index * size) / count)))
  return { size, directory, names: shuffle(names) }
}

/** With a fixed seed, so that the order is always the same. */
function shuffle(list) {
  let seed = 1
  for (let last = list.length - 1; last > 0; last -= 1) {
    seed = (seed * 48_271) % 2_147_483_647
    const other = seed % (last + 1)
    ;[list[last], list[other]] = [list[other], list[last]]
  }
  return list
}

/** Lookups per second in each directory. */
async function compare(directories, look, rounds, ms) {
  const contestants = directories.map(({ directory, names }) => {
    let at = 0
    const work = async (batch) => {
      for (let done = 0; done < batch; done += 1) {
        at = (at + 1) % names.length
        if (!(await look(directory, names[at]))) throw new Error(`${names[at]} was not found`)
      }
    }
    return () => countPerSecond(work, { ms, batch: names.length })
  })
  // warm-up: fills the caches with all names
  for (const measure of contestants) await measure()
  return contest(contestants, rounds)
}

export const bench = {
  title: 'Lookups',
  about:
    `Finding accounts by name, as a sign-in does, with ${renderNumber(WORKING_SET)} names in turn; and reading the same names\n` +
    `from the store each time. Goal: the largest directory has at least ${LEAST_SHARE} of the speed of the smallest.`,
  runs: 7,
  run: (runs, [ms, ...sizes] = [TURN_MS, ...SIZES]) =>
    withFolder(async (folder) => {
      const clean: (() => unknown)[] = []
      try {
        const directories: Awaited<ReturnType<typeof open>>[] = []
        for (const size of sizes) directories.push(await open(folder, size, clean))
        const accounts = await compare(directories, (directory, name) => directory.findAccount(name), runs, ms)
        const stored = await compare(directories, (directory, name) => directory.findUser(name), runs, ms)
        return {
          columns: ['users', 'accounts a second', 'of the smallest', 'from the store a second', 'of the smallest'],
          rows: directories.map(({ size }, index) => [
            renderNumber(size),
            ...[accounts, stored].flatMap((rates) => [renderNumber(rates[index]), ratio(rates[index] / rates[0])]),
          ]),
          isGoalMet: [accounts, stored].every((rates) => rates.at(-1) / rates[0] >= LEAST_SHARE),
        }
      } finally {
        for (const work of clean) await work()
      }
    }),
}
