// Verified addresses that come from an identity provider. They give a new user an address, and lead to no other account.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokenOf } from '../support/mail.ts'
import { startMailClient } from '../support/mail-client.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { createBrowser, PUBLIC_URL } from '../support/provider-browser.ts'
import { AS_ADMIN } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'

const scope = createSharedScope()
const trusted = await startProvider(scope)
const other = await startProvider(scope)
const settings = { audience: AUDIENCE, 'client-id': CLIENT, 'client-secret': CLIENT_SECRET, users: 'create' }
const client = await startMailClient(scope, {
  console: { 'public-url': PUBLIC_URL },
  'provider:trusted': { issuer: trusted.issuer, ...settings, 'trusts-email': true, scopes: 'openid,email' },
  'provider:other': { issuer: other.issuer, ...settings },
})
const { addUser, server, mailServer } = client
const { cardea, document } = server

type Provider = 'trusted' | 'other'

/** The user that the account at the provider signs in as, in a browser. */
async function signIn(sub: string, claims: object, provider: Provider = 'trusted') {
  const { state } = provider === 'trusted' ? trusted : other
  state.idToken = { sub, preferred_username: sub, ...claims }
  const browser = createBrowser(document)
  const { status, name } = await browser.finish(provider, await browser.visit(provider))
  assert.equal(status, 200)
  const reply = await client.ask({ method: 'GET', path: '/_cardea/account/address', headers: browser.session() })
  return { name, address: reply.json.address }
}

const now = () => Math.floor(Date.now() / 1000)

const verified = (email: string) => ({ email, email_verified: true })

describe('an invitation that is accepted with an account at a provider', () => {
  const invite = async (address: string, more: object = {}) => {
    const body = { address, ...more }
    const asked = await client.ask({ as: AS_ADMIN, path: '/_cardea/api/invitations', body })
    assert.equal(asked.status, 200, asked.body)
    return tokenOf(await mailServer.take(address))
  }
  const find = async (token: string) =>
    (await client.ask({ path: '/_cardea/account/invitation/find', body: { token } })).status

  it('creates the user when the account has signed in, so that a failure on the way uses nothing up', async () => {
    trusted.state.idToken = { sub: 'inv-1', ...verified('other@example.com') }
    const token = await invite('inv@example.com', { roles: ['reader'] })
    const wanted = { password_link: token, name: 'inv' }
    const [first, second] = [createBrowser(document), createBrowser(document)]
    const query = await first.visit('trusted', wanted)
    assert.equal((await first.finish('trusted', '?error=access_denied')).status, 403)
    assert.equal(await cardea.users.find('inv'), undefined)
    assert.equal(await find(token), 200)
    const arrived = await second.finish('trusted', await second.visit('trusted', wanted))
    assert.deepEqual([arrived.status, arrived.name, arrived.linked], [200, 'inv', true])
    assert.deepEqual((await second.userOf()).roles, ['reader'])
    const own = await client.ask({ method: 'GET', path: '/_cardea/account/address', headers: second.session() })
    assert.equal(own.json.address, 'inv@example.com')
    assert.equal(await find(token), 404)
    assert.equal((await first.finish('trusted', query)).status, 404)
    assert.equal((await createBrowser(document).post('/providers/trusted', wanted)).status, 404)
  })

  it('needs a name that is free, and that of the invitation if it has one', async () => {
    await addUser('ina')
    const open = await invite('ina@example.com')
    const fixed = await invite('ida@example.com', { name: 'ida' })
    const start = async (body: object) => (await createBrowser(document).post('/providers/trusted', body)).status
    assert.equal(await start({ password_link: open }), 400)
    assert.equal(await start({ password_link: open, name: 'ina' }), 409)
    assert.equal(await start({ password_link: fixed, name: 'other' }), 400)
    assert.equal(await start({ password_link: fixed }), 200)
    const withdrawn = createBrowser(document)
    const query = await withdrawn.visit('trusted', { password_link: fixed })
    const path = '/_cardea/api/invitations/ida@example.com'
    assert.equal((await client.ask({ as: AS_ADMIN, method: 'DELETE', path })).status, 200)
    assert.equal((await withdrawn.finish('trusted', query)).status, 404)
    assert.equal(await cardea.users.find('ida'), undefined)
  })
})

