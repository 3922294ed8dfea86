// Users who have removed their password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { createPasskeyUsers, openByPasskey } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), {
  'provider:id': { issuer: 'https://id.example', audience: 'cardea' },
})
const url = server.document
const { ask, addUser } = createAccounts(url)
const { addPasskey, signIn, signWith } = createPasskeyUsers(url)

const PATH = '/account/password'

/** A user with two passkeys, in a session of the first. */
async function openUser(name: string) {
  const as = await addUser(name)
  const { device, reply } = await addPasskey(as)
  const second = await addPasskey(as)
  return { as, device, second, id: reply.json.passkeys[0].id, ...(await openByPasskey(url, device)) }
}

describe('a user with two passkeys', () => {
  it('removes the password, which then opens nothing, and signs in with a passkey', async () => {
    const { as, device, call, sign, refresh } = await openUser('ada')
    const removed = await call('DELETE', PATH, await sign(`DELETE ${PATH}`))
    assert.deepEqual([removed.status, removed.json], [200, { hasPassword: false }], removed.body)
    assert.deepEqual(errorOf(await signIn({ name: 'ada', password: PASSWORD })), [401, 'credential_refused'])
    assert.deepEqual(errorOf(await signIn({ name: 'ada', password: '' })), [401, 'credential_refused'])
    assert.equal((await send(url, { path: '/_session', as })).status, 401)
    const body = { username: 'ada', password: PASSWORD }
    assert.equal((await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })).status, 401)
    assert.equal((await signIn({ passkey: await signWith(device) })).status, 200)
    await refresh()
    assert.equal((await call('GET', '/account')).json.hasPassword, false)
    const { json } = await ask(AS_ADMIN, 'GET', '/transfer/users?format=cardea')
    assert.doesNotMatch(json.users.find((user: { name: string }) => user.name === 'ada').text, /derived_key/)
  })

  it('proves changes with a passkey from then on, and can set a password again', async () => {
    const { call, sign, refresh } = await openUser('abe')
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    await refresh()
    assert.deepEqual(errorOf(await call('POST', '/account/totp')), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_password: PASSWORD })), NEEDS_PASSWORD)
    assert.equal((await call('POST', '/account/totp', await sign('POST /account/totp'))).status, 200)
    assert.deepEqual(errorOf(await call('PUT', PATH, { password: 'another long one' })), NEEDS_PASSWORD)
    const set = await call('PUT', PATH, { password: 'another long one', ...(await sign(`PUT ${PATH}`)) })
    assert.equal(set.status, 200, set.body)
    assert.equal((await signIn({ name: 'abe', password: 'another long one' })).status, 200)
  })

  it('removes it with a passkey only, and comes back with a link of an administrator', async () => {
    const { call, sign } = await openUser('amy')
    assert.deepEqual(errorOf(await call('DELETE', PATH)), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('DELETE', PATH, { current_password: PASSWORD })), NEEDS_PASSWORD)
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    const { json } = await ask(AS_ADMIN, 'POST', '/users/amy/password-link')
    const token = json.url.slice(json.url.lastIndexOf('/') + 1)
    assert.equal((await ask(undefined, 'POST', '/password-links/use', { token, password: PASSWORD })).status, 200)
    assert.equal((await signIn({ name: 'amy', password: PASSWORD })).status, 200)
  })

  it('keeps the last passkey while there is no password', async () => {
    const { call, sign, refresh, id, second } = await openUser('kim')
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    await refresh()
    const first = `/account/passkeys/${id}`
    assert.equal((await call('DELETE', first, await sign(`DELETE ${first}`))).status, 200)
    const { call: go, sign: prove } = await openByPasskey(url, second.device)
    const last = `/account/passkeys/${second.response.id}`
    assert.deepEqual(errorOf(await go('DELETE', last, await prove(`DELETE ${last}`))), [409, 'conflict'])
  })
})

const LINK = { issuer: 'https://id.example', subject: '7', provider: 'id', linkedAt: 1 }

