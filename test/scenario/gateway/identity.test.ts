import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { makeToken, now, readClaims, superuser } from '../../support/multi-model.ts'
import { ADMIN, basic, type Request, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import {
  beforeDocument,
  beforeMultiModel,
  MULTI_MODEL_SECRET,
  openBackend,
  openToken,
  UPSTREAM_SECRET,
} from '../../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

const addUser = (document: string, name: string, roles: readonly string[] = []): Promise<unknown> =>
  send(document, {
    method: 'PUT',
    path: `/_users/org.couchdb.user:${encodeURIComponent(name)}`,
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ name, password: 'pw', roles, type: 'user' }),
  })

test('the document database receives name and roles in a short-lived token signed with its secret', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  await addUser(front.document, 'ada', ['reader', 'writer'])
  await send(front.document, { path: '/db/doc', headers: { Authorization: basic('ada', 'pw') } })
  const claims = openToken(backend.seen[0]?.header('authorization'), UPSTREAM_SECRET)
  assert.deepEqual([claims['aud'], claims['sub']], ['couchdb', 'ada'])
  assert.deepEqual(claims['_couchdb.roles'], ['reader', 'writer'])
  const seconds = Number(claims['exp']) - Date.now() / 1000
  assert.ok(seconds > 60 && seconds < 900, `it lives ${seconds} s`)
  assert.equal(backend.seen[0]?.all('authorization').length, 1)
})

test('a token is reused for the same user only', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  await addUser(front.document, 'ada')
  for (const name of ['admin', 'ada', 'admin'])
    await send(front.document, {
      path: '/db/doc',
      headers: { Authorization: basic(name, name === 'ada' ? 'pw' : 'adminpw') },
    })
  const [first, ada, second] = backend.seen.map((seen) => seen.header('authorization'))
  assert.equal(first, second)
  assert.notEqual(first, ada)
})

test('tokens for upstreams and /_gate expire with the credential of the client', async (t) => {
  const backend = await openBackend(t)
  const secret = 'a-key-of-the-document-door-s-tokens'
  const front = await startServer(t, beforeDocument(backend.url), {
    jwt_keys: { 'hmac:_default': Buffer.from(secret).toString('base64') },
  })
  const ends = [now() + 3600, now() + 30, now() + 40, now() + 3600]
  const expiries: unknown[][] = []
  for (const exp of ends) {
    const headers = { Authorization: `Bearer ${makeToken({ sub: 'ada', exp }, { secret })}` }
    await send(front.document, { path: '/db/doc', headers })
    const gate = await send(front.document, { path: '/_gate', headers })
    const claims = openToken(backend.seen.at(-1)?.header('authorization'), UPSTREAM_SECRET)
    expiries.push([claims['exp'], readClaims(gate.headers['x-auth-token'])['exp']])
  }
  assert.deepEqual(expiries.slice(1, 3), [
    [ends[1], ends[1]],
    [ends[2], ends[2]],
  ])
  for (const exp of [...(expiries[0] ?? []), ...(expiries[3] ?? [])]) assert.ok(Number(exp) > now() + 200, String(exp))
})

test('an administrator is an administrator at the upstream', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  await send(front.document, { path: '/db/doc', headers: ADMIN })
  const claims = openToken(backend.seen[0]?.header('authorization'), UPSTREAM_SECRET)
  assert.deepEqual([claims['sub'], claims['_couchdb.roles']], ['admin', ['_admin']])
})

test('an anonymous request stays anonymous, whatever headers it sends', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url))
  const headers = { 'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin', Authorization: 'Digest x' }
  await send(front.document, { path: '/db/doc', headers })
  const names = backend.seen[0]?.raw.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()) ?? []
  assert.equal(backend.seen.length, 1)
  assert.deepEqual(
    names.filter((name) => name.startsWith('x-auth') || name === 'authorization'),
    [],
  )
})

test('proxy headers: a user without roles has no roles header', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url), { upstream: { 'document-identity': 'proxy' } })
  await addUser(front.document, 'ada')
  const headers = { Authorization: basic('ada', 'pw'), 'X-Auth-CouchDB-Roles': '_admin' }
  await send(front.document, { path: '/db/doc', headers })
  const [seen] = backend.seen
  assert.deepEqual([seen?.all('x-auth-couchdb-username'), seen?.all('x-auth-couchdb-roles')], [['ada'], []])
})

