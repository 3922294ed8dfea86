// Every row of the contract's tables, by name.
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  GATE,
  makeToken,
  member,
  now,
  openMultiModel,
  readClaims,
  SECRET,
  superuser,
  userToken,
} from '../../support/multi-model.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const VERSION = '/_api/version'
const CREDENTIALS = { username: 'admin', password: 'adminpw' }
const OFF = { server: { authentication: false } }
const EVERYTHING = { server: { 'authentication-system-only': false } }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function openWithAnn(t: TestContext) {
  const door = await openMultiModel(t)
  const made = await door.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'ann', passwd: 'apple' } })
  assert.equal(made.status, 201)
  return door
}

async function openWithFolder(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const secrets = join(folder, 'secrets')
  mkdirSync(secrets)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(secrets, name), text)
  const door = await openMultiModel(t, { server: { 'jwt-secret': '', 'jwt-secret-folder': secrets } })
  return { ...door, secrets }
}

describe('user credentials, the request body of the token endpoint', () => {
  it('username | string | yes | Name of a user account', async (t) => {
    const { ask } = await openWithAnn(t)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 'ann', password: 'apple' } })).status, 200)
    assert.equal((await ask('POST', '/_open/auth', { body: { password: 'apple' } })).status, 400)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 7, password: 'apple' } })).status, 400)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 'unknown', password: 'apple' } })).status, 401)
  })
  it('password | string | yes | Password of that user account', async (t) => {
    const { ask } = await openWithAnn(t)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 'ann' } })).status, 400)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 'ann', password: null } })).status, 400)
    assert.equal((await ask('POST', '/_open/auth', { body: { username: 'ann', password: 'pear' } })).status, 401)
  })
})

describe('JWT user token, claims in the payload', () => {
  it('exp | number | Expiry time, Unix timestamp in seconds', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin', { exp: now() + 60 }) })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin', { exp: now() - 1 }) })).status, 401)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin', { exp: `${now() + 60}` }) })).status, 401)
  })
  it('iat | number | Issue time', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('POST', '/_open/auth', { body: CREDENTIALS })
    const { iat } = readClaims(member(answer.json, 'jwt'))
    assert.ok(typeof iat === 'number' && Math.abs(iat - now()) <= 1, String(iat))
  })
  it('iss | string | Must be present and must equal the fixed issuer string', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin') })).status, 200)
    for (const iss of [undefined, null, 'ArangoDB', 'arangodb ', 'other', 7, ['arangodb']]) {
      assert.equal((await ask('GET', VERSION, { as: userToken('admin', { iss }) })).status, 401, String(iss))
    }
  })
  it('the issuer is the lowercase name of the service', async (t) => {
    const { ask } = await openMultiModel(t, { 'multi-model': { name: 'OtherDB' } })
    assert.equal((await ask('GET', VERSION, { as: userToken('admin', { iss: 'otherdb' }) })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin') })).status, 401)
  })
  it('preferred_username | string | User name the token authenticates as', async (t) => {
    const { ask } = await openWithAnn(t)
    const mine = await ask('GET', '/_api/user/ann', { as: userToken('ann') })
    assert.deepEqual(mine.json, { user: 'ann', active: true, extra: {}, error: false, code: 200 })
    assert.equal((await ask('GET', '/_api/user/admin', { as: userToken('ann') })).status, 403)
  })
})

describe('JWT superuser token, claims in the payload', () => {
  it('exp | number | Expiry time, Unix timestamp in seconds', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: superuser({ exp: now() + 60 }) })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: superuser({ exp: now() - 1 }) })).status, 401)
  })
  it('iat | number | Issue time', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: superuser({ iat: now() }) })).status, 200)
  })
  it('iss | string | Must equal the issuer', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: superuser({ iss: 'other' }) })).status, 401)
  })
  it('server_id | string | Arbitrary string identifier of the client', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const server_id of ['', 'me', 'ü '.repeat(50)]) {
      assert.equal((await ask('GET', '/_admin/server/jwt', { as: superuser({ server_id }) })).status, 200)
    }
    for (const server_id of [null, 7, true, {}, ['me']]) {
      assert.equal((await ask('GET', VERSION, { as: superuser({ server_id }) })).status, 401)
    }
  })
  it('Both token kinds are signed with HMAC using SHA-256 and the deployment’s JWT secret', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('POST', '/_open/auth', { body: CREDENTIALS })
    const [header = '', payload = '', signature] = String(member(answer.json, 'jwt')).split('.')
    assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', typ: 'JWT' })
    const expected = createHmac('sha256', SECRET).update(`${header}.${payload}`).digest('base64url')
    assert.equal(signature, expected)
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { secret: 'another' }) })).status, 401)
  })
})

