// The client with the token of the multi-model door.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Change, createClient, type TokenStorage } from '../../client/src/index.ts'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

function createStorage(): TokenStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}

const ADA = { name: 'ada', password: 'analytical' }
/** Responds with 401 to an anonymous request. */
const OWN = '/_api/user/ada'

async function open(scope: Scope, sessionTimeout = 3600) {
  const { cardea, multiModel } = await startServer(scope, { server: { 'session-timeout': sessionTimeout } })
  await cardea.users.create({ ...ADA, roles: ['member'], grants: { _system: 'ro' } })
  const openClient = (storage?: TokenStorage) => {
    const client = createClient({ url: multiModel, credential: 'token', ...(storage && { storage }) })
    const changes: Change[] = []
    client.onChange((change) => changes.push(change))
    scope.after(() => client.close())
    return { client, changes }
  }
  return { cardea, openClient }
}

test('signs in and out with a token', async (t) => {
  const { openClient } = await open(t)
  const { client, changes } = openClient()
  assert.equal(await client.session(), null)
  assert.deepEqual(await client.signIn({ ...ADA, password: 'wrong' }), { status: 'wrong_password' })
  const session = { name: 'ada', roles: ['member'] }
  assert.deepEqual(await client.signIn(ADA), { status: 'signed_in', session })
  assert.deepEqual(await client.session(), session)
  assert.equal((await client.fetch(OWN)).status, 200)
  await client.signOut()
  assert.equal(await client.session(), null)
  assert.equal((await client.fetch(OWN)).status, 401)
  assert.deepEqual(changes, ['signed_in', 'signed_out'])
})

test('keeps the token in the storage, and renews it before a request', async (t) => {
  const { openClient } = await open(t, 30)
  const storage = createStorage()
  await openClient(storage).client.signIn(ADA)
  const { client, changes } = openClient(storage)
  assert.equal((await client.fetch(OWN)).status, 200)
  assert.equal((await client.fetch(OWN)).status, 200)
  assert.ok(changes.includes('renewed'), 'less than a minute is left')
})

test('requests wait after a revocation, and a new password signs in again', async (t) => {
  const { cardea, openClient } = await open(t)
  const { client, changes } = openClient()
  await client.signIn(ADA)
  assert.deepEqual(await client.changePassword('analytical', 'difference'), { status: 'changed' })
  assert.equal((await client.fetch(OWN)).status, 200)
  await cardea.users.setPassword('ada', 'analytical')
  const waiting = client.fetch(OWN)
  await waitUntil(() => changes.includes('revoked'))
  await client.signIn(ADA)
  assert.equal((await waiting).status, 200)
})

test('asks for a code', async (t) => {
  const { openClient } = await open(t)
  const { client } = openClient()
  await client.signIn(ADA)
  const { secret } = await client.secondFactor.enrol()
  const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
  const [recovery = ''] = await client.secondFactor.confirm(secret, code)
  assert.deepEqual(await client.signIn(ADA), { status: 'code_required' })
  assert.equal((await client.signIn({ ...ADA, code: recovery })).status, 'signed_in')
})
