// A passkey that signs one request in place of the current password.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { createAuthenticator, type Tampering } from '../support/authenticator.ts'
import { createPasskeyUsers, openByPasskey } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), { admin: { 'second-factor-roles': 'staff' } })
const url = server.document
const { ask, addUser, openBrowser } = createAccounts(url)
const { addPasskey, signIn, signWith, origin } = createPasskeyUsers(url)

/** A user with a passkey, in a session that the passkey has opened. */
async function openUser(name: string, more: object = {}) {
  const { device, reply } = await addPasskey(await addUser(name, more))
  return { device, id: reply.json.passkeys[0].id, ...(await openByPasskey(url, device)) }
}

describe('a passkey that has signed a request', () => {
  it('replaces the current password in every operation that asks for it', async () => {
    const { call, sign } = await openUser('ada')
    const asks = async (method: string, path: string, body: object = {}) => {
      assert.deepEqual(errorOf(await call(method, path, body)), NEEDS_PASSWORD, path)
      return call(method, path, { ...body, ...(await sign(`${method} ${path}`)) })
    }
    assert.equal((await asks('POST', '/account/totp')).status, 200)
    assert.equal((await asks('POST', '/account/passkeys/options')).status, 200)
    const token = await asks('POST', '/account/tokens', { name: 'ci', expires: '2099-01-01' })
    assert.equal(token.status, 200, token.body)
    assert.equal((await asks('DELETE', `/account/tokens/ci`)).status, 200)
    const changed = await asks('PUT', '/account/password', { password: 'another long one' })
    assert.equal(changed.status, 200, changed.body)
    assert.equal((await signIn({ name: 'ada', password: 'another long one' })).status, 200)
  })

  it('ends the sessions of all browsers with a sign-out', async () => {
    const { device, call } = await openUser('out')
    const opened = await signIn({ passkey: await signWith(device) })
    const headers = { Cookie: (opened.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    const post = (path: string, body: object) =>
      send(url, { method: 'POST', path: `/_cardea/account/${path}`, headers, body })
    const signOut = (more: object = {}) => post('sign-out', { everywhere: true, ...more })
    const sign = async (request: string) => {
      const { json } = await post('passkeys/proof-options', { request })
      return { current_passkey: device.sign(json.options) }
    }
    assert.deepEqual(errorOf(await signOut()), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await signOut(await sign('POST /account/totp'))), NEEDS_PASSWORD)
    assert.equal((await call('GET', '/account/sessions')).json.sessions.length, 2)
    const ended = await signOut(await sign('POST /account/sign-out'))
    assert.equal(ended.status, 200, ended.body)
    assert.equal((await call('GET', '/account/sessions')).status, 401)
  })

  it('ends other sessions of an administrator in the list of all', async () => {
    await ask(AS_ADMIN, 'POST', '/administrators', { name: 'ayn', password: PASSWORD })
    const { device } = await addPasskey(`ayn:${PASSWORD}`)
    const { call, sign } = await openByPasskey(url, device)
    await openByPasskey(url, device)
    const { sessions } = (await call('GET', '/account/sessions')).json
    const ids = sessions
      .filter(({ isCurrent }: { isCurrent: boolean }) => !isCurrent)
      .map(({ id }: { id: string }) => id)
    assert.deepEqual(errorOf(await call('POST', '/sessions/end', { ids })), NEEDS_PASSWORD)
    const ended = await call('POST', '/sessions/end', { ids, ...(await sign('POST /sessions/end')) })
    assert.deepEqual(ended.json, { endedSessions: 1 })
  })

  it('adds a further passkey without the password', async () => {
    const { call, sign } = await openUser('abe')
    const asked = await call('POST', '/account/passkeys/options', await sign('POST /account/passkeys/options'))
    const response = createAuthenticator(origin).create(asked.json.options)
    const added = await call('POST', '/account/passkeys', { label: 'second', response })
    assert.deepEqual([added.status, added.json.passkeys.length], [200, 2], added.body)
  })

  it('removes a passkey, and the new session of the page still proves no password', async () => {
    const { refresh, device, id, call, sign } = await openUser('amy')
    await addPasskey(`amy:${PASSWORD}`)
    const path = `/account/passkeys/${id}`
    const removed = await call('DELETE', path, await sign(`DELETE ${path}`, { id: device.held[0]?.id ?? '' }))
    assert.equal(removed.status, 200, removed.body)
    await refresh()
    assert.deepEqual(errorOf(await call('POST', '/account/totp')), NEEDS_PASSWORD)
  })

  it('is accepted in an older session of the password', async () => {
    const { device } = await addPasskey(await addUser('old'))
    const { call } = await openBrowser('old')
    const { options } = (await call('POST', '/account/passkeys/proof-options', { request: 'PUT /account/password' }))
      .json
    const body = { password: 'another long one', current_passkey: device.sign(options) }
    assert.equal((await call('PUT', '/account/password', body)).status, 200)
  })

  it('need not say whose it is: it was chosen among those of the account', async () => {
    const { call, sign } = await openUser('anon')
    assert.equal(
      (await call('POST', '/account/totp', await sign('POST /account/totp', { userHandle: '' }))).status,
      200,
    )
  })
})

describe('what a passkey has signed is refused', () => {
  const ROWS: Readonly<Record<string, { readonly request?: string; readonly change?: Tampering }>> = {
    'for another operation': { request: 'DELETE /account/totp' },
    'for another path': { request: 'POST /account/totp/confirm' },
    'on another page': { change: { origin: 'https://evil.example' } },
    'in a frame of another page': { change: { crossOrigin: true } },
    'as another user': { change: { userHandle: Buffer.from('another').toString('base64url') } },
    'without the verification of its user': { change: { isVerified: false } },
  }
  for (const [name, { request = 'POST /account/totp', change = {} }] of Object.entries(ROWS))
    it(name, async () => {
      const { call, sign } = await openUser(`refused ${name}`)
      assert.deepEqual(errorOf(await call('POST', '/account/totp', await sign(request, change))), NEEDS_PASSWORD)
    })

  it('a second time', async () => {
    const { call, sign } = await openUser('twice')
    const proof = await sign('POST /account/totp')
    assert.equal((await call('POST', '/account/totp', proof)).status, 200)
    assert.deepEqual(errorOf(await call('POST', '/account/totp', proof)), NEEDS_PASSWORD)
  })

  it('for a sign-in, for another session, or by a passkey of another user', async () => {
    const { device, call, sign } = await openUser('mine')
    const other = await openUser('other')
    const second = await openByPasskey(url, device)
    const proofs = [
      { current_passkey: await signWith(device) },
      await second.sign('POST /account/totp'),
      await other.sign('POST /account/totp'),
    ]
    const { options } = (await call('POST', '/account/passkeys/proof-options', { request: 'POST /account/totp' })).json
    proofs.push({ current_passkey: other.device.sign(options) })
    for (const proof of proofs) assert.deepEqual(errorOf(await call('POST', '/account/totp', proof)), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await signIn({ passkey: (await sign('POST /account/totp')).current_passkey })), [
      401,
      'credential_refused',
    ])
  })

  it('as a form that is none', async () => {
    const { call } = await openUser('forms')
    for (const current_passkey of [{}, { id: 'x', response: {} }])
      assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_passkey })), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_passkey: 'x' })), [400, 'bad_request'])
    assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_password: 'wrong' })), NEEDS_PASSWORD)
  })

  it('longer ago than admin.reauthenticate-after', async (t) => {
    const { document } = await startServer(t, { admin: { 'reauthenticate-after': 1 } })
    const users = createAccounts(document)
    const { device } = await createPasskeyUsers(document).addPasskey(await users.addUser('late'))
    const { call, sign } = await openByPasskey(document, device)
    const proof = await sign('POST /account/totp')
    // a session of the password that was opened after it is too old: twice, because the times are whole seconds
    for (const _time of [1, 2]) {
      const session = await users.openBrowser('late')
      while ((await session.call('POST', '/account/totp', {})).status === 200);
    }
    assert.deepEqual(errorOf(await call('POST', '/account/totp', proof)), NEEDS_PASSWORD)
    assert.equal((await call('POST', '/account/totp', await sign('POST /account/totp'))).status, 200)
  })

  it('with an access token or Basic, which have no session', async () => {
    const { device } = await addPasskey(await addUser('basic'))
    const body = { request: 'POST /account/totp' }
    assert.deepEqual(errorOf(await ask(`basic:${PASSWORD}`, 'POST', '/account/passkeys/proof-options', body)), [
      403,
      'forbidden',
    ])
    const { call } = await openByPasskey(url, device)
    assert.deepEqual(errorOf(await call('POST', '/account/passkeys/proof-options')), [400, 'bad_request'])
    await addUser('none')
    const without = await openBrowser('none')
    assert.deepEqual(errorOf(await without.call('POST', '/account/passkeys/proof-options', body)), [409, 'conflict'])
  })
})

