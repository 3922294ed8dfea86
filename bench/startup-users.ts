// Start with a store of many users, compared with an empty store. Sizes: users.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { milliseconds, ratio } from './figures.ts'
import { startServer } from './support/child.ts'
import { withFolder, writeConfig } from './support/folder.ts'
import { contest, renderNumber } from './support/measure.ts'
import { fillStore } from './support/users.ts'

/** How much the same start differs from run to run. */
const NOISE = 1.1

/** Time from the start of the process until both doors have responded. */
async function timeStart(folder) {
  const startMs = performance.now()
  const server = await startServer(folder)
  const urls = [`${server.document}/_up`, `${server.multiModel}/_api/version`]
  await Promise.all(urls.map((url) => fetch(url, { headers: { connection: 'close' } })))
  const ms = performance.now() - startMs
  await server.stop()
  return ms
}

async function prepare(folder, count) {
  mkdirSync(folder)
  writeConfig(folder, 1)
  await fillStore(`sqlite:${join(folder, 'cardea.db')}`, count)
  // the first start writes files and records that later ones only read
  await timeStart(folder)
}

export const bench = {
  title: 'Start with many users',
  about: `As the start above, over stores of different size. Goal: no slower than without users, within noise (${ratio(NOISE)}).`,
  runs: 15,
  run: (runs, [users = 1_000_000] = []) =>
    withFolder(async (folder) => {
      const places = [0, users].map((count) => ({ count, path: join(folder, String(count)) }))
      for (const { count, path } of places) await prepare(path, count)
      const times = await contest(
        places.map(
          ({ path }) =>
            () =>
              timeStart(path),
        ),
        runs,
      )
      return {
        columns: ['users', 'median', 'of none'],
        rows: places.map(({ count }, index) => [
          renderNumber(count),
          milliseconds(times[index]),
          ratio(times[index] / times[0]),
        ]),
        isGoalMet: times[1] / times[0] <= NOISE,
      }
    }),
}
