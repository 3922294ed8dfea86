// Roles that identity providers give: they count with the credentials of that provider alone, and cannot be borrowed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AUDIENCE, CLIENT, CLIENT_SECRET, startProvider } from '../support/provider.ts'
import { createBrowser, PUBLIC_URL } from '../support/provider-browser.ts'
import { ADMIN, basic, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const work = await startProvider(scope)
const club = await startProvider(scope)
const client = { audience: AUDIENCE, 'client-id': CLIENT, 'client-secret': CLIENT_SECRET }
const roles = { 'roles-claim': 'roles', users: 'create' }
const { document, multiModel, cardea, takeEvents } = await startServer(scope, {
  console: { 'public-url': PUBLIC_URL },
  admin: { 'user-admin-role': 'helpers', 'second-factor-roles': 'chief' },
  'provider:work': { issuer: work.issuer, ...client, ...roles, 'role-map': 'money=finance, boss=chief' },
  'provider:club': { issuer: club.issuer, ...client, ...roles, 'role-map': 'member=reader, money=finance' },
})
const PASSWORD = 'correct horse 1'
const API = '/_cardea/api/users'

await cardea.users.create({ name: 'helper', password: PASSWORD, roles: ['helpers'] })
const HELPER = { Authorization: basic('helper', PASSWORD) }

const toLink = (provider: { issuer: string }, subject: string) => ({
  provider: provider === work ? 'work' : 'club',
  issuer: provider.issuer,
  subject,
})

const link = (name: string, account: object, headers = ADMIN): Promise<Reply> =>
  send(document, { method: 'POST', path: `${API}/${name}/external-accounts`, headers, body: account })

/** Signs in at the provider. The session is that of the document door. */
async function signIn(provider: 'work' | 'club', idToken: object) {
  Object.assign((provider === 'work' ? work : club).state, { idToken })
  const browser = createBrowser(document)
  const reply = await browser.finish(provider, await browser.visit(provider))
  assert.equal(reply.status, 200, JSON.stringify(reply))
  return { browser, roles: reply.roles }
}

const rolesOf = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
  (await send(document, { path: '/_session', headers })).json.userCtx.roles

async function signInWithPassword(name: string, password = PASSWORD) {
  const body = { name, password }
  const reply = await send(document, { method: 'POST', path: '/_session', body })
  return { Cookie: reply.header('set-cookie')?.split(';')[0] ?? '' }
}

describe('roles that a provider gives', () => {
  it('do not count with a password, its sessions or an access token of the same user', async () => {
    await cardea.users.create({ name: 'bob', password: PASSWORD, roles: ['own'] })
    await link('bob', toLink(work, 'cfo'))
    const before = await signInWithPassword('bob')
    const { browser, roles } = await signIn('work', { sub: 'cfo', roles: ['money'] })
    assert.deepEqual(roles, ['own', 'finance'])
    assert.deepEqual(await rolesOf(browser.session()), ['own', 'finance'])
    const Authorization = basic('bob', PASSWORD)
    const created = await send(multiModel, {
      method: 'POST',
      path: '/_api/token/bob',
      headers: { Authorization },
      body: { name: 'job', valid_until: Math.floor(Date.now() / 1000) + 3600 },
    })
    const opened = await send(multiModel, {
      method: 'POST',
      path: '/_open/auth',
      body: { username: 'bob', password: PASSWORD },
    })
    const others = {
      'a session opened before': before,
      'a session opened after': await signInWithPassword('bob'),
      Basic: { Authorization },
      'a token of the multi-model door': { Authorization: `Bearer ${opened.json.jwt}` },
      'an access token': { Authorization: basic('bob', created.json.token) },
      'a session opened with an access token': await signInWithPassword('bob', created.json.token),
    }
    for (const [name, headers] of Object.entries(others)) assert.deepEqual(await rolesOf(headers), ['own'], name)
  })

  it('do not count in sessions and tokens of another provider', async () => {
    await cardea.users.create({ name: 'two', password: PASSWORD })
    await link('two', toLink(work, 'two'))
    await link('two', toLink(club, 'two'))
    const atWork = await signIn('work', { sub: 'two', roles: ['money'] })
    const atClub = await signIn('club', { sub: 'two', roles: ['member'] })
    assert.deepEqual([atWork.roles, atClub.roles], [['finance'], ['reader']])
    assert.deepEqual(await rolesOf(atWork.browser.session()), ['finance'])
    assert.deepEqual(await rolesOf(atClub.browser.session()), ['reader'])
    const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
    assert.deepEqual(await rolesOf(bearer(work.signToken({ sub: 'two', roles: ['money'] }))), ['finance'])
    assert.deepEqual(await rolesOf(bearer(club.signToken({ sub: 'two', roles: ['member'] }))), ['reader'])
    assert.deepEqual(await rolesOf(bearer(club.signToken({ sub: 'two' }))), [])
  })

  it('do not count in sessions of another account at the same provider', async () => {
    await cardea.users.create({ name: 'twin', password: PASSWORD })
    await link('twin', toLink(work, 'first'))
    await link('twin', toLink(work, 'second'))
    const first = await signIn('work', { sub: 'first', roles: ['money'] })
    const second = await signIn('work', { sub: 'second', roles: [] })
    assert.deepEqual(await rolesOf(first.browser.session()), ['finance'])
    assert.deepEqual(await rolesOf(second.browser.session()), [])
  })

  it('count with the token for the web interface of ArangoDB, which a session of the provider makes', async () => {
    const { browser } = await signIn('work', { sub: 'web', preferred_username: 'wanda', roles: ['money'] })
    const page = { method: 'POST', path: '/_cardea/sign-in/token', headers: browser.session(), body: {} }
    const { jwt } = (await send(multiModel, page)).json
    assert.deepEqual(await rolesOf({ Authorization: `Bearer ${jwt}` }), ['finance'])
    const path = '/_cardea/account'
    const shown = await send(document, { path, headers: browser.session() })
    assert.deepEqual(shown.json.roles, ['finance'], 'the user sees what the session may do')
  })

  it('follow the last sign-in, and end with the link', async () => {
    const claims = { sub: 'leaver', preferred_username: 'lena' }
    const { browser } = await signIn('work', { ...claims, roles: ['money'] })
    await signIn('work', { ...claims, roles: [] })
    assert.deepEqual(await rolesOf(browser.session()), [])
    await signIn('work', { ...claims, roles: ['money'] })
    assert.deepEqual(await rolesOf(browser.session()), ['finance'])
    const path = `${API}/lena/external-accounts`
    const { id } = (await send(document, { path, headers: ADMIN })).json.accounts[0]
    await send(document, { method: 'DELETE', path: `${path}/${id}`, headers: ADMIN })
    assert.equal((await browser.userOf()).name, null)
  })

  it('need no second factor here: the password does not have them', async () => {
    await cardea.users.create({ name: 'boss', password: PASSWORD })
    await link('boss', toLink(work, 'boss'))
    work.state.idToken = { sub: 'boss', roles: ['boss'] }
    const browser = createBrowser(document)
    assert.match((await browser.finish('work', await browser.visit('work'))).reason, /needs a second factor/)
    assert.equal((await send(document, { path: '/_gate', headers: await signInWithPassword('boss') })).status, 204)
  })
})

describe('linking an external account by its id', () => {
  it('is for administrators: a user administrator learns what to do instead', async () => {
    await cardea.users.create({ name: 'carl', password: PASSWORD })
    const reply = await link('carl', toLink(work, 'c-1'), HELPER)
    assert.equal(reply.status, 403)
    assert.match(reply.json.reason, /password link/)
    const path = `${API}/carl/external-accounts`
    assert.deepEqual((await send(document, { path, headers: HELPER })).json.accounts, [])
    takeEvents()
    assert.equal((await link('carl', toLink(work, 'c-1'))).status, 200)
    const linked = takeEvents().find(({ event }) => event === 'external-account.linked')
    assert.deepEqual([linked?.['subject'], linked?.['account'], linked?.['actor']], ['carl', 'c-1', 'admin'])
  })
})
