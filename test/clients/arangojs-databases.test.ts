// What the driver's own tests expect of databases and their users, with a database behind the door.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Database } from 'arangojs'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeMultiModel, openBackend } from '../support/upstream.ts'

/** As much of a database as the driver asks for here. */
async function open(t: Scope) {
  const names = new Set(['_system'])
  const backend = await openBackend(t, (request, response, body) => {
    const wrap = (status: number, result: unknown) =>
      response
        .writeHead(status, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ error: false, code: status, result }))
    if (request.method === 'POST') {
      names.add(JSON.parse(String(body)).name)
      return wrap(201, true)
    }
    const [, name = '_system'] = /^\/_db\/([^/]+)/.exec(request.url ?? '') ?? []
    return request.url?.endsWith('/current') ? wrap(200, { name }) : wrap(200, [...names])
  })
  const { multiModel: url } = await startServer(t, beforeMultiModel(t, backend.url))
  const connect = (databaseName = '_system'): Database => {
    const db = new Database({ url, databaseName })
    t.after(() => db.close())
    return db
  }
  const system = connect()
  await system.login('admin', 'adminpw')
  return { system, connect, backend }
}

it('createDatabase creates a database with the given name', async (t) => {
  const { system } = await open(t)
  const db = await system.createDatabase('shop')
  assert.equal((await db.get()).name, 'shop')
  assert.deepEqual(await system.listDatabases(), ['_system', 'shop'])
})

it('createDatabase adds the given users to the database', async (t) => {
  const { system, connect, backend } = await open(t)
  await system.createDatabase('shop', [
    { username: 'ann', passwd: 'apple', active: true, extra: { colour: 'red' } },
    { username: 'bob', passwd: 'berry', active: false },
  ])
  assert.deepEqual(
    (await system.listUsers()).map(({ user }) => user),
    ['admin', 'ann', 'bob'],
  )
  assert.equal(await system.getUserAccessLevel('ann', { database: 'shop' }), 'rw')
  assert.deepEqual((await system.getUser('ann')).extra, { colour: 'red' })
  const shop = connect('shop')
  await shop.login('ann', 'apple')
  assert.equal((await shop.get()).name, 'shop')
  await assert.rejects(connect().login('bob', 'berry'))
  assert.doesNotMatch(backend.seen.map(({ body }) => String(body)).join(), /apple|berry/)
})

it('a user of one database is rejected at another', async (t) => {
  const { system, connect } = await open(t)
  await system.createDatabase('shop', [{ username: 'ann', passwd: 'apple' }])
  await system.createDatabase('store')
  const store = connect('store')
  store.useBasicAuth('ann', 'apple')
  await assert.rejects(store.get(), { code: 401 })
})
