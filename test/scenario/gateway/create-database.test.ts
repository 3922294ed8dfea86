// A database is created by the upstream, its users by Cardea: no password leaves.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { writeVelocyPack } from '../../../src/base/write-velocypack.ts'
import { ADMIN, basic, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { type Backend, beforeMultiModel, openBackend } from '../../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const MAX = { Authorization: basic('max', 'm') }

async function open(t: Scope, status = 201) {
  const backend = await openBackend(t, (_request, response) => {
    response.writeHead(status, JSON_TYPE).end(JSON.stringify({ error: status !== 201, code: status, result: true }))
  })
  const { multiModel } = await startServer(t, beforeMultiModel(t, backend.url))
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = ADMIN) => {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    return send(multiModel, { method, path, headers: { ...headers, ...JSON_TYPE }, ...payload })
  }
  for (const [user, passwd] of [
    ['max', 'm'],
    ['rob', 'r'],
  ])
    await ask('POST', '/_api/user', { user, passwd })
  await ask('PUT', '/_api/user/max/database/_system', { grant: 'rw' })
  await ask('PUT', '/_api/user/rob/database/_system', { grant: 'ro' })
  const levelsOf = async (user: string): Promise<unknown> =>
    JSON.parse((await ask('GET', `/_api/user/${user}/database?full=true`)).body).result?.shop
  const checks = async (user: string, passwd: string) => (await ask('POST', `/_api/user/${user}`, { passwd })).status
  return { url: multiModel, backend, ask, levelsOf, checks }
}

const sentBy = ({ seen }: Backend) => JSON.parse(String(seen.at(-1)?.body))
const WHOLE = { permission: 'rw', collections: { '*': 'rw' } }
const create = (users: unknown) => ({ name: 'shop', options: { sharding: 'single' }, users })

