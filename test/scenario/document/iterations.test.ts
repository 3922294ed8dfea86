// min_iterations and max_iterations: only a client that knows the password sees the error, and new hashes must comply.
import assert from 'node:assert/strict'
import { pbkdf2Sync } from 'node:crypto'
import { before, test } from 'node:test'
import { ADMIN, assertRefused, createUsersServer } from './users-server.ts'

const { add, ask } = createUsersServer({ chttpd_auth: { min_iterations: 10, max_iterations: 1000 } })

const createMembers = (iterations: number) => ({
  password: undefined,
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha256',
  iterations,
  salt: 'aa',
  derived_key: pbkdf2Sync('apple', 'aa', iterations, 32, 'sha256').toString('hex'),
})

before(async () => {
  await add('low', createMembers(1))
  await add('high', createMembers(2000))
  await add('far', { ...createMembers(1), iterations: 6_000_000 })
})

const WRONG = [401, 'unauthorized', 'Name or password is incorrect.'] as const

for (const name of ['low', 'high', 'far', 'nonexistent']) {
  test(`"${name}" with a wrong password gets the usual reply`, async () => {
    assertRefused(await ask('GET', '/_session', { as: `${name}:wrong` }), ...WRONG)
    assertRefused(await ask('POST', '/_session', { as: '', body: { name, password: 'wrong' } }), ...WRONG)
  })
}

test('with the right password the error names the iterations', async () => {
  const low = await ask('GET', '/_session', { as: 'low:apple' })
  assertRefused(low, 403, 'forbidden', 'Iteration count is too low for this server')
  const high = await ask('GET', '/_session', { as: 'high:apple' })
  assertRefused(high, 403, 'forbidden', 'Iteration count is too high for this server')
})

const putAdministrator = (name: string, iterations: number, to = ask) =>
  to('PUT', `/_node/_local/_config/admins/${name}?raw=true`, {
    as: ADMIN,
    body: JSON.stringify(`-pbkdf2-${'0'.repeat(64)},salt,${iterations}`),
  })

test('a raw administrator hash above max_iterations is rejected', async () => {
  const about = 'The iterations must be at most 1000 (chttpd_auth.max_iterations).'
  assertRefused(await putAdministrator('boss', 20_000_000), 400, 'bad_request', about)
  assert.equal((await putAdministrator('boss', 1000)).status, 200)
})

test('a raw administrator hash above max_iterations is rejected by the admin API', async () => {
  const stored = `-pbkdf2-${'0'.repeat(64)},salt,1001`
  const answer = await ask('PUT', '/_cardea/api/administrators/boss', { as: ADMIN, body: { stored } })
  assert.equal(answer.status, 400, answer.body)
})

const MOST = 'The stored password costs too much to verify: the limit is 6000000 iterations of PBKDF2 with SHA-256.'
const EXPENSIVE = { ...createMembers(1), iterations: 6_000_001 }

const unlimited = createUsersServer()

test('a stored hash with too many iterations is rejected, even without max_iterations', async () => {
  assertRefused(await putAdministrator('king', 6_000_001, unlimited.ask), 400, 'bad_request', MOST)
  const { password: _, ...members } = EXPENSIVE
  const body = { name: 'expensive', type: 'user', roles: [], ...members }
  assertRefused(await unlimited.ask('PUT', '/_users/org.couchdb.user:expensive', { body }), 400, 'bad_request', MOST)
  await unlimited.add('max')
  const { json } = await unlimited.ask('GET', '/_users/org.couchdb.user:max')
  const changed = await unlimited.ask('PUT', '/_users/org.couchdb.user:max', { body: { ...json, ...members } })
  assertRefused(changed, 400, 'bad_request', MOST)
  for (const trial of [true, false]) {
    const users = [{ name: 'expensive', password: members }, { name: 'cheap' }]
    const imported = await unlimited.ask('POST', '/_cardea/api/transfer/users', { body: { users, trial } })
    assert.deepEqual(imported.json, { outcomes: [{ kind: 'refused', reason: MOST }, { kind: 'created' }] })
  }
})
