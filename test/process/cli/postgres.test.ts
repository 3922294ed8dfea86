import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connectPostgres } from '../../store/postgres-server.ts'
import { makeManaged } from '../../support/managed.ts'
import { signsIn, stop } from '../../support/process.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

test('a shared store: commands find the server by its configuration, and work without one', async (t) => {
  const url = await postgres.createPlace()
  const config = `[store]\nurl = ${url}\n[chttpd]\nport = 0\n[server]\nendpoint = none\n[chttpd_auth]\niterations = 1\n[admins]\nadmin = pw\n`
  const { cardea, serve, folder } = makeManaged(t, config)
  assert.equal((await cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')).code, 0)
  const server = await serve()
  assert.ok(existsSync(join(folder, 'cardea.sock')))
  assert.equal(await signsIn(server.document, ['ann', 'pw']), true)
  assert.equal((await cardea(['user', 'disable', 'ann'])).code, 0)
  assert.equal(await signsIn(server.document, ['ann', 'pw']), false)
  await stop(server)
  assert.match((await cardea(['user', 'list'])).stdout, /^ann +no/m)
  assert.equal((await cardea(['user', 'remove', 'ann'])).code, 0)
})