describe('an address of an identity provider', () => {
  it('is that of the user whom the first sign-in creates, if the provider is trusted and calls it verified', async () => {
    const first = await signIn('ada', verified(' Ada@EXAMPLE.com'))
    assert.deepEqual(first, { name: 'ada', address: 'Ada@example.com' })
    assert.deepEqual(await signIn('amy', { email: 'amy@example.com', email_verified: 'true' }), {
      name: 'amy',
      address: 'amy@example.com',
    })
    // a later sign-in changes nothing: the user may have another address since
    assert.deepEqual(await signIn('ada', verified('ada2@example.com')), first)
  })

  for (const [name, claims, provider] of [
    ['is not verified there', { email: 'b@example.com', email_verified: false }],
    ['is only said to be verified', { email: 'b@example.com', email_verified: 1 }],
    ['comes without a word about it', { email: 'b@example.com' }],
    ['is no address', verified('b@example.com\nBcc: eve@example.com')],
    ['is a list', { email: ['b@example.com'], email_verified: true }],
    ['comes from a provider that is not trusted for it', verified('b@example.com'), 'other'],
  ] satisfies [string, object, Provider?][])
    it(`does not count if it ${name}`, async () => {
      const sub = `b-${name.replaceAll(' ', '-')}`
      assert.deepEqual(await signIn(sub, claims, provider), { name: sub, address: null })
    })

  it('does not count for a user who exists and links the account', async () => {
    await addUser('cat', 'cat@example.com')
    const link = { provider: 'trusted', issuer: trusted.issuer, subject: 'c-1' }
    const path = '/_cardea/api/users/cat/external-accounts'
    assert.equal((await client.ask({ as: AS_ADMIN, path, body: link })).status, 200)
    assert.deepEqual(await signIn('c-1', verified('c-1@example.com')), { name: 'cat', address: 'cat@example.com' })
  })

  it('gets a message that names the provider, when the password of a user without one is forgotten', async () => {
    await signIn('fred', verified('fred@example.com'))
    assert.equal((await client.forget('fred@example.com')).status, 200)
    const mail = await mailServer.take('fred@example.com')
    assert.match(mail.text ?? '', /The account has no password here\. Sign in with trusted\./)
    assert.equal(tokenOf(mail), '')
  })

  it('gets a message about the first password, too', async () => {
    trusted.state.idToken = { sub: 'ivy', preferred_username: 'ivy', ...verified('ivy@example.com'), auth_time: now() }
    const browser = createBrowser(document)
    await browser.finish('trusted', await browser.visit('trusted', { fresh: true }))
    const headers = { ...browser.session(), origin: document }
    const body = { password: 'my-first-password' }
    const set = await client.ask({ method: 'PUT', path: '/_cardea/account/password', headers, body })
    assert.equal(set.status, 200, set.body)
    assert.match((await mailServer.take('ivy@example.com')).subject ?? '', /^Your password/)
  })

  it('of an access token counts, too', async () => {
    const token = trusted.signToken({ sub: 'dan', preferred_username: 'dan', ...verified('dan@example.com') })
    const headers = { Authorization: `Bearer ${token}` }
    assert.equal((await client.ask({ method: 'GET', path: '/_session', headers })).json.userCtx.name, 'dan')
    assert.equal((await cardea.users.find('dan'))?.name, 'dan')
    const shown = await client.ask({ as: AS_ADMIN, method: 'GET', path: '/_cardea/api/users/dan' })
    assert.equal(shown.json.address, 'dan@example.com')
  })
})

describe('a stranger who registered first with the address of a person', () => {
  it('has not verified it: the person gets an account of its own with the address, and the link of the stranger ends', async () => {
    await addUser('stranger-1')
    await client.requestAddress('stranger-1', 'eve@example.com')
    const token = tokenOf(await mailServer.take('eve@example.com'))
    assert.deepEqual(await signIn('eve', verified('eve@example.com')), { name: 'eve', address: 'eve@example.com' })
    assert.equal((await client.confirmAddress(token)).status, 409)
    assert.equal(await client.showAddress('stranger-1'), null)
  })

  it('has it verified: the person gets an account of its own without an address, and neither gets into the other', async () => {
    await addUser('stranger-2', 'fay@example.com')
    const before = await cardea.users.find('stranger-2')
    assert.deepEqual(await signIn('fay', verified('FAY@example.com')), { name: 'fay', address: null })
    assert.deepEqual(await cardea.users.find('stranger-2'), before)
    assert.equal(await client.showAddress('stranger-2'), 'fay@example.com')
    for (const [name, count] of [
      ['stranger-2', 0],
      ['fay', 1],
    ] as const) {
      const path = `/_cardea/api/users/${name}/external-accounts`
      const { accounts } = (await client.ask({ as: AS_ADMIN, method: 'GET', path })).json
      assert.equal(accounts.length, count, name)
    }
    assert.equal(await cardea.users.verifyPassword('fay', 'first'), undefined)
  })

  it('has the name of the person: the account of the person has a suffix, and the address', async () => {
    await addUser('gus')
    const { name, address } = await signIn('gus', verified('gus@example.com'))
    assert.match(name, /^gus-[0-9a-f]{8}$/)
    assert.equal(address, 'gus@example.com')
    assert.equal(await client.showAddress('gus'), null)
  })

  it('comes from another provider, which says so too: it gets no address, and no account of the person', async () => {
    await signIn('hal', verified('hal@example.com'))
    const stranger = await signIn('hal', verified('hal@example.com'), 'other')
    assert.match(stranger.name, /^hal-[0-9a-f]{8}$/)
    assert.equal(stranger.address, null)
  })
})

describe('where addresses sign in', async () => {
  const open = await startMailClient(scope, {
    mail: { 'sign-in': 'verified' },
    console: { 'public-url': PUBLIC_URL },
    'provider:trusted': { issuer: trusted.issuer, ...settings, 'trusts-email': true, scopes: 'openid,email' },
  })
  const nameOf = async (claims: object) => {
    const token = trusted.signToken(claims)
    const reply = await open.ask({ method: 'GET', path: '/_session', headers: { Authorization: `Bearer ${token}` } })
    return reply.json.userCtx?.name
  }

  it('an own address can be the name, and that of another user cannot', async () => {
    const claims = { sub: 'i-1', preferred_username: 'ida@example.com' }
    assert.equal(await nameOf({ ...claims, ...verified('ida@example.com') }), 'ida@example.com')
    await open.addUser('jan', 'joe@example.com')
    const taken = { sub: 'j-1', preferred_username: 'joe@example.com', ...verified('joe@example.com') }
    assert.match((await nameOf(taken)) ?? '', /^trusted-[0-9a-f]{8}$/)
  })

  it('an address that is the name of another user is left out', async () => {
    await open.addUser('kim@example.com')
    assert.equal(await nameOf({ sub: 'k-1', preferred_username: 'kim', ...verified('kim@example.com') }), 'kim')
    const shown = await open.ask({ as: AS_ADMIN, method: 'GET', path: '/_cardea/api/users/kim' })
    assert.equal(shown.json.address, undefined)
  })
})
