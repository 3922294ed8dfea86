// The calls of the client that send messages, at a door and at the routes of a program.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createClient } from '../../client/src/index.ts'
import { account } from '../../src/express.ts'
import { express, serve } from '../scenario/library/server.ts'
import { startMailServer, tokenOf } from '../support/mail.ts'
import type { Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'

async function open(t: Scope, mail: AnyOptions[string] = {}) {
  const mailServer = await startMailServer(t)
  const server = await startServer(t, {
    mail: { url: mailServer.url, from: 'no-reply@shop.example', 'mailbox-requests-per-hour': 2, ...mail },
    console: { 'public-url': 'https://db.example.com' },
    auth: { 'min-password-length': 4 },
  })
  await server.cardea.users.create({ name: 'ada', password: 'analytical' })
  return { mailServer, server }
}

const WAYS: Readonly<
  Record<string, (t: Scope, server: Awaited<ReturnType<typeof open>>['server']) => Promise<Client>>
> = {
  'the cookie of a door': async (_t, { document }) => createClient({ url: document }),
  'tokens at the other door': async (_t, { multiModel }) => createClient({ url: multiModel, credential: 'token' }),
  'the routes of a program': async (t, { cardea }) => {
    const app = express()
    app.use('/account', account(cardea))
    return createClient({ url: await serve(t, app), account: '/account' })
  },
}

for (const [way, openClient] of Object.entries(WAYS))
  test(`adds an address and replaces a forgotten password: ${way}`, async (t) => {
    const { mailServer, server } = await open(t)
    const client = await openClient(t, server)
    t.after(() => client.close())
    await client.signIn({ name: 'ada', password: 'analytical' })
    assert.equal((await client.changeAddress('ada')).status, 'rejected')
    assert.deepEqual(await client.changeAddress('ada@example.com'), { status: 'requested' })
    const confirmation = tokenOf(await mailServer.take('ada@example.com'))
    assert.deepEqual(await client.confirmAddress('wrong'), { status: 'invalid_link' })
    assert.deepEqual(await client.confirmAddress(confirmation), { status: 'confirmed' })
    await client.signOut()
    assert.deepEqual(await client.requestPasswordReset('ada@example.com'), { status: 'requested' })
    const reset = tokenOf(await mailServer.take('ada@example.com'))
    assert.equal((await client.confirmPasswordReset(reset, 'abc')).status, 'rejected')
    assert.deepEqual(await client.confirmPasswordReset(reset, 'difference'), { status: 'confirmed' })
    assert.deepEqual(await client.confirmPasswordReset(reset, 'difference'), { status: 'invalid_link' })
    assert.equal((await client.signIn({ name: 'ada', password: 'difference' })).status, 'signed_in')
    const locked = await client.requestPasswordReset('ada@example.com')
    assert.equal(locked.status, 'locked')
  })

for (const [way, openClient] of Object.entries(WAYS))
  test(`signs up with an address, replaces the password when it is forgotten, and signs in by address: ${way}`, async (t) => {
    const { mailServer, server } = await open(t, { 'sign-up': 'verified', 'sign-in': 'verified' })
    const client = await openClient(t, server)
    t.after(() => client.close())
    const address = 'grace@example.com'
    assert.deepEqual(await client.requestSignUp('grace', address), { status: 'requested' })
    const token = tokenOf(await mailServer.take(address))
    assert.equal((await client.confirmSignUp(token, 'abc')).status, 'rejected')
    assert.deepEqual(await client.confirmSignUp(token, 'analytical'), { status: 'confirmed' })
    assert.deepEqual(await client.confirmSignUp(token, 'analytical'), { status: 'invalid_link' })
    assert.equal((await client.signIn({ name: address, password: 'analytical' })).status, 'signed_in')
    assert.equal((await client.session())?.name, 'grace')
    await client.signOut()
    assert.deepEqual(await client.requestPasswordReset(address), { status: 'requested' })
    const reset = tokenOf(await mailServer.take(address))
    assert.deepEqual(await client.confirmPasswordReset(reset, 'difference'), { status: 'confirmed' })
    assert.equal((await client.signIn({ name: address, password: 'analytical' })).status, 'wrong_password')
    assert.equal((await client.signIn({ name: address, password: 'difference' })).status, 'signed_in')
    assert.equal((await client.session())?.name, 'grace')
  })

test('a program that uses the library does the same', async (t) => {
  const { mailServer, server } = await open(t)
  const { mail, users } = server.cardea
  await mail.requestAddress('ada', 'ada@example.com')
  const confirmation = tokenOf(await mailServer.take('ada@example.com'))
  assert.deepEqual(await mail.confirmAddress(confirmation), { name: 'ada', address: 'ada@example.com' })
  await assert.rejects(mail.confirmAddress(confirmation), { code: 'not_found' })
  await mail.requestPasswordReset('ada@example.com')
  const reset = tokenOf(await mailServer.take('ada@example.com'))
  await assert.rejects(mail.confirmPasswordReset(reset, 'abc'), { code: 'password_refused' })
  assert.equal(await mail.confirmPasswordReset(reset, 'difference'), 'ada')
  assert.equal((await users.checkPassword('ada', 'difference')).status, 'verified')
  await assert.rejects(mail.requestPasswordReset('ada@example.com'), { code: 'too_many_requests' })
  await mail.invite({ address: 'bob@example.com', name: 'bob', roles: ['reader'], grants: { shop: 'ro' } })
  assert.equal((await mailServer.take('bob@example.com')).subject?.startsWith('Your invitation'), true)
  await assert.rejects(mail.invite({ address: 'ada@example.com' }), { code: 'conflict' })
  await mail.setAddress('ada', null)
  await mail.invite({ address: 'ada@example.com' })
  await mailServer.take('ada@example.com')
})
