// Searches as the console sends them, in a directory of a million users, in both stores. Sizes: users of the directory.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { nowSeconds, SYSTEM_CLOCK } from '../src/base/clock.ts'
import { SILENT_LOG } from '../src/base/log.ts'
import { createEmptyUser } from '../src/directory/users/revisions.ts'
import { foldCase, listEntries } from '../src/directory/users/search-entries.ts'
import type { UserQuery } from '../src/directory/users/user-search.ts'
import type { StoredPassword } from '../src/passwords/schemes.ts'
import { openStore } from '../src/store/create-store.ts'
import { renderRecord } from '../src/store/record.ts'
import { startPostgres } from '../test/store/postgres-server.ts'
import { openTestNode } from '../test/support/directory.ts'
import { median } from './figures.ts'
import { withFolder } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'

const SIZES = [1_000_000]
const GOAL_MS = 100

const FIRST = ['Anna', 'ben', 'Carla', 'david', 'Élodie', 'farid', 'Grace', 'hiro', 'Ines', 'jan']
const LAST = ['Adler', 'brandt', 'Costa', 'dubois', 'Evans', 'fischer', 'Garcia', 'haas', 'Ito', 'jensen']
const BEGINNINGS = LAST.flatMap((last) => FIRST.map((first) => `${first}.${last}.`))
const SLOTS = BEGINNINGS.length
const DEPARTMENTS = 1000
/** One user of this many is disabled, and one has never signed in: a search must not read all the others. */
const RARE = 10_000

function toUser(index) {
  const password: StoredPassword = {
    scheme: 'pbkdf2',
    prf: 'sha256',
    iterations: 600_000,
    salt: `salt-${index}`,
    hash: 'ab'.repeat(32),
  }
  const user = createEmptyUser(`${BEGINNINGS[index % SLOTS]}${Math.floor(index / SLOTS)}`, password)
  const roles = ['reader', `department-${index % DEPARTMENTS}`]
  return { ...user, isActive: index % RARE !== 0, document: { ...user.document, roles } }
}

/** In SQL: the record of the user `i`, made of that of another one. */
const toRecord = (index) =>
  `replace(replace('${renderRecord(toUser(index))}', 'salt-${index}', 'salt-' || i),
    'department-${index}', 'department-' || (i % ${DEPARTMENTS}))`

const DEPARTMENT = `'department-' || (i % ${DEPARTMENTS})`
const ENTRIES = [
  "'name', folded, name FROM bench_users",
  "'part', substr(folded, at + 1, 16), name FROM bench_users JOIN bench_starts ON at <= length(folded) - 2",
  "'role', 'reader', name FROM bench_users",
  `'role', ${DEPARTMENT}, name FROM bench_users`,
  `'disabled', folded, name FROM bench_users WHERE i % ${RARE} = 0`,
]

const toTable = (name, columns, rows) =>
  `CREATE TABLE ${name} AS WITH rows (${columns}) AS (VALUES ${rows.join(', ')}) SELECT * FROM rows`

const ENGINES = {
  sqlite: {
    before: 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -100000',
    order: 'ORDER BY kind, key, name',
    after: '',
  },
  postgres: {
    before:
      "SET maintenance_work_mem = '1GB'; ALTER TABLE cardea_user_entries SET UNLOGGED;" +
      'ALTER TABLE cardea_user_entries DROP CONSTRAINT cardea_user_entries_pkey',
    order: '',
    after: 'ALTER TABLE cardea_user_entries ADD PRIMARY KEY (kind, key, name); ANALYZE',
  },
}

/**
 * What the store would hold after an import, a statement for each table: the import itself takes ten times as long.
 * No search of these uses the index that is dropped, or the entries of users without a second factor.
 */
const toStatements = (count, { before, order, after }) => [
  before,
  toTable(
    'bench_beginnings',
    'slot, name, folded',
    BEGINNINGS.map((name, slot) => `(${slot}, '${name}', '${foldCase(name)}')`),
  ),
  toTable(
    'bench_starts',
    'at',
    Array.from({ length: 32 }, (_, at) => `(${at + 1})`),
  ),
  `CREATE TABLE bench_users AS
    WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ${count})
    SELECT i, name || (i / ${SLOTS}) AS name, folded || (i / ${SLOTS}) AS folded
    FROM numbers JOIN bench_beginnings ON slot = i % ${SLOTS}`,
  `INSERT INTO cardea_users (name, sequence, is_live, record, prf, iterations)
    SELECT name, i + 1, 1, CASE WHEN i % ${RARE} = 0 THEN ${toRecord(0)} ELSE ${toRecord(1)} END, 'sha256', 600000
    FROM bench_users ORDER BY name`,
  'DROP INDEX cardea_user_entries_name',
  `INSERT INTO cardea_user_entries (kind, key, name)
    WITH entries (kind, key, name) AS (${ENTRIES.map((entry) => `SELECT ${entry}`).join(' UNION ALL ')})
    SELECT kind, key, name FROM entries ${order}`,
  `INSERT INTO cardea_sign_ins (name, signed_in_at, peer)
    SELECT name, CASE WHEN i % ${RARE} = 1 THEN 0 ELSE ${nowSeconds(SYSTEM_CLOCK)} END, '192.0.2.1' FROM bench_users
    ORDER BY name`,
  `UPDATE cardea_state SET sequence = ${count}, users = ${count}, searched = ${count}`,
  after,
]

