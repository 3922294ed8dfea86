// POST /_open/auth, its renewal and its end.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { renderCode } from '../../../src/directory/second-factor/totp.ts'
import {
  GATE,
  type MultiModel,
  makeToken,
  member,
  now,
  openMultiModel,
  readClaims,
  superuser,
  userToken,
} from '../../support/multi-model.ts'
import { sendRaw } from '../../support/raw.ts'
import { AS_ADMIN, basic, send } from '../../support/request.ts'

const AUTH = '/_open/auth'
const ANN = { username: 'ann', password: 'apple' }
const WRONG = { error: true, code: 401, errorNum: 401, errorMessage: 'Wrong credentials' }
const refusal = (code: number, errorNum: number, errorMessage: string) => ({
  error: true,
  code,
  errorNum,
  errorMessage,
})

async function openWithAnn(t: TestContext, options: Parameters<typeof openMultiModel>[1] = {}) {
  const door = await openMultiModel(t, options)
  await createUser(door, 'ann', 'apple')
  return door
}

async function createUser({ ask }: MultiModel, user: string, passwd: string) {
  assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user, passwd } })).status, 201)
}

const change = ({ ask }: MultiModel, user: string, json: object) =>
  ask('PATCH', `/_api/user/${user}`, { as: AS_ADMIN, body: json })

describe('the body of a sign-in', () => {
  const json = { 'Content-Type': 'application/json' }
  const rows: readonly { name: string; text: string; headers?: Record<string, string>; body: object }[] = [
    { name: 'not JSON', text: '{"username":', body: refusal(400, 600, 'invalid JSON object') },
    {
      name: 'a duplicate member',
      text: '{"username":"ann","password":"x","password":"apple"}',
      body: refusal(400, 600, 'invalid JSON object'),
    },
    {
      name: 'nested too deep',
      text: `{"username":${'['.repeat(500)}${']'.repeat(500)}}`,
      body: refusal(400, 600, 'invalid JSON object'),
    },
    { name: 'an array', text: '[]', body: refusal(400, 400, 'invalid JSON') },
    { name: 'null', text: 'null', body: refusal(400, 400, 'invalid JSON') },
    { name: 'nothing', text: '', body: refusal(400, 400, 'invalid JSON') },
    { name: 'no password', text: '{"username":"ann"}', body: refusal(400, 400, 'invalid JSON') },
    {
      name: 'a password that is a number',
      text: '{"username":"ann","password":1}',
      body: refusal(400, 400, 'invalid JSON'),
    },
    { name: 'no username', text: '{"password":"apple"}', body: refusal(400, 400, 'invalid JSON') },
    {
      name: 'a username that is null',
      text: '{"username":null,"password":"apple"}',
      body: refusal(400, 400, 'invalid JSON'),
    },
    {
      name: 'names of the prototype',
      text: '{"__proto__":{"username":"ann","password":"apple"}}',
      body: refusal(400, 400, 'invalid JSON'),
    },
    {
      name: 'a form',
      text: 'username=ann&password=apple',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: refusal(400, 600, 'invalid JSON object'),
    },
    {
      name: 'packed',
      text: 'x',
      headers: { ...json, 'Content-Encoding': 'gzip' },
      body: refusal(
        400,
        10,
        'support for handling Content-Encoding headers is turned off for unauthenticated requests',
      ),
    },
    {
      name: 'expiryTime as a string',
      text: '{"username":"ann","password":"x","expiryTime":"60"}',
      body: refusal(400, 400, 'expiryTime must be a number'),
    },
    {
      name: 'expiryTime null',
      text: '{"username":"ann","password":"x","expiryTime":null}',
      body: refusal(400, 400, 'expiryTime must be a number'),
    },
    {
      name: 'expiryTime too short, checked before the credentials',
      text: '{"username":"ann","password":"wrong","expiryTime":9}',
      body: refusal(400, 400, 'expiryTime is below the minimal allowed value of 10 seconds'),
    },
    {
      name: 'expiryTime too long',
      text: '{"username":"ann","password":"apple","expiryTime":3601}',
      body: refusal(400, 400, 'expiryTime exceeds the maximal allowed value of 3600 seconds'),
    },
    {
      name: 'an infinite expiryTime',
      text: '{"username":"ann","password":"apple","expiryTime":1e999}',
      body: refusal(400, 400, 'expiryTime exceeds the maximal allowed value of 3600 seconds'),
    },
  ]
  for (const { name, text, headers = json, body } of rows) {
    it(name, async (t) => {
      const { ask } = await openMultiModel(t)
      assert.deepEqual((await ask('POST', AUTH, { body: text, headers })).json, body)
    })
  }
  it('not UTF-8', async (t) => {
    const { url } = await openMultiModel(t)
    const lines = ['POST /_open/auth HTTP/1.1', 'Host: x', 'Content-Length: 16', '', '{"username":"\xff"}']
    const answer = await sendRaw(Number(new URL(url).port), lines.join('\r\n'))
    assert.deepEqual(JSON.parse(answer.body), refusal(400, 600, 'invalid JSON object'))
  })
  it('rejects invalid VelocyPack', async (t) => {
    const { ask } = await openMultiModel(t)
    const answer = await ask('POST', AUTH, { body: 'x', headers: { 'Content-Type': 'application/x-velocypack' } })
    const message = 'the body is not VelocyPack, or has a type that JSON does not have'
    assert.deepEqual(answer.json, refusal(400, 600, message))
  })
  for (const method of ['GET', 'PUT', 'PATCH', 'HEAD']) {
    it(`rejects ${method}`, async (t) => {
      const { ask } = await openMultiModel(t)
      const answer = await ask(method, AUTH)
      assert.deepEqual([answer.status, answer.header('allow')], [405, 'POST, DELETE'])
    })
  }
  it('rejects a chunked body of an anonymous request', async (t) => {
    const { url } = await openMultiModel(t)
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }
    const answer = await send(url, { method: 'POST', path: AUTH, headers, body: '{}' })
    assert.deepEqual([answer.status, member(JSON.parse(answer.body), 'errorNum')], [400, 10])
  })
})