test('proxy headers carry a token signed with the shared secret', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeDocument(backend.url), { upstream: { 'document-identity': 'proxy' } })
  await addUser(front.document, 'åda', ['reader'])
  await send(front.document, { path: '/db/doc', headers: { Authorization: basic('åda', 'pw') } })
  const seen = backend.seen[0]
  assert.equal(Buffer.from(seen?.header('x-auth-couchdb-username') ?? '', 'latin1').toString(), 'åda')
  assert.equal(seen?.header('x-auth-couchdb-roles'), 'reader')
  const proof = createHmac('sha256', UPSTREAM_SECRET).update('åda').digest('hex')
  assert.equal(seen?.header('x-auth-couchdb-token'), proof)
  assert.equal(seen?.header('authorization'), undefined)
})

test('the multi-model database receives the same name in a token signed with its secret', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url))
  await send(front.multiModel, {
    method: 'POST',
    path: '/_api/user',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ user: 'ada', passwd: 'pw' }),
  })
  await send(front.multiModel, {
    method: 'PUT',
    path: '/_api/user/ada/database/_system',
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ grant: 'rw' }),
  })
  await send(front.multiModel, { path: '/_api/collection', headers: { Authorization: basic('ada', 'pw') } })
  const claims = openToken(backend.seen[0]?.header('authorization'), MULTI_MODEL_SECRET)
  assert.deepEqual([claims['preferred_username'], claims['iss'], claims['aud']], ['ada', 'arangodb', 'arangodb'])
})

test('an administrator becomes the administrator of the multi-model database', async (t) => {
  const backend = await openBackend(t)
  const options = { upstream: { 'multi-model-admin': 'boss' } }
  const front = await startServer(t, beforeMultiModel(t, backend.url), options)
  await send(front.multiModel, { path: '/_api/version', headers: ADMIN })
  const claims = openToken(backend.seen[0]?.header('authorization'), MULTI_MODEL_SECRET)
  assert.equal(claims['preferred_username'], 'boss')
})

for (const how of ['user', 'client'])
  test(`no other user gets the name of that administrator: ${how}`, async (t) => {
    const backend = await openBackend(t)
    const before = how === 'user' ? beforeMultiModel(t, backend.url) : { upstream: { 'multi-model': backend.url } }
    const front = await startServer(t, before, { upstream: { 'multi-model-identity': how } })
    const manage = (given: Partial<Request>) =>
      send(front.multiModel, { method: 'PUT', path: '', headers: { ...ADMIN, ...JSON_TYPE }, ...given })
    await manage({ method: 'POST', path: '/_api/user', body: JSON.stringify({ user: 'root', passwd: 'pw' }) })
    await manage({ path: '/_api/user/root/database/_system', body: JSON.stringify({ grant: 'rw' }) })
    const body = JSON.stringify({ username: 'root', password: 'pw' })
    const { jwt } = JSON.parse((await send(front.multiModel, { method: 'POST', path: '/_open/auth', body })).body)
    for (const Authorization of [basic('root', 'pw'), `bearer ${jwt}`])
      assert.equal((await send(front.multiModel, { path: '/_api/version', headers: { Authorization } })).status, 403)
    assert.equal(backend.seen.length, 0)
  })

test('a superuser token stays a superuser token without a name', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url))
  const token = superuser({ server_id: 'of-the-client', allowed_paths: ['/_api/version'] })
  for (const path of ['/_api/version', '/_api/cursor'])
    await send(front.multiModel, { path, headers: { Authorization: token } })
  assert.equal(backend.seen.length, 1, 'what its paths do not allow goes nowhere')
  const claims = openToken(backend.seen[0]?.header('authorization'), MULTI_MODEL_SECRET)
  assert.deepEqual([claims['server_id'], claims['preferred_username']], ['cardea', undefined])
  assert.ok(Number(claims['exp']) - Date.now() / 1000 < 900)
})

test('the credential of the client is forwarded if so configured and accepted', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, {
    upstream: { 'multi-model': backend.url, 'multi-model-identity': 'client' },
  })
  await send(front.multiModel, { path: '/_api/version', headers: ADMIN })
  await send(front.multiModel, { path: '/app', headers: { Authorization: basic('admin', 'wrong') } })
  assert.deepEqual(
    backend.seen.map((seen) => seen.all('authorization')),
    [[ADMIN.Authorization], []],
  )
})

test('naming Authorization in Connection does not make a request anonymous', async (t) => {
  const backend = await openBackend(t)
  const front = await startServer(t, {
    upstream: { 'multi-model': backend.url, 'multi-model-identity': 'client' },
  })
  await send(front.multiModel, { path: '/_api/version', headers: { ...ADMIN, Connection: 'close, authorization' } })
  assert.deepEqual(backend.seen[0]?.all('authorization'), [ADMIN.Authorization])
})
