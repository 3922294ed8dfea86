import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADMIN, basic, send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const SHARED = 'the-secret-only-the-inner-one-trusts'

const makeUser = async (base: string, name: string, password: string, database: string) => {
  const headers = { ...ADMIN, ...JSON_TYPE }
  const body = JSON.stringify({ user: name, passwd: password })
  await send(base, { method: 'POST', path: '/_api/user', headers, body })
  await send(base, {
    method: 'PUT',
    path: `/_api/user/${name}/database/${database}`,
    headers,
    body: JSON.stringify({ grant: 'rw' }),
  })
}

/** One Cardea behind another: the inner one verifies the identity as the database would. */
test('an inner Cardea accepts the identity sent by the outer one, and no other', async (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'secret'), SHARED)
  const inner = await startServer(t, { server: { 'jwt-secret': SHARED } })
  const outer = await startServer(t, {
    upstream: {
      'multi-model': inner.multiModel,
      'multi-model-secret-keyfile': join(folder, 'secret'),
      'multi-model-admin': 'admin',
    },
  })
  await makeUser(inner.multiModel, 'ada', 'inner', 'books')
  await makeUser(outer.multiModel, 'ada', 'outer', '_system')
  await makeUser(outer.multiModel, 'bob', 'outer', '_system')
  const ask = async (headers: Record<string, string>) => {
    const answer = await send(outer.multiModel, { path: '/_api/database/user', headers })
    return [answer.status, JSON.parse(answer.body).result ?? JSON.parse(answer.body).errorNum]
  }
  assert.deepEqual(await ask(ADMIN), [200, ['_system', 'books']])
  // known to both: the inner one requires a grant for its system database
  assert.deepEqual(await ask({ Authorization: basic('ada', 'outer') }), [401, 11])
  const books = await send(outer.multiModel, {
    path: '/_db/_system/_api/database/current',
    headers: { Authorization: basic('admin', 'adminpw') },
  })
  assert.equal(JSON.parse(books.body).result.name, '_system')
  // known to the outer one alone, and known by the inner one's password alone
  assert.deepEqual(await ask({ Authorization: basic('bob', 'outer') }), [401, 11])
  assert.deepEqual(await ask({ Authorization: basic('ada', 'inner') }), [401, 11])
})