describe('sign-in', () => {
  it('issues a token with the requested lifetime', async (t) => {
    const { ask } = await openWithAnn(t)
    const { json } = await ask('POST', AUTH, { body: { ...ANN, expiryTime: 60.9 } })
    const { iat, exp } = readClaims(member(json, 'jwt'))
    assert.equal(Number(exp) - Number(iat), 60)
  })
  it('issues the claims in the order of the real server, then our own', async (t) => {
    const { ask } = await openWithAnn(t)
    const { json } = await ask('POST', AUTH, { body: ANN })
    const claims = readClaims(member(json, 'jwt'))
    assert.deepEqual(Object.keys(claims), ['preferred_username', 'iss', 'iat', 'exp', 'jti', 'cdg'])
    assert.deepEqual([claims['preferred_username'], claims['iss']], ['ann', 'arangodb'])
    assert.match(String(claims['jti']), /^[A-Za-z0-9_-]{22}$/)
  })
  for (const path of ['/_db/_system/_open/auth', '/_open/auth/', '/_open/auth/foo', '/_open/auth/renew/x']) {
    it(`also at ${path}`, async (t) => {
      const { ask } = await openWithAnn(t)
      assert.equal((await ask('POST', path, { body: ANN })).status, 200)
    })
  }
  it('works in every database: a client cannot find out which ones exist', async (t) => {
    const door = await openWithAnn(t)
    const { ask } = door
    await createUser(door, 'bob', 'b')
    await ask('PUT', '/_api/user/bob/database/shop', { as: AS_ADMIN, body: { grant: 'ro' } })
    for (const name of ['shop', 'unknown'])
      assert.equal((await ask('POST', `/_db/${name}/_open/auth`, { body: ANN })).status, 200, name)
  })
  it('ignores a wrong credential in the header, which counts as no failure', async (t) => {
    const { ask } = await openWithAnn(t, { chttpd_auth_lockout: { threshold: 2 } })
    for (let i = 0; i < 5; i += 1) {
      assert.equal((await ask('POST', AUTH, { body: ANN, as: basic('ann', 'wrong') })).status, 200)
    }
    assert.equal((await ask('GET', '/_api/user/ann', { as: basic('ann', 'apple') })).status, 200)
  })
  it('unknown name, wrong password, inactive and locked user look alike', async (t) => {
    const door = await openWithAnn(t, { chttpd_auth_lockout: { threshold: 3 } })
    await createUser(door, 'ivy', 'i')
    await change(door, 'ivy', { active: false })
    const attempts = [
      { username: 'unknown', password: 'x' },
      { username: 'ivy', password: 'i' },
      { username: '', password: '' },
      { username: 'ann', password: 'x' },
      { username: 'ann', password: 'x' },
      { username: 'ann', password: 'x' },
      { username: 'ann', password: 'apple' },
      { username: '_system', password: 'x' },
      { username: 'a:b', password: 'x' },
      { username: 'x'.repeat(10_000), password: 'x' },
    ]
    for (const json of attempts) assert.deepEqual((await door.ask('POST', AUTH, { body: json })).json, WRONG)
  })
  it('accepts an empty password', async (t) => {
    const door = await openMultiModel(t)
    assert.equal((await door.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'eva' } })).status, 201)
    assert.equal((await door.ask('POST', AUTH, { body: { username: 'eva', password: '' } })).status, 200)
  })
  it('compares passwords without normalisation', async (t) => {
    const door = await openMultiModel(t)
    await createUser(door, 'uma', 'pä:ss ')
    assert.equal((await door.ask('POST', AUTH, { body: { username: 'uma', password: 'pä:ss ' } })).status, 200)
    for (const password of ['pä:ss', 'pa\u0308:ss ', 'PÄ:SS ', 'pä:ss \0']) {
      assert.equal((await door.ask('POST', AUTH, { body: { username: 'uma', password } })).status, 401)
    }
    assert.equal((await door.ask('GET', '/_api/user/uma', { as: basic('uma', 'pä:ss ') })).status, 200)
  })
})

