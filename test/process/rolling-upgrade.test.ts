// Nodes of two versions on one PostgreSQL. The newer one is this version with one more migration, added as it loads.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { makeManaged } from '../support/managed.ts'
import { CARDEA, run, start } from '../support/process.ts'
import { basic, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const NEWEST = MIGRATIONS.at(-1)?.number ?? 0

/** What a migration may do while nodes of the version before are running. */
const LATER = {
  number: NEWEST + 1,
  name: 'later',
  sqlite: '',
  postgres: `ALTER TABLE cardea_users ADD COLUMN later text;
    CREATE TABLE cardea_later (id bigint PRIMARY KEY);
    CREATE INDEX cardea_later_users ON cardea_users (later);`,
}

/** Environment of the newer version. */
function addMigration(): Record<string, string> {
  const added = `;(MIGRATIONS as Migration[]).push(${JSON.stringify(LATER)})`
  const program = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith('/store/migrations.ts')) return loaded
      return { ...loaded, source: String(loaded.source) + ${JSON.stringify(added)} }
    } })`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
}

const PASSWORD = 'the password of a user'
const AS_ADMIN = basic('admin', PASSWORD)

const renderConfig = (url: string) => `[store]
url = ${url}
[chttpd]
port = 0
[server]
endpoint = tcp://127.0.0.1:0
jwt-secret = the secret of the tokens of this test
[chttpd_auth]
iterations = 1
secret = a-secret-of-cookies
[admins]
admin = ${PASSWORD}
`

const scope = createSharedScope()
let serve: readonly string[] = []
/** The document doors of both versions. */
let older = ''
let newer = ''

before(async () => {
  const postgres = await connectPostgres()
  scope.after(() => postgres.stop())
  const { folder } = makeManaged(scope, renderConfig(await postgres.createPlace()))
  serve = ['serve', '--config', folder]
  older = (await start(scope, serve).doors()).document
  const second = start(scope, [...serve, '--node.name', 'cardea@newer'], {
    command: [process.execPath, CARDEA],
    env: addMigration(),
  })
  newer = (await second.doors()).document
  assert.match(second.stderr(), /"from":\d+,"to":\d+,"msg":"store migrated"/)
})

const putUser = (door: string, name: string): Promise<Reply> =>
  send(door, {
    as: AS_ADMIN,
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    body: { name, password: PASSWORD, roles: [], type: 'user' },
  })

const signIn = (door: string, name: string): Promise<Reply> =>
  send(door, { method: 'POST', path: '/_session', body: { name, password: PASSWORD } })

const findName = async (door: string, cookie: string): Promise<unknown> =>
  (await send(door, { path: '/_session', headers: { Cookie: cookie } })).json.userCtx.name

const DIRECTIONS = ['from the older to the newer', 'from the newer to the older'] as const

for (const direction of DIRECTIONS) {
  const listDoors = () => (direction === DIRECTIONS[0] ? [older, newer] : [newer, older]) as [string, string]
  const name = `user-${DIRECTIONS.indexOf(direction)}`

  test(`users, sessions and revocations pass ${direction}`, async () => {
    const [from, to] = listDoors()
    assert.equal((await putUser(from, name)).status, 201)
    const opened = await signIn(from, name)
    const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    await waitUntil(async () => (await findName(to, cookie)) === name)
    assert.equal((await signIn(to, name)).status, 200)
    assert.equal((await send(from, { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } })).status, 200)
    await waitUntil(async () => (await findName(to, cookie)) === null)
  })

  test(`options pass ${direction}`, async () => {
    const [from, to] = listDoors()
    const option = { as: AS_ADMIN, path: '/_node/_local/_config/cors/max_age' }
    const value = `${700 + DIRECTIONS.indexOf(direction)}`
    assert.equal((await send(from, { ...option, method: 'PUT', body: JSON.stringify(value) })).status, 200)
    await waitUntil(async () => (await send(to, option)).json === value)
  })
}

test('the older version does not start on the newer schema, and says what to do', async (t) => {
  const { code, stderr } = await run(t, serve)
  assert.equal(code, 1)
  assert.match(
    stderr,
    new RegExp(`schema ${NEWEST + 1}, written by a newer Cardea; this one knows schema ${NEWEST}\\.`),
  )
  assert.match(stderr, /Start the newer version, or a copy of the store made before the upgrade/)
})

test('migrations only add: the version before keeps running on them', () => {
  for (const { name, postgres } of MIGRATIONS) {
    assert.doesNotMatch(postgres, /\b(DROP|RENAME|ALTER COLUMN|TRUNCATE)\b/i, name)
    for (const [column] of postgres.matchAll(/ADD COLUMN[^,;]*/gi))
      assert.ok(!/NOT NULL/i.test(column) || /DEFAULT/i.test(column), `${name}: ${column}`)
  }
})
