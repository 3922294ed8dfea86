// Users of Cardea become users of CouchDB, and back, with the command line.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { CONFIG, makeManaged } from '../support/managed.ts'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { start } from '../support/process.ts'
import { basic, send } from '../support/request.ts'
import { UPSTREAM_SECRET } from '../support/upstream.ts'
import { toDocument, toId } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

const COUNT = 400

it('the directory is adopted by a server that is killed meanwhile, and released', async (t) => {
  const database = await openPouchdbServer(t)
  const users = database.open('_users')
  await users.bulkDocs([toDocument('user7', 'there')])
  const upstream = `[upstream]\ndocument = ${database.url}\ndocument-secret = ${UPSTREAM_SECRET}\n`
  const managed = makeManaged(t, CONFIG + upstream)
  const list = join(managed.folder, 'users.csv')
  const names = Array.from({ length: COUNT }, (_, index) => `user${index}`)
  writeFileSync(list, ['name,password', ...names.map((name) => `${name},pw`)].join('\n'))
  assert.equal((await managed.cardea(['import', list, '--from', 'csv'])).code, 0)

  const first = start(t, ['serve', '--config', managed.folder])
  await first.doors()
  const plan = await managed.cardea(['directory', 'adopt', '--dry-run'])
  assert.match(
    plan.stdout,
    /^Users: 400\. New in CouchDB: 399\.\nOther documents .* replaced: 1: user7\n.* must change it: 400: user0, .* and 380 more: see --json\nNothing was changed\.$/m,
  )
  const refused = await managed.cardea(['directory', 'adopt'])
  assert.deepEqual([refused.code, /With --replace/.test(refused.stderr)], [1, true], refused.stderr)
  const isThere = (name: string) =>
    users.get(toId(name)).then(
      () => true,
      () => false,
    )
  const adopting = managed.cardea(['directory', 'adopt', '--replace'])
  await waitUntil(() => isThere('user0'))
  first.child.kill('SIGKILL')
  await first.ended
  await adopting
  assert.equal((await Promise.all(names.map(isThere))).every(Boolean), false, 'it was killed in between')

  const second = await managed.serve()
  const adopted = await managed.cardea(['directory', 'adopt', '--replace'])
  assert.deepEqual([adopted.code, /the users are in CouchDB\.$/im.test(adopted.stdout)], [0, true], adopted.stderr)
  assert.ok((await Promise.all(names.map(isThere))).every(Boolean))
  const signIn = async () => (await send(second.document, { path: '/_session', as: basic('user7', 'pw') })).status
  assert.equal(await signIn(), 200)
  const released = await managed.cardea(['directory', 'release'])
  const isReleased = /^The users are those of Cardea\.$/m.test(released.stdout)
  assert.deepEqual([released.code, isReleased], [0, true], `${released.stdout}${released.stderr}`)
  assert.equal(await signIn(), 200)
})
