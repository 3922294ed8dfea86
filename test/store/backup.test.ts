import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { openSnapshot } from '../../src/store/backup/engines.ts'
import { lockStore } from '../../src/store/lock.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import type { StorePlace } from '../contract/store.ts'
import { type CreatePlace, describeBackup, fillStore, restore, save, withStore } from '../contract/store-backup.ts'
import { createIn } from '../contract/store-values.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { createPostgresPlace, createReusedPlaces, createSqlitePlace } from './places.ts'
import { connectPostgres } from './postgres-server.ts'

const postgres = await connectPostgres()
const createReused = createReusedPlaces(createSharedScope(), postgres)
after(() => postgres.stop())

const ENGINES: readonly [name: string, createPlace: CreatePlace][] = [
  ['SQLite', createSqlitePlace],
  ['PostgreSQL', () => createPostgresPlace(postgres)],
]

const SOURCES: typeof ENGINES = [
  ['SQLite', createSqlitePlace],
  ['PostgreSQL', createReused],
]

for (const [source, createFrom] of SOURCES) {
  for (const [target, createTo] of ENGINES) describeBackup(`from ${source} to ${target}`, createFrom, createTo)
}

const FIRST = join(import.meta.dirname, '../fixtures/store/0.1.0')
const NEWEST = MIGRATIONS.at(-1)?.number

/** A store with the first schema. */
const FIRST_STORES: Readonly<Record<string, () => Promise<StorePlace>>> = {
  async SQLite() {
    const place = await createSqlitePlace()
    copyFileSync(join(FIRST, 'store.db'), fileOf(place))
    return place
  },
  async PostgreSQL() {
    const place = await createPostgresPlace(postgres)
    await place.execute(readFileSync(join(FIRST, 'store.sql'), 'utf8'))
    return place
  },
}

const fileOf = ({ url }: StorePlace): string => url.replace('sqlite:', '')

describe('a backup of a store with an older schema', () => {
  for (const [source, createFirst] of Object.entries(FIRST_STORES)) {
    for (const [target, createTo] of ENGINES) {
      it(`leaves ${source} as it is, and is migrated when it is restored to ${target}`, async () => {
        const [from, to, files] = [await createFirst(), await createTo(), await createSqlitePlace()]
        const file = fileOf(files)
        assert.equal((await save(from, file)).schema, 1)
        const readSchema = async (place: StorePlace) =>
          (await place.execute('SELECT max(number) AS number FROM cardea_migrations'))[0]?.['number']
        assert.equal(await readSchema(from), 1)
        await restore(to, file)
        assert.equal(await readSchema(to), NEWEST)
        const work = await withStore(to, (store) => store.listHashWork())
        assert.deepEqual(work, await withStore(from, (store) => store.listHashWork()))
        assert.ok(work.length > 0)
        for (const place of [from, to, files]) await place.remove()
      })
    }
  }
})

describe('a backup that an earlier version wrote', () => {
  for (const [target, createTo] of ENGINES) {
    it(`is restored to ${target}`, async () => {
      const to = await createTo()
      const { tables, sha256 } = await restore(to, join(import.meta.dirname, '../fixtures/backup/format-1.gz'))
      assert.equal(sha256, '3e8d121aabebece56cba1a9c385ad50181aae773d5dd7f509c3efe413a5652b5')
      assert.equal(tables.find(({ name }) => name === 'cardea_users')?.rows, 31)
      assert.ok((await withStore(to, (store) => store.listHashWork())).length > 0)
      await to.remove()
    })
  }
})

/** A SQLite store, a backup of another one, and the folder of both. */
async function createSqliteScene() {
  const place = await createSqlitePlace()
  const source = await createSqlitePlace()
  await withStore(source, fillStore)
  const file = `${fileOf(place)}.backup`
  const { sha256 } = await save(source, file)
  await source.remove()
  return { place, file, sha256, path: fileOf(place), folder: join(fileOf(place), '..') }
}

const DEADLOCK = '40P01'