describe('a second factor', () => {
  const TOTP = { key: 'JBSWY3DPEHPK3PXP', algorithm: 'sha', length: 6 }
  const codeNow = () =>
    renderCode({ key: Buffer.from('48656c6c6f21deadbeef', 'hex'), digest: 'sha1', length: 6 }, Math.floor(now() / 30))

  async function openWithFactor(t: TestContext, options: Parameters<typeof openMultiModel>[1] = {}) {
    const door = await openMultiModel(t, options)
    const json = { name: 'tess', type: 'user', roles: [], password: 'pw', totp: TOTP }
    const path = '/_users/org.couchdb.user:tess'
    const headers = { Authorization: AS_ADMIN, 'Content-Type': 'application/json' }
    const made = await send(door.document, { method: 'PUT', path, headers, body: JSON.stringify(json) })
    assert.equal(made.status, 201, made.body)
    return door
  }
  const tess = (token?: string) => ({ body: { username: 'tess', password: 'pw', ...(token ? { token } : {}) } })

  it('is required, and a code is accepted once', async (t) => {
    const { ask } = await openWithFactor(t)
    assert.deepEqual((await ask('POST', AUTH, tess())).json, WRONG)
    assert.deepEqual((await ask('POST', AUTH, tess('000000'))).json, WRONG)
    const code = codeNow()
    assert.equal((await ask('POST', AUTH, tess(code))).status, 200)
    assert.deepEqual((await ask('POST', AUTH, tess(code))).json, WRONG)
  })
  it('is named in a header if only the code is missing, on every 401', async (t) => {
    const { ask } = await openWithFactor(t)
    const headerOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).headers['x-cardea-second-factor']
    assert.equal(await headerOf('POST', AUTH, tess()), 'required')
    assert.equal(await headerOf('GET', '/_api/user/tess', { as: basic('tess', 'pw') }), 'required')
    assert.equal(await headerOf('GET', '/_gate', { as: basic('tess', 'pw') }), 'required')
    assert.equal(await headerOf('GET', '/_admin/server/availability', { as: basic('tess', 'pw') }), undefined)
    assert.equal(await headerOf('POST', AUTH, tess('000000')), undefined)
    const headers = { Origin: 'https://app.example' }
    const exposed = (await ask('POST', AUTH, { ...tess(), headers })).headers['access-control-expose-headers']
    assert.match(exposed ?? '', /x-cardea-second-factor/)
  })
  it('cannot be bypassed with Basic', async (t) => {
    const { ask } = await openWithFactor(t)
    assert.equal((await ask('GET', '/_api/user/tess', { as: basic('tess', 'pw') })).status, 401)
  })
  async function createToken({ ask }: Pick<MultiModel, 'ask'>): Promise<string> {
    const json = { name: 'x', valid_until: now() + 100 }
    return Object((await ask('POST', '/_api/token/tess', { as: AS_ADMIN, body: json })).json).token
  }
  it('cannot be bypassed with an access token', async (t) => {
    const door = await openWithFactor(t)
    const token = await createToken(door)
    assert.equal((await door.ask('GET', '/_api/user/tess', { as: basic('tess', token) })).status, 401)
    for (const code of [{}, { token: '' }, { token: '000000x' }]) {
      const answer = await door.ask('POST', AUTH, { body: { username: 'tess', password: token, ...code } })
      assert.deepEqual(answer.json, WRONG)
    }
  })
  it('works with an access token as with a password', async (t) => {
    for (const username of ['tess', '']) {
      const door = await openWithFactor(t)
      const json = { username, password: await createToken(door), token: codeNow() }
      const { json: got } = await door.ask('POST', AUTH, { body: json })
      const auth = `Bearer ${member(got, 'jwt')}`
      assert.equal((await door.ask('GET', '/_api/user/tess', { as: auth })).status, 200)
      assert.deepEqual((await door.ask('POST', AUTH, { body: json })).json, WRONG, 'a code is accepted once')
      await door.ask('DELETE', '/_api/token/tess/1', { as: AS_ADMIN })
      assert.equal((await door.ask('GET', '/_api/user/tess', { as: auth })).status, 401)
    }
  })
  it('limits guesses made with an access token', async (t) => {
    const door = await openWithFactor(t, { chttpd_auth_lockout: { threshold: 3 } })
    const password = await createToken(door)
    const guess = (token: string) => door.ask('POST', AUTH, { body: { username: 'tess', password, token } })
    await Promise.all(['00000x', '00001x', '00002x'].map(guess))
    assert.deepEqual((await guess(codeNow())).json, WRONG)
  })
  it('is not required where only the password is checked', async (t) => {
    const { ask } = await openWithFactor(t)
    const check = async (passwd: string) =>
      (await ask('POST', '/_api/user/tess', { as: AS_ADMIN, body: { passwd } })).status
    assert.deepEqual([await check('pw'), await check('pw'), await check('other')], [200, 200, 404])
    assert.equal((await ask('GET', '/_api/user/tess', { as: basic('tess', 'pw') })).status, 401)
    assert.deepEqual((await ask('POST', AUTH, tess())).json, WRONG)
  })
  it('must be a string', async (t) => {
    const { ask } = await openWithFactor(t)
    const answer = await ask('POST', AUTH, { body: { username: 'tess', password: 'pw', token: 123456 } })
    assert.equal(answer.status, 400)
  })
})

