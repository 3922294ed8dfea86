import assert from 'node:assert/strict'
import { after, describe, it, test } from 'node:test'
import { makeToken, now } from '../../support/multi-model.ts'
import { ADMIN, basic, type Reply, send } from '../../support/request.ts'
import { type Server, startServer } from '../../support/server.ts'

const SECRET = 'a-secret-of-tokens-for-these-tests'
const OPTIONS = { server: { 'jwt-secret': SECRET } }

/** Credentials of the multi-model door, sent to the document door. */
class Scene {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  get cardea() {
    return this.#server.cardea
  }

  sendTo(door: 'document' | 'multiModel', method: string, path: string, authorization: string, body?: unknown) {
    const headers = { 'Content-Type': 'application/json', ...(authorization && { Authorization: authorization }) }
    return send(this.#server[door], {
      method,
      path,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  /** A user with a password and an access token. */
  async addUser(name: string, token: object = {}): Promise<{ readonly accessToken: string; readonly id: number }> {
    await this.cardea.users.create({ name, password: 'pw', roles: ['reader'] })
    const body = { name: 'program', valid_until: now() + 600, ...token }
    const made = await this.sendTo('multiModel', 'POST', `/_api/token/${name}`, basic(name, 'pw'), body)
    assert.equal(made.status, 200, made.body)
    const { token: accessToken, id } = JSON.parse(made.body)
    return { accessToken, id }
  }

  async signIn(username: string, password = 'pw'): Promise<string> {
    const { body } = await this.sendTo('multiModel', 'POST', '/_open/auth', '', { username, password })
    return `Bearer ${JSON.parse(body).jwt}`
  }

  /** The user that the document door sees, or its error. */
  async whoIs(authorization: string): Promise<unknown> {
    const { status, body } = await this.sendTo('document', 'GET', '/_session', authorization)
    const { userCtx, info, reason } = JSON.parse(body)
    return status === 200 ? [userCtx.name, userCtx.roles, info.authenticated ?? null] : [status, reason]
  }
}

const scene = new Scene(await startServer({ after }, OPTIONS))

const GONE = [401, 'Token is no longer valid.']

describe('a token of POST /_open/auth at the document door', () => {
  it('signs the user in with the roles of the directory, and so does the middleware', async () => {
    await scene.addUser('ada')
    const token = await scene.signIn('ada')
    assert.deepEqual(await scene.whoIs(token), ['ada', ['reader'], 'jwt'])
    const user = await scene.cardea.authenticate(new Request('http://a/', { headers: { Authorization: token } }))
    assert.deepEqual([user?.name, user?.roles, user?.by], ['ada', ['reader'], 'jwt'])
    assert.ok(user?.sessionId)
  })

  it('signs an administrator in', async () => {
    assert.deepEqual(await scene.whoIs(await scene.signIn('admin', 'adminpw')), ['admin', ['_admin'], 'jwt'])
  })

  const endings: Readonly<Record<string, (name: string, token: string) => Promise<unknown>>> = {
    'its session is revoked': async (name) => {
      for (const { id } of (await scene.cardea.sessions.list(name)).sessions) await scene.cardea.sessions.revoke(id)
    },
    'it is signed out': (_name, token) => scene.sendTo('multiModel', 'DELETE', '/_open/auth', token),
    'the password changes': (name) => scene.cardea.users.setPassword(name, 'other'),
    'the user is disabled': (name) => scene.cardea.users.disable(name),
  }
  for (const [index, [what, end]] of Object.entries(endings).entries()) {
    it(`is rejected as soon as ${what}`, async () => {
      const name = `ending${index}`
      await scene.addUser(name)
      const token = await scene.signIn(name)
      assert.deepEqual(await scene.whoIs(token), [name, ['reader'], 'jwt'])
      await end(name, token)
      assert.deepEqual(await scene.whoIs(token), GONE)
    })
  }

  it('has proved the password: its user may change it', async () => {
    await scene.addUser('changer')
    const token = await scene.signIn('changer')
    const path = '/_users/org.couchdb.user:changer'
    const user = JSON.parse((await scene.sendTo('document', 'GET', path, token)).body)
    const changed = await scene.sendTo('document', 'PUT', path, token, { ...user, password: 'other' })
    assert.equal(changed.status, 201, changed.body)
  })

  it('is listed as one session of the multi-model door, whatever door it is used at', async () => {
    await scene.addUser('listed')
    await scene.whoIs(await scene.signIn('listed'))
    const { sessions } = await scene.cardea.sessions.list('listed')
    assert.deepEqual(
      sessions.map(({ door }) => door),
      ['multi-model'],
    )
  })
})

describe('a token that Cardea did not issue stays at the multi-model door', () => {
  const claims = { iss: 'arangodb', exp: now() + 600, iat: now() }
  const rows: Readonly<Record<string, () => object | Promise<object>>> = {
    'a superuser token': () => ({ ...claims, server_id: 'x' }),
    'a token that a program signed': () => ({ ...claims, preferred_username: 'signer' }),
    'one with a session that the program made up': async () => {
      const [, payload = ''] = (await scene.signIn('signer')).split('.')
      const { cdg } = JSON.parse(Buffer.from(payload, 'base64url').toString())
      return { ...claims, preferred_username: 'signer', jti: 'A'.repeat(22), cdg }
    },
    'one with the session of an access token, without its mark': async () => {
      const { accessToken } = await scene.addUser(`mark${now()}${Math.random().toString(36).slice(2, 8)}`)
      const name = JSON.parse(Buffer.from(accessToken.slice(3), 'hex').toString()).u
      const [, payload = ''] = (await scene.signIn(name, accessToken)).split('.')
      const { cdt: _, ...others } = JSON.parse(Buffer.from(payload, 'base64url').toString())
      return others
    },
  }
  for (const [what, toClaims] of Object.entries(rows)) {
    it(what, async () => {
      await scene.cardea.users.create({ name: 'signer', password: 'pw' }).catch(() => {})
      const token = `Bearer ${makeToken(await toClaims(), { secret: SECRET })}`
      assert.equal((await scene.sendTo('multiModel', 'GET', '/_api/cluster/endpoints', token)).status === 401, false)
      const [status, reason] = (await scene.whoIs(token)) as unknown[]
      assert.equal(status, 400)
      assert.match(String(reason), /^This token is for the multi-model door/)
    })
  }

  it('one of Cardea that another program renewed', async () => {
    await scene.cardea.users.create({ name: 'renewer', password: 'pw' })
    const own = makeToken(
      { iss: 'arangodb', preferred_username: 'renewer', exp: now() + 100, iat: now() },
      { secret: SECRET },
    )
    const { body } = await scene.sendTo('multiModel', 'POST', '/_open/auth/renew', `Bearer ${own}`)
    const [status] = (await scene.whoIs(`Bearer ${JSON.parse(body).jwt}`)) as unknown[]
    assert.equal(status, 400)
  })
})

describe('an access token at the document door', () => {
  it('is accepted as Basic password, and by the middleware', async () => {
    const { accessToken } = await scene.addUser('tokens')
    const authorization = basic('tokens', accessToken)
    assert.deepEqual(await scene.whoIs(authorization), ['tokens', ['reader'], 'default'])
    const request = new Request('http://a/', { headers: { Authorization: authorization } })
    assert.equal((await scene.cardea.authenticate(request, { peer: '127.0.0.1' }))?.name, 'tokens')
  })

  it('is rejected as soon as it is deleted, although the header was accepted before', async () => {
    const { accessToken, id } = await scene.addUser('deleted')
    const [byToken, byPassword] = [basic('deleted', accessToken), basic('deleted', 'pw')]
    const accepted = ['deleted', ['reader'], 'default']
    for (const authorization of [byToken, byToken, byPassword])
      assert.deepEqual(await scene.whoIs(authorization), accepted)
    await scene.sendTo('multiModel', 'DELETE', `/_api/token/deleted/${id}`, byPassword)
    // first the password: then the account is in the cache, where a remembered header would find it
    assert.deepEqual(await scene.whoIs(byPassword), accepted)
    assert.deepEqual(await scene.whoIs(byToken), [401, 'Name or password is incorrect.'])
  })

  it('opens a token at the multi-model door that is accepted here, and ends with it', async () => {
    const { accessToken, id } = await scene.addUser('bound')
    const token = await scene.signIn('bound', accessToken)
    assert.deepEqual(await scene.whoIs(token), ['bound', ['reader'], 'jwt'])
    await scene.sendTo('multiModel', 'DELETE', `/_api/token/bound/${id}`, basic('bound', 'pw'))
    assert.deepEqual(await scene.whoIs(token), GONE)
    assert.deepEqual(await scene.whoIs(basic('bound', accessToken)), [401, 'Name or password is incorrect.'])
  })

  it('does not prove the password', async () => {
    const { accessToken } = await scene.addUser('weak')
    const path = '/_users/org.couchdb.user:weak'
    const authorization = basic('weak', accessToken)
    const user = JSON.parse((await scene.sendTo('document', 'GET', path, authorization)).body)
    const changed = await scene.sendTo('document', 'PUT', path, authorization, { ...user, password: 'other' })
    assert.equal(changed.status, 403, changed.body)
  })

  const wrong: Readonly<Record<string, (accessToken: string) => string>> = {
    'another name': (accessToken) => basic('ada', accessToken),
    'no name': (accessToken) => basic('', accessToken),
    'a changed text': (accessToken) => basic('strict', `${accessToken.slice(0, -2)}00`),
  }
  for (const [what, toAuthorization] of Object.entries(wrong)) {
    it(`is rejected with ${what}`, async () => {
      const { accessToken } = await scene.addUser('strict').catch(() => ({ accessToken: 'v1.7b7d' }))
      const [first] = (await scene.whoIs(toAuthorization(accessToken))) as unknown[]
      assert.equal(first, 401)
      await scene.cardea.users.remove('strict')
    })
  }

  it('is rejected after its end', async () => {
    const { accessToken } = await scene.addUser('expired', { valid_until: now() - 1 })
    assert.deepEqual(await scene.whoIs(basic('expired', accessToken)), [401, 'Name or password is incorrect.'])
  })
})

test('an administrator cannot have an access token', async () => {
  const made: Reply = await scene.sendTo('multiModel', 'POST', '/_api/token/admin', ADMIN.Authorization, { name: 'x' })
  assert.equal(made.status, 403)
})
