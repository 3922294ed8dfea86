import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import type { Migration } from '../../src/store/migrations.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { selectUsers } from '../../src/store/operations/users.ts'
import { configureConnection, migrateSqlite, openFile } from '../../src/store/sqlite/database.ts'
import { toSqlite } from '../../src/store/sqlite/engine.ts'
import { STATEMENTS } from '../../src/store/statements.ts'
import { describeStore } from '../contract/store.ts'
import { createIn, isRefusal } from '../contract/store-values.ts'
import { createFolder, createSqlitePlace } from './places.ts'

describeStore('SQLite', createSqlitePlace)

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** The users in a copy of the file without its write-ahead log; `undefined` if it has no tables yet. */
function namesInCopy(path: string): readonly unknown[] | undefined {
  const copy = `${path}.copy`
  copyFileSync(path, copy)
  const database = new DatabaseSync(copy)
  try {
    return database
      .prepare('SELECT name FROM cardea_users ORDER BY name')
      .all()
      .map(({ name }) => name)
  } catch {
    return undefined
  } finally {
    database.close()
    rmSync(copy)
  }
}

function collectWarnings(): { readonly log: Log; readonly warnings: string[] } {
  const warnings: string[] = []
  return { log: { ...SILENT_LOG, warn: (message) => warnings.push(message) }, warnings }
}