/** How many entries there are of those that the store would have written for some users. */
const CHECKED = [0, 1, 44]
  .map(toUser)
  .flatMap((user) => listEntries(user).map((entry) => ({ ...entry, name: user.name })))
  .filter(({ kind }) => kind !== 'no-factor')
const COUNT_CHECKED = `SELECT count(*) AS count FROM cardea_user_entries WHERE (kind, key, name) IN
  (VALUES ${CHECKED.map(({ kind, key, name }) => `('${kind}', '${key}', '${name}')`).join(', ')})`

/** Creates the tables of a new store. */
async function createTables(url) {
  const store = await openStore(url, { log: SILENT_LOG })
  await store.close()
}

async function fillSqlite(file, count) {
  await createTables(`sqlite:${file}`)
  const database = new DatabaseSync(file)
  for (const statement of toStatements(count, ENGINES.sqlite)) {
    database.exec(statement)
    // PostgreSQL is filled at the same time, and gets its statements meanwhile
    await pause(100)
  }
  assert.equal(database.prepare(COUNT_CHECKED).get()?.['count'], CHECKED.length)
  database.close()
  return `sqlite:${file}`
}

async function fillPostgres(postgres, count) {
  const url = await postgres.createPlace()
  await createTables(url)
  await postgres.execute(url, toStatements(count, ENGINES.postgres).join(';\n'))
  const [found] = await postgres.execute(url, COUNT_CHECKED)
  assert.equal(Number(found?.['count']), CHECKED.length)
  return url
}

const at = (list, run) => list[run % list.length]

/** Another text each time: a search that was made before is answered from the memory of the database. */
const SEARCHES: Readonly<Record<string, (run: number) => Partial<UserQuery>>> = {
  'one letter': (run) => ({ text: at(FIRST, run).slice(0, 1) }),
  'the beginning of a name': (run) => ({
    text: at(BEGINNINGS, run * 11)
      .slice(0, -3)
      .toUpperCase(),
  }),
  'a whole name': (run) => ({ text: toUser(run * 1001).name }),
  'a part of a name': (run) => ({ text: `${at(LAST, run).slice(1)}.${run}` }),
  'a part of every tenth name': (run) => ({ text: at(LAST, run).slice(1) }),
  'a role of every user': () => ({ text: 'read' }),
  'a role of a thousand': (run) => ({ text: `department-${run + 100}` }),
  nothing: (run) => ({ text: `zz${run}` }),
  'a role, by name': (run) => ({ role: `department-${run + 200}`, text: at(FIRST, run) }),
  disabled: () => ({ status: 'disabled' }),
  'disabled, by name': (run) => ({ status: 'disabled', text: at(LAST, run) }),
  'no sign-in for 90 days': () => ({ status: 'idle' }),
  'no sign-in for 90 days, by name': (run) => ({ status: 'idle', text: at(BEGINNINGS, run * 7) }),
  'a name, sorted by a column': (run) => ({ text: at(FIRST, run), limit: 1000 }),
}

async function measure(directory, toSearch, runs) {
  const times: number[] = []
  for (let run = 0; run < runs; run += 1) {
    const startMs = performance.now()
    await directory.searchUsers({ limit: 50, ...toSearch(run) })
    times.push(performance.now() - startMs)
  }
  return { median: median(times), p95: times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? 0 }
}

async function measureStore(url, runs) {
  const clean: (() => unknown)[] = []
  try {
    const { directory } = await openTestNode({ after: (work) => clean.push(work) }, { url, clock: SYSTEM_CLOCK })
    const figures: Awaited<ReturnType<typeof measure>>[] = []
    for (const toSearch of Object.values(SEARCHES)) figures.push(await measure(directory, toSearch, runs))
    return figures
  } finally {
    for (const work of clean) await work()
  }
}

const renderMs = (ms) => `${renderNumber(ms)} ms`

export const bench = {
  title: 'Search',
  about:
    'Searching users by a part of the name or the beginning of a role, a page of 50, on the server, with how many there\n' +
    `are. Each run searches for another text. Goal: 95 % of the runs take at most ${GOAL_MS} ms.`,
  runs: 40,
  run: (runs, [size] = SIZES) =>
    withFolder(async (folder) => {
      const postgres = await startPostgres()
      try {
        const urls = await Promise.all([fillPostgres(postgres, size), fillSqlite(join(folder, 'users.db'), size)])
        const stores: Awaited<ReturnType<typeof measureStore>>[] = []
        for (const url of urls.toReversed()) stores.push(await measureStore(url, runs))
        return {
          columns: [`among ${renderNumber(size)} users`, 'SQLite', '95 %', 'PostgreSQL', '95 %'],
          rows: Object.keys(SEARCHES).map((name, index) => [
            name,
            ...stores.flatMap((figures) => [renderMs(figures[index]?.median), renderMs(figures[index]?.p95)]),
          ]),
          isGoalMet: stores.flat().every(({ p95 }) => p95 <= GOAL_MS),
        }
      } finally {
        await postgres.stop()
      }
    }),
}
