// Saves a store as one version of Cardea writes it, so that later versions can prove that they upgrade from it.
//   node scripts/store-fixture.ts <checkout> [folder]
// <checkout> is a folder with the sources of that version and its node_modules: `git worktree add <checkout> <tag>`, then
// `npm ci` in it. Of the checkout, only src/index.ts and the migrations in src/store are used. The script starts that
// version over an empty SQLite file and an empty PostgreSQL, fills both over HTTP, and writes into
// test/fixtures/store/<version>/, or into the folder that is given:
//   store.db       the SQLite file
//   store.sql      the same for PostgreSQL, as statements
//   expected.json  names, passwords, cookies and tokens that must or must not sign in
// Every password and secret is made up for this purpose. A released version's fixture is never written again.
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../test/store/postgres-server.ts'
import { fillStore, OPTIONS, SEED } from './store-fixture/fill.ts'
import { ADMINISTRATORS, REFUSED, SETTINGS, USERS } from './store-fixture/people.ts'

const [checkout, target] = process.argv.slice(2)
if (!checkout) {
  console.error('usage: node scripts/store-fixture.ts <checkout> [folder]')
  process.exit(2)
}

// Sets the clock back: the sessions must begin in the past of every machine that reads the fixture.
const BEGIN_MS = Date.UTC(2025, 0, 1)
const systemNow = Date.now
const behindMs = systemNow() - BEGIN_MS
Date.now = () => systemNow() - behindMs

const load = (path) => import(pathToFileURL(resolve(checkout, path)).href)
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
const folder = resolve(target ?? join(import.meta.dirname, '../test/fixtures/store', version))
mkdirSync(folder, { recursive: true })

const { createCardea } = await load('src/index.ts')
const { MIGRATIONS, MIGRATION_TABLE } = await loadMigrations()

/** One file, or a folder of files in the first versions. */
async function loadMigrations() {
  const paths = globSync('src/store/migrations{.ts,/*.ts}', { cwd: checkout })
  return Object.assign({}, ...(await Promise.all(paths.map(load))))
}

async function fill(url) {
  const options = {
    ...OPTIONS,
    auth: { 'min-password-length': 0 },
    store: { url },
    admins: { [SEED.name]: SEED.password },
  }
  const cardea = await createCardea({ options })
  try {
    const { document, multiModel } = await cardea.listen()
    return await fillStore(document[0], multiModel[0])
  } finally {
    await cardea.close()
  }
}

async function saveSqlite() {
  const place = mkdtempSync(join(tmpdir(), 'cardea-fixture-'))
  const path = join(place, 'store.db')
  try {
    const tokens = await fill(`sqlite:${path}`)
    // ends the write-ahead log, so that the store is one file
    const database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = DELETE')
    database.close()
    writeFileSync(join(folder, 'store.db'), readFileSync(path))
    return tokens
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

async function savePostgres() {
  const server = await startPostgres()
  try {
    const url = await server.createPlace()
    const tokens = await fill(url)
    writeFileSync(join(folder, 'store.sql'), await dump((sql) => server.execute(url, sql)))
    return tokens
  } finally {
    await server.stop()
  }
}

/** The embedded server brings no pg_dump. The schema is what that version's own migrations create. */
async function dump(execute) {
  const names = await execute(`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = current_schema() ORDER BY table_name`)
  const parts = [`${MIGRATION_TABLE};`, ...MIGRATIONS.map(({ postgres }) => postgres.trim())]
  for (const { name } of names) parts.push(`DELETE FROM ${name};`, ...(await dumpRows(execute, name)))
  return `${parts.join('\n')}\n`
}

async function dumpRows(execute, table) {
  const rows = await execute(`SELECT * FROM ${table} ORDER BY 1, 2`)
  return rows.map((row) => {
    const values = Object.values(row).map((value) =>
      value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`,
    )
    return `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')});`
  })
}

const sqlite = await saveSqlite()
const postgres = await savePostgres()
const expected = {
  version,
  schema: MIGRATIONS.at(-1).number,
  options: OPTIONS,
  users: USERS.map(({ name, password, totp, roles = [] }) => ({ name, password, roles, ...(totp && { totp }) })),
  administrators: ADMINISTRATORS.map(({ name, password }) => ({ name, password })),
  refused: REFUSED,
  settings: SETTINGS,
  engines: { sqlite, postgres },
}
writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, undefined, 2)}\n`)
console.log(`wrote ${folder}`)
