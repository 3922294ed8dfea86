// Two nodes over one PostgreSQL count failures together.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestCardea } from '../../src/index.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { basic, send } from '../support/request.ts'

const ask = async (url: string, password: string): Promise<number> =>
  (await send(url, { path: '/_session', headers: { Authorization: basic('admin', password) } })).status

test('an account locked at one node is locked at the other within a second', async (t) => {
  const postgres = await connectPostgres()
  t.after(() => postgres.stop())
  const options = { store: { url: await postgres.createPlace() } }
  const urls: string[] = []
  for (let count = 0; count < 2; count += 1) {
    const cardea = await createTestCardea({ options })
    t.after(() => cardea.close())
    urls.push((await cardea.listen()).document[0] ?? '')
  }
  const [here = '', there = ''] = urls
  for (let turn = 0; turn < 5; turn += 1) assert.equal(await ask(here, 'wrong'), 401)
  const startMs = performance.now()
  while ((await ask(there, 'adminpw')) === 200) assert.ok(performance.now() - startMs < 1000)
  assert.deepEqual([await ask(here, 'adminpw'), await ask(there, 'adminpw')], [403, 403])
})
