/** Feeds of CouchDB, and the session they were opened with. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ADMIN, send } from '../support/request.ts'
import { openStream } from '../support/upstream.ts'
import type { Credentials, Scene } from './in-front.ts'

const FEEDS = ['continuous', 'eventsource', 'longpoll'] as const

export function testFeeds({ url, createDatabase, createUser }: Scene): void {
  for (const feed of FEEDS)
    test(`a ${feed} feed closes when its session ends, and no other feed does`, async (t) => {
      const user = await createUser(`feed-${randomBytes(4).toString('hex')}`)
      const database = await createDatabase(t, { members: { names: [user.name], roles: [] } })
      const [ending, lasting] = [await signIn(url(), user), await signIn(url(), user)]
      const path = `/${database}/_changes?feed=${feed}&heartbeat=1000`
      const closed = await openStream(url(), path, { Cookie: ending })
      const open = await openStream(url(), path, { Cookie: lasting })
      t.after(() => open.close())
      const signedOut = await send(url(), { method: 'DELETE', path: '/_session', headers: { Cookie: ending } })
      assert.equal(signedOut.status, 200)
      assert.equal(await closed.ended, 'broken')
      assert.equal(open.isOpen(), true)
    })

  test('a feed closes when its user is deleted', async (t) => {
    const user = await createUser(`feed-${randomBytes(4).toString('hex')}`)
    const database = await createDatabase(t, { members: { names: [user.name], roles: [] } })
    const feed = await openStream(url(), `/${database}/_changes?feed=continuous&heartbeat=1000`, user.headers)
    const path = `/_users/org.couchdb.user:${user.name}`
    const { headers } = await send(url(), { path, headers: ADMIN })
    const revision = JSON.parse(headers.etag ?? '')
    assert.equal((await send(url(), { method: 'DELETE', path: `${path}?rev=${revision}`, headers: ADMIN })).status, 200)
    assert.equal(await feed.ended, 'broken')
  })
}

async function signIn(url: string, { name, password }: Credentials): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const { lines } = await send(url, {
    method: 'POST',
    path: '/_session',
    headers,
    body: JSON.stringify({ name, password }),
  })
  return lines['set-cookie']?.[0]?.split(';')[0] ?? assert.fail('no cookie')
}
