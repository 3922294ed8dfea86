// Options set over HTTP while requests and streams go on.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ADMIN, basic, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openFeeds, openStream } from '../../support/upstream.ts'

/** By cookie, because a change that would refuse the request that makes it is refused. */
async function setOption({ document }: Server, name: string, value: string): Promise<void> {
  const credentials = { name: 'admin', password: 'adminpw' }
  const opened = await send(document, { method: 'POST', path: '/_session', body: credentials })
  const headers = { cookie: opened.header('set-cookie')?.split(';')[0] ?? '' }
  const path = `/_node/_local/_config/${name}`
  const answer = await send(document, { method: 'PUT', path, headers, body: JSON.stringify(value) })
  assert.equal(answer.status, 200, answer.body)
}

test('an identity header is removed from the moment an option names it', async (t) => {
  const backend = await openBackend(t)
  const services = { services: { shop: `/shop ${backend.url}` } }
  const front = await startServer(t, beforeDocument(backend.url), beforeMultiModel(t, backend.url), services)
  const headers = { 'Foo-User': 'evil', foo_user: 'evil', 'X-Other': 'kept' }
  const places = [
    { base: front.document, path: '/db/doc' },
    { base: front.multiModel, path: '/app' },
    { base: front.multiModel, path: '/shop' },
  ]
  for (const { base, path } of places) await send(base, { path, headers })
  assert.equal(backend.seen.filter((seen) => seen.header('foo-user') === 'evil').length, places.length)
  await setOption(front, 'chttpd_auth/x_auth_username', 'Foo-User')
  for (const { base, path } of places) {
    await send(base, { path, headers })
    const raw = backend.seen.at(-1)?.raw ?? []
    assert.ok(raw.includes('kept') && !raw.includes('evil'), path)
  }
})

const FEED = '/db/_changes?feed=continuous'
const ADA = { Authorization: basic('ada', 'pw') }

async function openWithAda(t: TestContext): Promise<Server> {
  const backend = await openFeeds(t)
  const services = { services: { shop: `/shop ${backend.url}` } }
  const front = await startServer(t, beforeDocument(backend.url), services)
  await send(front.document, {
    method: 'PUT',
    path: '/_users/org.couchdb.user:ada',
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'pw', roles: [], type: 'user' }),
  })
  return front
}

/** Who was let in by an option is let in no longer, and who was not goes on. */
const ROWS = [
  { option: 'chttpd/require_valid_user', value: 'true', cut: ['anonymous'] },
  { option: 'server/authentication-system-only', value: 'false', cut: ['anonymous at a service', 'ada at a service'] },
  { option: 'chttpd/authentication_handlers', value: 'jwt, cookie', cut: ['ada', 'admin'] },
  { option: 'chttpd_auth/min_iterations', value: '5', cut: ['ada', 'ada at a service'] },
  { option: 'chttpd_auth/users_db_public', value: 'true', cut: [] },
]

for (const { option, value, cut } of ROWS)
  test(`streams are revalidated after ${option} = ${value}`, async (t) => {
    const front = await openWithAda(t)
    const feeds = {
      anonymous: await openStream(front.document, FEED, {}),
      ada: await openStream(front.document, FEED, ADA),
      admin: await openStream(front.document, FEED, ADMIN),
      'anonymous at a service': await openStream(front.multiModel, '/shop', {}),
      'ada at a service': await openStream(front.multiModel, '/shop', ADA),
    }
    await setOption(front, option, value)
    for (const [name, feed] of Object.entries(feeds)) if (cut.includes(name)) assert.equal(await feed.ended, 'broken')
    const rest = Object.entries(feeds).filter(([name]) => !cut.includes(name))
    assert.deepEqual(
      rest.filter(([, feed]) => !feed.isOpen()).map(([name]) => name),
      [],
    )
    for (const [, feed] of rest) feed.close()
  })