describe('POST /_api/database with users', () => {
  it('creates and grants them in the directory', async (t) => {
    const { ask, levelsOf, checks } = await open(t)
    const users = [
      { username: 'ann', passwd: 'apple', extra: { colour: 'red' } },
      { user: 'bob', password: 'berry', active: false },
    ]
    assert.equal((await ask('POST', '/_api/database', create(users))).status, 201)
    assert.deepEqual(await levelsOf('ann'), WHOLE)
    assert.deepEqual(await levelsOf('bob'), WHOLE)
    assert.equal(await checks('ann', 'apple'), 200)
    const { user, active, extra } = JSON.parse((await ask('GET', '/_api/user/ann')).body)
    assert.deepEqual({ user, active, extra }, { user: 'ann', active: true, extra: { colour: 'red' } })
    assert.equal(JSON.parse((await ask('GET', '/_api/user/bob')).body).active, false)
  })

  it('is never asynchronous: the users are created after the response', async (t) => {
    const { ask, backend } = await open(t)
    const headers = { ...ADMIN, 'X-Arango-Async': 'store' }
    const { status } = await ask('POST', '/_api/database', create([{ username: 'ann', passwd: 'apple' }]), headers)
    assert.deepEqual([status, backend.seen.at(-1)?.header('x-arango-async')], [201, undefined])
  })

  it('forwards VelocyPack as VelocyPack, without the passwords', async (t) => {
    const { url, backend, checks } = await open(t)
    const headers = { ...ADMIN, 'Content-Type': 'application/x-velocypack' }
    const body = new Uint8Array(writeVelocyPack(create([{ username: 'ann', passwd: 'apple' }])))
    assert.equal((await fetch(`${url}/_api/database`, { method: 'POST', headers, body })).status, 201)
    const { header, body: sent } = backend.seen.findLast(({ method }) => method === 'POST') ?? assert.fail()
    assert.equal(header('content-type'), 'application/x-velocypack')
    assert.match(String(sent), /^\x14.*Dname.*Dshop.*HusernameCann/s)
    assert.doesNotMatch(String(sent), /apple/)
    assert.equal(await checks('ann', 'apple'), 200)
  })

  it('forwards the names, each with a random password instead of its own', async (t) => {
    const { ask, backend } = await open(t)
    for (const path of ['/_api/database', '/_db/_system/_api/database', '/_arango/v0/_api/database']) {
      const { status } = await ask('POST', path, create([{ username: 'ann', passwd: 'apple' }]))
      assert.equal(status, 201, path)
      const { users, ...others } = sentBy(backend)
      assert.deepEqual(others, { name: 'shop', options: { sharding: 'single' } })
      assert.deepEqual([users.length, users[0].username, users[0].active], [1, 'ann', true])
      assert.match(users[0].passwd, /^[\w-]{43}$/)
      assert.doesNotMatch(String(backend.seen.at(-1)?.body), /apple/)
    }
  })

  it('a user that exists keeps its password, and gets the database', async (t) => {
    const { ask, levelsOf, checks } = await open(t)
    assert.equal((await ask('POST', '/_api/database', create([{ username: 'rob', passwd: 'other' }]))).status, 201)
    assert.equal(await checks('rob', 'r'), 200)
    assert.deepEqual(await levelsOf('rob'), WHOLE)
  })

  it('an administrator is neither changed nor forwarded', async (t) => {
    const { ask, backend } = await open(t)
    assert.equal((await ask('POST', '/_api/database', create([{ username: 'admin', passwd: 'x' }]))).status, 201)
    assert.equal('users' in sentBy(backend), false)
    assert.equal((await ask('GET', '/_api/user')).status, 200)
  })

  it('creates no user when the upstream refuses', async (t) => {
    const { ask } = await open(t, 409)
    assert.equal((await ask('POST', '/_api/database', create([{ username: 'ann', passwd: 'a' }]))).status, 409)
    assert.equal((await ask('GET', '/_api/user/ann')).status, 404)
  })

  it('creates no user when the upstream cannot be reached', async (t) => {
    const { ask, backend } = await open(t)
    await backend.close()
    assert.equal((await ask('POST', '/_api/database', create([{ username: 'ann', passwd: 'a' }]))).status, 503)
    assert.equal((await ask('GET', '/_api/user/ann')).status, 404)
  })

  const WRONG: readonly (readonly [name: string, users: unknown, errorNum: number])[] = [
    ['no list', 'ann', 10],
    ['an entry that is no object', ['ann'], 10],
    ['no name', [{ passwd: 'x' }], 1700],
    ['an invalid name', [{ username: '' }], 1700],
    ['a password that is not text', [{ username: 'ann', passwd: 1 }], 10],
    ['more users than are created at once', Array.from({ length: 101 }, (_, i) => ({ username: `u${i}` })), 10],
  ]
  for (const [name, users, errorNum] of WRONG)
    it(`${name}: 400, and nothing is created anywhere`, async (t) => {
      const { ask, backend } = await open(t)
      const good = Array.isArray(users) ? [{ username: 'good', passwd: 'g' }, ...users] : users
      const answer = await ask('POST', '/_api/database', create(good))
      assert.deepEqual([answer.status, JSON.parse(answer.body).errorNum], [400, errorNum])
      assert.equal(backend.seen.length, 0)
      assert.equal((await ask('GET', '/_api/user/good')).status, 404)
    })
})

describe('POST /_api/database', () => {
  it('without users is forwarded unchanged', async (t) => {
    const { ask, backend } = await open(t)
    assert.equal((await ask('POST', '/_api/database', { name: 'shop', options: { replicationFactor: 2 } })).status, 201)
    assert.deepEqual(sentBy(backend), { name: 'shop', options: { replicationFactor: 2 } })
  })

  it('grants the database to the user who created it', async (t) => {
    const { ask, levelsOf } = await open(t)
    assert.equal((await ask('POST', '/_api/database', { name: 'shop' }, MAX)).status, 201)
    assert.deepEqual(await levelsOf('max'), WHOLE)
  })

  it('is refused to a user who may not write the system database, and not forwarded', async (t) => {
    const { ask, backend } = await open(t)
    const headers = { Authorization: basic('rob', 'r') }
    const answer = await ask('POST', '/_api/database', create([{ username: 'ann' }]), headers)
    assert.deepEqual([answer.status, JSON.parse(answer.body).errorNum], [403, 11])
    assert.equal(backend.seen.length, 0)
  })

  it('is refused outside the system database, as in the real server', async (t) => {
    const { ask, backend } = await open(t)
    const answer = await ask('POST', '/_db/shop/_api/database', { name: 'other' })
    assert.deepEqual([answer.status, JSON.parse(answer.body).errorNum], [403, 1230])
    assert.equal(backend.seen.length, 0)
  })
})
