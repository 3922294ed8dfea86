// Users who have removed their password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { createPasskeyUsers, openByPasskey } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), { passkeys: {} })
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

it('a user with one passkey keeps the password, unless there is an account at a provider', async () => {
  const { device } = await addPasskey(await addUser('one'))
  const { call, sign } = await openByPasskey(url, device)
  assert.deepEqual(errorOf(await call('DELETE', PATH, await sign(`DELETE ${PATH}`))), [409, 'conflict'])
  const { json } = await ask(AS_ADMIN, 'GET', '/transfer/users?format=cardea')
  const { user } = JSON.parse(json.users.find((each: { name: string }) => each.name === 'one').text)
  const links = [{ issuer: 'https://id.example', subject: '7', provider: 'id', linkedAt: 1 }]
  const imported = await ask(AS_ADMIN, 'POST', '/transfer/users', { users: [{ ...user, links }], replace: true })
  assert.equal(imported.json.outcomes[0].kind, 'replaced')
  assert.equal((await call('DELETE', PATH, await sign(`DELETE ${PATH}`))).status, 200)
})

it('an administrator keeps the password', async () => {
  const { device } = await addPasskey(AS_ADMIN)
  await addPasskey(AS_ADMIN)
  await addUser('admin-twin')
  const { call, sign } = await openByPasskey(url, device)
  assert.deepEqual(errorOf(await call('DELETE', PATH, await sign(`DELETE ${PATH}`))), [404, 'not_found'])
})