describe('renewal', () => {
  const RENEW = '/_open/auth/renew'
  const USER_NOT_FOUND = refusal(404, 1703, 'user not found')

  it('stays within the longest lifetime of a session', async (t) => {
    const { ask } = await openWithAnn(t, { chttpd_auth: { max_lifetime: 100 } })
    const issued = readClaims(member((await ask('POST', AUTH, { body: ANN })).json, 'jwt'))
    assert.equal(Number(issued['exp']), Number(issued['iat']) + 100)
    const earlier = { ...issued, iat: now() - 90, cdu: now() + 10, exp: now() + 5 }
    const renewed = await ask('POST', RENEW, { as: userToken('ann', earlier) })
    assert.equal(Number(readClaims(member(renewed.json, 'jwt'))['exp']), earlier.cdu)
  })
  it('requires a valid token of a user', async (t) => {
    const { ask } = await openWithAnn(t)
    const credentials = [undefined, basic('ann', 'apple'), superuser(), userToken('ann', { exp: now() - 1 })]
    for (const auth of credentials)
      assert.deepEqual((await ask('POST', RENEW, auth ? { as: auth } : {})).json, USER_NOT_FOUND)
  })
  it('issues no new token long before expiry, or if it never expires', async (t) => {
    const { ask, signIn } = await openWithAnn(t)
    const endless = `Bearer ${makeToken({ iss: 'arangodb', preferred_username: 'ann' })}`
    for (const auth of [await signIn('ann', 'apple'), userToken('ann', { exp: now() + 160 }), endless]) {
      const answer = await ask('POST', RENEW, { as: auth })
      assert.deepEqual([answer.status, answer.json], [200, {}])
    }
  })
  it('issues a new token of the same session shortly before expiry', async (t) => {
    const { ask } = await openWithAnn(t, { server: { 'session-timeout': 500 } })
    const first = member((await ask('POST', AUTH, { body: { ...ANN, expiryTime: 60 } })).json, 'jwt')
    const second = member((await ask('POST', RENEW, { as: `Bearer ${first}`, body: 'ignored' })).json, 'jwt')
    const [before, after] = [readClaims(first), readClaims(second)]
    assert.equal(before['jti'], after['jti'])
    assert.equal(Number(after['exp']) - Number(after['iat']), 500)
    assert.equal((await ask('GET', '/_api/user/ann', { as: `Bearer ${second}` })).status, 200)
  })
  it('opens a session for a token that another program signed', async (t) => {
    const { ask } = await openWithAnn(t)
    const { json } = await ask('POST', RENEW, { as: userToken('ann', { exp: now() + 60 }) })
    const auth = `Bearer ${member(json, 'jwt')}`
    assert.equal((await ask('DELETE', AUTH, { as: auth })).status, 200)
    assert.equal((await ask('GET', '/_api/user/ann', { as: auth })).status, 401)
  })
  it('of a token that another program signed, ended many times, ends its sessions and nothing else of the user', async (t) => {
    const { ask, signIn } = await openWithAnn(t)
    const own = await signIn('ann', 'apple')
    const foreign = userToken('ann', { exp: now() + 60 })
    const renew = async () => `Bearer ${member((await ask('POST', RENEW, { as: foreign })).json, 'jwt')}`
    const kept = await renew()
    for (let turn = 0; turn <= 100; turn += 1) await ask('DELETE', AUTH, { as: await renew() })
    assert.equal((await ask('POST', RENEW, { as: foreign })).status, 401)
    assert.equal((await ask('GET', '/_api/user/ann', { as: kept })).status, 401)
    assert.equal((await ask('GET', '/_api/user/ann', { as: own })).status, 200)
  })
  it('keeps allowed_paths', async (t) => {
    const { ask } = await openWithAnn(t)
    const auth = userToken('ann', { exp: now() + 60, allowed_paths: [RENEW] })
    const renewed = `Bearer ${member((await ask('POST', RENEW, { as: auth })).json, 'jwt')}`
    assert.equal((await ask('POST', RENEW, { as: renewed })).status, 200)
    assert.equal((await ask('GET', '/_api/user/ann', { as: renewed })).status, 401)
  })
})

