// Two processes that write to one SQLite file beside one that does so alone.
// Sizes: milliseconds of each round, writes at the same time in each process.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { median, milliseconds } from './figures.ts'
import { withFolder } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'

const GOALS = { delayMs: 10, share: 0.4, rate: 0.7 }

interface Written {
  readonly written: number
  readonly delayMs: number
}

const start = (args: readonly string[]) => fork(join(import.meta.dirname, 'support/writer.ts'), args)

/** What each of `count` processes has written to the same file. */
export const runWriters = (count: number, ms: number, lanes: number): Promise<readonly Written[]> =>
  withFolder(async (folder) => {
    const children = Array.from({ length: count }, () => start([join(folder, 'store.db'), String(ms), String(lanes)]))
    const read = async (child: ChildProcess) => (await once(child, 'message'))[0]
    await Promise.all(children.map(read))
    const results = children.map(read)
    const ends = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send('write')
    const written = await Promise.all(results)
    await Promise.all(ends)
    return written
  })

const sumOf = (writers: readonly Written[]) => writers.reduce((sum, { written }) => sum + written, 0)

const summarize = (rounds: readonly (readonly Written[])[], ms: number) => ({
  perSecond: median(rounds.map((writers) => (sumOf(writers) * 1000) / ms)),
  delayMs: median(rounds.map((writers) => Math.max(...writers.map(({ delayMs }) => delayMs)))),
  share: median(rounds.map((writers) => Math.min(...writers.map(({ written }) => written)) / sumOf(writers))),
})

const toRow = (name: string, { perSecond, delayMs, share }: ReturnType<typeof summarize>) => [
  name,
  renderNumber(perSecond),
  milliseconds(delayMs),
  `${(share * 100).toFixed(0)} %`,
]

export const bench = {
  title: 'Two processes that write to one SQLite file',
  about:
    'Transactions in a second, in alternating rounds: of one process, and of two together. The delay is the 99th ' +
    'percentile of the event loop, of the slower process. The share is what the slower one has written. Every commit ' +
    'reaches the disk, and the lock goes from one process to the other. ' +
    `Goals: two write at least ${GOALS.rate} times as much as one, at most ${GOALS.delayMs} ms more delay, a share of ` +
    `at least ${GOALS.share * 100} %.`,
  runs: 5,
  async run(runs, [ms = 3000, lanes = 4]: readonly number[] = []) {
    const rounds: { readonly one: readonly Written[]; readonly two: readonly Written[] }[] = []
    for (let round = 0; round < runs; round += 1)
      rounds.push({ one: await runWriters(1, ms, lanes), two: await runWriters(2, ms, lanes) })
    const one = summarize(
      rounds.map((round) => round.one),
      ms,
    )
    const two = summarize(
      rounds.map((round) => round.two),
      ms,
    )
    return {
      columns: ['', 'writes in a second', 'delay', 'least share'],
      rows: [toRow('one process', one), toRow('two processes', two)],
      isGoalMet:
        two.perSecond >= GOALS.rate * one.perSecond &&
        two.delayMs <= one.delayMs + GOALS.delayMs &&
        two.share >= GOALS.share,
    }
  },
}
