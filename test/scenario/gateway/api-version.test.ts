// The API version prefix of the multi-model database: what it means to each kind of path at the door.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { superuser, userToken } from '../../support/multi-model.ts'
import { ADMIN, basic, type Reply, send } from '../../support/request.ts'
import { startServer } from '../../support/server.ts'
import { beforeMultiModel, openBackend } from '../../support/upstream.ts'

const backend = await openBackend({ after })
const services = { services: { shop: `/shop ${backend.url}` } }
const front = await startServer({ after }, beforeMultiModel({ after }, backend.url), services)
const JSON_TYPE = { 'Content-Type': 'application/json' }
const ANN = { Authorization: basic('ann', 'apple') }

before(async () => {
  const asAdmin = (method: string, path: string, value: object) =>
    send(front.multiModel, { method, path, headers: { ...ADMIN, ...JSON_TYPE }, body: JSON.stringify(value) })
  await asAdmin('POST', '/_api/user', { user: 'ann', passwd: 'apple' })
  await asAdmin('PUT', '/_api/user/ann/database/*', { grant: 'rw' })
  await asAdmin('PUT', '/_api/user/ann/database/secret', { grant: 'none' })
})

interface Row {
  readonly name: string
  readonly method?: string
  readonly path: string
  readonly as?: Record<string, string>
  readonly status: number
  readonly isForwarded?: boolean
}

const bearer = (paths: readonly string[]) => ({ Authorization: superuser({ allowed_paths: paths }) })

const ROWS: readonly Row[] = [
  { name: 'a database without a grant is refused', path: '/_arango/v0/_db/secret/_api/engine', as: ANN, status: 401 },
  { name: 'the same for experimental', path: '/_arango/experimental/_db/secret/_api/engine', as: ANN, status: 401 },
  {
    name: 'a database with a grant is forwarded unchanged',
    path: '/_arango/v0/_db/open/_api/engine',
    as: ANN,
    status: 200,
    isForwarded: true,
  },
  { name: 'without a credential', path: '/_arango/v0/_api/engine', status: 401 },
  { name: 'secrets stay with Cardea', path: '/_arango/v0/_admin/server/jwt', as: ADMIN, status: 403 },
  { name: 'users stay with Cardea', path: '/_arango/v0/_api/user', as: ADMIN, status: 200 },
  { name: 'users in a database', path: '/_arango/v0/_db/_system/_api/user', as: ADMIN, status: 200 },
  { name: 'a method users do not know is 400', method: 'LINK', path: '/_arango/v0/_api/user', as: ADMIN, status: 400 },
  { name: 'access tokens stay with Cardea', path: '/_arango/experimental/_api/token/ann', as: ADMIN, status: 200 },
  { name: 'sign-in stays with Cardea', method: 'POST', path: '/_arango/v0/_open/auth', status: 400 },
  { name: 'availability is open', path: '/_arango/v0/_admin/server/availability', status: 200 },
  { name: 'other paths below /_open are not forwarded', path: '/_arango/v0/_open/x', as: ADMIN, status: 404 },
  { name: 'the root of a version', path: '/_arango/v0', as: ADMIN, status: 200, isForwarded: true },
  { name: 'another version is not found', path: '/_arango/v1/_api/engine', as: ADMIN, status: 404 },
  { name: 'another version with a database', path: '/_arango/v1/_db/secret/_api/engine', as: ANN, status: 404 },
  { name: 'another version of sign-in', method: 'POST', path: '/_arango/v2/_open/auth', as: ADMIN, status: 404 },
  { name: 'another version without a credential', path: '/_arango/v1/_api/engine', status: 401 },
  { name: 'no version', path: '/_arango', as: ADMIN, status: 404 },
  { name: 'an empty version', path: '/_arango/', as: ADMIN, status: 400 },
  { name: 'a leading zero', path: '/_arango/v01/_api/engine', as: ADMIN, status: 400 },
  { name: 'another word', path: '/_arango/stable/_api/engine', as: ADMIN, status: 400 },
  { name: 'two versions', path: '/_arango/v0/_arango/v0/_api/engine', as: ADMIN, status: 400 },
  { name: 'a version behind a database', path: '/_db/open/_arango/v0/_api/engine', as: ADMIN, status: 400 },
  { name: 'the control API has no version', path: '/_arango/v0/_cardea/api/health', as: ADMIN, status: 400 },
  { name: 'the gate has no version', path: '/_arango/v0/_gate', as: ADMIN, status: 400 },
  { name: 'the key set has no version', path: '/_arango/v0/.well-known/jwks.json', as: ADMIN, status: 400 },
  {
    name: 'a token for some paths is compared without the version',
    path: '/_arango/v0/_api/engine',
    as: bearer(['/_api/engine']),
    status: 200,
    isForwarded: true,
  },
  {
    name: 'a token for some paths is compared without version and database',
    path: '/_arango/v0/_db/open/_api/engine?x=1',
    as: bearer(['/_api/engine']),
    status: 200,
    isForwarded: true,
  },
  {
    name: 'a token for a path with a version opens nothing',
    path: '/_arango/v0/_api/engine',
    as: bearer(['/_arango/v0/_api/engine']),
    status: 401,
  },
  {
    name: 'a plus sign in a database name is not a space',
    path: '/_db/a+b/_api/engine',
    as: ANN,
    status: 400,
  },
]

for (const { name, method = 'GET', path, as = {}, status, isForwarded = false } of ROWS)
  test(`API version: ${name}`, async () => {
    const seenBefore = backend.seen.length
    const answer = await send(front.multiModel, { method, path, headers: as })
    const wasForwarded = backend.seen.slice(seenBefore).some(({ url }) => url === path)
    assert.deepEqual([answer.status, wasForwarded], [status, isForwarded], answer.body)
  })

test('API version: a versioned path belongs to the database, never to a service of that name', async () => {
  const path = '/_arango/v0/shop'
  await send(front.multiModel, { path, headers: ADMIN })
  const toDatabase = backend.seen.at(-1)
  assert.deepEqual([toDatabase?.url, toDatabase?.header('x-auth-user')], [path, undefined])
  assert.match(toDatabase?.header('authorization') ?? '', /^bearer /)
  await send(front.multiModel, { path: '/shop', headers: ADMIN })
  assert.equal(backend.seen.at(-1)?.header('x-auth-user'), 'admin')
})

test('API version: signing in and renewing work under both', async () => {
  for (const version of ['v0', 'experimental']) {
    const answer: Reply = await send(front.multiModel, {
      method: 'POST',
      path: `/_arango/${version}/_open/auth`,
      headers: JSON_TYPE,
      body: JSON.stringify({ username: 'ann', password: 'apple' }),
    })
    assert.equal(answer.status, 200, answer.body)
    const headers = { Authorization: userToken('ann', { exp: Date.now() / 1000 + 60 }) }
    const path = `/_arango/${version}/_open/auth/renew`
    const renewed = await send(front.multiModel, { method: 'POST', path, headers })
    assert.equal(renewed.status, 200, renewed.body)
  }
})
