import assert from 'node:assert/strict'
import { test } from 'node:test'
import nano, { type DocumentScope, type MaybeDocument, type ServerScope } from 'nano'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

interface UserDocument extends MaybeDocument {
  name: string
  type: 'user'
  roles: string[]
  password?: string
}

const ID = 'org.couchdb.user:ada'

const { document: url } = await startServer(createSharedScope())

/** The client as it is, with a jar of cookies of its own. */
async function signIn(name: string, password: string): Promise<ServerScope> {
  const client = nano({ url })
  await client.auth(name, password)
  return client
}

const usersOf = (client: ServerScope): DocumentScope<UserDocument> => client.use<UserDocument>('_users')
const statusOf = async (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: { statusCode: number }) => error.statusCode,
  )

test('signs in and uses the cookie', async () => {
  const client = await signIn('admin', 'adminpw')
  const { ok, userCtx, info } = await client.session()
  assert.deepEqual(
    [ok, userCtx, info],
    [
      true,
      { name: 'admin', roles: ['_admin'] },
      { authentication_handlers: ['jwt', 'proxy', 'cookie', 'default'], authenticated: 'cookie' },
    ],
  )
})

test('reports a wrong password', async () => {
  await assert.rejects(signIn('admin', 'wrong'), { statusCode: 401, reason: 'Name or password is incorrect.' })
})

test('creates, lists, changes and deletes a user', async () => {
  const users = usersOf(await signIn('admin', 'adminpw'))
  const { ok } = await users.insert({ name: 'ada', type: 'user', roles: ['math'], password: 'analytical' }, ID)
  assert.equal(ok, true)
  const { rows } = await users.list({ include_docs: true })
  assert.ok(rows.some(({ id, doc }) => id === ID && doc?.name === 'ada'))

  const ada = await signIn('ada', 'analytical')
  assert.deepEqual((await ada.session()).userCtx, { name: 'ada', roles: ['math'] })
  const own = await usersOf(ada).get(ID)
  await usersOf(ada).insert({ ...own, password: 'engine' })
  assert.equal((await ada.session()).userCtx.name, null, 'a new password ends the session')
  assert.equal(await statusOf(signIn('ada', 'analytical')), 401)
  assert.equal((await (await signIn('ada', 'engine')).session()).userCtx.name, 'ada')

  const { _rev } = await users.get(ID)
  assert.equal((await users.destroy(ID, _rev)).ok, true)
  assert.equal(await statusOf(users.get(ID)), 404)
  assert.equal(await statusOf(signIn('ada', 'engine')), 401)
})

test('signs out', async () => {
  const client = await signIn('admin', 'adminpw')
  const other = await signIn('admin', 'adminpw')
  await client.request({ method: 'delete', path: '_session' })
  assert.equal((await client.session()).userCtx.name, null)
  assert.equal((await other.session()).userCtx.name, 'admin')
})
