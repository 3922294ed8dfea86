import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Change } from '../../src/directory/store-port/changes.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import type { StoreTests } from './store.ts'
import { lastSequence, listChanges } from './store-values.ts'

const WRITER = new URL('./store-writer.ts', import.meta.url).pathname

interface Writer {
  /** Starts the work, waits until it is done, and returns its report. */
  run(): Promise<{ readonly migrations: number; readonly written: number }>
}

/** A process that opens the store and writes users when it is started. */
async function startWriter(url: string, prefix: string, count: number): Promise<Writer> {
  const child: ChildProcess = spawn(process.execPath, [WRITER, url, prefix, String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  assert.ok(child.stdout && child.stdin)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  assert.equal((await lines.next()).value, 'ready')
  return {
    async run() {
      child.stdin?.end('go\n')
      const exit = once(child, 'exit')
      const report = await lines.next()
      assert.deepEqual(await exit, [0, null])
      return JSON.parse(report.value ?? '')
    },
  }
}

/** Reads the feed without pause, always after the last change it has seen, until it has seen so many. */
async function readAll(store: Store, total: number): Promise<Change[]> {
  const seen: Change[] = []
  while (seen.length < total) {
    const latest = await lastSequence(store)
    seen.push(...(await listChanges(store, seen.at(-1)?.sequence ?? 0, 1000)))
    const reached = seen.at(-1)?.sequence ?? 0
    assert.ok(reached >= latest, 'the sequence was ahead of its changes')
    // a change that was skipped never comes: fail instead of waiting for it
    assert.ok(reached <= seen.length, 'a change was passed over')
  }
  return seen
}

/** Every table the migrations create. */
// a later migration may create a table again
const TABLES = new Set(MIGRATIONS.flatMap(({ sqlite }) => sqlite.match(/(?<=CREATE TABLE )\w+/g) ?? []))

export const PROCESS_TESTS: StoreTests = {
  async 'no reader sees a change before an earlier one'({ store, place }) {
    const [writers, each] = [3, process.env['TEST_LONG'] ? 400 : 40]
    const started = await Promise.all(['a', 'b', 'c'].map((prefix) => startWriter(place.url, prefix, each)))
    const [seen] = await Promise.all([readAll(store, writers * each), ...started.map((writer) => writer.run())])
    assert.deepEqual(
      seen.map(({ sequence }) => sequence),
      Array.from({ length: writers * each }, (_, i) => i + 1),
    )
    assert.equal(new Set(seen.map(({ key }) => key)).size, writers * each)
    assert.equal(await store.countUsers(), writers * each)
  },

  async 'processes that start at the same time migrate once'({ store, place }) {
    await store.close()
    for (const table of [...TABLES, 'cardea_migrations']) await place.execute(`DROP TABLE ${table}`)
    const started = await Promise.all(['a', 'b'].map((prefix) => startWriter(place.url, prefix, 1)))
    const reports = await Promise.all(started.map((writer) => writer.run()))
    assert.deepEqual(reports.map(({ migrations }) => migrations).toSorted(), [0, MIGRATIONS.length])
    const [row] = await place.execute('SELECT count(*) AS count FROM cardea_users')
    assert.equal(Number(row?.['count']), 2)
  },
}