describe('a SQLite file', () => {
  let folder = ''
  before(() => {
    folder = createFolder()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('is created readable only by its owner, with its folders', async () => {
    const path = join(folder, 'a/b/store.db')
    const store = await openStore(`sqlite:${path}`, { log: SILENT_LOG })
    await createIn(store, 'alice')
    for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(modeOf(file), 0o600, file)
    assert.equal(modeOf(join(folder, 'a')), 0o700)
    await store.close()
  })

  it('that others can read is made private', async () => {
    const path = join(folder, 'open.db')
    writeFileSync(path, '')
    chmodSync(path, 0o644)
    const { log, warnings } = collectWarnings()
    await (await openStore(`sqlite:${path}`, { log })).close()
    assert.equal(modeOf(path), 0o600)
    assert.equal(warnings.length, 1)
  })

  it('is complete without its write-ahead log, after some seconds and after closing', async (t) => {
    const path = join(folder, 'copied.db')
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const store = await openStore(`sqlite:${path}`, { log: SILENT_LOG })
    await createIn(store, 'alice')
    assert.deepEqual(namesInCopy(path), undefined)
    t.mock.timers.tick(10_000)
    assert.deepEqual(namesInCopy(path), ['alice'])
    await createIn(store, 'bob')
    t.mock.timers.tick(10_000)
    await createIn(store, 'carl')
    assert.deepEqual(namesInCopy(path), ['alice', 'bob'])
    await store.close()
    assert.deepEqual(namesInCopy(path), ['alice', 'bob', 'carl'])
  })

  it('has a write-ahead log, and every commit reaches the disk', () => {
    const database = openFile(join(folder, 'wal.db'), SILENT_LOG)
    configureConnection(database)
    const pragma = (name: string) => database.prepare(`PRAGMA ${name}`).get()?.[name]
    // 2 is FULL
    assert.deepEqual([pragma('journal_mode'), pragma('synchronous'), pragma('foreign_keys')], ['wal', 2, 1])
    database.close()
  })

  it('of another application is not changed', async () => {
    const path = join(folder, 'other.db')
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE recipes (title TEXT)')
    database.close()
    await assert.rejects(openStore(`sqlite:${path}`, { log: SILENT_LOG }), { name: 'IncompatibleStoreError' })
  })

  it('that is not a database is rejected', async () => {
    const path = join(folder, 'text.db')
    writeFileSync(path, 'this is a text of more than sixteen bytes\n'.repeat(100))
    await assert.rejects(openStore(`sqlite:${path}`, { log: SILENT_LOG }), isRefusal('store_unavailable'))
  })

  it('that is a folder is rejected', async () => {
    mkdirSync(join(folder, 'folder.db'))
    const opening = openStore(`sqlite:${join(folder, 'folder.db')}`, { log: SILENT_LOG })
    await assert.rejects(opening, isRefusal('store_unavailable'))
  })

  it('whose name looks like a SQLite URI is a file of that name', async () => {
    const path = join(folder, 'file:x?mode=memory')
    await (await openStore(`sqlite://${path}`, { log: SILENT_LOG })).close()
    assert.equal(modeOf(path), 0o600)
  })

  it('that another process is writing to is retried', async () => {
    const path = join(folder, 'busy.db')
    const store = await openStore(`sqlite:${path}`, { log: SILENT_LOG })
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const writing = createIn(store, 'alice')
    assert.equal(await store.findUser('alice'), undefined)
    other.exec('COMMIT')
    other.close()
    assert.equal(await writing, 1)
    await store.close()
  })

  it('that another process is writing to never blocks the event loop, and keeps the order of writes', async () => {
    const path = join(folder, 'turns.db')
    const store = await openStore(`sqlite:${path}`, { log: SILENT_LOG })
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const writing = ['alice', 'bob', 'carl'].map((name) => createIn(store, name))
    other.exec('COMMIT')
    other.close()
    assert.deepEqual(await Promise.all(writing), [1, 2, 3])
    await store.close()
    // what another process locks is refused at once
    const own = openFile(path, SILENT_LOG)
    assert.equal(own.prepare('PRAGMA busy_timeout').get()?.['timeout'], 0)
    own.close()
  })
})

describe('processes that write to one SQLite file', () => {
  it('all get their turn', async () => {
    const { runWriters } = await import(new URL('../../bench/writers.ts', import.meta.url).href)
    const written: readonly { readonly written: number }[] = await runWriters(2, 1000, 4)
    const all = written.reduce((sum, writer) => sum + writer.written, 0)
    for (const writer of written) assert.ok(writer.written > all / 10, JSON.stringify(written))
  })
})

describe('SQLite in memory', () => {
  it('is a new store each time', async () => {
    const stores = await Promise.all([0, 1].map(() => openStore('sqlite::memory:', { log: SILENT_LOG })))
    const [one, two] = stores
    assert.ok(one && two)
    await createIn(one, 'alice')
    assert.deepEqual([await one.countUsers(), await two.countUsers()], [1, 0])
    for (const store of stores) await store.close()
  })
})

/** The first digits of the SHA-256 of each migration. A row is added with a release, and never changed. */
const RELEASED = [
  '2884f366d7caa2a7',
  '183098a039d315dd',
  'ce1b9120ab205a5d',
  '3c7ebc826ecdd621',
  'b545a89e90f5c62c',
  '58d4a30eee950578',
  '9a8a49ff8a8fdd06',
  'cb646e9807e7c61c',
  'e0455b921137a46d',
  '1c8cab7c945d5f91',
  '9f4558a0e6ebc69f',
  '9722b33d0fbe2139',
]

describe('migrations of SQLite', () => {
  const next: Migration = {
    number: MIGRATIONS.length + 1,
    name: 'next',
    sqlite: 'ALTER TABLE cardea_users ADD COLUMN colour TEXT',
    postgres: '',
  }

  it('keep the data', async () => {
    const place = await createSqlitePlace()
    const store = await openStore(place.url, { log: SILENT_LOG })
    await createIn(store, 'alice')
    await store.close()
    const database = new DatabaseSync(place.url.slice('sqlite:'.length))
    migrateSqlite(database, [...MIGRATIONS, next], SILENT_LOG)
    migrateSqlite(database, [...MIGRATIONS, next], SILENT_LOG)
    const row = { ...database.prepare('SELECT name, colour FROM cardea_users').get() }
    assert.deepEqual(row, { name: 'alice', colour: null })
    database.close()
    await place.remove()
  })

  it('keep the databases of users', () => {
    const database = new DatabaseSync(':memory:')
    migrateSqlite(database, MIGRATIONS.slice(0, 29), SILENT_LOG)
    database.exec("INSERT INTO cardea_user_databases VALUES ('ada', 'document', 'userdb-616461', 'ready', '')")
    migrateSqlite(database, MIGRATIONS, SILENT_LOG)
    const rows = database.prepare('SELECT name, door, database, state, reason FROM cardea_own_databases').all()
    const row = { name: 'ada', door: 'document', database: 'userdb-616461', state: 'ready', reason: '' }
    assert.deepEqual(
      rows.map((each) => ({ ...each })),
      [row],
    )
    database.close()
  })

  it('have the text they were released with, for both databases', () => {
    const digests = MIGRATIONS.map(({ sqlite, postgres }) =>
      createHash('sha256').update(`${sqlite}\n${postgres}`).digest('hex').slice(0, 16),
    )
    assert.deepEqual(digests.slice(0, RELEASED.length), RELEASED)
  })

  it('are rolled back as a whole when one fails', async () => {
    const database = new DatabaseSync(':memory:')
    const broken = { ...next, sqlite: 'CREATE TABLE half (a TEXT); CREATE TABLE half (a TEXT)' }
    assert.throws(() => migrateSqlite(database, [...MIGRATIONS, broken], SILENT_LOG))
    assert.deepEqual(database.prepare('SELECT name FROM sqlite_schema').all(), [])
  })
})

describe('statements of SQLite', () => {
  const bounds = { from: { name: 'a', isInclusive: true }, to: { name: 'b', isInclusive: false }, limit: 1 }
  const listings = [selectUsers({ limit: 1 }), selectUsers(bounds), selectUsers({ ...bounds, descending: true })]
  const all = [...Object.values(STATEMENTS), ...listings.map(({ statement }) => statement)]
  const database = new DatabaseSync(':memory:')
  migrateSqlite(database, MIGRATIONS, SILENT_LOG)

  for (const { name, text } of all) {
    it(`${name} does not scan a whole table`, () => {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${toSqlite(text)}`).all()
      const steps = plan.map(({ detail }) => String(detail))
      // the state is one row; the settings are few and listed whole
      const scans = steps.filter((step) => /^SCAN cardea_(users|ended_sessions|sessions)(?! USING INDEX)/.test(step))
      assert.deepEqual(scans, [])
    })
  }
})