describe('ending a session', () => {
  it('ends all tokens of the session, renewed ones too, and no other session', async (t) => {
    const { ask, signIn } = await openWithAnn(t)
    const other = await signIn('ann', 'apple')
    const first = `Bearer ${member((await ask('POST', AUTH, { body: { ...ANN, expiryTime: 60 } })).json, 'jwt')}`
    const second = `Bearer ${member((await ask('POST', '/_open/auth/renew', { as: first })).json, 'jwt')}`
    const ended = await ask('DELETE', AUTH, { as: first })
    assert.deepEqual([ended.status, ended.json], [200, { error: false, code: 200 }])
    for (const auth of [first, second]) assert.equal((await ask('GET', '/_api/user/ann', { as: auth })).status, 401)
    assert.equal((await ask('GET', '/_api/user/ann', { as: other })).status, 200)
  })
  it('requires a token issued here', async (t) => {
    const { ask } = await openWithAnn(t)
    assert.deepEqual((await ask('DELETE', AUTH)).json, GATE)
    assert.deepEqual((await ask('DELETE', AUTH, { as: 'Bearer x.y.z' })).json, GATE)
    // a password is not examined on this path
    assert.deepEqual((await ask('DELETE', AUTH, { as: basic('ann', 'apple') })).json, GATE)
    for (const auth of [superuser(), userToken('ann')]) {
      const { json } = await ask('DELETE', AUTH, { as: auth })
      assert.deepEqual(json, refusal(400, 10, 'only a token issued here can be ended'))
    }
  })
})

