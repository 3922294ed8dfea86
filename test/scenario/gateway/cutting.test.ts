import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ADMIN, basic, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openStream as open, openFeeds, openServer } from '../../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const FEED = '/db/_changes?feed=continuous'

const writeUser = (front: Server, name: string, more: object = {}, rev?: string) =>
  send(front.document, {
    method: 'PUT',
    path: `/_users/org.couchdb.user:${name}${rev ? `?rev=${rev}` : ''}`,
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ name, password: 'pw', roles: [], type: 'user', ...more }),
  })

async function signIn(front: Server, name: string): Promise<Record<string, string>> {
  const body = JSON.stringify({ name, password: 'pw' })
  const answer = await send(front.document, { method: 'POST', path: '/_session', headers: JSON_TYPE, body })
  return { Cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
}

test('signing out cuts the feeds of that session, and no other', async (t) => {
  const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
  await writeUser(front, 'ada')
  const [mine, other] = [await signIn(front, 'ada'), await signIn(front, 'ada')]
  const feeds = [await open(front.document, FEED, mine), await open(front.document, FEED, other)] as const
  await send(front.document, { method: 'DELETE', path: '/_session', headers: mine })
  assert.equal(await feeds[0].ended, 'broken')
  assert.ok(feeds[1].isOpen())
  feeds[1].close()
})

for (const kind of ['cookie', 'Basic'] as const) {
  test(`a password change cuts feeds opened with a ${kind}, a change of another user does not`, async (t) => {
    const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
    const [ada, bob] = await Promise.all([writeUser(front, 'ada'), writeUser(front, 'bob')])
    const headers = kind === 'cookie' ? await signIn(front, 'ada') : { Authorization: basic('ada', 'pw') }
    const feed = await open(front.document, FEED, headers)
    await writeUser(front, 'bob', { password: 'new' }, JSON.parse(bob.body).rev)
    assert.ok(feed.isOpen())
    await writeUser(front, 'ada', { password: 'new' }, JSON.parse(ada.body).rev)
    assert.equal(await feed.ended, 'broken')
  })

  test(`an expiry date and a required password change cut feeds opened with a ${kind}`, async (t) => {
    const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
    await writeUser(front, 'ada')
    const headers = kind === 'cookie' ? await signIn(front, 'ada') : { Authorization: basic('ada', 'pw') }
    const set = (path: string, body: object) =>
      send(front.document, { method: 'PUT', path: `/_cardea/api/users/ada/${path}`, headers: ADMIN, body })
    const expired = await open(front.document, FEED, headers)
    await set('expiry', { expires: '2001-01-01' })
    assert.equal(await expired.ended, 'broken')
    await set('expiry', { expires: null })
    const marked = await open(front.document, FEED, headers)
    await set('password-change', { required: true })
    assert.equal(await marked.ended, 'broken')
  })

  test(`another role cuts feeds opened with a ${kind}, because they were opened without it`, async (t) => {
    const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
    const { body } = await writeUser(front, 'ada', { roles: ['a'] })
    const headers = kind === 'cookie' ? await signIn(front, 'ada') : { Authorization: basic('ada', 'pw') }
    const feed = await open(front.document, FEED, headers)
    await send(front.document, {
      method: 'PUT',
      path: `/_users/org.couchdb.user:ada?rev=${JSON.parse(body).rev}`,
      headers: { ...ADMIN, ...JSON_TYPE },
      body: JSON.stringify({ name: 'ada', roles: ['b'], type: 'user' }),
    })
    assert.equal(await feed.ended, 'broken')
  })
}

test('deleting a user or an administrator cuts its feeds', async (t) => {
  const front = await startServer(t, beforeDocument((await openFeeds(t)).url))
  const { body } = await writeUser(front, 'ada')
  const feed = await open(front.document, FEED, await signIn(front, 'ada'))
  await send(front.document, {
    method: 'DELETE',
    path: `/_users/org.couchdb.user:ada?rev=${JSON.parse(body).rev}`,
    headers: ADMIN,
  })
  assert.equal(await feed.ended, 'broken')
  const config = { path: '/_node/_local/_config/admins/boss', headers: { ...ADMIN, ...JSON_TYPE } }
  await send(front.document, { ...config, method: 'PUT', body: '"pw"' })
  const bossy = await open(front.document, FEED, { Authorization: basic('boss', 'pw') })
  await send(front.document, { ...config, method: 'DELETE' })
  assert.equal(await bossy.ended, 'broken')
})

test('a revoked token, a deactivated user and an expired token cut streams at the multi-model door', async (t) => {
  const backend = await openFeeds(t)
  const front = await startServer(t, beforeMultiModel(t, backend.url), { auth: { 'minimal-jwt-expiry-time': 1.5 } })
  const manage = (method: string, path: string, value: object) =>
    send(front.multiModel, { method, path, headers: { ...ADMIN, ...JSON_TYPE }, body: JSON.stringify(value) })
  await manage('POST', '/_api/user', { user: 'ada', passwd: 'pw' })
  await manage('PUT', '/_api/user/ada/database/_system', { grant: 'rw' })
  const getToken = async (more: object = {}) => {
    const answer = await manage('POST', '/_open/auth', { username: 'ada', password: 'pw', ...more })
    return { Authorization: `bearer ${JSON.parse(answer.body).jwt}` }
  }
  const token = await getToken()
  const first = await open(front.multiModel, '/_api/cursor', token)
  await send(front.multiModel, { method: 'DELETE', path: '/_open/auth', headers: token })
  assert.equal(await first.ended, 'broken')
  const short = await open(front.multiModel, '/_api/cursor', await getToken({ expiryTime: 2 }))
  assert.equal(await short.ended, 'broken')
  const second = await open(front.multiModel, '/_api/cursor', await getToken())
  await manage('PATCH', '/_api/user/ada', { active: false })
  assert.equal(await second.ended, 'broken')
})

/** Streams at the multi-model door, and a user who may open them. */
async function openWithAda(t: TestContext) {
  const backend = await openFeeds(t)
  const services = { services: { ledger: `/ledger ${backend.url} required` } }
  const front = await startServer(t, beforeMultiModel(t, backend.url), services)
  const manage = (method: string, path: string, value: object = {}, headers: Record<string, string> = ADMIN) =>
    send(front.multiModel, { method, path, headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(value) })
  await manage('POST', '/_api/user', { user: 'ada', passwd: 'pw' })
  await manage('PUT', '/_api/user/ada/database/_system', { grant: 'rw' })
  const ada = { Authorization: basic('ada', 'pw') }
  const getToken = async (name: string, seconds: number) => {
    const wanted = { name, valid_until: Math.ceil(Date.now() / 1000) + seconds }
    const { id, token } = JSON.parse((await manage('POST', '/_api/token/ada', wanted, ada)).body)
    return { id: String(id), headers: { Authorization: basic('ada', token) } }
  }
  return { front, manage, ada, getToken }
}

for (const path of ['/_api/cursor', '/ledger/feed']) {
  test(`deleting an access token cuts the streams it opened as a password: ${path}`, async (t) => {
    const { front, manage, ada, getToken } = await openWithAda(t)
    const [gone, stays] = [await getToken('gone', 3600), await getToken('stays', 3600)]
    const cut = await open(front.multiModel, path, gone.headers)
    const others = [await open(front.multiModel, path, stays.headers), await open(front.multiModel, path, ada)]
    await manage('DELETE', `/_api/token/ada/${gone.id}`, {}, ada)
    assert.equal(await cut.ended, 'broken')
    assert.deepEqual(
      others.map((stream) => stream.isOpen()),
      [true, true],
    )
    for (const stream of others) stream.close()
  })
}

test('an expired access token cuts the streams it opened as a password', async (t) => {
  const { front, ada, getToken } = await openWithAda(t)
  const { headers } = await getToken('short', 1)
  const [cut, other] = [await open(front.multiModel, '/_api/cursor', headers), await open(front.multiModel, '/a', ada)]
  assert.equal(await cut.ended, 'broken')
  assert.ok(other.isOpen())
  other.close()
})

test('adding a second factor cuts the streams of the user, at both doors', async (t) => {
  const backend = await openFeeds(t)
  const front = await startServer(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url))
  await writeUser(front, 'ada')
  const path = '/_users/org.couchdb.user:ada'
  const ada = { Authorization: basic('ada', 'pw') }
  const before = JSON.parse((await send(front.document, { path, headers: ADMIN })).body)
  const streams = [
    await open(front.document, FEED, ada),
    await open(front.multiModel, '/app', ada),
    await open(front.document, FEED, await signIn(front, 'ada')),
  ]
  await send(front.document, {
    method: 'PUT',
    path,
    headers: { ...ADMIN, ...JSON_TYPE },
    body: JSON.stringify({ ...before, totp: { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' } }),
  })
  for (const stream of streams) assert.equal(await stream.ended, 'broken')
})

test('an upload of a user who is deleted meanwhile is 401, and no more of it is read', async (t) => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const backend = await openServer(t, (request) => void request.on('error', () => {}).once('data', () => begin()))
  const front = await startServer(t, beforeDocument(backend.url))
  const { body } = await writeUser(front, 'ada')
  const socket = connect(Number(new URL(front.document).port), '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  const authorization = `Authorization: ${basic('ada', 'pw')}`
  socket.write(`PUT /db/doc HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Length: 500\r\n\r\nabc`)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await begun
  await writeUser(front, 'ada', { password: 'new' }, JSON.parse(body).rev)
  await closed
  assert.match(text, /^HTTP\/1.1 401 .*\r\n(?:.+\r\n)*Connection: close\r\n/i)
})
