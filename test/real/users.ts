/** Users that stay in CouchDB, with writes on both sides. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, type TestContext, test } from 'node:test'
import { toUserDatabase } from '../support/pouchdb-server.ts'
import { basic, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { hashPassword, IN_COUCHDB, toDocument, toId } from '../support/users-in-couchdb.ts'
import { waitUntil } from '../support/wait.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

export const USER_OPTIONS = {
  ...IN_COUCHDB,
  auth: { 'account-failures': 0, 'peer-failures': 0 },
  chttpd_auth_lockout: { mode: 'off' },
}

/** More with CARDEA_TEST_OPERATIONS. */
const OPERATIONS = Number(process.env['CARDEA_TEST_OPERATIONS'] ?? 300)
const NAMES = Array.from({ length: 20 }, (_, index) => `both-${index}`)

export function testUsers(scene: Scene): void {
  before(() => waitUntil(async () => (await send(scene.url(), { path: '/_up' })).status === 200))
  test('users of either side sign in at both', (t) => signInAtBoth(scene, t))
  test('couch_peruser sees users that Cardea creates', (t) => makePeruser(scene, t))
  test('the users database is replicated out, and back with changes', (t) => replicate(scene, t))
  test('after writes on both sides both have the same', (t) => writeBoth(scene, t))
}

/** With users of Cardea's own. */
export const MOVING_OPTIONS = {
  auth: { 'account-failures': 0, 'peer-failures': 0 },
  chttpd_auth_lockout: { mode: 'off' },
}

export function testMoves(scene: Scene): void {
  test('users move to CouchDB, where they sign in, and back', (t) => moveThereAndBack(scene, t))
}

async function moveThereAndBack(scene: Scene, scope: Scope): Promise<void> {
  const { couchdb } = scene
  const names = Array.from({ length: 120 }, (_, index) => `moved-${index}`)
  scope.after(() => Promise.all(names.map((name) => removeThere(couchdb, name))))
  await waitUntil(async () => (await send(scene.url(), { path: '/_up' })).status === 200)
  const users = names.map((name) => ({ name, password: hashPassword('pw') }))
  const imported = await api(scene, 'POST', '/transfer/users', { users })
  assert.ok(
    imported.json.outcomes.every(({ kind }: { kind: string }) => kind === 'created'),
    JSON.stringify(imported.json),
  )
  const becomes = (phase: string) => waitUntil(async () => (await api(scene, 'GET', '/directory')).json.phase === phase)
  assert.equal((await api(scene, 'POST', '/directory/adoption', {})).status, 200)
  await becomes('following')
  for (const name of [names[0] ?? '', names.at(-1) ?? '']) {
    assert.deepEqual([await signInHere(scene, name, 'pw'), await signInThere(scene, name, 'pw')], [200, 200])
    assert.equal((await api(scene, 'PUT', `/users/${name}/password`, { password: 'new' })).status, 200)
    assert.deepEqual([await signInHere(scene, name, 'new'), await signInThere(scene, name, 'new')], [200, 200])
  }
  const [moved = ''] = names
  assert.equal(
    (await putThere(couchdb, moved, { ...(await findThere(couchdb, moved)), ...hashPassword('there') })).ok,
    true,
  )
  assert.equal((await api(scene, 'POST', '/directory/release', {})).status, 200)
  await becomes('none')
  assert.equal(await signInHere(scene, moved, 'there'), 200)
  assert.equal((await api(scene, 'PUT', `/users/${moved}/password`, { password: 'here' })).status, 200)
  assert.deepEqual([await signInHere(scene, moved, 'here'), await signInThere(scene, moved, 'here')], [200, 401])
}

const AS_ADMIN = basic('admin', 'adminpw')

const api = ({ url }: Scene, method: string, path: string, body?: object) =>
  send(url(), { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body && { body }) })

const signInHere = async ({ url }: Scene, name: string, password: string): Promise<number> =>
  (await send(url(), { path: '/_session', as: basic(name, password) })).status

const signInThere = async ({ couchdb }: Scene, name: string, password: string): Promise<number> =>
  (await couchdb.fetch('/_session', { headers: { Authorization: basic(name, password) } })).status

const findThere = async ({ fetch }: Couchdb, name: string): Promise<Record<string, unknown> | undefined> => {
  const response = await fetch(`/_users/${toId(name)}`)
  return response.ok ? ((await response.json()) as Record<string, unknown>) : undefined
}

