// Two nodes over one PostgreSQL: a user gets a role on one while a user administrator, who does not have it, writes on the
// other. The write comes second, so it must not happen.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { connectPostgres } from '../store/postgres-server.ts'
import { AUDIENCE, startProvider } from '../support/provider.ts'
import { AS_ADMIN, basic, type Request, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const PASSWORD = 'correct horse 1'
const scope = createSharedScope()
const postgres = await connectPostgres()
const url = await postgres.createPlace()
const provider = await startProvider(scope)
const options = {
  store: { url },
  admin: { 'user-admin-role': 'helpers' },
  'provider:work': { issuer: provider.issuer, audience: AUDIENCE },
}
const [here, there] = [await startServer(scope, options), await startServer(scope, options)]
scope.after(() => postgres.stop())
await here.cardea.users.create({ name: 'helper', password: PASSWORD, roles: ['helpers'] })

/** While it has the lock, no node can write. Those that want to wait in the order in which they came. */
async function lockStore() {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT * FROM cardea_state FOR UPDATE')
  const countWaiting = async () => {
    const sql = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%cardea_state%'`
    return Number((await postgres.execute(url, sql))[0]?.['count'])
  }
  const release = async () => {
    await client.query('COMMIT')
    await client.end()
  }
  return { countWaiting, release }
}

const API = '/_cardea/api'
const accountsOf = async (name: string) =>
  (await send(here.document, { as: AS_ADMIN, path: `${API}/users/${name}/external-accounts` })).json.accounts

/** The requests of a user administrator that write a user. */
const WRITES: Readonly<Record<string, (name: string) => Request | Promise<Request>>> = {
  'a deletion': (name) => ({ method: 'DELETE', path: `${API}/users/${name}` }),
  'a deletion of several': (name) => ({
    method: 'POST',
    path: `${API}/user-batch`,
    body: { names: [name], action: 'delete' },
  }),
  'a sign-out': (name) => ({ method: 'POST', path: `${API}/users/${name}/sign-out`, body: {} }),
  'an end of a link': async (name) => ({
    method: 'DELETE',
    path: `${API}/users/${name}/external-accounts/${(await accountsOf(name))[0].id}`,
  }),
  'a password': (name) => ({ method: 'PUT', path: `${API}/users/${name}/password`, body: { password: PASSWORD } }),
  'a removed second factor': (name) => ({ method: 'DELETE', path: `${API}/users/${name}/totp` }),
  'a deactivation': (name) => ({ method: 'PUT', path: `${API}/users/${name}/active`, body: { active: false } }),
  'a role': (name) => ({ method: 'PUT', path: `${API}/users/${name}/roles`, body: { add: ['helpers'] } }),
}

describe('a user who gets a role on another node before the write of a user administrator', () => {
  for (const [index, [what, toRequest]] of Object.entries(WRITES).entries())
    it(`is safe from ${what}`, async () => {
      const name = `user-${index}`
      const path = `${API}/users/${name}`
      await here.cardea.users.create({ name, password: 'another horse 1' })
      const body = { provider: 'work', issuer: provider.issuer, subject: name }
      await send(here.document, { as: AS_ADMIN, method: 'POST', path: `${path}/external-accounts`, body })
      const request = await toRequest(name)
      const before = (await send(here.document, { as: AS_ADMIN, path })).json
      const { countWaiting, release } = await lockStore()
      const promote = { as: AS_ADMIN, method: 'PUT', path: `${path}/roles`, body: { add: ['finance'] } }
      const promoted = send(there.document, promote)
      await waitUntil(async () => (await countWaiting()) >= 1)
      const written = send(here.document, { ...request, as: `helper:${PASSWORD}` })
      await waitUntil(async () => (await countWaiting()) >= 2)
      await release()
      assert.equal((await promoted).status, 200)
      const { status, json } = await written
      const reason = json.outcomes?.[0].reason ?? json.reason
      assert.equal(reason, 'You do not have the role finance.', `${status} ${JSON.stringify(json)}`)
      const after = (await send(here.document, { as: AS_ADMIN, path })).json
      assert.deepEqual([after.roles, after.active, after.password], [['finance'], true, before.password])
      assert.equal((await accountsOf(name)).length, 1)
      const signIn = { method: 'GET', path: '/_session', headers: { Authorization: basic(name, 'another horse 1') } }
      assert.equal((await send(here.document, signIn)).json.userCtx.name, name)
    })
})
