// `mail.sign-in = verified`: a verified address in place of the name, wherever a password is accepted.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokenOf } from '../support/mail.ts'
import { ACCOUNT, API, createMailClient, errorOf, startMailClient, toMailOptions } from '../support/mail-client.ts'
import { superuser } from '../support/multi-model.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const OPTIONS = {
  mail: { 'sign-in': 'verified', 'sign-up': 'verified' },
  auth: { 'min-password-length': 4, 'account-failures': 3 },
  admin: { 'user-admin-role': 'helpdesk' },
}
const client = await startMailClient(scope, OPTIONS)
const { ask, addUser, setAddress, mailServer, server } = client

const nameOf = async (path: string, as: string) => (await ask({ as, method: 'GET', path })).json

describe('a verified address in place of the name', async () => {
  await addUser('ada', 'Ada@example.com')

  it('signs in with Basic at the document door, in any case, under the name of the user', async () => {
    for (const address of ['ada@example.com', 'ADA@EXAMPLE.COM'])
      for (const _ of ['verified', 'remembered'])
        assert.equal((await nameOf('/_session', `${address}:first`)).userCtx.name, 'ada')
    assert.equal((await ask({ as: 'ada@example.com:wrong', method: 'GET', path: '/_session' })).status, 401)
  })

  it('opens a session at the document door, the page, and the account', async () => {
    const body = { name: 'ada@example.com', password: 'first' }
    for (const path of ['/_session', `${ACCOUNT}/sign-in`]) {
      const reply = await ask({ path, body })
      assert.deepEqual([reply.status, reply.json.name], [200, 'ada'], path)
    }
    const token = await ask({ path: `${ACCOUNT}/token`, body })
    assert.equal(token.status, 200, token.body)
    assert.equal(token.json.name, 'ada')
  })

  it('signs in at the multi-model door', async () => {
    const body = { username: 'ada@example.com', password: 'first' }
    const opened = await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
    assert.equal(opened.status, 200)
    const [, claims = ''] = opened.json.jwt.split('.')
    assert.equal(JSON.parse(Buffer.from(claims, 'base64url').toString()).preferred_username, 'ada')
    const basic = await send(server.multiModel, { path: '/_api/user/ada', as: 'ada@example.com:first' })
    assert.equal(basic.status, 200)
    const check = async (passwd: string) => {
      const path = '/_api/user/ada@example.com'
      return (await send(server.multiModel, { method: 'POST', path, as: AS_ADMIN, body: { passwd } })).status
    }
    assert.deepEqual([await check('first'), await check('wrong')], [200, 404])
  })

  it('goes with an access token, and with the library', async () => {
    const created = await ask({
      as: 'ada:first',
      path: `${ACCOUNT}/tokens`,
      body: { name: 'script', expires: '2099-01-01' },
    })
    const as = `ada@example.com:${created.json.token}`
    assert.equal((await nameOf('/_session', as)).userCtx.name, 'ada')
    const opened = await ask({ path: '/_session', body: { name: 'ada@example.com', password: created.json.token } })
    assert.deepEqual([opened.status, opened.json.name], [200, 'ada'])
    assert.equal((await server.cardea.users.verifyPassword('ada@example.com', 'first'))?.name, 'ada')
    await addUser('amy', 'amy@example.com')
    const change = { currentPassword: 'first', password: 'second' }
    assert.equal((await server.cardea.users.changePassword('amy@example.com', change)).status, 'changed')
    assert.equal((await server.cardea.users.verifyPassword('amy', 'second'))?.name, 'amy')
  })

  it('ends with the address, also for a header that was accepted before', async () => {
    await addUser('abe', 'abe@example.com')
    const asks = async () => (await ask({ as: 'abe@example.com:first', method: 'GET', path: '/_session' })).status
    assert.deepEqual([await asks(), await asks()], [200, 200])
    await setAddress('abe', 'abe2@example.com')
    assert.equal(await asks(), 401)
  })

  it('does not sign in before it is verified, nor while it belongs to a disabled user', async () => {
    await addUser('ben')
    await client.requestAddress('ben', 'ben@example.com')
    const asks = async () => (await ask({ as: 'ben@example.com:first', method: 'GET', path: '/_session' })).status
    assert.equal(await asks(), 401)
    await client.confirmAddress(tokenOf(await mailServer.take('ben@example.com')))
    assert.equal(await asks(), 200)
    await ask({ as: AS_ADMIN, method: 'PUT', path: `${API}/users/ben/active`, body: { active: false } })
    assert.equal(await asks(), 401)
  })

  it('shares the limits of its user; an unknown one has limits, too, however it is written', async (t) => {
    const other = createMailClient(await startServer(t, toMailOptions(mailServer), OPTIONS), mailServer)
    await other.addUser('cat', 'cat@example.com')
    const guess = async (name: string) =>
      (await other.ask({ path: '/_session', body: { name, password: 'wrong' } })).status
    for (const spellings of [
      ['cat@example.com', 'CAT@example.com', 'cat', 'cat@EXAMPLE.com'],
      ['new@example.com', 'NEW@example.com', 'New@example.com', 'new@EXAMPLE.com'],
    ]) {
      const statuses = []
      for (const name of spellings) statuses.push(await guess(name))
      assert.deepEqual(statuses, [401, 401, 401, 429])
    }
  })

  it('is offered by the sign-in page, and off by default', async (t) => {
    const plain = createMailClient(await startServer(t, toMailOptions(mailServer)), mailServer)
    await plain.addUser('ada', 'ada@example.com')
    assert.equal((await plain.ask({ as: 'ada@example.com:first', method: 'GET', path: '/_session' })).status, 401)
    const readOptions = async (at: typeof server) => {
      const { body } = await send(at.document, { path: '/_cardea/sign-in' })
      return JSON.parse(decodeURIComponent(/cardea-options" content="([^"]*)"/.exec(body)?.[1] ?? ''))
    }
    assert.equal((await readOptions(plain.server)).addressSignIn, false)
    assert.equal((await readOptions(server)).addressSignIn, true)
  })
})

describe('a name with @', async () => {
  it('wins over an address that looks like it', async (t) => {
    const settings = toMailOptions(mailServer)
    const before = createMailClient(await startServer(t, settings), mailServer)
    await before.addUser('eve@example.com', undefined, { password: 'eves' })
    await before.addUser('emil', 'eve@example.com', { password: 'emils' })
    await before.ask({
      as: AS_ADMIN,
      method: 'PUT',
      path: `${API}/settings/mail/sign-in`,
      body: { value: 'verified' },
    })
    const asks = async (as: string) => (await before.ask({ as, method: 'GET', path: '/_session' })).json.userCtx?.name
    assert.equal(await asks('eve@example.com:eves'), 'eve@example.com')
    assert.equal(await asks('eve@example.com:emils'), undefined)
    // a case that the name does not have leads to the address
    assert.equal(await asks('EVE@example.com:emils'), 'emil')
  })

  it('is given by an administrator, unless it is the address of another user', async () => {
    await addUser('fay', 'fay@example.com')
    const add = (name: string, as = AS_ADMIN) => ask({ as, path: `${API}/users`, body: { name, password: 'first' } })
    assert.equal((await add('free@example.com')).status, 200)
    assert.deepEqual(errorOf(await add('FAY@example.com')), [409, 'conflict'])
    const users = ['Fay@example.com', 'imported@example.com'].map((name) => ({ name, password: { clear: 'first' } }))
    const imported = await ask({ as: AS_ADMIN, path: `${API}/transfer/users`, body: { users } })
    assert.deepEqual(
      imported.json.outcomes.map(({ kind }: { kind: string }) => kind),
      ['refused', 'created'],
    )
    await addUser('help', undefined, { roles: ['helpdesk'] })
    assert.deepEqual(errorOf(await add('other@example.com', 'help:first')), [400, 'bad_request'])
  })

  it('is given by a superuser token, as by an administrator', async (t) => {
    const { multiModel } = await startServer(t, toMailOptions(mailServer), { mail: { 'sign-in': 'verified' } })
    const body = { user: 'token@example.com', passwd: 'first' }
    const headers = { authorization: superuser() }
    const reply = await send(multiModel, { method: 'POST', path: '/_api/user', headers, body })
    assert.equal(reply.status, 201, reply.body)
  })

  it('of another user cannot be verified as an address, in any case', async () => {
    await addUser('gus@example.com')
    await addUser('gil')
    assert.deepEqual(errorOf(await setAddress('gil', 'gus@example.com')), [409, 'conflict'])
    await client.requestAddress('gil', 'GUS@example.com')
    const token = tokenOf(await mailServer.take('GUS@example.com'))
    assert.deepEqual(errorOf(await client.confirmAddress(token)), [409, 'conflict'])
    assert.equal((await setAddress('gus@example.com', 'gus@example.com')).status, 200)
  })

  it('is given to no administrator while it is the address of a user', async () => {
    await addUser('hugo', 'Hugo@bücher.example')
    const put = (name: string) => {
      const path = `/_node/_local/_config/admins/${encodeURIComponent(name)}`
      return ask({ as: AS_ADMIN, method: 'PUT', path, body: '"a-password"' })
    }
    assert.equal((await put('hugo@bücher.example')).status, 409)
    const body = { name: 'hugo@xn--bcher-kva.example', password: 'a-password' }
    assert.deepEqual(errorOf(await ask({ as: AS_ADMIN, path: `${API}/administrators`, body })), [409, 'conflict'])
    assert.equal((await put('boss@bücher.example')).status, 200)
    assert.deepEqual(errorOf(await setAddress('hugo', 'boss@xn--bcher-kva.example')), [409, 'conflict'])
    assert.equal((await nameOf('/_session', 'hugo@bücher.example:first')).userCtx.name, 'hugo')
  })

  it('is the same in its own letters and in ASCII', async () => {
    const other = 'hana@bücher.example'
    await addUser(other)
    await addUser('hanno')
    for (const address of ['hana@xn--bcher-kva.example', 'HANA@BÜCHER.example', 'hana@b\u0075\u0308cher.example'])
      assert.deepEqual(errorOf(await setAddress('hanno', address)), [409, 'conflict'], address)
    await addUser('ines', 'ines@xn--bcher-kva.example')
    const add = { name: 'ines@bücher.example', password: 'first' }
    assert.deepEqual(errorOf(await ask({ as: AS_ADMIN, path: `${API}/users`, body: add })), [409, 'conflict'])
    assert.equal((await nameOf('/_session', 'ines@xn--bcher-kva.example:first')).userCtx.name, 'ines')
  })

  it('signs up only with the address that is verified', async () => {
    const signUp = (name: string, address: string) =>
      ask({ path: `${ACCOUNT}/sign-up/request`, body: { name, address } })
    assert.equal((await signUp('hal@example.com', 'hal@example.com')).status, 200)
    const token = tokenOf(await mailServer.take('hal@example.com'))
    const confirmed = await ask({ path: `${ACCOUNT}/sign-up/confirm`, body: { token, password: 'first' } })
    assert.equal(confirmed.status, 200, confirmed.body)
    assert.equal((await nameOf('/_session', 'HAL@example.com:first')).userCtx.name, 'hal@example.com')
    assert.deepEqual(errorOf(await signUp('victim@example.com', 'eve@example.com')), [400, 'bad_request'])
    const invited = { name: 'victim@example.com', address: 'eve2@example.com' }
    const invitation = await ask({ as: AS_ADMIN, path: `${API}/invitations`, body: invited })
    assert.deepEqual(errorOf(invitation), [400, 'bad_request'])
  })

  it('is refused at sign-up without an address', async (t) => {
    const open = createMailClient(
      await startServer(t, toMailOptions(mailServer), {
        mail: { 'sign-in': 'verified' },
        chttpd_auth: { allow_sign_up: true },
      }),
      mailServer,
    )
    const id = (name: string) => `/_users/org.couchdb.user:${encodeURIComponent(name)}`
    const put = (name: string) =>
      open.ask({ method: 'PUT', path: id(name), body: { name, password: 'first', roles: [], type: 'user' } })
    assert.equal((await put('ida')).status, 201)
    assert.equal((await put('ida@example.com')).status, 400)
    const plain = await open.ask({ path: `${ACCOUNT}/sign-up`, body: { name: 'ida@example.com', password: 'first' } })
    assert.equal(plain.status, 400)
  })
})