describe('a restore to PostgreSQL', () => {
  /** Whether PostgreSQL has ended the transaction of the restore, and not that of the server. */
  async function restoreBesideServer(place: StorePlace, file: string): Promise<boolean> {
    await withStore(place, (store) => createIn(store, 'existing'))
    const running = new Client({ connectionString: place.url })
    await running.connect()
    await running.query('BEGIN; SELECT 1 FROM cardea_users')
    const restored = restore(place, file, { mayReplace: true })
    const WAITING = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'cardea_users'::regclass`
    await waitUntil(async () => (await running.query(WAITING)).rows.length > 0)
    // the restore holds this table
    const ended = await running.query('SELECT 1 FROM cardea_state').then(
      () => undefined,
      ({ code }) => code,
    )
    assert.ok(ended === undefined || ended === DEADLOCK, ended)
    await running.end()
    await restored
    return ended === undefined
  }

  it('begins again after a deadlock with a server that is running', async () => {
    const { place: sqlite, file } = await createSqliteScene()
    const place = await createPostgresPlace(postgres)
    // PostgreSQL ends the one that has waited for a second: that of the server if this process stood still before
    await waitUntil(() => restoreBesideServer(place, file))
    assert.equal(await withStore(place, (store) => store.findUser('existing')), undefined)
    await sqlite.remove()
  })
})

describe('a restore to SQLite', () => {
  it('is refused while another process holds the store', async () => {
    const { place, file } = await createSqliteScene()
    const lock = await lockStore(place.url, 0)
    await assert.rejects(restore(place, file, { mayReplace: true }), { message: /is using the store.*Stop it/ })
    lock?.release()
    await restore(place, file)
    await place.remove()
  })

  it('replaces a damaged store and the log of a killed process', async () => {
    const { place, file, path, sha256 } = await createSqliteScene()
    for (const name of [path, `${path}-wal`, `${path}-shm`]) writeFileSync(name, 'not a database '.repeat(1000))
    await assert.rejects(restore(place, file), { message: /not empty/ })
    await restore(place, file, { mayReplace: true })
    assert.equal((await save(place, `${file}.second`)).sha256, sha256)
    await place.remove()
  })

  it('does not apply the log of the replaced store', async () => {
    const { place, file, path, sha256 } = await createSqliteScene()
    // a copy of the files of a running server is what a killed one leaves
    const other = await createSqlitePlace()
    await withStore(other, async (store) => {
      await createIn(store, 'eve')
      for (const suffix of ['', '-wal']) copyFileSync(`${fileOf(other)}${suffix}`, `${path}${suffix}`)
    })
    await restore(place, file, { mayReplace: true })
    assert.equal((await save(place, `${file}.second`)).sha256, sha256)
    for (const used of [place, other]) await used.remove()
  })

  it('leaves no other file behind, whether it succeeds or fails', async () => {
    const { place, file, folder } = await createSqliteScene()
    await restore(place, file)
    const names = readdirSync(folder).sort()
    assert.deepEqual(names, ['store.db', 'store.db.backup', 'store.db.lock'])
    mkdirSync(`${fileOf(place)}.restoring`)
    await assert.rejects(restore(place, file, { mayReplace: true }))
    await place.remove()
  })

  it('follows a link to the file of the store', async () => {
    const { place, file, folder } = await createSqliteScene()
    const linked = join(folder, 'linked.db')
    symlinkSync('real.db', linked)
    writeFileSync(join(folder, 'real.db'), '')
    await restore({ ...place, url: `sqlite:${linked}` }, file)
    assert.ok(existsSync(join(folder, 'real.db')))
    assert.equal(await withStore({ ...place, url: `sqlite:${linked}` }, (store) => store.countUsers()), 3)
    await place.remove()
  })
})

describe('a backup', () => {
  it('of a store in memory, or of no store, is refused', async () => {
    await assert.rejects(openSnapshot('sqlite::memory:'), { message: /A store in memory ends with its process/ })
    await assert.rejects(openSnapshot('sqlite:/nowhere/store.db'), { message: /There is no store at/ })
    const empty = await createPostgresPlace(postgres)
    await assert.rejects(openSnapshot(empty.url), { message: /has no store of Cardea/ })
  })

  it('of a damaged store is refused and leaves no file', async () => {
    const { place, file, path, folder } = await createSqliteScene()
    writeFileSync(path, 'not a database '.repeat(1000))
    await assert.rejects(save(place, `${file}.second`), { code: 'store_unavailable' })
    assert.ok(!readdirSync(folder).some((name) => name.includes('second')))
    await place.remove()
  })

  it('that cannot be written is refused', async () => {
    const { place, folder } = await createSqliteScene()
    await withStore(place, fillStore)
    await assert.rejects(save(place, join(folder, 'missing', 'file')), { message: /cannot be written: ENOENT/ })
    await assert.rejects(save(place, folder), { message: /is not a regular file/ })
    await place.remove()
  })
})