const putThere = ({ fetch }: Couchdb, name: string, document: object): Promise<Response> =>
  fetch(`/_users/${toId(name)}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(document),
  })

async function removeThere(couchdb: Couchdb, name: string): Promise<void> {
  const document = await findThere(couchdb, name)
  if (document) await couchdb.fetch(`/_users/${toId(name)}?rev=${document['_rev']}`, { method: 'DELETE' })
}

async function signInAtBoth(scene: Scene, scope: Scope): Promise<void> {
  const { couchdb } = scene
  for (const name of ['there', 'here']) scope.after(() => removeThere(couchdb, name))
  const document = { name: 'there', type: 'user', roles: ['staff'], password: 'pw' }
  assert.equal((await putThere(couchdb, 'there', document)).status, 201)
  await waitUntil(async () => (await signInHere(scene, 'there', 'pw')) === 200)
  assert.equal((await api(scene, 'POST', '/users', { name: 'here', password: 'pw' })).status, 200)
  assert.equal(await signInThere(scene, 'here', 'pw'), 200)
  for (const name of ['there', 'here']) {
    assert.equal((await api(scene, 'PUT', `/users/${name}/password`, { password: 'new' })).status, 200)
    assert.deepEqual([await signInHere(scene, name, 'new'), await signInHere(scene, name, 'pw')], [200, 401])
    assert.deepEqual([await signInThere(scene, name, 'new'), await signInThere(scene, name, 'pw')], [200, 401])
    // CouchDB may have upgraded the hash at its sign-in, which the feed brings
    await waitUntil(async () => {
      const { revision } = (await api(scene, 'GET', `/users/${name}`)).json
      return (await findThere(couchdb, name))?.['_rev'] === revision
    })
    assert.equal((await api(scene, 'DELETE', `/users/${name}`)).status, 200)
    assert.deepEqual([await signInHere(scene, name, 'new'), await signInThere(scene, name, 'new')], [401, 401])
  }
}

async function makePeruser(scene: Scene, scope: Scope): Promise<void> {
  const { couchdb } = scene
  // otherwise the daemon ends at the first deleted user without a database, such as those of earlier tests
  scope.after(await couchdb.configure('[couch_peruser]\nenable = true\ndelete_dbs = true\n'))
  await waitUntil(async () => (await send(scene.url(), { path: '/_up' })).status === 200)
  scope.after(() => removeThere(couchdb, 'per'))
  scope.after(() => couchdb.fetch(`/${toUserDatabase('per')}`, { method: 'DELETE' }))
  await waitUntil(async () => {
    const { status } = await api(scene, 'POST', '/users', { name: 'per', password: 'pw' })
    return status === 200 || status === 409
  })
  await waitUntil(async () => (await couchdb.fetch(`/${toUserDatabase('per')}`)).ok)
}

async function replicate(scene: Scene, scope: Scope): Promise<void> {
  const { couchdb } = scene
  const other = 'users-of-the-other'
  scope.after(() => couchdb.fetch(`/${other}`, { method: 'DELETE' }))
  scope.after(() => removeThere(couchdb, 'rep'))
  assert.equal((await api(scene, 'POST', '/users', { name: 'rep', password: 'pw' })).status, 200)
  await couchdb.request('PUT', `/${other}`)
  const at = (name: string) => `${couchdb.urlWithCredentials}/${name}`
  const copy = (source: string, target: string) =>
    couchdb.request('POST', '/_replicate', { source: at(source), target: at(target) })
  await copy('_users', other)
  const path = `/${other}/${toId('rep')}`
  const document = Object(await couchdb.request('GET', path))
  await couchdb.request('PUT', path, { ...document, ...hashPassword('theirs'), roles: ['replicated'] })
  await copy(other, '_users')
  await waitUntil(async () => (await signInHere(scene, 'rep', 'theirs')) === 200)
  assert.deepEqual((await api(scene, 'GET', '/users/rep')).json.roles, ['replicated'])
  assert.equal((await api(scene, 'PUT', '/users/rep/password', { password: 'ours' })).status, 200)
  await copy('_users', other)
  const back = Object(await couchdb.request('GET', path))
  assert.equal(back._rev, (await api(scene, 'GET', '/users/rep')).json.revision)
  assert.equal(back._conflicts, undefined)
}

/** What the password of a user is after a write that was acknowledged. */
type Passwords = Map<string, string | undefined>

async function writeBoth(scene: Scene, scope: TestContext): Promise<void> {
  const { couchdb } = scene
  for (const name of NAMES) scope.after(() => removeThere(couchdb, name))
  const passwords: Passwords = new Map()
  const outcomes = new Map<string, number>()
  const work = async (from: number): Promise<void> => {
    // each worker has names of its own, so that the last acknowledged write of a name is known
    for (let done = 0; done < OPERATIONS / 4; done += 1) {
      const name = NAMES[from + randomInt(5)] ?? ''
      const outcome = await writeOnce(scene, name, passwords)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  await Promise.all([0, 5, 10, 15].map(work))
  await waitUntil(async () => {
    for (const name of NAMES) {
      const [here, there] = [await api(scene, 'GET', `/users/${name}`), await findThere(couchdb, name)]
      if ((here.status === 200 ? here.json.revision : undefined) !== there?.['_rev']) return false
    }
    return true
  })
  scope.diagnostic(JSON.stringify(Object.fromEntries(outcomes)))
  for (const [name, password] of passwords) {
    const expected = password === undefined ? 401 : 200
    const status = [await signInHere(scene, name, password ?? 'pw'), await signInThere(scene, name, password ?? 'pw')]
    assert.deepEqual(status, [expected, expected], name)
  }
}

/** Returns what was done. */
async function writeOnce(scene: Scene, name: string, passwords: Passwords): Promise<string> {
  const { couchdb } = scene
  const password = `pw${randomInt(1e6)}`
  const isHere = randomInt(2) === 0
  const isDeletion = randomInt(6) === 0
  if (isHere && isDeletion) {
    const { status } = await api(scene, 'DELETE', `/users/${name}`)
    if (status === 200) passwords.set(name, undefined)
    return `here deletes: ${status}`
  }
  if (isHere) {
    const changed = await api(scene, 'PUT', `/users/${name}/password`, { password })
    const done = changed.status === 404 ? await api(scene, 'POST', '/users', { name, password }) : changed
    if (done.status === 200) passwords.set(name, password)
    return `here writes: ${done.status}`
  }
  const document = await findThere(couchdb, name)
  if (isDeletion) {
    if (document) await removeThere(couchdb, name)
    passwords.set(name, undefined)
    return 'there deletes'
  }
  const { status } = await putThere(couchdb, name, { ...toDocument(name), ...document, ...hashPassword(password) })
  if (status === 201) passwords.set(name, password)
  return `there writes: ${status}`
}
