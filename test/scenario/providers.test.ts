import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { AUDIENCE, startProvider } from '../support/provider.ts'
import { ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openFeeds, openStream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const SECRET = randomBytes(32)
const scope = createSharedScope()
const provider = await startProvider(scope)
const other = await startProvider(scope)
const asserting = await startProvider(scope)
const creating = await startProvider(scope)
const naming = await startProvider(scope)

const { document, multiModel, cardea, takeEvents } = await startServer(scope, {
  admins: { root: 'rootpassword' },
  chttpd_auth: { allow_sign_up: true },
  jwt_keys: { 'hmac:_default': SECRET.toString('base64') },
  // without a skew: a token is accepted from the second after a sign-out on
  'provider:linked': { issuer: provider.issuer, audience: AUDIENCE, 'client-id': 'web', 'clock-skew': '0' },
  'provider:other': { issuer: other.issuer, audience: AUDIENCE },
  'provider:staff': {
    issuer: asserting.issuer,
    audience: AUDIENCE,
    users: 'asserted',
    'roles-claim': 'realm_access.roles',
    'role-map': 'editor=writer, boss=_admin',
    clients: 'app',
  },
  'provider:open': {
    issuer: creating.issuer,
    audience: AUDIENCE,
    users: 'create',
    'clock-skew': '0',
    'roles-claim': 'roles',
    'role-map': '*',
  },
  'provider:named': {
    issuer: naming.issuer,
    audience: AUDIENCE,
    users: 'asserted',
    names: 'as-is',
    'clock-skew': '0',
  },
})
const admin = { authorization: `Basic ${Buffer.from('root:rootpassword').toString('base64')}` }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const api = (method: string, path: string, body?: object) =>
  fetch(`${document}/_cardea/api${path}`, {
    method,
    headers: { ...admin, 'content-type': 'application/json', 'x-cardea-intent': '1' },
    ...(body && { body: JSON.stringify(body) }),
  })

const sessionOf = async (token: string) => {
  const response = await fetch(`${document}/_session`, { headers: bearer(token) })
  const body = JSON.parse(await response.text())
  return { status: response.status, reason: body.reason, ...body.userCtx }
}

await cardea.users.create({ name: 'ada', password: 'correct horse 1' })
await api('POST', '/users/ada/external-accounts', { provider: 'linked', issuer: provider.issuer, subject: 'u-1' })
// on a busy machine the first fetch of keys may take too long
for (const each of [provider, other, asserting, creating, naming])
  await waitUntil(async () => (await sessionOf(each.signToken({ aud: 'other' }))).status !== 503)

describe('a token of an identity provider', () => {
  it('is the linked user at both doors', async () => {
    const token = provider.signToken({ preferred_username: 'root' })
    const { status, name } = await sessionOf(token)
    assert.deepEqual({ status, name }, { status: 200, name: 'ada' })
    const version = await fetch(`${multiModel}/_api/user/ada`, { headers: bearer(token) })
    assert.equal(version.status, 200)
    assert.ok((await fetch(`${multiModel}/_api/user/root`, { headers: bearer(token) })).status >= 400)
  })

  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt'])
    it(`is accepted with the type ${typ} alone`, async () => {
      assert.equal((await sessionOf(provider.signToken({ scope: undefined }, { typ }))).name, 'ada')
    })

  const now = Math.floor(Date.now() / 1000)
  /** Accepted at the document door, unless it names the issuer of a provider. */
  const signWithSecret = (claims: object) => {
    const parts = [
      { alg: 'HS256', typ: 'JWT' },
      { sub: 'ada', aud: AUDIENCE, iat: now, exp: now + 300, ...claims },
    ]
    const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
  }
  it('leaves other tokens to [jwt_keys]', async () => {
    assert.equal((await sessionOf(signWithSecret({}))).name, 'ada')
  })

  it('has the grants of the linked user at the multi-model door', async (t) => {
    const arango = await openBackend(t)
    const front = await startServer(t, beforeMultiModel(t, arango.url), {
      'provider:linked': { issuer: provider.issuer, audience: AUDIENCE },
    })
    await front.cardea.users.create({ name: 'ada', password: null, grants: { shop: 'rw' } })
    const path = '/_cardea/api/users/ada/external-accounts'
    const body = { provider: 'linked', issuer: provider.issuer, subject: 'u-1' }
    await send(front.document, { method: 'POST', path, headers: ADMIN, body })
    const ask = async (database: string) =>
      (
        await send(front.multiModel, {
          path: `/_db/${database}/_api/collection`,
          headers: bearer(provider.signToken()),
        })
      ).status
    assert.deepEqual([await ask('shop'), await ask('staff')], [200, 401])
  })

  it('cannot be given another provider over HTTP', async () => {
    for (const path of [
      '/_node/_local/_config/provider:linked/issuer',
      '/_cardea/api/settings/provider:linked/issuer',
    ]) {
      const reply = await send(document, { method: 'PUT', path, headers: admin, body: '"https://evil.example.com"' })
      assert.ok(reply.status >= 400 && reply.status < 500, `${path}: ${reply.status}`)
    }
    assert.equal((await sessionOf(provider.signToken())).name, 'ada')
  })

  const refusedTokens: readonly [name: string, token: () => string, reason?: RegExp][] = [
    ['of an account that is not linked', () => provider.signToken({ sub: 'u-2' }), /not linked/],
    ['with the subject of a linked account of another issuer', () => other.signToken({ sub: 'u-1' }), /not linked/],
    ['signed by another provider', () => other.signToken({ iss: provider.issuer })],
    ['for another audience', () => provider.signToken({ aud: 'shop' }), /another audience/],
    ['with the audience of every token of Keycloak', () => provider.signToken({ aud: 'account' }), /mapper/],
    ['without an audience', () => provider.signToken({ aud: undefined }), /audience/],
    ['that has expired', () => provider.signToken({ exp: now - 60 }), /expired/],
    ['without an expiry', () => provider.signToken({ exp: undefined }), /exp is missing/],
    ['from the future', () => provider.signToken({ iat: now + 600 }), /not valid yet/],
    ['that is an ID token', () => provider.signToken({ nonce: 'n' }), /ID token/],
    ['that is an ID token of Keycloak', () => provider.signToken({ typ: 'ID' }), /type/],
    [
      'that is for the client that signs users in',
      () => provider.signToken({ aud: [AUDIENCE, 'web'], scope: undefined }),
      /ID token/,
    ],
    ['of type logout', () => provider.signToken({}, { typ: 'logout+jwt' })],
    ['signed with a key of [jwt_keys]', () => signWithSecret({ iss: provider.issuer })],
    ['of an issuer that is not configured', () => provider.signToken({ iss: 'https://id.example.com', kid: 'x' })],
    ['without an algorithm', () => provider.signToken({}, { alg: 'none' })],
    ['with a secret algorithm', () => provider.signToken({}, { alg: 'HS256' })],
    ['with an embedded key', () => provider.signToken({}, { kid: 'none', jwk: {} })],
    [
      'with a changed claim',
      () =>
        provider
          .signToken()
          .replace(
            /\.[^.]*\./,
            `.${Buffer.from(JSON.stringify({ iss: provider.issuer, sub: 'u-1', aud: AUDIENCE, iat: now, exp: now + 300 })).toString('base64url')}.`,
          ),
    ],
    ['of another client', () => asserting.signToken({ azp: 'web' }), /another client/],
  ]
  for (const [name, toToken, reason = /./] of refusedTokens) {
    it(`is refused ${name}`, async () => {
      const token = toToken()
      const session = await sessionOf(token)
      assert.ok(session.status === 400 || session.status === 401, String(session.status))
      assert.match(session.reason, reason)
      assert.equal((await fetch(`${multiModel}/_api/user/ada`, { headers: bearer(token) })).status, 401)
    })
  }

  it('asserts name and roles without a user', async () => {
    const claims = { azp: 'app', preferred_username: 'eve', realm_access: { roles: ['editor', '_admin', 'other'] } }
    const { name, roles } = await sessionOf(asserting.signToken(claims))
    assert.deepEqual([name, roles], ['staff/eve', ['writer']])
    const gate = await fetch(`${document}/_gate`, { headers: bearer(asserting.signToken(claims)) })
    assert.deepEqual([gate.headers.get('x-auth-user'), gate.headers.get('x-auth-user-id')], ['staff/eve', ''])
    const boss = await sessionOf(asserting.signToken({ ...claims, realm_access: { roles: ['boss'] } }))
    assert.deepEqual(boss.roles, ['_admin'])
  })

  const password = 'correct horse 1'
  const takers: readonly [way: string, take: (name: string) => Promise<string>][] = [
    [
      'sign-up',
      async (name) =>
        (await send(document, { method: 'POST', path: '/_cardea/sign-in/sign-up', body: { name, password } })).body,
    ],
    [
      'a document of its user',
      async (name) => {
        const id = `org.couchdb.user:${name}`
        const body = { _id: id, name, password, type: 'user', roles: [] }
        return (await send(document, { method: 'PUT', path: `/_users/${encodeURIComponent(id)}`, body })).body
      },
    ],
    ['an administrator', async (name) => (await api('POST', '/users', { name, password })).text()],
    ['a new administrator', async (name) => (await api('POST', '/administrators', { name, password })).text()],
    [
      'the multi-model door',
      async (user) => {
        const body = { user, passwd: password }
        return (await send(multiModel, { method: 'POST', path: '/_api/user', headers: admin, body })).body
      },
    ],
  ]
  for (const [way, take] of takers)
    it(`has a name with the prefix of its provider, which ${way} cannot take`, async () => {
      for (const name of ['staff/alice', 'STAFF／alice'])
        assert.match(await take(name), /of an identity provider|invalid user name/)
      assert.equal(
        (await sessionOf(asserting.signToken({ azp: 'app', preferred_username: 'alice' }))).name,
        'staff/alice',
      )
    })

  it('of another provider does not get a name with that prefix', async () => {
    const created = await sessionOf(creating.signToken({ sub: '20', preferred_username: 'staff/bob' }))
    assert.match(created.name, /^open-[0-9a-f]{8}$/)
    assert.match((await sessionOf(naming.signToken({ preferred_username: 'staff/bob' }))).reason, /not allowed/)
  })

  it('asserts no name that looks like that of an administrator', async () => {
    for (const preferred_username of ['Root', 'ｒoot', 'root\u200b'])
      assert.match((await sessionOf(naming.signToken({ preferred_username }))).reason, /not allowed/)
  })

  it('asserts no name with invisible characters, with a prefix or without', async () => {
    for (const preferred_username of ['al\u200bice', 'al\u202eice', 'alice\u{e0061}', 'al\u00adice']) {
      const staff = asserting.signToken({ azp: 'app', preferred_username })
      for (const token of [naming.signToken({ preferred_username }), staff])
        assert.match((await sessionOf(token)).reason, /not allowed/, JSON.stringify(preferred_username))
    }
  })

  it('asserts no name that an administrator has got since', async () => {
    const read = () => sessionOf(naming.signToken({ preferred_username: 'zed' }))
    assert.equal((await read()).name, 'zed')
    assert.equal((await api('POST', '/administrators', { name: 'zed', password: 'correct horse 1' })).status, 200)
    // newer than the new name, which ends the tokens issued before
    await waitUntil(async () => {
      const { status, reason } = await read()
      assert.equal(status, 401)
      return /an administrator has this name/.test(reason)
    })
  })

  it('asserts the name of a user where names are kept, without anything of that user', async () => {
    await cardea.users.create({ name: 'lea', password: 'correct horse 1', roles: ['writer'] })
    const token = naming.signToken({ preferred_username: 'lea' })
    const { name, roles } = await sessionOf(token)
    assert.deepEqual([name, roles], ['lea', []])
  })

  it('creates a user at the first sign-in, with a suffix for a taken name', async () => {
    const sign = (sub: string, preferred_username: string) =>
      sessionOf(creating.signToken({ sub, preferred_username, roles: ['reader', '_admin'] }))
    const [first, again] = await Promise.all([sign('1', 'jan'), sign('1', 'jan')])
    assert.deepEqual([first.name, again.name, first.roles], ['jan', 'jan', ['reader']])
    const taken = await sign('2', 'jan')
    assert.match(taken.name, /^jan-[0-9a-f]{8}$/)
    const administrator = await sign('3', 'root')
    assert.match(administrator.name, /^root-[0-9a-f]{8}$/)
    assert.equal((await sign('1', 'renamed')).name, 'jan')
  })

  it('ends with a sign-out, a deactivation and the deletion of the user', async () => {
    const sign = (iat?: number) => creating.signToken({ sub: '1', preferred_username: 'jan', ...(iat && { iat }) })
    const before = sign(now - 100)
    assert.equal((await sessionOf(before)).status, 200)
    await api('POST', '/users/jan/sign-out')
    assert.equal((await sessionOf(before)).status, 401)
    let after = ''
    await waitUntil(async () => {
      after = sign()
      return (await sessionOf(after)).status === 200
    })
    await api('PUT', '/users/jan/active', { active: false })
    assert.equal((await sessionOf(after)).status, 401)
    await api('PUT', '/users/jan/active', { active: true })
    await api('DELETE', '/users/jan')
    assert.equal((await sessionOf(after)).status, 401)
    assert.equal((await api('GET', '/users/jan')).status, 404)
  })

  it('records at which door and in which request a user was created', async () => {
    takeEvents()
    const token = creating.signToken({ sub: '77', preferred_username: 'una' })
    const headers = { ...bearer(token), 'X-Couch-Request-ID': 'first' }
    assert.equal((await send(document, { path: '/_session', headers })).json.userCtx.name, 'una')
    const created = takeEvents().filter(({ event }) => /^(user|external-account)\./.test(event))
    assert.deepEqual(
      created.map(({ event }) => event),
      ['user.created', 'external-account.linked'],
    )
    for (const record of created)
      assert.partialDeepStrictEqual(record, { subject: 'una', peer: '127.0.0.1', door: 'document', request: 'first' })
  })

  it('creates no user again for a deleted or unlinked one, until it is newer', async () => {
    const iat = now - 50
    const sign = (preferred_username: string) => creating.signToken({ sub: '7', preferred_username, iat })
    assert.equal((await sessionOf(sign('pia'))).name, 'pia')
    await api('DELETE', '/users/pia')
    assert.match((await sessionOf(sign('renamed'))).reason, /sign in again at the provider/)
    // a new user of the name has nothing of the account
    await cardea.users.create({ name: 'pia', password: 'correct horse 1' })
    assert.equal((await sessionOf(sign('pia'))).status, 401)
    assert.equal((await api('GET', '/users/renamed')).status, 404)
    await waitUntil(async () => {
      const newer = await sessionOf(creating.signToken({ sub: '7', preferred_username: 'pia' }))
      return /^pia-[0-9a-f]{8}$/.test(newer.name ?? '')
    })
  })

  it('has one user: an account that another user has is not linked', async () => {
    const account = { provider: 'open', issuer: creating.issuer, subject: '8' }
    for (const name of ['tom', 'tim']) await cardea.users.create({ name, password: 'correct horse 1' })
    const link = (name: string) => api('POST', `/users/${name}/external-accounts`, account)
    const statuses = await Promise.all(['tom', 'tim'].map(async (name) => (await link(name)).status))
    assert.deepEqual(statuses.toSorted(), [200, 409])
    const { name } = await sessionOf(creating.signToken({ sub: '8' }))
    assert.equal(name, statuses[0] === 200 ? 'tom' : 'tim')
  })

  it('is refused after the account was unlinked, which is recorded', async () => {
    const token = provider.signToken({ iat: now - 1 })
    assert.equal((await sessionOf(token)).status, 200)
    const { accounts } = JSON.parse(await (await api('GET', '/users/ada/external-accounts')).text())
    takeEvents()
    assert.equal((await api('DELETE', `/users/ada/external-accounts/${accounts[0].id}`)).status, 200)
    assert.ok(takeEvents().some(({ event }) => event === 'external-account.unlinked'))
    assert.equal((await sessionOf(token)).status, 401)
  })

  it('is nobody at the account of a user whose name it asserts', async () => {
    await cardea.users.create({ name: 'kim', password: 'correct horse 1' })
    const token = naming.signToken({ preferred_username: 'kim' })
    assert.equal((await sessionOf(token)).name, 'kim')
    for (const path of ['', '/sessions', '/external-accounts', '/tokens']) {
      const response = await fetch(`${document}/_cardea/account${path}`, { headers: bearer(token) })
      assert.deepEqual([response.status, await response.text()].slice(0, 1), [403], path)
    }
  })

  it('is linked by an administrator to a configured provider and its own issuer only', async () => {
    const link = async (body: object) => {
      const response = await api('POST', '/users/ada/external-accounts', { subject: 'u-5', ...body })
      return [response.status, await response.text()] as const
    }
    for (const body of [
      { provider: 'absent', issuer: provider.issuer },
      { provider: 'linked', issuer: other.issuer },
    ]) {
      const [status, text] = await link(body)
      assert.equal(status, 400)
      assert.match(text, /No identity provider/)
    }
  })

  it('is linked by the user, who proves both accounts', async () => {
    const at = Math.floor(Date.now() / 1000)
    const sign = (claims: object = {}) => provider.signToken({ sub: 'u-9', azp: 'web', auth_time: at, ...claims })
    const link = (headers: Record<string, string>, token: string, current_password?: string) =>
      fetch(`${document}/_cardea/account/external-accounts`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ token, current_password }),
      })
    const password = { authorization: `Basic ${Buffer.from('ada:correct horse 1').toString('base64')}` }
    assert.equal((await link(password, sign({ aud: 'shop' }))).status, 400)
    assert.equal((await link(password, `${sign()}x`)).status, 400)
    // any program of the victim may hold such a token
    const borrowed: readonly object[] = [
      { azp: undefined },
      { azp: 'shop' },
      { azp: ['web'] },
      { azp: 'shop', client_id: 'web' },
      { auth_time: undefined },
      { auth_time: String(at) },
      { auth_time: at - 310 },
      { auth_time: at + 310 },
    ]
    for (const claims of borrowed) {
      const refused = await link(password, sign(claims))
      assert.equal(refused.status, 403, JSON.stringify(claims))
      assert.match(await refused.text(), /sign-in page/)
    }
    const unregistered = other.signToken({ sub: 'u-9', azp: '', auth_time: at })
    assert.equal((await link(password, unregistered)).status, 403, 'a provider without a client')
    const body = { name: 'ada', password: 'correct horse 1' }
    const session = await send(document, { method: 'POST', path: '/_session', body })
    const cookie = { cookie: session.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
    for (const wrong of [undefined, 'wrong']) assert.equal((await link(cookie, sign(), wrong)).status, 403)
    assert.equal((await link(cookie, sign({ sub: 'u-10' }), 'correct horse 1')).status, 200)
    assert.equal((await link(password, sign())).status, 200)
    await waitUntil(async () => (await sessionOf(sign())).status === 200)
    assert.equal((await sessionOf(sign())).name, 'ada')
    const delegated = await link(bearer(sign()), sign())
    assert.equal(delegated.status, 403)
    assert.match(await delegated.text(), /signs in at the identity provider again/)
  })

  it('has its open streams cut when the account is unlinked', async (t) => {
    const front = await startServer(t, beforeDocument((await openFeeds(t)).url), {
      'provider:linked': { issuer: provider.issuer, audience: AUDIENCE },
    })
    await front.cardea.users.create({ name: 'ada', password: 'correct horse 1' })
    const accounts = { path: '/_cardea/api/users/ada/external-accounts', headers: ADMIN }
    const body = { provider: 'linked', issuer: provider.issuer, subject: 'u-1' }
    const linked = JSON.parse((await send(front.document, { ...accounts, method: 'POST', body })).body)
    const feed = await openStream(front.document, '/db/_changes?feed=continuous', {
      Authorization: `Bearer ${provider.signToken()}`,
    })
    assert.ok(feed.isOpen())
    const path = `${accounts.path}/${linked.accounts[0].id}`
    await send(front.document, { ...accounts, path, method: 'DELETE' })
    assert.equal(await feed.ended, 'broken')
  })

  it('is accepted with a new key at once, and with the last keys while the provider is down', async () => {
    const staff = { azp: 'app', preferred_username: 'eve' }
    assert.equal((await sessionOf(asserting.signToken(staff))).status, 200)
    const old = asserting.signToken(staff)
    asserting.rotate('2')
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await sessionOf(asserting.signToken(staff))).status),
    )
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.equal((await sessionOf(old)).status, 401)
    asserting.state.isDown = true
    assert.equal((await sessionOf(asserting.signToken(staff))).status, 200)
    asserting.rotate('3')
    assert.equal((await sessionOf(asserting.signToken(staff))).status, 503)
    assert.equal((await fetch(`${document}/_session`, { headers: admin })).status, 200)
  })
})
