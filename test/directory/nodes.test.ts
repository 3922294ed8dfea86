import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Revocation } from '../../src/directory/deps.ts'
import { createPostgresPlace, createSqlitePlace } from '../store/places.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { openTestNode } from '../support/directory.ts'
import { testNodes } from './nodes.ts'

const clearing: (() => Promise<unknown>)[] = []
const server = await connectPostgres()
after(async () => {
  for (const clear of clearing) await clear()
  await server.stop()
})

testNodes('SQLite', async () => {
  const place = await createSqlitePlace()
  clearing.push(place.remove)
  return place.url
})

it('reads everything again after a backup of the store was restored', async (t) => {
  const place = await createSqlitePlace()
  clearing.push(place.remove)
  const { directory } = await openTestNode(t, { url: place.url })
  await directory.createUser({ name: 'ada' }, PROGRAM)
  await directory.createUser({ name: 'bob' }, PROGRAM)
  await directory.findAccount('ada')
  await directory.catchUp()
  await place.execute("DELETE FROM cardea_users WHERE name = 'ada'")
  await place.execute('UPDATE cardea_state SET sequence = 1')
  const seen: Revocation[] = []
  directory.onRevoked((ended) => seen.push(ended))
  await directory.catchUp()
  assert.deepEqual(seen, [{ kind: 'everything' }])
  assert.equal(await directory.findAccount('ada'), undefined)
  assert.ok(await directory.findAccount('bob'))
})

testNodes('PostgreSQL', async () => (await createPostgresPlace(server)).url)
