// Sign-in at an identity provider from the browser: the authorization code flow, and what must not work.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { followBrowser, startForeignProvider } from '../support/foreign-provider.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { createBrowser, PUBLIC_URL } from '../support/provider-browser.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const PAGE = '/_cardea/sign-in'

const scope = createSharedScope()
const linked = await startProvider(scope)
const creating = await startProvider(scope)
const asserting = await startProvider(scope)
const client = { audience: AUDIENCE, 'client-id': CLIENT, 'client-secret': CLIENT_SECRET }
const { document, multiModel, addresses, cardea, takeEvents } = await startServer(scope, {
  console: { 'public-url': PUBLIC_URL },
  admin: { endpoint: 'tcp://127.0.0.1:0', 'user-admin-role': 'helpers' },
  'provider:linked': { issuer: linked.issuer, ...client, label: 'Example ID' },
  'provider:open': {
    issuer: creating.issuer,
    ...client,
    users: 'create',
    'roles-claim': 'roles',
    'role-map': 'editor=writer',
  },
  'provider:staff': { issuer: asserting.issuer, ...client, users: 'asserted' },
})
await cardea.users.create({ name: 'ada', password: 'analytical engine' })
const link = { provider: 'linked', issuer: linked.issuer, subject: 'u-1' }
const LINKS = '/_cardea/api/users/ada/external-accounts'
const LINKS_OF_WIM = '/users/wim/external-accounts'
await send(document, { method: 'POST', path: LINKS, headers: ADMIN, body: link })

const setActive = (active: boolean) =>
  send(document, { method: 'PUT', path: '/_cardea/api/users/ada/active', headers: ADMIN, body: { active } })

const createClient = (url = document) => createBrowser(url, document)

