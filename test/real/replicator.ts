/** CouchDB's own replicator, with jobs created through Cardea. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ADMIN } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

export function testReplicator({ url, couchdb, createDatabase, createUser }: Scene): void {
  test('a job replicates from Cardea, as one of its users, into CouchDB', async (t) => {
    const user = await createUser(`job-${randomBytes(4).toString('hex')}`)
    const source = await createDatabase(t, { members: { names: [user.name], roles: [] } })
    const target = await createDatabase(t)
    await couchdb.request('PUT', `/${source}/order-1`, { item: 'lamp' })
    await createJob(
      t,
      { url: url(), couchdb },
      {
        source: `${withCredentials(url(), user.name, user.password)}/${source}`,
        target: `${couchdb.urlWithCredentials}/${target}`,
      },
    )
    await waitForDocument(couchdb, target, 'order-1')
  })

  test('a job replicates from CouchDB through Cardea, as an administrator', async (t) => {
    const source = await createDatabase(t)
    const target = await createDatabase(t)
    await couchdb.request('PUT', `/${source}/order-2`, { item: 'desk' })
    await createJob(
      t,
      { url: url(), couchdb },
      {
        source: `${couchdb.urlWithCredentials}/${source}`,
        target: `${withCredentials(url(), 'admin', 'adminpw')}/${target}`,
      },
    )
    await waitForDocument(couchdb, target, 'order-2')
  })
}

export function withCredentials(url: string, name: string, password: string): string {
  const own = new URL(url)
  own.username = name
  own.password = password
  return own.href.replace(/\/$/, '')
}

async function createJob(scope: Scope, { url, couchdb }: { url: string; couchdb: Couchdb }, job: object) {
  const path = `/_replicator/cardea-test-${randomBytes(6).toString('hex')}`
  const headers = { ...ADMIN, 'Content-Type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'PUT', headers, body: JSON.stringify(job) })
  assert.equal(response.status, 201, await response.text())
  scope.after(() => removeDocument(couchdb, path))
}

/** The replicator writes into the document of a job, so its revision changes. */
export async function removeDocument(couchdb: Couchdb, path: string): Promise<void> {
  for (;;) {
    const etag = (await couchdb.fetch(path, { method: 'HEAD' })).headers.get('etag')
    if (etag === null) return
    const response = await couchdb.fetch(`${path}?rev=${JSON.parse(etag)}`, { method: 'DELETE' })
    if (response.status !== 409) return
  }
}

/** Waits on the feed of changes until the document is there. */
async function waitForDocument(couchdb: Couchdb, database: string, id: string): Promise<void> {
  const query = `feed=longpoll&filter=_doc_ids&doc_ids=${encodeURIComponent(JSON.stringify([id]))}&timeout=60000`
  const response = await couchdb.fetch(`/${database}/_changes?${query}`)
  assert.match(await response.text(), new RegExp(`"id":"${id}"`), `${id} did not arrive in ${database}`)
}
