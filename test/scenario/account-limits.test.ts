// Users with an expiry date, and users who must change the password, at both doors.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { AS_ADMIN, createAsk } from '../support/request.ts'
import { startServer } from '../support/server.ts'
import { mintJwt } from './document/session-server.ts'

const SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const { cardea, document, multiModel, takeEvents } = await startServer(
  { after },
  { jwt_keys: { 'hmac:_default': Buffer.from(SECRET).toString('base64') } },
)
const askDocument = createAsk(document)
const askMultiModel = createAsk(multiModel)
const HEADER = 'x-cardea-password-change'
const API = '/_cardea/api/users'

async function control(method: string, path: string, body: unknown) {
  const answer = await askDocument(method, `${API}${path}`, { as: AS_ADMIN, body })
  assert.equal(answer.status, 200, answer.body)
  return answer.json
}

const add = (name: string, more: object = {}) => control('POST', '', { name, password: `${name}-pw`, ...more })

const as = (name: string, password = `${name}-pw`) => `${name}:${password}`

/** Every way to be a user: Basic at each door, a cookie, a token, a JWT of another issuer. */
async function openCredentials(name: string) {
  const body = { name, password: `${name}-pw` }
  const session = await askDocument('POST', '/_session', { body })
  const Cookie = (session.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
  const token = await askMultiModel('POST', '/_open/auth', { body: { username: name, password: `${name}-pw` } })
  const exp = Math.floor(Date.now() / 1000) + 60
  return {
    cookie: { headers: { Cookie } },
    bearer: { as: `Bearer ${token.json.jwt}` },
    jwt: { as: `Bearer ${mintJwt({ sub: name, exp }, SECRET)}` },
    basic: { as: as(name) },
  }
}

async function findNames(name: string, { cookie, bearer, jwt, basic }: Awaited<ReturnType<typeof openCredentials>>) {
  const nameAt = async (details: object) =>
    (await askDocument('GET', '/_session', details)).json?.userCtx?.name ?? undefined
  const statusAt = async (details: object) => (await askMultiModel('GET', `/_api/user/${name}`, details)).status
  return {
    document: [await nameAt(cookie), await nameAt(basic), await nameAt(jwt)],
    multiModel: [await statusAt(bearer), await statusAt(basic)],
    gate: (await askDocument('GET', '/_gate', cookie)).status,
  }
}

describe('an expiry date', () => {
  it('has no effect before, and ends everything from then on', async () => {
    await add('ada', { expires: '2999-12-31' })
    const credentials = await openCredentials('ada')
    const VALID = { document: ['ada', 'ada', 'ada'], multiModel: [200, 200], gate: 204 }
    const EXPIRED = { document: [undefined, undefined, undefined], multiModel: [401, 401], gate: 401 }
    assert.deepEqual(await findNames('ada', credentials), VALID)
    assert.equal(
      (await control('PUT', '/ada/expiry', { expires: '2001-01-01T00:00:00Z' })).expires,
      '2001-01-01T00:00:00Z',
    )
    assert.deepEqual(await findNames('ada', credentials), EXPIRED)
    assert.equal((await askDocument('POST', '/_session', { body: { name: 'ada', password: 'ada-pw' } })).status, 401)
    assert.equal((await control('PUT', '/ada/expiry', { expires: null })).expires, undefined)
    assert.deepEqual(await findNames('ada', credentials), VALID, 'like an account that is enabled again')
  })

  it('must be a day or a time', async () => {
    for (const expires of ['tomorrow', '', 5, '2030-13-01', '2030-01-01T00:00:00+02:00']) {
      const answer = await askDocument('PUT', `${API}/ada/expiry`, { as: AS_ADMIN, body: { expires } })
      assert.equal(answer.status, 400, `${expires}`)
    }
  })

  it('is recorded', async () => {
    takeEvents()
    await control('PUT', '/ada/expiry', { expires: '2999-12-31' })
    await control('PUT', '/ada/password-change', { required: true })
    await control('PUT', '/ada/password-change', { required: false })
    const changes = takeEvents().filter(({ event }) => event === 'user.changed')
    assert.deepEqual(
      changes.map(({ changed }) => changed),
      [['expiry'], ['password change'], ['password change']],
    )
  })
})

describe('a user who must change the password', () => {
  const documentOf = (name: string) => `/_users/org.couchdb.user:${name}`

  it('can do nothing else at the document door', async () => {
    await add('bob', { mustChangePassword: true })
    const signedIn = await askDocument('POST', '/_session', { body: { name: 'bob', password: 'bob-pw' } })
    assert.deepEqual([signedIn.status, signedIn.headers[HEADER]], [200, 'required'])
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/db/doc'],
      ['POST', '/_users'],
      ['DELETE', documentOf('bob')],
      ['GET', documentOf('ada')],
      ['GET', '/_gate'],
    ] as const) {
      const answer = await askDocument(method, path, { as: as('bob') })
      assert.deepEqual([answer.status, answer.headers[HEADER]], [403, 'required'], `${method} ${path}`)
    }
    assert.equal((await askDocument('GET', '/_session', { as: as('bob') })).status, 200)
    const { json } = await askDocument('GET', documentOf('bob'), { as: as('bob') })
    const put = (members: object) =>
      askDocument('PUT', documentOf('bob'), { as: as('bob'), body: { ...json, ...members } })
    assert.equal((await put({ nick: 'b' })).status, 403)
    assert.equal((await put({ password: 'bob-pw' })).status, 201)
    assert.equal((await askDocument('GET', '/', { as: as('bob') })).status, 403, 'it was the same password')
  })

  it('does so at the document door', async () => {
    const { json } = await askDocument('GET', documentOf('bob'), { as: as('bob') })
    const body = { ...json, password: 'another' }
    assert.equal((await askDocument('PUT', documentOf('bob'), { as: as('bob'), body })).status, 201)
    const answer = await askDocument('GET', '/', { as: as('bob', 'another') })
    assert.deepEqual([answer.status, answer.headers[HEADER]], [200, undefined])
  })

  it('can do nothing else at the multi-model door, and does it there', async () => {
    await add('cy', { mustChangePassword: true, grants: [{ database: '_system', level: 'rw' }] })
    const { bearer } = await openCredentials('cy')
    for (const [method, path] of [
      ['GET', '/_api/version'],
      ['GET', '/_api/user/ada'],
      ['POST', '/_api/token/cy'],
      ['GET', '/app'],
      ['GET', '/_gate'],
    ] as const) {
      const answer = await askMultiModel(method, path, bearer)
      assert.deepEqual([answer.status, answer.headers[HEADER]], [403, 'required'], `${method} ${path}`)
    }
    assert.deepEqual((await askMultiModel('GET', '/_api/version', bearer)).json, {
      error: true,
      code: 403,
      errorNum: 11,
      errorMessage: 'the password must be changed first',
    })
    assert.equal((await askMultiModel('GET', '/_api/user/cy', bearer)).status, 200)
    const patch = (body: object) => askMultiModel('PATCH', '/_api/user/cy', { ...bearer, body })
    assert.equal((await patch({ extra: { a: 1 } })).status, 403)
    assert.equal((await patch({ passwd: 'another' })).status, 200)
    assert.equal((await askMultiModel('GET', '/_api/version', { as: as('cy', 'another') })).status, 200)
  })

  it('is not authenticated for a program that uses the library', async () => {
    await add('dora')
    const { cookie } = await openCredentials('dora')
    const request = new Request('http://localhost/', cookie)
    assert.equal((await cardea.authenticate(request))?.name, 'dora')
    await control('PUT', '/dora/password-change', { required: true })
    assert.equal(await cardea.authenticate(request), undefined)
  })

  it('is marked again by an administrator who sets a password for it, if wanted', async () => {
    await add('eli', { mustChangePassword: true })
    const setPassword = (body: object) => control('PUT', '/eli/password', body)
    assert.equal((await setPassword({ password: 'first' })).mustChangePassword, undefined)
    assert.equal((await setPassword({ password: 'second', mustChangePassword: true })).mustChangePassword, true)
    assert.equal((await setPassword({ password: 'third', mustChangePassword: true })).mustChangePassword, true)
    assert.equal((await setPassword({ password: 'third' })).mustChangePassword, true, 'the same password')
    assert.equal((await setPassword({ password: 'third', mustChangePassword: false })).mustChangePassword, undefined)
  })
})
