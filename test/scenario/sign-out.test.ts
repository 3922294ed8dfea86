// A sign-out ends every session that its request carries, with a cookie or a token, or says that it has not.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { type Request, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const { cardea, document: url, multiModel } = await startServer(createSharedScope())

const { addUser, openDoorSession } = createAccounts(url)

const post = (base: string, path: string, request: Partial<Request>) => send(base, { method: 'POST', path, ...request })
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

/** Opens a session without a cookie, and returns the header that carries it. */
const OPENINGS: Readonly<Record<string, (name: string) => Promise<Record<string, string>>>> = {
  'a token of /_open/auth': async (username) =>
    bearer((await post(multiModel, '/_open/auth', { body: { username, password: PASSWORD } })).json.jwt),
  'a token of /_cardea/account/token': async (name) =>
    bearer((await post(url, '/_cardea/account/token', { body: { name, password: PASSWORD } })).json.token),
  'a cookie that an access token opened': async (name) => {
    const { token } = await cardea.accessTokens.create(name, {
      name: 'sync',
      expiresAt: new Date(Date.now() + 3_600_000),
    })
    const { lines } = await post(url, '/_session', { body: { name, password: token } })
    return { Cookie: (lines['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
  },
}

const isLive = async (headers: Record<string, string>) => {
  const { status, json } = await send(url, { path: '/_session', headers })
  return status === 200 && json.userCtx.name !== null
}

const SIGN_OUTS: Readonly<Record<string, Request>> = {
  'DELETE /_session': { method: 'DELETE', path: '/_session' },
  'POST /_cardea/account/sign-out': { method: 'POST', path: '/_cardea/account/sign-out', body: {} },
}

let users = 0
const nextName = () => {
  users += 1
  return `user${users}`
}

describe('a sign-out', () => {
  for (const [way, signOut] of Object.entries(SIGN_OUTS))
    for (const [credential, open] of Object.entries(OPENINGS))
      it(`by ${way} ends the session of ${credential}`, async () => {
        const name = nextName()
        await addUser(name)
        const [headers, other] = [await open(name), await openDoorSession(name)]
        assert.equal(await isLive(headers), true)
        assert.equal((await send(url, { ...signOut, headers })).status, 200)
        assert.deepEqual([await isLive(headers), await isLive({ Cookie: other })], [false, true])
      })

  it('ends the session of the token and that of the cookie, if a request has both', async () => {
    for (const signOut of Object.values(SIGN_OUTS)) {
      const name = nextName()
      await addUser(name)
      const [token, cookie] = [
        await OPENINGS['a token of /_open/auth']?.(name),
        { Cookie: await openDoorSession(name) },
      ]
      assert.equal((await send(url, { ...signOut, headers: { ...token, ...cookie } })).status, 200)
      assert.deepEqual([await isLive({ ...token }), await isLive(cookie)], [false, false])
    }
  })

  it('of a session without a cookie takes its renewal token too', async () => {
    const name = nextName()
    await addUser(name)
    const { json } = await post(url, '/_cardea/account/token', { body: { name, password: PASSWORD } })
    await post(url, '/_cardea/account/sign-out', { headers: bearer(json.token), body: {} })
    const renewed = await post(url, '/_cardea/account/token/renew', { body: { renewalToken: json.renewalToken } })
    assert.deepEqual(errorOf(renewed), [401, 'token_refused'])
  })
})

describe('a sign-out everywhere', () => {
  const everywhere = (request: Partial<Request>) =>
    post(url, '/_cardea/account/sign-out', { body: { everywhere: true }, ...request })

  it('ends all sessions of the user whose password it carries', async () => {
    const name = nextName()
    const as = await addUser(name)
    const cookie = { Cookie: await openDoorSession(name) }
    assert.equal((await everywhere({ as })).status, 200)
    assert.equal(await isLive(cookie), false)
  })

  it('is refused to a request that proves no password, or has no account', async () => {
    const name = nextName()
    await addUser(name)
    const cookie = { Cookie: await openDoorSession(name) }
    const { token } = await cardea.accessTokens.create(name, {
      name: 'sync',
      expiresAt: new Date(Date.now() + 3_600_000),
    })
    assert.deepEqual(errorOf(await everywhere({ as: `${name}:${token}` })), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await everywhere({})), [401, 'authentication_required'])
    assert.equal(await isLive(cookie), true)
  })
})
