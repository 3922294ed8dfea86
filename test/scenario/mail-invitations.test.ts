// Invitations: an administrator decides about rights, the invited person about the password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokenOf } from '../support/mail.ts'
import { ACCOUNT, API, errorOf, startMailClient } from '../support/mail-client.ts'
import { AS_ADMIN } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'

const client = await startMailClient(createSharedScope(), { admin: { 'user-admin-role': 'helpdesk' } })
const { ask, addUser, mailServer, server, countMails, settle } = client

const invite = (body: object, as = AS_ADMIN) => ask({ as, path: `${API}/invitations`, body })
const find = (token: string) => ask({ path: `${ACCOUNT}/invitation/find`, body: { token } })
const accept = (token: string, more: object) => ask({ path: `${ACCOUNT}/invitation/accept`, body: { token, ...more } })
const list = async () => (await ask({ as: AS_ADMIN, method: 'GET', path: `${API}/invitations` })).json.invitations
const remove = (address: string) =>
  ask({ as: AS_ADMIN, method: 'DELETE', path: `${API}/invitations/${encodeURIComponent(address)}` })

const takeToken = async (address: string) => tokenOf(await mailServer.take(address))

describe('an invitation', () => {
  it('creates the user with the rights that were decided before, and the address, once', async () => {
    const grants = [{ database: 'shop', level: 'ro' }]
    const asked = await invite({ address: 'Ada@example.com', name: 'ada', roles: ['reader'], grants })
    assert.deepEqual(asked.json, { requested: true })
    const mail = await mailServer.take('Ada@example.com')
    assert.equal(mail.subject, 'Your invitation to Shop')
    assert.match(mail.text ?? '', /within 7 days/)
    const token = tokenOf(mail)
    const found = (await find(token)).json
    assert.deepEqual([found.name, found.address], ['ada', 'Ada@example.com'])
    assert.equal((await accept(token, { name: 'eve', password: 'first' })).status, 400, 'the name is decided')
    assert.deepEqual(errorOf(await accept(token, { password: 'abc' })), [400, 'password_refused'])
    assert.deepEqual((await accept(token, { password: 'first' })).json, { name: 'ada', address: 'Ada@example.com' })
    assert.deepEqual(errorOf(await accept(token, { password: 'first' })), [404, 'not_found'])
    const user = (await ask({ as: AS_ADMIN, method: 'GET', path: `${API}/users/ada` })).json
    assert.deepEqual(
      [user.roles, user.grants, user.address],
      [['reader'], { shop: { level: 'ro' } }, 'Ada@example.com'],
    )
    assert.equal(await client.showAddress('ada'), 'Ada@example.com')
    assert.ok(!JSON.stringify(server.log).includes(token))
  })

  it('without a name lets the person choose one that is free', async () => {
    await addUser('bob')
    await invite({ address: 'bo@example.com' })
    const token = await takeToken('bo@example.com')
    assert.equal((await find(token)).json.name, null)
    assert.equal((await accept(token, { password: 'first' })).status, 400)
    assert.deepEqual(errorOf(await accept(token, { name: 'bob', password: 'first' })), [409, 'conflict'])
    assert.equal((await accept(token, { name: 'bo', password: 'first' })).json.name, 'bo')
  })

  it('needs a password where no provider is open', async () => {
    await invite({ address: 'ben@example.com', name: 'ben' })
    assert.equal((await accept(await takeToken('ben@example.com'), {})).status, 400)
  })

  it('is listed until it is used, and ends when it is withdrawn or sent again', async () => {
    await invite({ address: 'cleo@example.com', name: 'cleo', roles: ['reader'] })
    const first = await takeToken('cleo@example.com')
    const [{ expiresAt, ...shown }] = (await list()).filter(({ name }: { name: string }) => name === 'cleo')
    assert.deepEqual(shown, { address: 'cleo@example.com', name: 'cleo', roles: ['reader'], grants: [] })
    assert.ok(expiresAt > Date.now() / 1000 + 6 * 86_400)
    await invite({ address: 'cleo@example.com', name: 'cleo' })
    const second = await takeToken('cleo@example.com')
    assert.deepEqual(errorOf(await find(first)), [404, 'not_found'])
    assert.equal((await remove('CLEO@example.com')).status, 200)
    assert.deepEqual(errorOf(await accept(second, { password: 'first' })), [404, 'not_found'])
    assert.deepEqual(errorOf(await remove('cleo@example.com')), [404, 'not_found'])
  })

  it('and a link to verify are not counted with what strangers ask for the same mailbox', async () => {
    await addUser('gus')
    for (const _ of [1, 2, 3]) assert.equal((await client.forget('gia@example.com')).status, 200)
    assert.deepEqual(errorOf(await client.forget('gia@example.com')), [429, 'too_many_requests'])
    assert.equal((await invite({ address: 'gia@example.com' })).status, 200)
    const path = `${API}/users/gus/address`
    assert.equal((await ask({ as: AS_ADMIN, path, body: { address: 'gia@example.com' } })).status, 200)
    assert.equal((await invite({ address: 'gil@example.com' })).status, 200)
    for (const _ of [1, 2, 3]) assert.equal((await client.forget('gil@example.com')).status, 200)
  })

  it('is refused for an address or a name that is taken, for invalid rights, and by user administrators', async () => {
    await addUser('dan', 'dan@example.com')
    await addUser('hel', undefined, { roles: ['helpdesk'] })
    assert.deepEqual(errorOf(await invite({ address: 'DAN@example.com' })), [409, 'conflict'])
    assert.deepEqual(errorOf(await invite({ address: 'd2@example.com', name: 'dan' })), [409, 'conflict'])
    assert.deepEqual(errorOf(await invite({ address: 'd2@example.com', name: 'admin' })), [409, 'conflict'])
    assert.equal((await invite({ address: 'd2@example.com', roles: ['_admin'] })).status, 400)
    assert.equal((await invite({ address: 'no address' })).status, 400)
    assert.equal((await invite({ address: 'd2@example.com' }, 'hel:first')).status, 403)
    await settle()
    assert.equal(countMails('d2@example.com'), 0)
  })

  it('does not become that of a person who got the address or the name meanwhile', async () => {
    await invite({ address: 'eli@example.com', name: 'eli' })
    const token = await takeToken('eli@example.com')
    await addUser('max', 'eli@example.com')
    assert.deepEqual(errorOf(await accept(token, { password: 'first' })), [409, 'conflict'])
    await invite({ address: 'fay@example.com', name: 'fay' })
    const other = await takeToken('fay@example.com')
    await addUser('fay')
    assert.deepEqual(errorOf(await accept(other, { password: 'other' })), [409, 'conflict'])
  })
})
