// Faults of the disk and of the file of the store: what was acknowledged stays, what was not acknowledged is 503, and
// the message for the operator says what to do. docs/reference/faults.md has the same rows.
import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { createTestCardea } from '../../../src/index.ts'
import { AS_ADMIN, type Reply, send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { type Server, startServer } from '../../support/server.ts'
import { waitUntil } from '../../support/wait.ts'
import { mountDisk } from './disk.ts'

const PASSWORD = 'the password of a user'
const PAGE_BYTES = 4096

const urlOf = (folder: string): string => `sqlite:${join(folder, 'cardea.db')}`
const open = (t: TestContext, folder: string): Promise<Server> => startServer(t, { store: { url: urlOf(folder) } })

const putUser = ({ document }: Server, name: string): Promise<Reply> =>
  send(document, {
    as: AS_ADMIN,
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}`,
    body: { name, password: PASSWORD, roles: [], type: 'user' },
  })

const signIn = ({ document }: Server, name: string, password = PASSWORD): Promise<Reply> =>
  send(document, { method: 'POST', path: '/_session', body: { name, password } })

const cookieOf = (reply: Reply): string => reply.headers['set-cookie']?.[0]?.split(';')[0] ?? ''

const findSessionName = async ({ document }: Server, cookie: string): Promise<unknown> =>
  (await send(document, { path: '/_session', headers: { Cookie: cookie } })).json.userCtx.name

/** What every view of the health says about the store, once ready has this status. */
async function findStoreProblem({ document }: Server, status = 503): Promise<unknown> {
  const ask = (path: string) => send(document, { as: AS_ADMIN, path })
  await waitUntil(async () => (await ask('/_cardea/ready')).status === status)
  const health = (await ask('/_cardea/api/health')).json
  const overview = (await ask('/_cardea/api/overview')).json.health
  for (const view of [health, overview]) assert.equal(view.isReady, status === 200)
  assert.deepEqual(overview.parts, health.parts)
  return health.parts.find(({ name }: { name: string }) => name === 'store').problem
}

/** Of the lines about the store: the audit trail, which is written a moment later, has lines of its own. */
const listReasons = ({ log }: Server): readonly unknown[] =>
  log
    .filter(({ level, message }) => level === 'error' && message.startsWith('the store cannot be'))
    .map(({ fields }) => fields['reason'])

/** Users that were acknowledged, one at a time until the store refuses. */
async function createUsers(server: Server, max: number): Promise<readonly string[]> {
  const created: string[] = []
  for (let i = 0; i < max; i += 1) {
    const { status } = await putUser(server, `user-${i}`)
    if (status !== 201) {
      assert.equal(status, 503)
      return created
    }
    created.push(`user-${i}`)
  }
  return created
}

describe('the disk is full', () => {
  test('writes are 503, known users sign in, and nothing acknowledged is lost', async (t) => {
    const disk = mountDisk(t)
    if (!disk) return
    const server = await open(t, disk.folder)
    await putUser(server, 'ada')
    const cookie = cookieOf(await signIn(server, 'ada'))
    disk.fill()
    // the write-ahead log has room for a few more
    const created = await createUsers(server, 1000)
    assert.ok(created.length < 1000)
    const signOut = { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } }
    assert.equal((await send(server.document, signOut)).status, 503)
    assert.equal(await findSessionName(server, cookie), 'ada', 'a sign-out that failed has no effect')
    assert.equal((await signIn(server, 'ada')).status, 200)
    assert.equal((await signIn(server, 'ada', 'wrong')).status, 401)
    // one line for a while, not one for each request
    assert.deepEqual([...new Set(listReasons(server))], ['the disk is full: free some space'])
    assert.ok(listReasons(server).length <= 3)
    assert.equal(await findStoreProblem(server), 'the disk is full: free some space')
    disk.free()
    assert.equal((await send(server.document, signOut)).status, 200)
    assert.equal(await findSessionName(server, cookie), null)
    assert.equal((await putUser(server, 'after')).status, 201)
    await server.cardea.close()
    const again = await open(t, disk.folder)
    for (const name of ['ada', 'after', ...created]) assert.equal((await signIn(again, name)).status, 200, name)
    assert.equal(await findSessionName(again, cookie), null)
  })
})

interface Loss {
  readonly name: string
  do(folder: string): void
  /** Puts the same files back. */
  undo?(folder: string): void
}

const asideOf = (folder: string): string => `${folder}.aside`

const LOSSES: readonly Loss[] = [
  { name: 'its folder is deleted', do: (folder) => rmSync(folder, { recursive: true }) },
  {
    name: 'its file is replaced by a copy',
    do: (folder) => {
      const path = join(folder, 'cardea.db')
      copyFileSync(path, join(folder, 'copy'))
      renameSync(join(folder, 'copy'), path)
    },
  },
  { name: 'its write-ahead log is deleted', do: (folder) => rmSync(join(folder, 'cardea.db-wal')) },
  {
    name: 'its folder is moved away for a while',
    do: (folder) => renameSync(folder, asideOf(folder)),
    undo: (folder) => renameSync(asideOf(folder), folder),
  },
]

describe('the file behind the store is no longer the file at its path', () => {
  for (const loss of LOSSES)
    test(`writes are 503, it is logged, and ready fails: ${loss.name}`, async (t) => {
      const folder = join(makeFolder(t), 'data')
      mkdirSync(folder)
      const server = await open(t, folder)
      await putUser(server, 'ada')
      loss.do(folder)
      assert.equal((await putUser(server, 'lost')).status, 503)
      const isLogged = () => server.log.some(({ message }) => message === 'the store cannot be found at its path')
      await waitUntil(isLogged)
      assert.match(String(await findStoreProblem(server)), /was deleted, moved or replaced/)
      assert.equal((await send(server.document, { path: '/_up' })).status, 503)
      assert.equal((await signIn(server, 'ada')).status, 200, 'known users sign in')
      if (!loss.undo) return
      loss.undo(folder)
      assert.equal((await putUser(server, 'after')).status, 201)
      await waitUntil(async () => (await findStoreProblem(server, 200)) === null)
    })
})

describe('the file system is read-only', () => {
  test('a start is refused, and the message says what to do', async (t) => {
    const disk = mountDisk(t)
    if (!disk) return
    await (await createTestCardea({ options: { store: { url: urlOf(disk.folder) } } })).close()
    disk.makeReadOnly()
    await assert.rejects(createTestCardea({ options: { store: { url: urlOf(disk.folder) } } }), {
      name: 'StartError',
      message: /cardea\.db cannot be opened: the file system is read-only: remount it for writing, or move the store/,
    })
  })
})

const RESTORE = /damaged: stop the server and restore a backup with "cardea restore FILE --replace"/

function overwrite(path: string, from: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, bytes.length, from)
  closeSync(file)
}

/** SQLite reads pages again after another connection has written. */
function dropPageCache(path: string): void {
  const other = new DatabaseSync(path)
  other.exec('PRAGMA user_version = 1')
  other.close()
}

const NOISE = Buffer.alloc(PAGE_BYTES, 'noise ')

interface Damage {
  readonly name: string
  do(path: string): void
}

const DAMAGES: readonly Damage[] = [
  { name: 'its header was overwritten', do: (path) => overwrite(path, 0, NOISE.subarray(0, 100)) },
  { name: 'it was cut off', do: (path) => truncateSync(path, statSync(path).size / 2) },
]

describe('the file of the store is damaged', () => {
  let good = Buffer.alloc(0)

  async function makeStore(t: TestContext): Promise<string> {
    const folder = makeFolder(t)
    if (good.length === 0) {
      const server = await open(t, folder)
      await createUsers(server, 40)
      await server.cardea.close()
      good = readFileSync(join(folder, 'cardea.db'))
    }
    writeFileSync(join(folder, 'cardea.db'), good, { mode: 0o600 })
    return folder
  }

  for (const damage of DAMAGES)
    test(`a start is refused, and the message says what to do: ${damage.name}`, async (t) => {
      const folder = await makeStore(t)
      damage.do(join(folder, 'cardea.db'))
      await assert.rejects(open(t, folder), { name: 'StartError', message: RESTORE })
    })

  test('a start is refused, whichever page in use was overwritten', async (t) => {
    const folder = await makeStore(t)
    for (let page = 0; page < good.length / PAGE_BYTES; page += 1) {
      writeFileSync(join(folder, 'cardea.db'), good)
      overwrite(join(folder, 'cardea.db'), page * PAGE_BYTES, NOISE)
      await assert.rejects(open(t, folder), { name: 'StartError', message: RESTORE }, `page ${page}`)
    }
  })

  test('pages that are overwritten while it runs: 503 from then on, and no restart', async (t) => {
    const folder = await makeStore(t)
    const server = await open(t, folder)
    dropPageCache(join(folder, 'cardea.db'))
    for (let page = 1; page < good.length / PAGE_BYTES; page += 1)
      overwrite(join(folder, 'cardea.db'), page * PAGE_BYTES, NOISE)
    assert.equal((await signIn(server, 'user-7')).status, 503)
    assert.equal((await signIn(server, 'user-7', 'wrong')).status, 503)
    assert.equal((await putUser(server, 'new')).status, 503)
    assert.equal((await send(server.document, { as: AS_ADMIN, path: '/_cardea/ready' })).status, 503)
    for (const reason of listReasons(server)) assert.match(String(reason), RESTORE)
    assert.ok([1, 2].includes(listReasons(server).length), 'logged once for reads, once for writes')
    await server.cardea.close()
    await assert.rejects(open(t, folder), { name: 'StartError', message: RESTORE })
  })
})

describe('the record of a user is damaged inside an intact file', () => {
  const damageRecord = (path: string, name: string) => {
    const other = new DatabaseSync(path)
    other.prepare("UPDATE cardea_users SET record = '{' || record WHERE name = ?").run(name)
    other.close()
  }
  const byAdmin = (path: string) => ({ as: AS_ADMIN, path })

  test('this user gets 503, lists leave it out, and the log names it and says what to do', async (t) => {
    const folder = makeFolder(t)
    const first = await open(t, folder)
    for (const name of ['ada', 'bob']) await putUser(first, name)
    const cookie = cookieOf(await signIn(first, 'ada'))
    await first.cardea.close()
    damageRecord(join(folder, 'cardea.db'), 'ada')
    const server = await open(t, folder)
    const { document, multiModel } = server

    assert.equal((await signIn(server, 'ada')).status, 503)
    assert.equal((await signIn(server, 'bob')).status, 200)
    assert.equal((await send(document, { path: '/_session', headers: { Cookie: cookie } })).status, 503)
    for (const path of ['/_users/org.couchdb.user:ada', '/_cardea/api/users/ada'])
      assert.equal((await send(document, byAdmin(path))).status, 503, path)
    assert.equal((await send(multiModel, byAdmin('/_api/user/ada'))).status, 503)

    for (const path of ['/_users/_all_docs', '/_cardea/api/users?limit=5', '/_cardea/api/users?search=a&limit=5']) {
      const list = await send(document, byAdmin(path))
      assert.equal(list.status, 200, path)
      // as a word: the revision of another user may have these digits
      assert.doesNotMatch(list.body, /\bada\b/, path)
    }
    const users = await send(multiModel, byAdmin('/_api/user'))
    assert.equal(users.status, 200)
    assert.match(users.body, /\bbob\b/)
    assert.doesNotMatch(users.body, /\bada\b/)

    const lines = server.log.filter(({ message }) => message.startsWith('records of users are damaged'))
    assert.deepEqual(
      lines.map(({ level, message, fields }) => [level, message, fields]),
      [
        [
          'error',
          'records of users are damaged: restore a backup with "cardea restore FILE --replace"',
          { users: ['ada'], count: 1 },
        ],
      ],
    )
  })
})
