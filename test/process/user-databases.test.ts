// A database for each user, with the command line and processes that are killed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ADMIN_PASSWORD, CONFIG, makeManaged } from '../support/managed.ts'
import { bySecurity, openPouchdbServer, toUserDatabase } from '../support/pouchdb-server.ts'
import { start } from '../support/process.ts'
import { basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { openBackend, UPSTREAM_SECRET } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const toConfig = (url: string, prefix = 'userdb-'): string =>
  `${CONFIG}[upstream]\ndocument = ${url}\ndocument-secret = ${UPSTREAM_SECRET}\n[user-databases]\nenabled = true\nprefix = ${prefix}\n`

async function openScene(scope: Scope) {
  const database = await openPouchdbServer(scope, { mayReach: bySecurity })
  const managed = makeManaged(scope, toConfig(database.url))
  const isNamed = (name: string) => database.securities.get(toUserDatabase(name))?.members?.names?.includes(name)
  return { database, managed, isNamed: (name: string) => isNamed(name) === true }
}

it('users of commands have one, and create-missing is for those from before', async (t) => {
  const { managed, isNamed } = await openScene(t)
  const list = join(managed.folder, 'users.csv')
  // without a server: the next start does the work
  assert.equal((await managed.cardea(['user', 'add', 'ada', '--password-stdin'], 'pw')).code, 0)
  writeFileSync(list, 'name,password\nbob,pw\n')
  const imported = await managed.cardea(['import', list, '--from', 'csv'])
  assert.equal(imported.code, 0, imported.stderr)
  await managed.serve()
  await waitUntil(() => isNamed('ada') && isNamed('bob'))
  await managed.cardea(['config', 'set', 'user-databases.enabled', 'false'])
  await managed.cardea(['user', 'add', 'eve', '--password-stdin'], 'pw')
  const refused = await managed.cardea(['databases', 'create-missing'])
  assert.deepEqual([refused.code, /^Set user-databases\.enabled/.test(refused.stderr)], [1, true], refused.stderr)
  await managed.cardea(['config', 'set', 'user-databases.enabled', 'true'])
  const { code, stdout, stderr } = await managed.cardea(['databases', 'create-missing'])
  assert.deepEqual([code, stdout], [0, 'Users: 3. Databases to create: 1. Waiting: 0.\n'], stderr)
  assert.ok(isNamed('eve'))
})

it('a killed server goes on where it was', async (t) => {
  const { database, managed, isNamed } = await openScene(t)
  await database.setDown(true)
  const first = start(t, ['serve', '--config', managed.folder, '--log.format', 'json'])
  const { document } = await first.doors()
  const names = Array.from({ length: 20 }, (_, index) => `user${index}`)
  for (const name of names) {
    const body = { name, password: 'pw' }
    const as = basic('admin', ADMIN_PASSWORD)
    assert.equal((await send(document, { method: 'POST', path: '/_cardea/api/users', as, body })).status, 200)
  }
  first.child.kill('SIGKILL')
  await first.ended
  await database.setDown(false)
  const second = start(t, ['serve', '--config', managed.folder, '--log.format', 'json'])
  await second.doors()
  await waitUntil(() => names.every(isNamed))
  second.child.kill('SIGTERM')
  await second.ended
})

describe('cardea check', () => {
  const RIGHT = { enable: 'false', database_prefix: 'userdb-' }
  const ROWS: Readonly<Record<string, readonly [status: number, body: object, line: RegExp, prefix?: string]>> = {
    'says that Cardea may create databases': [200, RIGHT, /^ok +user databases +Cardea may create them$/m],
    'finds a server that refuses it': [
      403,
      {},
      /^problem +user databases +CouchDB does not let Cardea create databases: status 403\n +Compare upstream\.document-identity/m,
    ],
    'warns of couch_peruser': [
      200,
      { ...RIGHT, enable: 'true' },
      /^warning +user databases +CouchDB creates databases for users, too$/m,
    ],
    'warns of another prefix': [
      200,
      { ...RIGHT, database_prefix: 'u-' },
      /^warning +user databases +user-databases\.prefix is userdb-, and that of couch_peruser in CouchDB u-$/m,
    ],
    'warns of both': [
      200,
      { enable: 'true', database_prefix: 'u-' },
      /^warning +user databases +user-databases\.prefix is userdb-[^\n]+ u-$[\s\S]+^warning[^\n]+CouchDB creates databases for users, too$/m,
    ],
    'does not compare the prefix of a daemon that was never used': [
      200,
      RIGHT,
      /^ok +user databases +Cardea may create them$/m,
      'app-',
    ],
  }
  for (const [name, [status, body, line, prefix]] of Object.entries(ROWS))
    it(name, async (t) => {
      const backend = await openBackend(t, (request, response) => {
        const isAsked = request.url === '/_node/_local/_config/couch_peruser'
        response.writeHead(isAsked ? status : 200, { 'Content-Type': 'application/json' })
        response.end(JSON.stringify(isAsked ? body : {}))
      })
      assert.match((await makeManaged(t, toConfig(backend.url, prefix)).cardea(['check'])).stdout, line)
    })
})