it('the last passkey that a role needs is removed with a passkey or by an administrator only', async () => {
  const { reply } = await addPasskey(await addUser('last', { roles: ['staff'] }))
  const [code] = reply.json.recoveryCodes
  const path = `/account/passkeys/${reply.json.passkeys[0].id}`
  const { call } = await openBrowser('last', { code })
  const refused = await call('DELETE', path, { current_password: PASSWORD })
  assert.deepEqual(errorOf(refused), NEEDS_PASSWORD)
  assert.match(refused.json.reason, /last one/)
  const owner = await openUser('owner', { roles: ['staff'] })
  const own = `/account/passkeys/${owner.id}`
  assert.equal((await owner.call('DELETE', own, await owner.sign(`DELETE ${own}`))).status, 200)
  assert.equal((await ask(AS_ADMIN, 'DELETE', path.replace('/account', '/users/last'))).status, 200)
})

it('an administrator cannot remove all passkeys with the password, even both at the same time', async () => {
  await addUser('chief', { roles: ['staff'] })
  assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name: 'chief', password: PASSWORD })).status, 200)
  const { device, reply } = await addPasskey(`chief:${PASSWORD}`)
  const [code] = reply.json.recoveryCodes
  const { call } = await openBrowser('chief', { code })
  const { options } = (await call('POST', '/account/passkeys/options', { current_password: PASSWORD })).json
  const response = createAuthenticator(origin).create(options)
  assert.equal((await call('POST', '/account/passkeys', { label: 'second', response })).status, 200)
  const paths = [reply.json.passkeys[0].id, response.id].map((id) => `/users/chief/passkeys/${id}`)
  const proof = { current_password: PASSWORD }
  await Promise.all(paths.map((path) => call('DELETE', path, proof)))
  const left = (await ask(AS_ADMIN, 'GET', '/users/chief/passkeys')).json.passkeys
  assert.equal(left.length, 1)
  const again = await openBrowser('chief', { code: reply.json.recoveryCodes[1] })
  const path = `/users/chief/passkeys/${left[0].id}`
  assert.deepEqual(errorOf(await again.call('DELETE', path, proof)), NEEDS_PASSWORD)
  assert.equal((await ask(AS_ADMIN, 'DELETE', path)).status, 200)
  assert.equal(await signIn({ passkey: await signWith(device) }).then(({ status }) => status), 401)
})