describe('sign-in at an identity provider', () => {
  const listeners = { document, 'multi-model': multiModel, admin: addresses.admin[0] ?? '' }
  for (const [name, url] of Object.entries(listeners))
    it(`opens a session of the linked user at the ${name} listener, and goes to next`, async () => {
      const browser = createClient(url)
      const query = await browser.visit('linked', {}, '?next=%2Fdb')
      takeEvents()
      const reply = await browser.finish('linked', query)
      assert.deepEqual(reply, { status: 200, name: 'ada', roles: [], linked: false, next: '/db' })
      assert.equal(await browser.nameOf(), 'ada')
      const accepted = takeEvents().find(({ event }) => event === 'sign-in.accepted')
      assert.deepEqual([accepted?.['subject'], accepted?.['handler']], ['ada', 'provider'])
    })

  it('sends the browser with PKCE, state and nonce, and a cookie that no script reads', async () => {
    const path = `${PAGE}/providers/linked`
    const { body, lines } = await send(document, { method: 'POST', path, body: {} })
    const sent = new URL(JSON.parse(body).url).searchParams
    assert.equal(sent.get('redirect_uri'), `${PUBLIC_URL}${PAGE}/callback/linked`)
    assert.deepEqual([sent.get('code_challenge_method'), sent.get('scope')], ['S256', 'openid profile'])
    for (const name of ['state', 'nonce', 'code_challenge']) assert.equal(sent.get(name)?.length, 43, name)
    assert.match(lines['set-cookie']?.[0] ?? '', /; Path=\/_cardea\/sign-in; Max-Age=600; HttpOnly; SameSite=Strict$/)
  })

  it('creates a user at the first sign-in; a name of an administrator gets a suffix', async () => {
    const browser = createClient()
    creating.state.idToken = { sub: 'c-1', preferred_username: 'jan' }
    assert.equal((await browser.finish('open', await browser.visit('open'))).name, 'jan')
    assert.equal(await browser.nameOf(), 'jan')
    creating.state.idToken = { sub: 'c-2', preferred_username: 'admin' }
    assert.match((await browser.finish('open', await browser.visit('open'))).name, /^admin-[0-9a-f]{8}$/)
  })

  it('gives a created user the mapped roles of the last sign-in, marked as those of the provider', async () => {
    const browser = createClient()
    const rolesOf = async (roles: readonly string[]) => {
      creating.state.idToken = { sub: 'c-3', preferred_username: 'mia', roles }
      await browser.finish('open', await browser.visit('open'))
      const headers = { Cookie: `AuthSession=${browser.cookies.get('AuthSession') ?? ''}` }
      return JSON.parse((await send(document, { path: '/_session', headers })).body).userCtx.roles
    }
    assert.deepEqual(await rolesOf(['editor', '_admin', 'other']), ['writer'])
    const path = '/_cardea/api/users/mia/external-accounts'
    const { accounts } = JSON.parse((await send(document, { path, headers: ADMIN })).body)
    assert.deepEqual(accounts[0].roles, ['writer'])
    // a user administrator without the role must not take the user over
    await cardea.users.create({ name: 'helper', password: 'correct horse 1', roles: ['helpers'] })
    const headers = { Authorization: basic('helper', 'correct horse 1') }
    const change = {
      method: 'PUT',
      path: '/_cardea/api/users/mia/password',
      headers,
      body: { password: 'a new password' },
    }
    assert.match((await send(document, change)).body, /You do not have the role writer/)
    assert.deepEqual(await rolesOf([]), [])
  })

  it('gives a token the roles that it says itself, not those of the last sign-in of a browser', async () => {
    creating.state.idToken = { sub: 'c-roles', preferred_username: 'neo', roles: ['editor'] }
    const browser = createClient()
    assert.deepEqual((await browser.finish('open', await browser.visit('open'))).roles, ['writer'])
    const rolesOf = async (claims: object) => {
      const headers = { Authorization: `Bearer ${creating.signToken({ sub: 'c-roles', ...claims })}` }
      return JSON.parse((await send(document, { path: '/_session', headers })).body).userCtx.roles
    }
    for (const claims of [{ roles: [] }, { roles: ['other'] }, {}]) assert.deepEqual(await rolesOf(claims), [])
    assert.deepEqual(await rolesOf({ roles: ['editor'] }), ['writer'])
  })

  it('ends tokens with a sign-out and an unlink, also those of a provider whose clock is ahead', async () => {
    const iat = Math.floor(Date.now() / 1000) + 25
    const headers = {
      Authorization: `Bearer ${creating.signToken({ sub: 'c-ahead', preferred_username: 'fay', iat })}`,
    }
    const read = async () => (await send(document, { path: '/_session', headers })).status
    const path = '/_cardea/api/users/fay'
    assert.equal(await read(), 200)
    await send(document, { method: 'POST', path: `${path}/sign-out`, headers: ADMIN, body: {} })
    assert.equal(await read(), 401)
    const accounts = await send(document, { path: `${path}/external-accounts`, headers: ADMIN })
    const { id } = JSON.parse(accounts.body).accounts[0]
    await send(document, { method: 'DELETE', path: `${path}/external-accounts/${id}`, headers: ADMIN })
    for (const time of ['first', 'second']) assert.equal(await read(), 401, time)
  })

  it('takes roles away when the provider or its role map gives them no longer', async (t) => {
    const url = `sqlite:${mkdtempSync(join(tmpdir(), 'cardea-roles-'))}/store.db`
    const start = async (provider: object) => {
      const { document: at, ...server } = await startServer(t, {
        store: { url },
        admin: { 'second-factor-roles': 'writer' },
        console: { 'public-url': PUBLIC_URL },
        ...provider,
      })
      const ask = async (path: string) =>
        JSON.parse((await send(at, { path: `/_cardea/api${path}`, headers: ADMIN })).body)
      const found = async () => ({
        members: (await ask('/users?role=WRITER')).users.map(({ name }: { name: string }) => name),
        policy: (await ask('/second-factor')).missing.map(({ roles }: { roles: string[] }) => roles),
      })
      return { at, found, ask, close: () => server.cardea.close() }
    }
    const roles = { 'roles-claim': 'roles', 'role-map': 'editor=writer', 'second-factor': '*' }
    const settings = { issuer: creating.issuer, ...client, ...roles }
    const first = await start({ 'provider:open': { ...settings, users: 'create' } })
    creating.state.idToken = { sub: 'c-4', preferred_username: 'wim', roles: ['editor'] }
    const browser = createClient(first.at)
    const query = await browser.visit('open')
    assert.deepEqual((await browser.finish('open', query)).roles, ['writer'])
    assert.deepEqual(await first.found(), { members: ['wim'], policy: [] })
    assert.deepEqual((await first.ask('/roles')).roles, [{ name: 'writer', members: 1 }])
    await first.close()
    const others = { ...settings, users: 'create' }
    const changes: readonly [provider: object, shown?: readonly string[]][] = [
      [{ 'provider:open': settings }],
      [{}],
      [{ 'provider:open': { ...others, 'role-map': 'editor=reader' } }, []],
      [{ 'provider:open': { ...others, 'role-map': 'writer=reader, *' } }, []],
    ]
    for (const [provider, shown] of changes) {
      const second = await start(provider)
      assert.deepEqual(await second.found(), { members: [], policy: [] })
      assert.deepEqual((await second.ask('/roles')).roles, [])
      assert.deepEqual((await second.ask(LINKS_OF_WIM)).accounts[0].roles, shown)
      await second.close()
    }
    // they are kept until the next sign-in, which removes them
    const again = { 'provider:open': { ...settings, users: 'create' } }
    const third = await start(again)
    assert.deepEqual(await third.found(), { members: ['wim'], policy: [] })
    await third.close()
    const linking = await start({ 'provider:open': settings })
    const later = createClient(linking.at)
    assert.deepEqual((await later.finish('open', await later.visit('open'))).roles, [])
    await linking.close()
    const last = await start(again)
    assert.deepEqual(await last.found(), { members: [], policy: [] })
    assert.deepEqual((await last.ask(LINKS_OF_WIM)).accounts[0].roles, [])
  })

  const refused: readonly [name: string, change: object, response?: Record<string, string>][] = [
    ['with another nonce', { nonce: 'other' }],
    ['without a nonce', { nonce: undefined }],
    ['of another issuer', { iss: creating.issuer }],
    ['for another client', { aud: 'other' }],
    ['for several clients without azp', { aud: [CLIENT, 'other'] }],
    ['that another client has asked for', { azp: 'other' }],
    ['that several clients have asked for', { azp: [CLIENT] }],
    ['with an empty azp', { azp: '' }],
    ['that has expired', { exp: 1000, iat: 900 }],
    ['from the future', { iat: Math.floor(Date.now() / 1000) + 3000, exp: Math.floor(Date.now() / 1000) + 6000 }],
    ['of an account that is not linked', { sub: 'u-2' }],
    ['with the name of an administrator and no link', { sub: 'admin', preferred_username: 'admin' }],
    ['that came with another issuer (mix-up)', {}, { iss: creating.issuer }],
    ['that came with an error', {}, { error: 'access_denied' }],
  ]
  for (const [name, idToken, response = {}] of refused)
    it(`refuses an ID token ${name}`, async (t) => {
      Object.assign(linked.state, { idToken, response })
      t.after(() => Object.assign(linked.state, { idToken: {}, response: {} }))
      const browser = createClient()
      const query = await browser.visit('linked')
      assert.equal((await browser.finish('linked', query)).status, 403)
      assert.equal(await browser.nameOf(), null)
    })

  describe('at Entra ID, with several tenants', async () => {
    const entra = await startProvider(scope)
    const toIssuer = (tenant: string) => `${entra.issuer}/${tenant}/v2.0`
    const shared = toIssuer('{tenantid}')
    // its document for all tenants does not say that responses have an issuer
    entra.state.discovery = { issuer: shared, authorization_response_iss_parameter_supported: undefined }
    const { document: url } = await startServer(scope, {
      console: { 'public-url': PUBLIC_URL },
      'provider:entra': { issuer: shared, tenants: 'tenant-a, tenant-b', ...client, users: 'create' },
    })
    const [a, b] = [
      { iss: toIssuer('tenant-a'), tid: 'tenant-a' },
      { iss: toIssuer('tenant-b'), tid: 'tenant-b' },
    ]
    const tenants: readonly [name: string, idToken: object, status: number, issuers?: readonly string[]][] = [
      ['accepts a user of the first one', a, 200],
      ['accepts a user of another one', b, 200],
      ['accepts a response with the issuer of the user', b, 200, [b.iss]],
      ['refuses a response with the issuer of another tenant', b, 403, [a.iss]],
      ['refuses a response with the issuer of all tenants', a, 403, [shared]],
      ['refuses a response with two issuers', a, 403, [a.iss, b.iss]],
      ['refuses a tenant that is not listed', { iss: toIssuer('tenant-c'), tid: 'tenant-c' }, 403],
      ['refuses the issuer of all tenants', { iss: shared, tid: '{tenantid}' }, 403],
      ['refuses an issuer that is not that of the tenant', { ...a, tid: 'tenant-b' }, 403],
      ['refuses a token without a tenant', { iss: a.iss }, 403],
      ['refuses another nonce', { ...a, nonce: 'other' }, 403],
    ]
    for (const [name, idToken, status, issuers = []] of tenants)
      it(name, async () => {
        entra.state.idToken = { sub: 'e-1', preferred_username: 'ean', ...idToken }
        const browser = createClient(url)
        const query = new URLSearchParams(await browser.visit('entra'))
        query.delete('iss')
        for (const issuer of issuers) query.append('iss', issuer)
        assert.equal((await browser.finish('entra', String(query))).status, status)
      })

    it('knows the same subject of two tenants as two accounts', async () => {
      const path = '/_cardea/api/users'
      const { users } = JSON.parse((await send(url, { path, headers: ADMIN })).body)
      assert.deepEqual([users.length, users[0].name], [2, 'ean'])
    })
  })

  it('is not kept from the provider by invented responses of another address', async (t) => {
    const { document: url } = await startServer(t, {
      chttpd: { trusted_proxies: 'loopback' },
      console: { 'public-url': PUBLIC_URL },
      'provider:open': { issuer: creating.issuer, ...client, users: 'create' },
    })
    const open = (address: string) => createBrowser(url, url, { 'X-Forwarded-For': address })
    creating.state.idToken = { sub: 'fair', preferred_username: 'fay-2' }
    const stranger = open('192.0.2.1')
    const query = await stranger.visit('open')
    const invented = await Promise.all(
      Array.from({ length: 80 }, async () => {
        const browser = open('192.0.2.66')
        const sent = new URL((await browser.post('/providers/open')).url).searchParams
        return () => browser.finish('open', `code=1&state=${sent.get('state')}&iss=${creating.issuer}`)
      }),
    )
    const { promise: held, resolve } = Promise.withResolvers<void>()
    creating.state.held = held
    t.after(() => resolve())
    const attack = invented.map((send) => send())
    // the first ones are given up on a busy machine, and others take their places
    await waitUntil(() => creating.state.waiting >= 64)
    const reply = stranger.finish('open', query)
    // by then the response of the stranger has arrived too
    await send(url, { path: '/_up' })
    resolve()
    assert.equal((await reply).status, 200)
    await Promise.all(attack)
  })

  it('is 429 after too many invented responses from an address', async (t) => {
    const { document: url } = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      auth: { 'peer-failures': 3 },
      'provider:linked': { issuer: linked.issuer, ...client },
    })
    const browser = createClient(url)
    const statuses: number[] = []
    for (const code of ['', 'code=1', 'code=2', 'code=3', 'code=4']) {
      const sent = new URL((await browser.post('/providers/linked')).url).searchParams
      statuses.push((await browser.finish('linked', `${code}&state=${sent.get('state')}`)).status)
    }
    assert.deepEqual([statuses[0], statuses.at(-1)], [403, 429])
  })

  it('counts failures by provider: they lock out no password and no other provider', async (t) => {
    const wrong = await startProvider(t)
    const { document: url, ...server } = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      auth: { 'peer-failures': 2 },
      'provider:wrong': { issuer: wrong.issuer, ...client },
      'provider:linked': { issuer: linked.issuer, ...client },
    })
    await server.cardea.users.create({ name: 'pia', password: 'correct horse 1' })
    wrong.state.clientSecret = 'changed at the provider'
    const statuses: number[] = []
    for (const provider of ['wrong', 'wrong', 'wrong', 'linked']) {
      const browser = createClient(url)
      statuses.push((await browser.finish(provider, await browser.visit(provider))).status)
    }
    assert.deepEqual(statuses, [403, 403, 429, 403])
    const password = { method: 'POST', path: '/_session', body: { name: 'pia', password: 'correct horse 1' } }
    assert.equal((await send(url, password)).status, 200)
    const reasons = server.takeEvents().map(({ reason }) => String(reason))
    assert.ok(reasons.some((reason) => /^\[provider:wrong\] .*: invalid_client$/.test(reason)))
  })

  it('records a refusal', async (t) => {
    const { document: url, ...server } = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      'provider:linked': { issuer: linked.issuer, ...client },
    })
    const browser = createClient(url)
    await browser.finish('linked', await browser.visit('linked'))
    const refusal = server.takeEvents().find(({ event }) => event === 'sign-in.refused')
    assert.deepEqual(
      [refusal?.['reason'], refusal?.['handler']],
      ['[provider:linked] this account is not linked to a user', 'provider'],
    )
  })

  it('records the user of the account that is refused', async (t) => {
    const { document: url, ...server } = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      'provider:linked': { issuer: linked.issuer, ...client },
    })
    await server.cardea.users.create({ name: 'ada', password: null })
    await send(url, { method: 'POST', path: LINKS, headers: ADMIN, body: link })
    const off = { active: false }
    await send(url, { method: 'PUT', path: '/_cardea/api/users/ada/active', headers: ADMIN, body: off })
    const browser = createClient(url)
    await browser.finish('linked', await browser.visit('linked'))
    const refusal = server.takeEvents().find(({ event }) => event === 'sign-in.refused')
    assert.deepEqual([refusal?.['subject'], refusal?.['reason']], ['ada', '[provider:linked] the user is disabled'])
  })

  it('refuses a response without the issuer, where the provider sends it', async () => {
    const browser = createClient()
    const query = new URLSearchParams(await browser.visit('linked'))
    query.delete('iss')
    assert.equal((await browser.finish('linked', String(query))).status, 403)
  })

  it('accepts a response once, with the cookie it was asked for with, at its own provider', async () => {
    const browser = createClient()
    const query = await browser.visit('linked')
    const cookie = browser.cookies.get('CardeaSignIn') ?? ''
    const thief = createClient()
    assert.equal((await thief.finish('linked', query)).status, 403, 'stolen state')
    await thief.visit('linked')
    assert.equal((await thief.finish('linked', query)).status, 403, 'stolen state with another cookie')
    thief.cookies.set('CardeaSignIn', `${cookie}x`)
    assert.equal((await thief.finish('linked', query)).status, 403, 'forged cookie')
    assert.equal((await browser.finish('open', query)).status, 403, 'another provider')
    const [first, second] = await Promise.all([browser.finish('linked', query), browser.finish('linked', query)])
    assert.deepEqual([first.status, second.status].sort(), [200, 403])
    browser.cookies.set('CardeaSignIn', cookie)
    assert.equal((await browser.finish('linked', query)).status, 403, 'replayed')
  })

  it('refuses a code that has expired at the provider', async () => {
    const browser = createClient()
    const query = new URLSearchParams(await browser.visit('linked'))
    query.set('code', 'expired')
    const { status, reason } = await browser.finish('linked', String(query))
    assert.equal(status, 403)
    assert.match(reason, /start again/)
  })

  it('is refused while the user is disabled', async () => {
    const browser = createClient()
    await setActive(false)
    const { status, reason } = await browser.finish('linked', await browser.visit('linked'))
    await setActive(true)
    assert.equal(status, 403)
    assert.match(reason, /disabled/)
  })

  it('is for providers whose accounts are users', async () => {
    const browser = createClient()
    assert.equal((await browser.post('/providers/staff')).status, 404)
    assert.equal((await browser.post('/providers/none')).status, 404)
    const { body } = await send(document, { path: PAGE })
    const options = JSON.parse(decodeURIComponent(/name="cardea-options" content="([^"]*)"/.exec(body)?.[1] ?? ''))
    assert.deepEqual(options.providers, [
      { name: 'linked', label: 'Example ID' },
      { name: 'open', label: 'open' },
    ])
  })

  it('needs console.public-url', async (t) => {
    const { document: url } = await startServer(t, { 'provider:linked': { issuer: linked.issuer, ...client } })
    const publicUrl = '/_cardea/api/settings/console/public-url'
    const rows = { '': 404, 'https://db.example.com/base': 404, 'https://db.example.com/': 200 }
    for (const [value, status] of Object.entries(rows)) {
      await send(url, { method: 'PUT', path: publicUrl, headers: ADMIN, body: { value } })
      const reply = await send(url, { method: 'POST', path: `${PAGE}/providers/linked`, body: {} })
      assert.equal(reply.status, status, value)
      if (status === 200) assert.match(reply.body, /redirect_uri=https%3A%2F%2Fdb\.example\.com%2F_cardea%2F/)
    }
  })

  it('shows the page with a message if next is wrong, and goes to a provider with a short one only', async () => {
    for (const next of [`/${'a'.repeat(2048)}`, '//example.com']) {
      const query = `?next=${encodeURIComponent(next)}`
      const { status, lines, body } = await send(document, { path: `${PAGE}${query}` })
      assert.deepEqual([status, lines['content-type']], [400, ['text/html; charset=utf-8']])
      assert.match(body, /isNextWrong%22%3Atrue/)
      assert.equal((await createClient().post(`/providers/linked${query}`)).status, 400)
    }
    const browser = createClient()
    const next = `/${'a'.repeat(2047)}`
    await browser.finish('linked', await browser.visit('linked', {}, `?next=${next}`))
    assert.equal(await browser.nameOf(), 'ada')
  })

  it('begins only from a page of this origin, and comes back only from the page', async () => {
    for (const path of ['providers/linked', 'callback/linked', 'providers/linked/sign-out']) {
      const headers = { Origin: 'https://example.com', 'Content-Type': 'application/json' }
      const given = { method: 'POST', path: `${PAGE}/${path}`, headers, body: { query: 'code=1' } }
      assert.equal((await send(document, given)).status, 403)
    }
    assert.equal((await send(document, { path: `${PAGE}/callback/linked?code=1&state=2` })).status, 200)
  })

  it('offers the sign-out of the provider', async () => {
    const { url } = await createClient().post('/providers/linked/sign-out')
    const sent = new URL(url)
    assert.equal(`${sent.origin}${sent.pathname}`, `${linked.issuer}/end`)
    assert.deepEqual(Object.fromEntries(sent.searchParams), {
      client_id: CLIENT,
      post_logout_redirect_uri: `${PUBLIC_URL}${PAGE}`,
    })
  })

  it('links another account of the user who has just typed the password', async () => {
    await cardea.users.create({ name: 'bob', password: 'correct horse 1' })
    creating.state.idToken = { sub: 'c-9', preferred_username: 'root' }
    const browser = createClient()
    assert.equal((await browser.post('/providers/open', { link: true })).status, 401)
    await browser.post('/sign-in', { name: 'bob', password: 'correct horse 1' })
    assert.equal((await browser.post('/providers/open', { link: true })).status, 403)
    assert.equal((await browser.post('/providers/open', { link: true, current_password: 'wrong' })).status, 403)
    const proof = { link: true, current_password: 'correct horse 1' }
    const query = await browser.visit('open', proof)
    await browser.post('/sign-in', { name: 'ada', password: 'analytical engine' })
    assert.equal((await browser.finish('open', query)).status, 403, 'another user is signed in now')
    await browser.post('/sign-in', { name: 'bob', password: 'correct horse 1' })
    const again = await browser.visit('open', proof)
    assert.deepEqual(await browser.finish('open', again), { status: 200, name: 'bob', roles: [], linked: true })
    const fresh = createClient()
    assert.equal((await fresh.finish('open', await fresh.visit('open'))).name, 'bob')
    assert.equal((await fresh.post('/providers/open', proof)).status, 403, 'this session proves no password')
  })

  it('proves a user without a password, if the provider has asked for the sign-in just now', async () => {
    const now = Math.floor(Date.now() / 1000)
    const change = async (auth: object, body: object = {}) => {
      creating.state.idToken = { sub: 'c-fresh', preferred_username: 'fresh', ...auth }
      const browser = createClient()
      const arrived = await browser.finish('open', await browser.visit('open', body))
      const headers = browser.session()
      const path = '/_cardea/account/totp'
      return [arrived.status, (await send(document, { method: 'POST', path, headers, body: {} })).status]
    }
    assert.deepEqual(await change({}), [200, 403], 'the provider does not say when')
    assert.deepEqual(await change({ auth_time: now - 3600 }), [200, 403], 'by an earlier session there')
    assert.deepEqual(await change({ auth_time: now + 3600 }), [200, 403], 'in the future')
    assert.deepEqual(await change({ auth_time: now }), [200, 200])
    assert.deepEqual(await change({ auth_time: now }, { fresh: true }), [200, 200])
    assert.equal((await change({ auth_time: now - 3600 }, { fresh: true }))[0], 403, 'it did not ask again')
    const { url } = await createClient().post('/providers/open', { fresh: true })
    const { searchParams } = new URL(url)
    assert.deepEqual([searchParams.get('prompt'), searchParams.get('max_age')], ['login', '0'])
    creating.state.idToken = {}
  })

  it('keeps the last account of a user who has no other way to sign in', async () => {
    creating.state.idToken = { sub: 'c-last', preferred_username: 'last', auth_time: Math.floor(Date.now() / 1000) }
    const browser = createClient()
    await browser.finish('open', await browser.visit('open'))
    const path = '/_cardea/account/external-accounts'
    const { accounts } = (await send(document, { path, headers: browser.session() })).json
    const unlink = { method: 'DELETE', path: `${path}/${accounts[0].id}`, headers: browser.session() }
    assert.equal((await send(document, unlink)).status, 409)
    await cardea.users.setPassword('last', 'correct horse 1')
    const headers = { Authorization: basic('last', 'correct horse 1') }
    assert.equal((await send(document, { ...unlink, headers })).status, 200)
    creating.state.idToken = {}
  })

  it('with a fresh sign-in does not prove a user who has a password', async () => {
    const idToken = { ...linked.state.idToken }
    linked.state.idToken = { ...idToken, auth_time: Math.floor(Date.now() / 1000) }
    const browser = createClient()
    await browser.finish('linked', await browser.visit('linked'))
    const request = { method: 'POST', path: '/_cardea/account/totp', headers: browser.session(), body: {} }
    assert.equal((await send(document, request)).status, 403)
    linked.state.idToken = idToken
  })

  it('offers to link an account only in a session that has proved the password', async () => {
    const canLink = async (headers: Readonly<Record<string, string>>) => {
      const { body } = await send(document, { path: PAGE, headers })
      const [, options = ''] = /name="cardea-options" content="([^"]*)"/.exec(body) ?? []
      return JSON.parse(decodeURIComponent(options)).canLink
    }
    const browser = createClient()
    assert.equal(await canLink({}), false, 'not signed in')
    await browser.post('/sign-in', { name: 'ada', password: 'analytical engine' })
    assert.equal(await canLink(browser.session()), true)
    creating.state.idToken = { sub: 'c-only', preferred_username: 'only' }
    await browser.finish('open', await browser.visit('open'))
    assert.equal(await browser.nameOf(), 'only')
    assert.equal(await canLink(browser.session()), false, 'without a password')
    await browser.finish('linked', await browser.visit('linked'))
    assert.equal(await browser.nameOf(), 'ada')
    assert.equal(await canLink(browser.session()), false, 'with a password, in a session of a provider')
    await browser.post('/sign-in', { name: 'admin', password: 'adminpw' })
    assert.equal(await canLink(browser.session()), false, 'an administrator')
  })

  describe('with a password link', () => {
    const invite = async (name: string) => {
      const path = `/_cardea/api/users/${name}/password-link`
      const { url } = JSON.parse((await send(document, { method: 'POST', path, headers: ADMIN, body: {} })).body)
      return { password_link: url.split('/').at(-1) ?? '' }
    }
    const find = async ({ password_link: token }: { password_link: string }) =>
      JSON.parse(
        (await send(document, { method: 'POST', path: '/_cardea/api/password-links/find', body: { token } })).body,
      )

    it('links the account to its user and signs in, once', async (t) => {
      await cardea.users.create({ name: 'iva', password: null })
      const link = await invite('iva')
      assert.deepEqual([(await find(link)).name, (await find(link)).canLink], ['iva', true])
      t.after(() => Object.assign(linked.state, { idToken: {} }))
      Object.assign(linked.state, { idToken: { sub: 'i-1' } })
      const [first, second] = [createClient(), createClient()]
      const query = await second.visit('linked', link)
      const reply = await first.finish('linked', await first.visit('linked', link))
      assert.deepEqual(reply, { status: 200, name: 'iva', roles: [], linked: true })
      assert.equal(await first.nameOf(), 'iva')
      Object.assign(linked.state, { idToken: { sub: 'i-2' } })
      assert.equal((await second.finish('linked', query)).status, 404, 'began before the link was used')
      assert.equal((await second.post('/providers/linked', link)).status, 404)
      const again = await first.finish('linked', await first.visit('linked'))
      assert.equal(again.status, 403, 'no other account is linked')
    })

    it('ends in a session that is asked for no other password', async (t) => {
      await cardea.users.create({ name: 'moe', password: 'correct horse 1' })
      const body = { password: 'correct horse 2', mustChangePassword: true }
      await send(document, { method: 'PUT', path: '/_cardea/api/users/moe/password', headers: ADMIN, body })
      t.after(() => Object.assign(linked.state, { idToken: {} }))
      Object.assign(linked.state, { idToken: { sub: 'moe-1' } })
      const browser = createClient()
      const reply = await browser.finish('linked', await browser.visit('linked', await invite('moe')))
      assert.deepEqual(reply, { status: 200, name: 'moe', roles: [], linked: true })
      const headers = { Cookie: `AuthSession=${browser.cookies.get('AuthSession') ?? ''}` }
      assert.equal((await send(document, { path: '/_gate', headers })).status, 204)
      const change = {
        method: 'PUT',
        path: '/_cardea/account/password',
        headers,
        body: { password: 'correct horse 3' },
      }
      assert.match((await send(document, change)).body, /signs in at the identity provider again/)
    })

    it('removes the passkeys of the user, as a new password does', async (t) => {
      await cardea.users.create({ name: 'kay', password: 'correct horse 1' })
      const { addPasskey } = createPasskeyUsers(document)
      await addPasskey('kay:correct horse 1', createAuthenticator(PUBLIC_URL))
      const listed = async () =>
        (await send(document, { path: '/_cardea/api/users/kay/passkeys', headers: ADMIN })).json.passkeys.length
      assert.equal(await listed(), 1)
      t.after(() => Object.assign(linked.state, { idToken: {} }))
      Object.assign(linked.state, { idToken: { sub: 'kay-1' } })
      const browser = createClient()
      assert.equal((await browser.finish('linked', await browser.visit('linked', await invite('kay')))).linked, true)
      assert.equal(await listed(), 0)
    })

    it('is refused together with the wish of a signed-in user to link an account', async () => {
      await cardea.users.create({ name: 'lou', password: 'correct horse 1' })
      const browser = createClient()
      await browser.post('/sign-in', { name: 'lou', password: 'correct horse 1' })
      const body = { link: true, current_password: 'correct horse 1', ...(await invite('iva')) }
      assert.deepEqual((await browser.post('/providers/linked', body)).status, 400)
    })

    it('is refused with an unknown link, and for a user with a second factor', async () => {
      assert.equal((await createClient().post('/providers/linked', { password_link: 'A'.repeat(43) })).status, 404)
      await cardea.users.create({ name: 'tess', password: 'correct horse 1' })
      const headers = { Authorization: basic('tess', 'correct horse 1') }
      const path = '/_cardea/account/totp'
      const { secret } = JSON.parse((await send(document, { method: 'POST', path, headers, body: {} })).body)
      const code = renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000))
      await send(document, { method: 'POST', path: `${path}/confirm`, headers, body: { secret, code } })
      const link = await invite('tess')
      assert.equal((await find(link)).canLink, undefined)
      assert.equal((await createClient().post('/providers/linked', link)).status, 403)
    })
  })

  describe('back-channel logout', () => {
    const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout = async (claims: object, header: object = { typ: 'logout+jwt' }, key?: string) => {
      const token = key ?? linked.signToken({ aud: CLIENT, events: EVENTS, jti: randomUUID(), ...claims }, header)
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const path = `${PAGE}/back-channel-logout/linked`
      return (await send(document, { method: 'POST', path, headers, body: `logout_token=${token}` })).status
    }

    it('ends the sessions of the linked user at once', async () => {
      const browser = createClient()
      await browser.finish('linked', await browser.visit('linked'))
      assert.equal(await browser.nameOf(), 'ada')
      assert.equal(await logout({}), 200)
      assert.equal(await browser.nameOf(), null)
    })

    it('accepts only typed tokens, unless the provider is known to send others', async (t) => {
      const server = await startServer(t, {
        console: { 'public-url': PUBLIC_URL },
        'provider:linked': { issuer: linked.issuer, ...client, 'logout-token-type': 'any' },
      })
      for (const typ of ['JWT', undefined]) {
        assert.equal(await logout({ sub: 'unknown' }, { typ }), 400, String(typ))
        const claims = { aud: CLIENT, events: EVENTS, jti: randomUUID(), sub: 'unknown' }
        const body = `logout_token=${linked.signToken(claims, { typ })}`
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
        const request = { method: 'POST', path: `${PAGE}/back-channel-logout/linked`, headers, body }
        assert.equal((await send(server.document, request)).status, 200, String(typ))
      }
    })

    const wrong: readonly [name: string, claims: object, header?: object][] = [
      ['for another client', { aud: 'other' }],
      ['without events', { events: undefined }],
      ['with another event', { events: { other: {} } }],
      ['with a nonce', { nonce: 'n' }],
      ['without sub', { sub: undefined, sid: 's' }],
      ['without an id', { jti: undefined }],
      ['with an empty id', { jti: '' }],
      ['with an expiry that is no number', { exp: 'never' }],
      ['of another issuer', { iss: creating.issuer }],
      ['that is old', { iat: 1000, exp: undefined }],
      ['that has expired', { exp: 1000 }],
      ['from the future', { iat: Math.floor(Date.now() / 1000) + 600 }],
    ]
    for (const [name, claims] of wrong)
      it(`refuses a token ${name}`, async () => assert.equal(await logout(claims), 400))

    it('refuses another type, another signature and a second use', async () => {
      assert.equal(await logout({}, { typ: 'at+jwt' }), 400)
      assert.equal(await logout({}, {}, creating.signToken({ iss: linked.issuer, aud: CLIENT, events: EVENTS })), 400)
      const token = linked.signToken(
        { aud: CLIENT, events: EVENTS, jti: randomUUID(), sub: 'nobody' },
        { typ: 'logout+jwt' },
      )
      assert.deepEqual([await logout({}, {}, token), await logout({}, {}, token)], [200, 400])
    })

    it('does not end sessions again with a copy of the token', async () => {
      const token = linked.signToken({ aud: CLIENT, events: EVENTS, jti: randomUUID() }, { typ: 'logout+jwt' })
      assert.equal(await logout({}, {}, token), 200)
      const browser = createClient()
      await browser.finish('linked', await browser.visit('linked'))
      assert.equal(await logout({}, {}, token), 400)
      assert.equal(await browser.nameOf(), 'ada')
    })
  })

  it('works with a provider that others have written, once', async (t) => {
    const callback = `${PUBLIC_URL}${PAGE}/callback/foreign`
    const provider = await startForeignProvider(t, [callback])
    const { client_id: id, client_secret: secret } = provider.client
    const server = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      'provider:foreign': {
        issuer: provider.issuer,
        audience: AUDIENCE,
        'client-id': id,
        'client-secret': secret,
        scopes: 'openid',
        users: 'create',
      },
    })
    const browser = createClient(server.document)
    const back = await followBrowser((await browser.post('/providers/foreign')).url, 'eve')
    assert.equal(`${back.origin}${back.pathname}`, callback)
    const cookie = browser.cookies.get('CardeaSignIn') ?? ''
    assert.equal((await browser.finish('foreign', back.search.slice(1))).name, 'eve')
    browser.cookies.set('CardeaSignIn', cookie)
    assert.equal((await browser.finish('foreign', back.search.slice(1))).status, 403)
    const again = new URLSearchParams(
      (await followBrowser((await browser.post('/providers/foreign')).url, 'eve')).search,
    )
    again.set('code', back.searchParams.get('code') ?? '')
    assert.equal((await browser.finish('foreign', String(again))).status, 403, 'a code of another sign-in')
  })

  describe('of a user with a role that needs a second factor', async () => {
    const settings = { ...client, 'roles-claim': 'roles', 'role-map': 'editor=writer, boss=chief' }
    const given = { ...settings, 'role-map': 'editor=writer', 'second-factor': 'mfa, gold' }
    const server = await startServer(scope, {
      console: { 'public-url': PUBLIC_URL },
      admin: { 'second-factor-roles': 'writer, chief' },
      chttpd_auth: { max_lifetime: 1000 },
      'provider:linked': { issuer: linked.issuer, ...client },
      'provider:open': { issuer: creating.issuer, ...given, users: 'create' },
      'provider:staff': { issuer: asserting.issuer, ...settings, 'second-factor': 'mfa', users: 'asserted' },
    })
    await server.cardea.users.create({ name: 'finn', password: 'analytical engine', roles: ['writer'] })
    const path = '/_cardea/api/users/finn/external-accounts'
    await send(server.document, { method: 'POST', path, headers: ADMIN, body: { ...link, subject: 'f-1' } })
    const [MFA, PASSWORD] = [{ amr: ['pwd', 'mfa'] }, { amr: ['pwd'] }]
    const NEEDED = /needs a second factor/

    const signIn = async (provider: 'linked' | 'open', idToken: object) => {
      Object.assign(provider === 'open' ? creating.state : linked.state, { idToken })
      const browser = createClient(server.document)
      const reply = await browser.finish(provider, await browser.visit(provider))
      Object.assign(linked.state, { idToken: {} })
      return { browser, reply }
    }
    /** What both doors reply to a token: the roles, or why it is refused. */
    const useToken = async (token: string, name: string) => {
      const bearer = { authorization: `Bearer ${token}` }
      const replies = await Promise.all([
        send(server.document, { path: '/_session', headers: bearer }),
        send(server.multiModel, { path: `/_api/user/${name}`, headers: bearer }),
      ])
      const { userCtx, reason } = JSON.parse(replies[0].body)
      return { statuses: replies.map(({ status }) => status), roles: userCtx?.roles, reason }
    }

    const findUser = async (name: string) =>
      (await send(server.document, { path: `/_cardea/api/users/${name}`, headers: ADMIN })).status

    it('keeps the roles that it has when it is refused', async () => {
      const kim = { sub: 'k-1', preferred_username: 'kim' }
      assert.equal((await signIn('open', { ...kim, ...MFA, roles: ['editor'] })).reply.status, 200)
      const rolesOf = async () => {
        const path = '/_cardea/api/users/kim/external-accounts'
        return JSON.parse((await send(server.document, { path, headers: ADMIN })).body).accounts[0].roles
      }
      // an own role needs a second factor too, so the sign-in without one is refused whatever the provider gives
      const path = '/_users/org.couchdb.user:kim'
      const user = JSON.parse((await send(server.document, { path, headers: ADMIN })).body)
      const body = { ...user, roles: ['chief'] }
      assert.equal((await send(server.document, { method: 'PUT', path, headers: ADMIN, body })).status, 201)
      assert.match((await signIn('open', { ...kim, ...PASSWORD, roles: [] })).reply.reason, NEEDED)
      assert.deepEqual(await rolesOf(), ['writer'])
    })

    it('is refused in the browser, unless the provider says that it asked for one', async () => {
      const editor = { sub: 'm-1', preferred_username: 'max', roles: ['editor'] }
      for (const claims of [{}, PASSWORD]) {
        const { reply } = await signIn('open', { ...editor, ...claims })
        assert.equal(reply.status, 403)
        assert.match(reply.reason, NEEDED)
        assert.equal(await findUser('max'), 404, 'no user was created')
      }
      for (const claims of [MFA, { acr: 'gold' }]) {
        const { reply } = await signIn('open', { ...editor, ...claims })
        assert.deepEqual(reply, { status: 200, name: 'max', roles: ['writer'], linked: false })
      }
      const { reply } = await signIn('open', { ...editor, ...PASSWORD, roles: [] })
      assert.deepEqual(reply, { status: 200, name: 'max', roles: [], linked: false })
      assert.match((await signIn('linked', { sub: 'f-1', ...MFA })).reply.reason, NEEDED, 'nothing is configured')
    })

    it('leaves a password link unused', async () => {
      await server.cardea.users.create({ name: 'vic', password: null, roles: ['writer'] })
      const path = '/_cardea/api/users/vic'
      const invited = await send(server.document, { method: 'POST', path: `${path}/password-link`, headers: ADMIN })
      const token = JSON.parse(invited.body).url.split('/').at(-1)
      Object.assign(linked.state, { idToken: { sub: 'v-1' } })
      const browser = createClient(server.document)
      const both = { password_link: token, invitation: token }
      assert.equal((await browser.post('/providers/linked', both)).status, 400)
      const reply = await browser.finish('linked', await browser.visit('linked', { invitation: token }))
      assert.match(reply.reason, NEEDED)
      const { body } = await send(server.document, { path: `${path}/external-accounts`, headers: ADMIN })
      assert.deepEqual(JSON.parse(body).accounts, [])
      const find = { method: 'POST', path: '/_cardea/api/password-links/find', body: { token } }
      assert.equal((await send(server.document, find)).status, 200)
      Object.assign(linked.state, { idToken: {} })
    })

    it('opens a session that needs no second factor here, also for the web interface of ArangoDB', async () => {
      const user = { sub: 'm-2', preferred_username: 'mona', roles: ['editor'], ...MFA }
      const { browser } = await signIn('open', user)
      const signedInBy = Math.floor(Date.now() / 1000)
      const cookie = { Cookie: `AuthSession=${browser.cookies.get('AuthSession') ?? ''}` }
      assert.equal((await send(server.document, { path: '/_gate', headers: cookie })).status, 204)
      // the time of the token must differ from that of the sign-in
      await waitUntil(() => Math.floor(Date.now() / 1000) > signedInBy)
      const page = { method: 'POST', path: `${PAGE}/token`, headers: cookie, body: {} }
      const { jwt } = JSON.parse((await send(server.multiModel, page)).body)
      assert.deepEqual((await useToken(jwt, 'mona')).statuses, [200, 200])
      const claims = JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url').toString())
      assert.ok(claims.exp <= signedInBy + 1000, 'the token does not outlive max_lifetime')
    })

    for (const [user, member] of [
      ['without a second factor here', {}],
      ['with a second factor here', { totp: { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' } }],
    ] as const)
      it(`loses, ${user}, the sessions that a provider opened without one when it gets the role`, async () => {
        const name = `gus${Object.keys(member).length}`
        const path = `/_users/org.couchdb.user:${name}`
        const change = async (values: object) => {
          const user = JSON.parse((await send(server.document, { path, headers: ADMIN })).body)
          const put = { method: 'PUT', path, headers: ADMIN, body: { ...user, ...values } }
          assert.equal((await send(server.document, put)).status, 201)
        }
        const open = () => signIn('open', { sub: name, preferred_username: name, roles: [], ...PASSWORD })
        await open()
        await change(member)
        const { browser } = await open()
        const headers = { Cookie: `AuthSession=${browser.cookies.get('AuthSession') ?? ''}` }
        const page = { method: 'POST', path: `${PAGE}/token`, headers, body: {} }
        const { jwt } = JSON.parse((await send(server.multiModel, page)).body)
        const ask = async () => [
          (await send(server.document, { path: '/_gate', headers })).status,
          (await useToken(jwt, name)).statuses[1],
        ]
        assert.deepEqual(await ask(), [204, 200])
        await change({ roles: ['writer'] })
        assert.deepEqual(await ask(), [401, 401])
        await change({ roles: [] })
        assert.deepEqual(await ask(), [204, 200])
      })

    it('is refused with a token, unless the provider says that it asked for one', async () => {
      const rows: readonly [token: string, roles?: readonly string[]][] = [
        [linked.signToken({ sub: 'f-1', ...MFA })],
        [creating.signToken({ sub: 'm-3', preferred_username: 'mo', roles: ['editor'], ...PASSWORD })],
        [creating.signToken({ sub: 'm-3', preferred_username: 'mo', roles: ['editor'], ...MFA }), ['writer']],
        [creating.signToken({ sub: 'm-3', preferred_username: 'mo', roles: [], ...PASSWORD }), []],
        [asserting.signToken({ sub: 's-1', roles: ['boss'], ...PASSWORD })],
        [asserting.signToken({ sub: 's-1', roles: ['boss'], ...MFA }), ['chief']],
      ]
      for (const [index, [token, roles]] of rows.entries()) {
        const found = await useToken(token, 'mo')
        assert.deepEqual(found.roles, roles, String(index))
        if (roles === undefined) assert.match(found.reason, NEEDED)
        if (index === 1) assert.equal(await findUser('mo'), 404, 'no user was created')
        assert.equal(found.statuses[1] === 401, roles === undefined, String(index))
      }
    })
  })

  const documents: readonly [name: string, change: object, status?: number][] = [
    ['without authorization_endpoint', { authorization_endpoint: undefined }],
    ['with a number as authorization_endpoint', { authorization_endpoint: 5 }],
    ['with authorization_endpoint not https', { authorization_endpoint: 'javascript:alert(1)' }],
    ['without token_endpoint', { token_endpoint: undefined }],
    ['with a number as list of methods', { token_endpoint_auth_methods_supported: 5 }],
    ['with a wrong end_session_endpoint', { end_session_endpoint: 'javascript:alert(1)' }, 200],
  ]
  it('is 503 while the provider cannot be reached, or its discovery document is wrong', async (t) => {
    const provider = await startProvider(t)
    const sections = ['late', ...documents.keys()].map((name) => [
      `provider:p${name}`,
      // no two providers may have the same issuer
      { issuer: `${provider.issuer}/${name}`, discovery: provider.issuer, ...client },
    ])
    const { document: url } = await startServer(t, {
      console: { 'public-url': PUBLIC_URL },
      ...Object.fromEntries(sections),
    })
    provider.state.isDown = true
    assert.equal((await createClient(url).post('/providers/plate')).status, 503)
    provider.state.isDown = false
    for (const [index, [name, change, status = 503]] of documents.entries()) {
      provider.state.discovery = { issuer: `${provider.issuer}/${index}`, ...change }
      assert.equal((await createClient(url).post(`/providers/p${index}`)).status, status, name)
    }
    assert.equal((await createClient(url).post(`/providers/p${documents.length - 1}/sign-out`)).url, null)
  })
})
