import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { connectPostgres } from '../../store/postgres-server.ts'
import { type Managed, makeManaged } from '../../support/managed.ts'
import { signsIn, stop } from '../../support/process.ts'
import type { Scope } from '../../support/scope.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

const toConfig = (url: string) => `[store]
url = ${url}
[chttpd]
port = 0
[server]
endpoint = none
[chttpd_auth]
iterations = 1
secret = a-secret-of-cookies
[admins]
admin = pw
`

type Make = (scope: Scope) => Promise<Managed>

const makeSqlite: Make = async (scope) => makeManaged(scope, toConfig('sqlite:cardea.db'))
const makePostgres: Make = async (scope) => makeManaged(scope, toConfig(await postgres.createPlace()))

const DIRECTIONS: readonly [direction: string, from: Make, to: Make][] = [
  ['SQLite to PostgreSQL', makeSqlite, makePostgres],
  ['PostgreSQL to SQLite', makePostgres, makeSqlite],
]

const pick = ({ createdAt, sha256 }: { createdAt: string; sha256: string }) => ({ createdAt, sha256 })

async function signIn(door: string, name: string): Promise<string> {
  const body = JSON.stringify({ name, password: 'pw' })
  const response = await fetch(`${door}/_session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
  })
  return response.headers.get('set-cookie')?.split(';')[0] ?? assert.fail('no cookie')
}

async function findName(door: string, cookie: string, method = 'GET'): Promise<string | null> {
  const response = await fetch(`${door}/_session`, { method, headers: { Cookie: cookie } })
  const { userCtx } = (await response.json()) as { userCtx?: { name: string } }
  return userCtx?.name ?? null
}

for (const [direction, makeFrom, makeTo] of DIRECTIONS) {
  it(`a running server is saved and restored elsewhere: ${direction}`, async (t) => {
    const [from, to] = [await makeFrom(t), await makeTo(t)]
    await from.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    await from.cardea(['admin', 'add', 'root', '--password-stdin'], 'pw')
    const server = await from.serve()
    await from.cardea(['config', 'set', 'chttpd_auth.timeout', '1234'])
    const [live, ended] = [await signIn(server.document, 'ann'), await signIn(server.document, 'ann')]
    await findName(server.document, ended, 'DELETE')
    const saved = await from.cardea(['backup', 'saved.gz', '--json'])
    assert.equal(saved.code, 0, saved.stderr)
    assert.equal((await from.cardea(['audit', 'verify'])).code, 0)
    const events = (await from.cardea(['audit', 'list', '--json'])).stdout
    for (const event of ['store.saved', 'audit.verified']) assert.match(events, new RegExp(`"${event}"`))
    await stop(server)

    copyFileSync(join(from.folder, 'saved.gz'), join(to.folder, 'saved.gz'))
    const restored = await to.cardea(['restore', 'saved.gz', '--json'])
    assert.equal(restored.code, 0, restored.stderr)
    assert.deepEqual(JSON.parse(restored.stdout), JSON.parse(saved.stdout))
    assert.match((await to.cardea(['config', 'get', 'chttpd_auth.timeout'])).stdout, /^1234\b/)
    const listed = await to.cardea(['audit', 'list', '--event', 'store.restored', '--json'])
    const [{ createdAt, sha256 }, ...others] = listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual({ createdAt, sha256, others }, { ...pick(JSON.parse(saved.stdout)), others: [] })
    const again = await to.serve()
    assert.ok(await signsIn(again.document, ['ann', 'pw']))
    assert.ok(await signsIn(again.document, ['root', 'pw']))
    assert.deepEqual([await findName(again.document, live), await findName(again.document, ended)], ['ann', null])
    await stop(again)
  })
}

/** A folder with one user, and a backup of it without that user. */
async function makeSaved(scope: Scope, make: Make): Promise<Managed> {
  const managed = await make(scope)
  await managed.cardea(['user', 'add', 'bob', '--no-password'])
  assert.equal((await managed.cardea(['backup', 'saved.gz'])).code, 0)
  await managed.cardea(['user', 'add', 'ann', '--no-password'])
  return managed
}

describe('cardea backup', () => {
  it('prints what was saved, to a file for its owner alone', async (t) => {
    const managed = await makeSaved(t, makeSqlite)
    const { stdout, stderr, code } = await managed.cardea(['backup', 'saved.gz'])
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^Saved \d+ records: .*users 2\.\nfile {5}saved\.gz\ncreated {2}\S+ by Cardea \S+, schema \d+\n/,
    )
    assert.match(stdout, /^sha256 {3}[0-9a-f]{64}$/m)
    assert.equal(statSync(join(managed.folder, 'saved.gz')).mode & 0o777, 0o600)
  })

  it('fails if a restore would refuse the file, and so does an export', async (t) => {
    const managed = await makeSaved(t, makeSqlite)
    const database = new DatabaseSync(join(managed.folder, 'cardea.db'))
    database.exec(`UPDATE cardea_users SET record = '{' WHERE name = 'ann'`)
    database.close()
    const saved = await managed.cardea(['backup', 'saved.gz'])
    assert.equal(saved.code, 1)
    assert.match(
      saved.stderr,
      /^Warning: the store has damaged records \(line \d+, a row of cardea_users: it cannot be read\)\. /,
    )
    const restored = await managed.cardea(['restore', 'saved.gz', '--replace'])
    assert.deepEqual([restored.code, /a row of cardea_users: it cannot be read/.test(restored.stderr)], [1, true])
    const exported = await managed.cardea(['export', 'users.json'])
    assert.equal(exported.code, 1)
    assert.match(exported.stderr, /^The records of these users are damaged, and not in the export: "ann"\. Restore/m)
    assert.match(exported.stdout, /^Exported 1 users\.$/m)
    assert.match(readFileSync(join(managed.folder, 'users.json'), 'utf8'), /"name":/)
    const checked = await managed.cardea(['check'])
    assert.match(checked.stdout, /^problem {2}store {10}records of users are damaged: "ann"$/m)
  })

  it('refuses to replace the store itself', async (t) => {
    const managed = await makeSaved(t, makeSqlite)
    const { code, stderr } = await managed.cardea(['backup', 'cardea.db'])
    assert.deepEqual([code, /is the store itself/.test(stderr)], [2, true])
    assert.match((await managed.cardea(['user', 'list'])).stdout, /^ann/m)
  })

  it('of a store that does not exist fails and says where it looked', async (t) => {
    const { code, stderr } = await (await makeSqlite(t)).cardea(['backup', 'saved.gz', '--json'])
    assert.equal(code, 1)
    assert.match(JSON.parse(stderr).reason, /^There is no store at .*cardea\.db\. Name the configuration/)
  })
})

const MAKES: readonly [engine: string, make: Make][] = [
  ['SQLite', makeSqlite],
  ['PostgreSQL', makePostgres],
]

describe('cardea restore', () => {
  for (const [engine, make] of MAKES) {
    it(`replaces a store only with --replace and while no server runs: ${engine}`, async (t) => {
      const managed = await makeSaved(t, make)
      const kept = await managed.cardea(['restore', 'saved.gz'])
      assert.deepEqual([kept.code, /not empty.*--replace/.test(kept.stderr)], [1, true], kept.stderr)
      const server = await managed.serve()
      const running = await managed.cardea(['restore', 'saved.gz', '--replace'])
      assert.deepEqual([running.code, /server is running/.test(running.stderr)], [1, true], running.stderr)
      assert.match((await managed.cardea(['user', 'list'])).stdout, /^ann/m)
      await stop(server)
      const restored = await managed.cardea(['restore', 'saved.gz', '--replace'])
      assert.match(restored.stdout, /^Restored \d+ records: .*users 1\.$/m, restored.stderr)
      assert.match(restored.stdout, /are valid again\.\n.*restore again with --replace --end-sessions/)
      const ended = await managed.cardea(['restore', 'saved.gz', '--replace', '--end-sessions'])
      assert.match(ended.stdout, /^Restored (.*\n)+All sessions and tokens have ended/, ended.stderr)
      assert.doesNotMatch((await managed.cardea(['user', 'list'])).stdout, /^ann/m)
    })
  }

  it('--check reads the file and needs no store', async (t) => {
    const { folder } = await makeSaved(t, makeSqlite)
    const other = makeManaged(t, toConfig('sqlite:cardea.db'))
    const file = join(folder, 'saved.gz')
    assert.match((await other.cardea(['restore', '--check', file])).stdout, /^Checked \d+ records: .*users 1\.$/m)
    const before = readFileSync(file)
    truncateSync(file, before.length - 30)
    const { code, stderr } = await other.cardea(['restore', '--check', file])
    assert.deepEqual([code, /^The backup is damaged: it ends early/.test(stderr)], [1, true], stderr)
    assert.equal((await other.cardea(['user', 'list', '--json'])).stdout, '')
  })

  it('of a missing or foreign file or a pipe says so', async (t) => {
    const managed = await makeSqlite(t)
    const missing = await managed.cardea(['restore', 'missing.gz'])
    assert.match(missing.stderr, /^The backup cannot be read: ENOENT/)
    writeFileSync(join(managed.folder, 'users.json'), '{}\n')
    execFileSync('mkfifo', [join(managed.folder, 'pipe')])
    const pipe = await managed.cardea(['restore', '--check', 'pipe'])
    assert.deepEqual([pipe.code, pipe.stderr], [1, 'The backup cannot be read: it is not a file.\n'])
    const foreign = await managed.cardea(['restore', 'users.json'])
    assert.deepEqual([foreign.code, /is not a backup of Cardea/.test(foreign.stderr)], [1, true])
  })
})