describe('paths below /_open/auth', () => {
  it('do not end a session', async (t) => {
    const { ask, signIn } = await openWithAnn(t)
    const auth = await signIn('ann', 'apple')
    for (const path of ['/_open/auth/renew', '/_open/auth/other']) {
      const answer = await ask('DELETE', path, { as: auth })
      assert.deepEqual([answer.status, answer.header('allow')], [405, 'POST'], path)
    }
    assert.equal((await ask('GET', '/_api/user/ann', { as: auth })).status, 200)
  })
})

describe('tokens are revoked', () => {
  const changes: readonly (readonly [string, (door: MultiModel) => Promise<unknown>])[] = [
    ['by a new password', (door) => change(door, 'ann', { passwd: 'pear' })],
    [
      'when the user is replaced with another password',
      ({ ask }) => ask('PUT', '/_api/user/ann', { as: AS_ADMIN, body: { passwd: 'pear' } }),
    ],
    ['by a deactivation', (door) => change(door, 'ann', { active: false })],
    [
      'by a deactivation, even if it is undone',
      async (door) => {
        await change(door, 'ann', { active: false })
        await change(door, 'ann', { active: true })
      },
    ],
    ['by a deletion', ({ ask }) => ask('DELETE', '/_api/user/ann', { as: AS_ADMIN })],
    [
      'by a deletion, even if the name is used again',
      async (door) => {
        await door.ask('DELETE', '/_api/user/ann', { as: AS_ADMIN })
        await createUser(door, 'ann', 'apple')
      },
    ],
  ]
  for (const [name, work] of changes) {
    it(name, async (t) => {
      const door = await openWithAnn(t)
      const issued = await door.signIn('ann', 'apple')
      const foreign = userToken('ann', { iat: now() })
      for (const auth of [issued, foreign])
        assert.equal((await door.ask('GET', '/_api/user/ann', { as: auth })).status, 200)
      await work(door)
      for (const auth of [issued, foreign, userToken('ann')]) {
        assert.equal((await door.ask('GET', '/_api/user/ann', { as: auth })).status, 401)
      }
    })
  }
  it('but not one issued right after a new password', async (t) => {
    const door = await openWithAnn(t)
    await change(door, 'ann', { passwd: 'pear' })
    const auth = await door.signIn('ann', 'pear')
    assert.equal((await door.ask('GET', '/_api/user/ann', { as: auth })).status, 200)
  })
  it('but not by a change of grants or of other data', async (t) => {
    const door = await openWithAnn(t)
    const auth = await door.signIn('ann', 'apple')
    await change(door, 'ann', { extra: { colour: 'red' } })
    await door.ask('PUT', '/_api/user/ann/database/shop', { as: AS_ADMIN, body: { grant: 'ro' } })
    assert.equal((await door.ask('GET', '/_db/shop/_api/version', { as: auth })).status, 200)
  })
})
