// What operations of one process cost PostgreSQL. Sizes: operations of a row, how many at a time.
import { SILENT_LOG } from '../src/base/log.ts'
import { openStore } from '../src/store/create-store.ts'
import { createIn } from '../test/contract/store-values.ts'
import { startPostgres } from '../test/store/postgres-server.ts'
import { readCpuSeconds } from './support/postgres-cpu.ts'

const MIN_PER_SECOND = 100
/** Records of sessions are written together, every minute or so. */
const BATCH = 100

const toSession = (number: number) => ({
  id: `session-${number}`,
  name: `user-${number % 1000}`,
  generation: 1,
  door: 'document',
  createdAt: 1_800_000_000,
  seenAt: 1_800_000_000,
  expiresAt: 1_900_000_000,
  peer: '192.0.2.1',
  userAgent: 'bench',
})

const OPERATIONS = [
  { name: 'change of a user', size: 1, run: (store, number) => createIn(store, `user-${number}`) },
  {
    name: 'sign-out',
    size: 1,
    run: (store, number) => store.endSession({ id: `ended-${number}`, name: 'ada', expiresAt: 1_900_000_000 }),
  },
  {
    name: 'record of a session (sign-in)',
    size: BATCH,
    run: (store, number) =>
      store.putSessionRecords(Array.from({ length: BATCH }, (_, index) => toSession(number * BATCH + index))),
  },
  { name: 'user that a node has not cached', size: 1, run: (store, number) => store.findUser(`user-${number}`) },
] as const

/** What the tables and indexes of a store take on the disk. */
async function readBytes(server, url: string): Promise<number> {
  const [row] = await server.execute(
    url,
    `SELECT sum(pg_total_relation_size(format('%I', tablename)::regclass))::int AS bytes FROM pg_tables
      WHERE schemaname = current_schema()`,
  )
  return Number(row.bytes)
}

async function measure(server, operation, [count, lanes]: readonly [number, number]) {
  const url = await server.createPlace()
  const store = await openStore(url, { log: SILENT_LOG })
  try {
    await operation.run(store, -1)
    const [row] = await server.execute(
      url,
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'cardea' LIMIT 1`,
    )
    const bytesBefore = await readBytes(server, url)
    const [cpu, startedMs] = [readCpuSeconds(row.pid), performance.now()]
    let next = 0
    const run = async () => {
      for (let number = next++; number < count; number = next++) await operation.run(store, number)
    }
    await Promise.all(Array.from({ length: lanes }, run))
    const seconds = (performance.now() - startedMs) / 1000
    const all = count * operation.size
    const costMs = ((readCpuSeconds(row.pid) - cpu) / all) * 1000
    const bytes = ((await readBytes(server, url)) - bytesBefore) / all
    const cells = [operation.name, (all / seconds).toFixed(0), `${costMs.toFixed(3)} ms`, `${bytes.toFixed(0)} B`]
    return { perSecond: all / seconds, cells }
  } finally {
    await store.close()
  }
}

export const bench = {
  title: 'What operations cost PostgreSQL',
  about:
    'One process, with 16 operations at a time; PostgreSQL syncs every commit to the disk. All changes take turns, so ' +
    'more nodes do not make more of them a second. Processor time is that of PostgreSQL alone, ' +
    'disk what tables and indexes grow by without vacuum, for one operation. ' +
    `Goal: ${MIN_PER_SECOND} changes a second.`,
  page: 'how-far-it-goes.md',
  runs: 1,
  async run(_runs, [count = 2000, lanes = 16]: readonly number[] = []) {
    const server = await startPostgres({ isDurable: true })
    try {
      const measured: Awaited<ReturnType<typeof measure>>[] = []
      for (const operation of OPERATIONS) measured.push(await measure(server, operation, [count, lanes]))
      return {
        columns: ['operation', 'a second', 'processor', 'disk'],
        rows: measured.map(({ cells }) => cells),
        isGoalMet: (measured[0]?.perSecond ?? 0) >= MIN_PER_SECOND,
      }
    } finally {
      await server.stop()
    }
  },
}