/** Replaces a user by an import. */
async function change(name: string, change: (user: { passkeys: readonly object[] }) => object) {
  const { json } = await ask(AS_ADMIN, 'GET', '/transfer/users?format=cardea')
  const { user } = JSON.parse(json.users.find((each: { name: string }) => each.name === name).text)
  const users = [{ ...user, ...change(user) }]
  const imported = await ask(AS_ADMIN, 'POST', '/transfer/users', { users, replace: true })
  assert.equal(imported.json.outcomes[0].kind, 'replaced', imported.body)
}

it('a user with one passkey keeps the password, unless there is an account at a configured provider', async () => {
  const { device } = await addPasskey(await addUser('one'))
  const { call, sign } = await openByPasskey(url, device)
  const remove = async () => call('DELETE', PATH, await sign(`DELETE ${PATH}`))
  assert.deepEqual(errorOf(await remove()), [409, 'conflict'])
  await change('one', () => ({ links: [{ ...LINK, issuer: 'https://former.example' }] }))
  assert.deepEqual(errorOf(await remove()), [409, 'conflict'])
  await change('one', () => ({ links: [{ ...LINK }] }))
  assert.equal((await remove()).status, 200)
})

describe('a user without a password keeps', () => {
  it('the last passkey of the current host', async () => {
    const { call, sign, id, second } = await openUser('host')
    await change('host', ({ passkeys: [one, ...others] }) => ({
      passkeys: [one, ...others, { ...one, id: 'AAAA', publicKey: 'AAAA', rpId: 'former.example' }],
    }))
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    const { call: go, sign: prove, refresh } = await openByPasskey(url, second.device)
    const first = `/account/passkeys/${id}`
    assert.equal((await go('DELETE', first, await prove(`DELETE ${first}`))).status, 200)
    await refresh()
    const last = `/account/passkeys/${second.response.id}`
    assert.deepEqual(errorOf(await go('DELETE', last, await prove(`DELETE ${last}`))), [409, 'conflict'])
  })

  it('the last passkey, if the provider of the account is not configured', async () => {
    const { call, sign, id, second } = await openUser('former')
    await change('former', () => ({ links: [{ ...LINK, issuer: 'https://former.example', subject: '8' }] }))
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    const { call: go, sign: prove, refresh } = await openByPasskey(url, second.device)
    const first = `/account/passkeys/${id}`
    assert.equal((await go('DELETE', first, await prove(`DELETE ${first}`))).status, 200)
    await refresh()
    const last = `/account/passkeys/${second.response.id}`
    assert.deepEqual(errorOf(await go('DELETE', last, await prove(`DELETE ${last}`))), [409, 'conflict'])
    // an administrator may mean it
    assert.equal((await ask(AS_ADMIN, 'DELETE', last.replace('/account', '/users/former'))).status, 200)
  })

  it('one of two ways, when both are removed at the same time', async () => {
    const { call, sign, id, second } = await openUser('race')
    assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
    const sessions = [await openByPasskey(url, second.device), await openByPasskey(url, second.device)]
    const paths = [`/account/passkeys/${id}`, `/account/passkeys/${second.response.id}`]
    const proofs = await Promise.all(sessions.map(({ sign }, at) => sign(`DELETE ${paths[at]}`)))
    await Promise.all(sessions.map(({ call }, at) => call('DELETE', paths[at] ?? '', proofs[at])))
    assert.equal((await ask(AS_ADMIN, 'GET', '/users/race/passkeys')).json.passkeys.length, 1)
  })
})

it('an administrator keeps the password, and so does one who is a user of the name too', async () => {
  await addUser('twin')
  assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name: 'twin', password: PASSWORD })).status, 200)
  for (const as of [AS_ADMIN, `twin:${PASSWORD}`]) {
    const { device } = await addPasskey(as)
    await addPasskey(as)
    const { call, sign } = await openByPasskey(url, device)
    const removed = await call('DELETE', PATH, await sign(`DELETE ${PATH}`))
    assert.deepEqual(errorOf(removed), [409, 'conflict'])
    assert.match(removed.json.reason, /keep their password/)
  }
})
