// A process or a database that is killed in the middle of a migration leaves the old schema; the next start completes it.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import { openStore } from '../../src/store/create-store.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { migratePostgres } from '../../src/store/postgres/database.ts'
import { renderRecord } from '../../src/store/record.ts'
import { migrateSqlite } from '../../src/store/sqlite/database.ts'
import { waitUntil } from '../support/wait.ts'
import { createSqlitePlace } from './places.ts'
import { startPostgres } from './postgres-server.ts'

/** The migration after it reads and writes every user. */
const OLD = MIGRATIONS.slice(0, 2)
const USERS = 10_000

const PASSWORD = {
  scheme: 'pbkdf2',
  prf: 'sha256',
  salt: 's',
  iterations: 10,
  hash: 'ab',
  members: { derived_key: 'ab' },
} as const
const USER = createEmptyUser('NAME', PASSWORD)
const TEMPLATE = renderRecord({
  ...USER,
  document: { ...USER.document, members: [['padding', 'x'.repeat(500)]] },
})

/** Fills a store of the old schema. `numbers` is a query of the column `i`, from 1 to `USERS`. */
const toFill = (numbers: string): string => `
  INSERT INTO cardea_users (name, sequence, is_live, record)
    SELECT 'user-' || i, i, 1, replace('${TEMPLATE}', 'NAME', 'user-' || i) FROM (${numbers}) AS numbers;
  UPDATE cardea_state SET sequence = ${USERS}, users = ${USERS};
  INSERT INTO cardea_used_codes (name, step) VALUES ('user-1', 42);`

/** A place with a store of the old schema. */
interface Scene {
  readonly url: string
  /** Resolves when the migration has written something and has not ended. */
  waitUntilMigrating(): Promise<void>
  /** Kills the database, and starts it again. */
  crash?(): Promise<void>
  /** Ends what keeps the migration from its end. */
  release(): Promise<void>
  execute(sql: string): Promise<readonly Record<string, unknown>[]>
}

const MIN_WRITTEN_BYTES = 1_000_000

/** Nothing holds the migration back: it writes much more to its log before it ends than it takes to be seen. */
async function makeSqlite(t: TestContext): Promise<Scene> {
  const place = await createSqlitePlace()
  t.after(() => place.remove())
  const path = place.url.slice('sqlite:'.length)
  const database = new DatabaseSync(path)
  migrateSqlite(database, OLD, SILENT_LOG)
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${USERS}) SELECT i FROM n`
  database.exec(`BEGIN; ${toFill(numbers)} COMMIT;`)
  database.close()
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const waitUntilMigrating = () => waitUntil(() => sizeOf(`${path}-wal`) > MIN_WRITTEN_BYTES)
  return { url: place.url, waitUntilMigrating, release: async () => {}, execute: place.execute }
}

/** A transaction holds a table that a later migration changes. */
async function makePostgres(t: TestContext): Promise<Scene> {
  const server = await startPostgres()
  t.after(() => server.stop())
  const url = await server.createPlace()
  const connect = async () => {
    const client = new Client({ connectionString: url })
    client.on('error', () => {}) // the server is killed
    await client.connect()
    return client
  }
  const client = await connect()
  await migratePostgres(client, OLD, SILENT_LOG)
  await client.query(toFill(`SELECT i FROM generate_series(1, ${USERS}) AS series (i)`))
  await client.end()
  const holder = await connect()
  await holder.query('BEGIN; LOCK TABLE cardea_ended_sessions IN ROW EXCLUSIVE MODE')
  const isWaiting = async () =>
    (await holder.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'ShareLock'`)).rows.length > 0
  return {
    url,
    waitUntilMigrating: () => waitUntil(isWaiting),
    release: () => holder.end().catch(() => {}),
    execute: (sql) => server.execute(url, sql),
    async crash() {
      await server.crash()
      await server.restart()
    },
  }
}

const STORE = new URL('../../src/store/create-store.ts', import.meta.url).href
const LOG = new URL('../../src/base/log.ts', import.meta.url).href

/** A process that opens the store, as every start does. */
function startOpening(t: TestContext, url: string): ChildProcess {
  const script = `import { openStore } from '${STORE}'
    import { SILENT_LOG } from '${LOG}'
    await openStore(${JSON.stringify(url)}, { log: SILENT_LOG })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  return child
}

const DIGEST = 'SELECT name, sequence, record FROM cardea_users ORDER BY name'
const SCHEMA = 'SELECT max(number) AS number FROM cardea_migrations'

const readSchema = async ({ execute }: Scene) => Number((await execute(SCHEMA))[0]?.['number'])

async function requireComplete(scene: Scene, before: readonly Record<string, unknown>[]): Promise<void> {
  const store = await openStore(scene.url, { log: SILENT_LOG })
  try {
    assert.equal(await readSchema(scene), MIGRATIONS.length)
    assert.equal(await store.countUsers(), USERS)
    assert.equal((await store.findUser('user-77'))?.record.kind, 'user')
    assert.equal(await store.useCodeStep({ factor: { name: 'user-1', version: 'v' }, step: 42, purgeBefore: 0 }), false)
  } finally {
    await store.close()
  }
  assert.deepEqual(await scene.execute(DIGEST), before)
  const [filled] = await scene.execute(`SELECT count(*) AS count FROM cardea_users WHERE iterations = 10`)
  assert.equal(Number(filled?.['count']), USERS)
}

const ROWS: readonly [row: string, make: (t: TestContext) => Promise<Scene>, killsServer: boolean][] = [
  ['the process, on SQLite', makeSqlite, false],
  ['the process, on PostgreSQL', makePostgres, false],
  ['the PostgreSQL itself', makePostgres, true],
]

describe('kill -9 in the middle of a migration', () => {
  for (const [row, make, killsServer] of ROWS)
    it(row, async (t) => {
      const scene = await make(t)
      const before = await scene.execute(DIGEST)
      const child = startOpening(t, scene.url)
      const ended = once(child, 'exit')
      await scene.waitUntilMigrating()
      if (killsServer) await scene.crash?.()
      else child.kill('SIGKILL')
      await ended
      await scene.release()
      assert.equal(await readSchema(scene), OLD.length, 'the kill came before the end')
      await requireComplete(scene, before)
    })
})
