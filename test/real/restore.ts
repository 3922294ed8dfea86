/** The users database is replaced by an older backup of it while Cardea runs. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { send } from '../support/request.ts'
import { createActs, toId } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

export function testRestore(scene: Scene): void {
  before(() => waitUntil(async () => (await send(scene.url(), { path: '/_cardea/ready' })).status === 200))
  test('an older backup of the users database takes effect, and ends sessions', () => restore(scene))
}

interface Row {
  readonly id: string
  readonly doc: object
}

async function backUp({ request }: Couchdb): Promise<readonly object[]> {
  const { rows } = Object(await request('GET', '/_users/_all_docs'))
  const keys = rows.map(({ id }: Row) => ({ id }))
  const { results } = Object(await request('POST', '/_users/_bulk_get?revs=true', { docs: keys }))
  return results.map(({ docs: [found] }: { docs: readonly { ok: object }[] }) => found?.ok)
}

const NAMES = ['changed', 'deleted', 'same', 'later'].map((name) => `restored-${name}`)
const [CHANGED = '', DELETED = '', SAME = '', LATER = ''] = NAMES

async function restore({ url, couchdb }: Scene): Promise<void> {
  const { api, signIn, openSession, isSignedIn, becomes, findHealth } = createActs({ document: url() })
  const call = async (...request: Parameters<typeof api>) => {
    const reply = await api(...request)
    assert.equal(reply.status, 200, reply.body)
  }
  for (const name of NAMES.slice(0, 3)) await call('POST', '/users', { name, password: 'old' })
  const ended = [await openSession(CHANGED, 'old'), await openSession(DELETED, 'old')]
  const backup = await backUp(couchdb)
  await call('PUT', `/users/${CHANGED}/password`, { password: 'new' })
  await call('DELETE', `/users/${DELETED}`)
  await call('POST', '/users', { name: LATER, password: 'new' })
  ended.push(await openSession(CHANGED, 'new'), await openSession(LATER, 'new'))
  await couchdb.request('DELETE', '/_users')
  await couchdb.request('PUT', '/_users')
  await couchdb.request('POST', '/_users/_bulk_docs', { docs: backup, new_edits: false })
  await becomes(401, LATER, 'new')
  for (const name of [CHANGED, DELETED, SAME]) await becomes(200, name, 'old')
  await waitUntil(async () => (await findHealth())?.state === 'ok')
  assert.deepEqual([(await signIn(CHANGED, 'new')).status, (await signIn(LATER, 'new')).status], [401, 401])
  for (const session of ended) assert.equal(await isSignedIn(session), false)
  // goes on as before
  for (const name of [CHANGED, DELETED, SAME]) {
    await call('PUT', `/users/${name}/password`, { password: 'last' })
    const { revision } = (await api('GET', `/users/${name}`)).json
    assert.equal(Object(await couchdb.request('GET', `/_users/${toId(name)}`))._rev, revision)
    await call('DELETE', `/users/${name}`)
  }
}