describe('token response', () => {
  it('jwt | string | The encoded JWT session token', async (t) => {
    const { ask } = await openMultiModel(t)
    const { json } = await ask('POST', '/_open/auth', { body: CREDENTIALS })
    const jwt = member(json, 'jwt')
    assert.deepEqual(json, { jwt })
    assert.equal((await ask('GET', VERSION, { as: `Bearer ${jwt}` })).status, 200)
  })
})

describe('secret information object', () => {
  const SECRETS = { '1': 'first secret', '2': 'second secret', '3': 'third secret' }
  const auth = () => superuser({}, { secret: SECRETS['1'] })

  it('error | boolean | false on success', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    assert.equal(member((await ask('GET', '/_admin/server/jwt', { as: auth() })).json, 'error'), false)
  })
  it('code | integer | HTTP status code, 200 on success', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    const answer = await ask('GET', '/_admin/server/jwt', { as: auth() })
    assert.deepEqual([answer.status, member(answer.json, 'code')], [200, 200])
  })
  it('result | object | Holds the two members below', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    const { json } = await ask('GET', '/_admin/server/jwt', { as: auth() })
    assert.deepEqual(Object.keys(Object(member(json, 'result'))), ['active', 'passive'])
  })
  it('result.active | Has one member sha256: the SHA-256 hash of the active secret', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    const { json } = await ask('GET', '/_admin/server/jwt', { as: auth() })
    assert.deepEqual(member(member(json, 'result'), 'active'), { sha256: sha256(SECRETS['1']) })
  })
  it('result.passive | Each element has one member sha256: the hash of a passive secret', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    const { json } = await ask('GET', '/_admin/server/jwt', { as: auth() })
    const passive = [{ sha256: sha256(SECRETS['2']) }, { sha256: sha256(SECRETS['3']) }]
    assert.deepEqual(member(member(json, 'result'), 'passive'), passive)
  })
  it('result.passive | the array can be empty', async (t) => {
    const { ask } = await openWithFolder(t, { '1': SECRETS['1'] })
    const { json } = await ask('GET', '/_admin/server/jwt', { as: auth() })
    assert.deepEqual(member(member(json, 'result'), 'passive'), [])
  })
  it('The secrets themselves are never returned, only their hashes', async (t) => {
    const { ask } = await openWithFolder(t, SECRETS)
    for (const method of ['GET', 'POST']) {
      const { body } = await ask(method, '/_admin/server/jwt', { as: auth() })
      for (const secret of Object.values(SECRETS)) assert.ok(!body.includes(secret))
    }
  })
})

describe('POST /_open/auth', () => {
  it('Response 200: JSON object with jwt', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('POST', '/_open/auth', { body: CREDENTIALS })).status, 200)
  })
  it('Response 400: the request lacks required attributes or is malformed', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const text of ['{}', '{"username":"admin"}', '{"username":', '[]', '"x"', 'null', '']) {
      const answer = await ask('POST', '/_open/auth', { body: text, headers: { 'Content-Type': 'application/json' } })
      assert.equal(answer.status, 400, text)
    }
  })
  it('Response 401: the credentials are incorrect', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('POST', '/_open/auth', { body: { ...CREDENTIALS, password: 'wrong' } })
    assert.deepEqual(answer.json, { error: true, code: 401, errorNum: 401, errorMessage: 'Wrong credentials' })
  })
  it('Response 404: the server has authentication disabled, so the endpoint is unavailable', async (t) => {
    const { ask } = await openMultiModel(t, OFF)
    assert.equal((await ask('POST', '/_open/auth', { body: CREDENTIALS })).status, 404)
    assert.equal((await ask('POST', '/_open/auth/renew')).status, 404)
    assert.equal((await ask('DELETE', '/_open/auth')).status, 404)
  })
  it('Its lifetime is set by the startup option --server.session-timeout', async (t) => {
    const { ask } = await openMultiModel(t, { server: { 'session-timeout': 90 } })
    const { iat, exp } = readClaims(member((await ask('POST', '/_open/auth', { body: CREDENTIALS })).json, 'jwt'))
    assert.equal(Number(exp) - Number(iat), 90)
  })
})

