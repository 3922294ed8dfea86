// An administrator is created while a password is hashed for a user of the same name.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

// a hash takes a few hundred milliseconds, the stored form of an administrator none
const { document } = await startServer(createSharedScope(), {
  chttpd_auth: { iterations: 1_500_000, max_iterations: 2_000_000 },
  console: { 'public-url': 'https://db.example.com' },
})
const STORED = `-pbkdf2-${'ab'.repeat(20)},${'cd'.repeat(16)},10`

const ask = (path: string, body?: unknown): Promise<Reply> =>
  send(document, { as: AS_ADMIN, method: 'POST', path: `/_cardea/api${path}`, ...(body !== undefined && { body }) })

// from here on the password of the administrator is remembered: no request waits for its hash
await send(document, { as: AS_ADMIN, path: '/_session' })

/** The reply to a request that hashes a password, if an administrator of the name is created meanwhile. */
async function raceWithAdministrator(name: string, request: Promise<Reply>): Promise<Reply> {
  const created = ask('/administrators', { name, stored: STORED })
  assert.equal((await created).status, 200)
  return request
}

it('a user of the name is not created', async () => {
  const { status, json } = await raceWithAdministrator('eve', ask('/users', { name: 'eve', password: 'x' }))
  assert.deepEqual([status, json.error], [409, 'conflict'])
})

it('a link does not set the password of the user', async () => {
  await ask('/users', { name: 'eva' })
  const { url } = (await ask('/users/eva/password-link')).json
  const token = url.split('/').at(-1)
  const reply = await raceWithAdministrator('eva', ask('/password-links/use', { token, password: 'x' }))
  assert.deepEqual([reply.status, reply.json.error], [404, 'not_found'])
})
