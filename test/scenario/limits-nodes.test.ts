// Two nodes over one PostgreSQL count failures together.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectPostgres } from '../store/postgres-server.ts'
import { basic, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const ask = async (url: string, password: string): Promise<number> =>
  (await send(url, { path: '/_session', headers: { Authorization: basic('admin', password) } })).status

test('an account locked at one node is soon locked at the other', async (t) => {
  const postgres = await connectPostgres()
  t.after(() => postgres.stop())
  const options = { store: { url: await postgres.createPlace() } }
  const { document: here } = await startServer(t, options)
  const { document: there } = await startServer(t, options)
  for (let turn = 0; turn < 5; turn += 1) assert.equal(await ask(here, 'wrong'), 401)
  await waitUntil(async () => (await ask(there, 'adminpw')) !== 200)
  assert.deepEqual([await ask(here, 'adminpw'), await ask(there, 'adminpw')], [403, 403])
})