describe('GET and POST /_admin/server/jwt', () => {
  it('Response 403: the request was not authenticated with sufficient rights (not a superuser token)', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const method of ['GET', 'POST']) {
      for (const auth of [AS_ADMIN, userToken('admin')]) {
        const { status, json } = await ask(method, '/_admin/server/jwt', { as: auth })
        assert.deepEqual([status, member(json, 'errorNum')], [403, 11])
      }
    }
  })
  it('Reloads the JWT secret(s) from disk without restarting the process', async (t) => {
    const { ask, secrets } = await openWithFolder(t, { b: 'old secret' })
    const old = superuser({}, { secret: 'old secret' })
    writeFileSync(join(secrets, 'a'), 'new secret')
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { secret: 'new secret' }) })).status, 401)
    const { json } = await ask('POST', '/_admin/server/jwt', { as: old })
    assert.deepEqual(member(json, 'result'), {
      active: { sha256: sha256('new secret') },
      passive: [{ sha256: sha256('old secret') }],
    })
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { secret: 'new secret' }) })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: old })).status, 200)
  })
  it('Only the files named by the startup options are read; locations cannot be changed without a restart', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('POST', '/_admin/server/jwt', { as: superuser() })
    assert.deepEqual(answer.json, {
      error: true,
      code: 400,
      errorNum: 10,
      errorMessage: 'no JWT secret file was specified',
    })
  })
})

describe('OPTIONS (any URL)', () => {
  it('Always answered, even without authentication data or with wrong authentication data', async (t) => {
    const { ask } = await openMultiModel(t, EVERYTHING)
    for (const path of ['/', VERSION, '/_admin/server/jwt', '/my-app', '/_db/none/x']) {
      for (const asked of [{}, { as: 'Basic rubbish' }, { as: 'Bearer rubbish' }]) {
        assert.equal((await ask('OPTIONS', path, asked)).status, 200, path)
      }
    }
  })
  it('The response is generic and exposes no private data', async (t) => {
    const { ask } = await openMultiModel(t)
    const { body } = await ask('OPTIONS', '/_admin/server/jwt', { as: superuser() })
    assert.equal(body, '')
  })
})

describe('modes and server options', () => {
  const APPLICATION = '/my-app/hello'

  it('--server.authentication | true (default) | Authentication is required for the internal database APIs', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const path of [VERSION, '/_admin/status', '/_api/user']) {
      assert.deepEqual((await ask('GET', path)).json, GATE, path)
      assert.equal((await ask('GET', path, { as: AS_ADMIN })).status, 200, path)
    }
  })
  it('--server.authentication | false | Authentication is disabled for all requests; POST /_open/auth then answers 404', async (t) => {
    const { ask } = await openMultiModel(t, OFF)
    for (const path of [VERSION, '/_admin/status', '/', '/_api/user'])
      assert.equal((await ask('GET', path)).status, 200)
    assert.equal((await ask('POST', '/_open/auth', { body: CREDENTIALS })).status, 404)
  })
  it('--server.authentication-system-only | true (default) | required only for /_api/, /_admin/ and the admin interface; other URLs need none', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', APPLICATION)).status, 404)
    for (const path of ['/_api/x', '/_admin/x', '/_admin/aardvark/index.html']) {
      assert.equal((await ask('GET', path)).status, 401, path)
    }
  })
  it('--server.authentication-system-only | false | With authentication on, every request needs authentication', async (t) => {
    const { ask } = await openMultiModel(t, EVERYTHING)
    for (const path of [APPLICATION, '/', VERSION]) assert.equal((await ask('GET', path)).status, 401, path)
    assert.equal((await ask('GET', APPLICATION, { as: AS_ADMIN })).status, 404)
  })
  it('1. authentication true, system-only true: internal APIs require it, custom application services do not', async (t) => {
    const { ask } = await openMultiModel(t, { server: { authentication: true, 'authentication-system-only': true } })
    assert.deepEqual([(await ask('GET', VERSION)).status, (await ask('GET', APPLICATION)).status], [401, 404])
  })
  it('2. authentication true, system-only false: all requests require authentication', async (t) => {
    const { ask } = await openMultiModel(t, { server: { authentication: true, 'authentication-system-only': false } })
    assert.deepEqual([(await ask('GET', VERSION)).status, (await ask('GET', APPLICATION)).status], [401, 401])
  })
  for (const systemOnly of [true, false]) {
    it(`3. authentication false (system-only ${systemOnly}): no request requires authentication`, async (t) => {
      const { ask } = await openMultiModel(t, {
        server: { authentication: false, 'authentication-system-only': systemOnly },
      })
      assert.deepEqual([(await ask('GET', VERSION)).status, (await ask('GET', APPLICATION)).status], [200, 404])
    })
  }
})

