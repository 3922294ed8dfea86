/** Users that stay in CouchDB, with a store in PostgreSQL. */
import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { connectPostgres } from '../store/postgres-server.ts'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument } from '../support/upstream.ts'
import { createActs, IN_COUCHDB, toDocument, toId } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

const ROUNDS = 10

it('documents that are no users, or have conflicts, hold nothing up, whatever their ids are', async (t) => {
  const database = await openPouchdbServer(t)
  const users = database.open('_users')
  const odd = ['a\0b', 'x'.repeat(5000), `role\0`].map((name) => toDocument(name))
  await users.bulkDocs([...odd, toDocument('ada'), toDocument('both')])
  await users.bulkDocs([{ ...toDocument('both', 'theirs'), _rev: `1-${'f'.repeat(32)}` }], { new_edits: false })
  const store = { store: { url: await postgres.createPlace() } }
  const server = await startServer(t, beforeDocument(database.url), IN_COUCHDB, store)
  const { isReady, signIn, findHealth, becomes } = createActs(server)
  await isReady()
  assert.deepEqual([(await signIn('ada')).status, (await signIn('both', 'theirs')).status], [200, 401])
  assert.match((await findHealth())?.problem ?? '', /^3 documents are left out, 1 users have conflicts/)
  await users.put(toDocument('y'.repeat(6000)))
  await users.put(toDocument('members', 'pw', { 'a\0b': 'c\0d\ud800' }))
  await becomes(200, 'members')
})

it('a change at either node is complete, whichever node writes it to the store first', async (t) => {
  const store = { store: { url: await postgres.createPlace() } }
  const database = await openPouchdbServer(t)
  const users = database.open('_users')
  await users.bulkDocs([toDocument('ada'), toDocument('bob')])
  const open = async (name: string) =>
    createActs(await startServer(t, beforeDocument(database.url), IN_COUCHDB, store, { node: { name } }))
  const nodes = [await open('cardea@node-a'), await open('cardea@node-b')] as const
  for (const node of nodes) await node.isReady()
  const change = async (node: (typeof nodes)[number], name: string) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const isEven = round % 2 === 0
      const [changed, limited] = await Promise.all([
        node.api('PUT', `/users/${name}/password`, { password: `pw-${round}`, mustChangePassword: isEven }),
        node.api('PUT', `/users/${name}/grants`, { database: `shop-${round}`, level: 'ro' }),
        node.api('PUT', `/users/${name}/active`, { active: isEven }),
      ])
      assert.deepEqual([changed.status, limited.status], [200, 200])
      const user = (await node.api('GET', `/users/${name}`)).json
      assert.deepEqual(
        [user.active, user.mustChangePassword ?? false, `shop-${round}` in user.grants],
        [isEven, isEven, true],
      )
      assert.equal(user.revision, (await users.get(toId(name)))['_rev'])
    }
  }
  await Promise.all(nodes.flatMap((node) => [change(node, node === nodes[0] ? 'ada' : 'bob')]))
  for (const name of ['ada', 'bob']) {
    for (const node of nodes) {
      await node.api('PUT', `/users/${name}/active`, { active: true })
      await waitUntil(async () => (await node.signIn(name, `pw-${ROUNDS - 1}`)).status === 200)
      assert.equal(Object.keys((await node.api('GET', `/users/${name}`)).json.grants).length, ROUNDS)
    }
  }
})

it('users are moved to CouchDB, and back, at all nodes', async (t) => {
  const store = { store: { url: await postgres.createPlace() } }
  const database = await openPouchdbServer(t)
  const users = database.open('_users')
  const open = async (name: string) =>
    createActs(await startServer(t, beforeDocument(database.url), store, { node: { name } }))
  const [here, other] = [await open('cardea@node-a'), await open('cardea@node-b')]
  assert.equal((await here.api('POST', '/users', { name: 'ada', password: 'own' })).status, 200)
  const isAt = async (phase: string) => (await here.api('GET', '/directory')).json.phase === phase
  const setPassword = async (password: string) => {
    assert.equal((await other.api('PUT', '/users/ada/password', { password })).status, 200)
    return (await users.get(toId('ada')))['_rev'] === (await here.api('GET', '/users/ada')).json.revision
  }
  await here.api('POST', '/directory/adoption', {})
  await waitUntil(() => isAt('following'))
  assert.equal(await setPassword('there'), true)
  await here.api('POST', '/directory/release', { now: true })
  await waitUntil(() => isAt('none'))
  assert.equal(await setPassword('here'), false)
  await here.becomes(200, 'ada', 'here')
})
