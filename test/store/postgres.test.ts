import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import type { Migration } from '../../src/store/migrations.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { selectUsers } from '../../src/store/operations/users.ts'
import { createPool } from '../../src/store/postgres/client.ts'
import { migratePostgres } from '../../src/store/postgres/database.ts'
import { findBulk, toPostgres } from '../../src/store/postgres/engine.ts'
import { STATEMENTS } from '../../src/store/statements.ts'
import { describeStore, type StoreScene, withScene } from '../contract/store.ts'
import { create, createIn, isRefusal } from '../contract/store-values.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { createPostgresPlace, createReusedPlaces } from './places.ts'
import { startPostgres } from './postgres-server.ts'

const server = await startPostgres()
const shared = createSharedScope()

describeStore('PostgreSQL', createReusedPlaces(shared, server))
after(() => server.stop())

const scene = (test: (scene: StoreScene) => Promise<void>) => () => withScene(() => createPostgresPlace(server), test)

const endConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND application_name = 'cardea'`

describe('a PostgreSQL that fails', () => {
  it(
    'idle connections that break cause no error',
    scene(async ({ store, place }) => {
      await createIn(store, 'alice')
      await Promise.all([store.findUser('alice'), store.findUser('alice')])
      await place.execute(endConnections)
      assert.equal((await store.findUser('alice'))?.sequence, 1)
    }),
  )

  it('a connection that breaks after it was handed out, before its first query, ends nothing', async () => {
    const place = await createPostgresPlace(server)
    const pool = createPool({ url: () => place.url, max: 10, log: SILENT_LOG })
    try {
      const client = await pool.connect()
      const ended = new Promise<void>((resolve) => client.once('end', resolve))
      await place.execute(endConnections)
      await ended
      await assert.rejects(client.query('SELECT 1'))
      client.release(true)
      assert.equal((await pool.query('SELECT 1 AS one')).rows[0]?.one, 1)
    } finally {
      await pool.end()
    }
  })

  it('a file of the URL that is missing for a moment ends nothing', async (t) => {
    const file = join(makeFolder(t), 'ca.pem')
    writeFileSync(file, '')
    const place = await createPostgresPlace(server)
    let failures = 0
    const debug: Log['debug'] = (_, fields) => {
      failures = Number(fields?.['failures'])
    }
    const url = `${place.url}&sslmode=disable&sslrootcert=${file}`
    const store = await openStore(url, { log: { ...SILENT_LOG, debug } })
    let wakes = 0
    store.onWake(() => {
      wakes += 1
    })
    try {
      await createIn(store, 'alice')
      await waitUntil(() => wakes > 0)
      rmSync(file)
      await place.execute(endConnections)
      await assert.rejects(store.findUser('alice'), isRefusal('store_unavailable'))
      await waitUntil(() => failures > 1)
      writeFileSync(file, '')
      wakes = 0
      await waitUntil(() => wakes > 0)
      assert.equal((await store.findUser('alice'))?.sequence, 1)
    } finally {
      await store.close()
    }
  })

  it('nor does it when a connection waits for the place of another', async (t) => {
    const file = join(makeFolder(t), 'ca.pem')
    writeFileSync(file, '')
    const place = await createPostgresPlace(server)
    const pool = createPool({ url: () => `${place.url}&sslmode=disable&sslrootcert=${file}`, max: 10, log: SILENT_LOG })
    try {
      const [first, ...others] = await Promise.all(Array.from({ length: pool.options.max ?? 0 }, () => pool.connect()))
      const waiting = pool.connect()
      rmSync(file)
      first?.release(true)
      await assert.rejects(waiting, { code: 'ENOENT' })
      for (const client of others) client.release()
    } finally {
      await pool.end()
    }
  })

  it('logs idle connections that break, with the reason', async () => {
    const place = await createPostgresPlace(server)
    const reason = Promise.withResolvers<unknown>()
    const warn: Log['warn'] = (message, fields) => message.includes('broke') && reason.resolve(fields?.['reason'])
    const store = await openStore(place.url, { log: { ...SILENT_LOG, warn } })
    try {
      await store.findUser('alice')
      await place.execute(endConnections)
      assert.match(String(await reason.promise), /terminat/)
    } finally {
      await store.close()
    }
  })

  it(
    'a listener whose connection breaks listens again',
    scene(async ({ store, place }) => {
      let { promise, resolve } = Promise.withResolvers<void>()
      store.onWake(() => resolve())
      await promise
      ;({ promise, resolve } = Promise.withResolvers<void>())
      await place.execute(endConnections)
      await promise
    }),
  )

  it(
    'a server that crashes rejects requests until it is back',
    scene(async ({ store }) => {
      const sequence = await createIn(store, 'alice')
      await server.crash()
      try {
        await assert.rejects(store.findUser('alice'), isRefusal('store_unavailable'))
        await assert.rejects(store.writeUser(create('bob')), isRefusal('store_unavailable'))
      } finally {
        await server.restart()
      }
      assert.equal((await store.findUser('alice'))?.sequence, sequence)
      assert.equal(await createIn(store, 'bob'), sequence + 1)
    }),
  )

  it('waiting for a lock has a timeout', async () => {
    const place = await createPostgresPlace(server)
    const store = await openStore(`${place.url}&lock_timeout=50`, { log: SILENT_LOG })
    const other = new Client({ connectionString: place.url })
    await other.connect()
    await other.query('BEGIN; SELECT * FROM cardea_state FOR UPDATE')
    await assert.rejects(store.writeUser(create('alice')), isRefusal('store_unavailable'))
    await other.query('ROLLBACK')
    assert.equal(await createIn(store, 'alice'), 1)
    await other.end()
    await store.close()
  })

  it('a slow read is not reported as an unconfirmed change', async () => {
    const place = await createPostgresPlace(server)
    const limits = ['statement_timeout', 'lock_timeout', 'query_timeout'].map((name) => `&${name}=100000`).join('')
    const store = await openStore(`${place.url}${limits}`, { log: SILENT_LOG })
    await createIn(store, 'alice')
    const other = new Client({ connectionString: place.url })
    await other.connect()
    try {
      await other.query('BEGIN; LOCK TABLE cardea_users')
      const reading = store.findUser('alice')
      const isLate = `SELECT 1 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '5.5 s'`
      const waiting = waitUntil(async () => (await other.query(isLate)).rows.length > 0)
      await Promise.race([waiting, reading])
      await other.query('COMMIT')
      assert.equal((await reading)?.sequence, 1)
      assert.equal(store.findProblem(), undefined)
    } finally {
      await other.end()
      await store.close()
    }
  })

  it('refuses a store that cannot be reached without revealing a secret', async () => {
    const url = server.addressOf('postgres').replace(/:[^:@]+@/, ':hunter2@')
    const refused = await openStore(url, { log: SILENT_LOG }).catch((error: unknown) => error)
    assert.ok(isRefusal('store_unavailable')(refused))
    assert.doesNotMatch(inspect(refused, { depth: 10 }), /hunter2/)
  })

  it('an invalid address is rejected with a message that does not quote it', async () => {
    const wrong = await openStore('postgres://alice:hunter2@[::x]/db', { log: SILENT_LOG }).catch((e: unknown) => e)
    assert.ok(wrong instanceof Error && wrong.name === 'IncompatibleStoreError')
    assert.doesNotMatch(inspect(wrong, { depth: 10 }), /hunter2/)
  })

  it('refuses at once if no server listens', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    // a listening TCP server has this form of address
    const { port } = probe.address() as AddressInfo
    probe.close()
    await once(probe, 'close')
    const opening = openStore(`postgres://a:b@127.0.0.1:${port}/c`, { log: SILENT_LOG })
    await assert.rejects(opening, isRefusal('store_unavailable'))
  })
})