describe('failure behaviour', () => {
  it('1. and 2.: the client has not authenticated: HTTP 401 with the Www-Authenticate response header', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('GET', VERSION)
    assert.equal(answer.status, 401)
    assert.match(answer.header('www-authenticate') ?? '', /^Bearer .*\nBasic /)
  })
  it('3. X-Omit-Www-Authenticate (any value): the 401 response is sent without the header', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const value of ['', '0', 'false', 'yes']) {
      const headers = { 'X-Omit-Www-Authenticate': value }
      assert.equal((await ask('GET', VERSION, { headers })).header('www-authenticate'), undefined)
      const wrong = await ask('POST', '/_open/auth', { body: { username: 'admin', password: 'x' }, headers })
      assert.deepEqual([wrong.status, wrong.header('www-authenticate')], [401, undefined])
    }
  })
})

describe('Basic and Bearer', () => {
  it('Basic: the Base64 encoding of <username>:<password>', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: basic('admin', 'adminpw') })).status, 200)
  })
  it('A user token is obtained from POST /_open/auth, or generated by the client when it knows the secret', async (t) => {
    const { ask, signIn } = await openMultiModel(t)
    assert.equal((await ask('GET', VERSION, { as: await signIn('admin', 'adminpw') })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: userToken('admin') })).status, 200)
  })
  it('The secret is generated randomly at server startup when not set', async (t) => {
    const one = await openMultiModel(t, { server: { 'jwt-secret': '' } })
    const other = await openMultiModel(t, { server: { 'jwt-secret': '' } })
    const auth = await one.signIn('admin', 'adminpw')
    assert.equal((await one.ask('GET', VERSION, { as: auth })).status, 200)
    assert.equal((await other.ask('GET', VERSION, { as: auth })).status, 401)
    assert.equal((await one.ask('GET', VERSION, { as: superuser({}, { secret: '' }) })).status, 401)
  })
  it('A superuser token is required for agency and database-server instances', async (t) => {
    for (const role of ['agent', 'dbserver'] as const) {
      const { ask } = await openMultiModel(t, { server: { role } })
      assert.equal((await ask('GET', VERSION, { as: superuser() })).status, 200)
      for (const auth of [AS_ADMIN, userToken('admin')])
        assert.equal((await ask('GET', VERSION, { as: auth })).status, 401)
      const { json } = await ask('POST', '/_open/auth', { body: CREDENTIALS })
      const errorMessage = 'This server does not support users'
      assert.deepEqual(json, { error: true, code: 401, errorNum: 401, errorMessage })
    }
  })
})

describe('errors', () => {
  it('400 | POST /_open/auth request misses required attributes or is malformed', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('POST', '/_open/auth', { body: {} })).status, 400)
  })
  it('401 | Authentication required but missing or invalid; also wrong credentials on POST /_open/auth', async (t) => {
    const { ask } = await openMultiModel(t)
    const invalid = [undefined, 'Basic x', 'Bearer x', `Bearer ${makeToken({})}`]
    for (const auth of invalid) assert.equal((await ask('GET', VERSION, auth ? { as: auth } : {})).status, 401)
    const wrong = await ask('POST', '/_open/auth', { body: { username: 'admin', password: 'x' } })
    assert.equal(wrong.status, 401)
    assert.match(wrong.header('www-authenticate') ?? '', /^Bearer .*\nBasic /)
  })
  it('403 | GET or POST /_admin/server/jwt without a superuser token', async (t) => {
    const { ask } = await openMultiModel(t)
    assert.equal((await ask('GET', '/_admin/server/jwt', { as: AS_ADMIN })).status, 403)
    assert.equal((await ask('POST', '/_admin/server/jwt', { as: AS_ADMIN })).status, 403)
  })
  it('404 | POST /_open/auth while authentication is disabled', async (t) => {
    const { ask } = await openMultiModel(t, OFF)
    assert.equal((await ask('POST', '/_open/auth', { body: CREDENTIALS })).status, 404)
  })
})

describe('limits', () => {
  it('JWT lifetime | 1 hour by default; configurable with --server.session-timeout', async (t) => {
    const { ask } = await openMultiModel(t)
    const { iat, exp } = readClaims(member((await ask('POST', '/_open/auth', { body: CREDENTIALS })).json, 'jwt'))
    assert.equal(Number(exp) - Number(iat), 3600)
  })
  it('exp | Unix timestamp in seconds', async (t) => {
    const { ask } = await openMultiModel(t)
    const { exp } = readClaims(member((await ask('POST', '/_open/auth', { body: CREDENTIALS })).json, 'jwt'))
    assert.ok(Number.isInteger(exp) && Math.abs(Number(exp) - now() - 3600) <= 1)
  })
})
