// Resident memory with users that stay in CouchDB, compared with users of Cardea's own. Sizes: users, seconds of requests.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ratio } from './figures.ts'
import { startServer } from './support/child.ts'
import { withFolder } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'
import { openDatabase, prepareRequests, type Server, startFilled, startOwn } from './users-in-couchdb.ts'

const MAX_MORE_MIB = 100

/** After sign-ins and requests with a cookie. */
async function measureServed(server: Server, seconds: number): Promise<number> {
  const { signIns, cookies } = await prepareRequests(server, seconds * 1000)
  await signIns()
  await cookies()
  return readMib(server)
}

function readMib({ child }: Server): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

export const bench = {
  title: 'Memory with users in CouchDB',
  about:
    'A server whose users stay in CouchDB, and one with as many of its own, after sign-ins and requests with a cookie. ' +
    'The first copy leaves garbage, which is not collected at once. ' +
    `At a feed server. Goal: at most ${MAX_MORE_MIB} MiB more resident memory.`,
  runs: 1,
  run: (_runs: number, [users = 1_000_000, seconds = 5] = []) =>
    withFolder(async (folder) => {
      const database = await openDatabase(users, folder)
      // at the same time: nothing but memory is measured
      const [own, { server: copying }] = await Promise.all([
        startOwn(join(folder, 'own'), users),
        startFilled(join(folder, 'there'), database.url),
      ])
      const served = await measureServed(own, seconds)
      const copied = await measureServed(copying, seconds)
      await copying.stop()
      const again = await startServer(join(folder, 'there'))
      const started = await measureServed(again, seconds)
      for (const server of [own, again]) await server.stop()
      database.stop()
      return {
        columns: [`MiB with ${renderNumber(users)} users`, 'own', 'in CouchDB', ''],
        rows: [
          ['the process that made the first copy', ...toCells(served, copied)],
          ['after a restart', ...toCells(served, started)],
        ],
        isGoalMet: Math.max(copied, started) - served <= MAX_MORE_MIB,
      }
    }),
}

const toCells = (own: number, there: number) => [renderNumber(own), renderNumber(there), ratio(there / own)]
