/** PouchDB against a database of CouchDB, as a user of Cardea. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { PouchDB } from '../support/pouchdb.ts'
import type { Scene } from './in-front.ts'

export function testSync({ url, couchdb, createDatabase, createUser }: Scene): void {
  test('PouchDB syncs both ways, conflicts, deletions and attachments included', async (t) => {
    const user = await createUser(`sync-${randomBytes(4).toString('hex')}`, ['writers'])
    const database = await createDatabase(t, { members: { names: [], roles: ['writers'] } })
    const auth = { username: user.name, password: user.password }
    const remote = new PouchDB(`${url()}/${database}`, { auth, skip_setup: true })
    const local = new PouchDB(`sync-${database}`, { adapter: 'memory' })
    t.after(() => local.destroy())

    const data = Buffer.from('attached')
    await local.put({ _id: 'here', at: 'client', _attachments: { 'a.txt': { content_type: 'text/plain', data } } })
    await local.put({ _id: 'both', from: 'client' })
    await couchdb.request('PUT', `/${database}/there`, { at: 'server' })
    await couchdb.request('PUT', `/${database}/both`, { from: 'server' })
    const first = await PouchDB.sync(local, remote)
    assert.deepEqual([first.push.doc_write_failures, first.pull.doc_write_failures], [0, 0])

    const { rows } = await remote.allDocs()
    assert.deepEqual(
      rows.map(({ id }: { id: string }) => id),
      ['both', 'here', 'there'],
    )
    assert.equal((await local.get('there')).at, 'server')
    assert.equal(await (await couchdb.fetch(`/${database}/here/a.txt`)).text(), 'attached')
    assert.equal((await local.get('both', { conflicts: true }))._conflicts.length, 1)
    assert.equal((await remote.get('both', { conflicts: true }))._conflicts.length, 1)

    await local.remove(await local.get('there'))
    await PouchDB.sync(local, remote)
    assert.equal((await couchdb.fetch(`/${database}/there`)).status, 404)
    assert.deepEqual(await idsOf(local), await idsOf(remote))
  })

  test('a live sync carries a change in either direction', async (t) => {
    const user = await createUser(`live-${randomBytes(4).toString('hex')}`)
    const database = await createDatabase(t, { members: { names: [user.name], roles: [] } })
    const auth = { username: user.name, password: user.password }
    const remote = new PouchDB(`${url()}/${database}`, { auth, skip_setup: true })
    const local = new PouchDB(`live-${database}`, { adapter: 'memory' })
    t.after(() => local.destroy())
    const live = PouchDB.sync(local, remote, { live: true })
    const arrived = new Set<string>()
    const both = new Promise<void>((resolve) => {
      live.on('change', ({ direction }: { direction: string }) => {
        if (arrived.add(direction).size === 2) resolve()
      })
    })
    await local.put({ _id: 'up' })
    await couchdb.request('PUT', `/${database}/down`, {})
    await both
    live.cancel()
    await live
    assert.equal((await local.get('down'))._id, 'down')
    assert.equal((await couchdb.fetch(`/${database}/up`)).status, 200)
  })
}

async function idsOf(database: { allDocs(): Promise<{ rows: { id: string }[] }> }): Promise<string[]> {
  return (await database.allDocs()).rows.map(({ id }) => id)
}