describe('a PostgreSQL with another configuration', () => {
  const createDatabase = (options: string) => server.execute(server.addressOf('postgres'), `CREATE DATABASE ${options}`)

  it('an encoding that cannot hold every name is rejected', async () => {
    await createDatabase(`ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'`)
    await assert.rejects(openStore(server.addressOf('ascii'), { log: SILENT_LOG }), { name: 'IncompatibleStoreError' })
  })

  it('another default isolation level and asynchronous commits', async () => {
    await createDatabase('strict')
    const url = server.addressOf('strict')
    await server.execute(url, 'ALTER DATABASE strict SET default_transaction_isolation = serializable')
    await server.execute(url, 'ALTER DATABASE strict SET synchronous_commit = off')
    const warnings: string[] = []
    const log: Log = { ...SILENT_LOG, warn: (message) => warnings.push(message) }
    const store = await openStore(url, { log })
    const sequences = await Promise.all(Array.from({ length: 20 }, (_, i) => createIn(store, `user-${i}`)))
    assert.equal(new Set(sequences).size, 20)
    assert.match(warnings.join(), /synchronous_commit/)
    await store.close()
  })
})

describe('migrations of PostgreSQL', () => {
  const next: Migration = {
    number: MIGRATIONS.length + 1,
    name: 'next',
    sqlite: '',
    postgres: 'ALTER TABLE cardea_users ADD COLUMN colour text',
  }

  async function migrate(url: string, known: readonly Migration[]): Promise<void> {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      await migratePostgres(client, known, SILENT_LOG)
    } finally {
      await client.end()
    }
  }

  it(
    'keep the data, and open connections continue',
    scene(async ({ store, place }) => {
      await createIn(store, 'alice')
      await migrate(place.url, [...MIGRATIONS, next])
      await migrate(place.url, [...MIGRATIONS, next])
      const rows = await place.execute('SELECT name, colour FROM cardea_users')
      assert.deepEqual(rows, [{ name: 'alice', colour: null }])
      assert.equal((await store.findUser('alice'))?.sequence, 1)
      assert.equal(await createIn(store, 'bob'), 2)
    }),
  )

  it('are rolled back as a whole when one fails', async () => {
    const place = await createPostgresPlace(server)
    const broken = { ...next, postgres: 'CREATE TABLE half (a text); CREATE TABLE half (a text)' }
    await assert.rejects(migrate(place.url, [...MIGRATIONS, broken]))
    const rows = await place.execute(`SELECT to_regclass('cardea_migrations') AS it, to_regclass('half') AS half`)
    assert.deepEqual(rows, [{ it: null, half: null }])
  })
})

describe('statements of PostgreSQL', () => {
  const bounds = { from: { name: 'a', isInclusive: true }, to: { name: 'b', isInclusive: false }, limit: 1 }
  const listings = [selectUsers({ limit: 1 }), selectUsers(bounds), selectUsers({ ...bounds, descending: true })]
  const all = [...Object.values(STATEMENTS), ...listings.map(({ statement }) => statement)]
  const texts = [
    ...all.map(({ name, text }) => [name, toPostgres(name, text)] as const),
    ...(['findVersion', 'putUser'] as const).map((name) => [`${name} of many`, findBulk(STATEMENTS[name])] as const),
  ]

  it(
    'use an index instead of a full scan',
    scene(async ({ place }) => {
      const client = new Client({ connectionString: place.url })
      await client.connect()
      await client.query('SET enable_seqscan = off')
      for (const [name, text] of texts) {
        const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${text}`)
        const plan = rows.map((row) => Object.values(row).join()).join('\n')
        assert.doesNotMatch(plan, /Seq Scan on cardea_(users|ended_sessions|sessions)/, `${name}\n${plan}`)
      }
      await client.end()
    }),
  )
})