describe('console.public-url, which decides where passkeys are used,', () => {
  const PATH = 'settings/console/public-url'
  const openServer = async (t: TestContext, options: Parameters<typeof startServer>[1]) => {
    const { document } = await startServer(t, options)
    const users = createAccounts(document)
    return { ...users, ...createPasskeyUsers(document), document }
  }

  it('is not changed by a request that makes passkeys unusable, which says how many', async (t) => {
    const { ask, addUser, addPasskey, document } = await openServer(t, {})
    const set = () => ask(AS_ADMIN, 'PUT', `/${PATH}`, { value: 'https://db.example.com' })
    await addPasskey(await addUser('ada'))
    await addPasskey(AS_ADMIN)
    const refused = await set()
    assert.deepEqual(errorOf(refused), [400, 'option_refused'])
    assert.match(refused.json.reason, /2 passkeys of localhost/)
    const preview = await ask(AS_ADMIN, 'POST', `/${PATH}/preview`, { value: 'https://db.example.com' })
    assert.match(preview.json.problems.join(), /2 passkeys of localhost/)
    const path = '/_node/_local/_config/console/public-url'
    const atDoor = await send(document, { method: 'PUT', path, as: AS_ADMIN, body: '"https://db.example.com"' })
    assert.match(atDoor.body, /2 passkeys of localhost/)
    for (const name of ['ada', 'admin']) {
      const { passkeys } = (await ask(AS_ADMIN, 'GET', `/users/${name}/passkeys`)).json
      assert.equal((await ask(AS_ADMIN, 'DELETE', `/users/${name}/passkeys/${passkeys[0].id}`)).status, 200)
    }
    assert.equal((await set()).status, 200)
  })

  it('is not changed by a request that lets other pages use them', async (t) => {
    const { ask, addUser, addPasskey } = await openServer(t, { passkeys: { 'rp-id': 'localhost' } })
    const set = (value: string) => ask(AS_ADMIN, 'PUT', `/${PATH}`, { value })
    assert.equal((await set('http://localhost:1')).status, 200)
    await addPasskey(await addUser('ada'))
    assert.deepEqual(errorOf(await set('http://other.localhost')), [400, 'option_refused'])
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'DELETE', `/${PATH}`)), [400, 'option_refused'])
    assert.equal((await set('http://localhost:1/console')).status, 200, 'the same origin')
  })
})
