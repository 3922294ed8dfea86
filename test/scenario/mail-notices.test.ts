// Messages about changes of an account, and their links "this was not me".
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { tokenOf } from '../support/mail.ts'
import { ACCOUNT, API, errorOf, startMailClient } from '../support/mail-client.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'

const client = await startMailClient(createSharedScope())
const { ask, addUser, changeAddress, countMails, forget, mailServer, server, settle, undo } = client

const setPassword = (name: string, password: string) =>
  ask({ as: AS_ADMIN, method: 'PUT', path: `${API}/users/${name}/password`, body: { password } })

const takeSubject = async (receiver: string) => (await mailServer.take(receiver)).subject

describe('a notice', () => {
  it('says that the password was changed, by the user, a link or an administrator', async () => {
    await addUser('ada', 'ada@example.com')
    const body = { password: 'second', current_password: 'first' }
    await ask({ as: 'ada:first', method: 'PUT', path: `${ACCOUNT}/password`, body })
    assert.equal(await takeSubject('ada@example.com'), 'Your password at Shop was changed')
    await setPassword('ada', 'third')
    assert.equal(await takeSubject('ada@example.com'), 'Your password at Shop was changed')
    await forget('ada@example.com')
    await client.confirmReset(tokenOf(await mailServer.take('ada@example.com')), 'fourth')
    assert.equal(await takeSubject('ada@example.com'), 'Your password at Shop was changed')
    const path = '/_users/org.couchdb.user:ada'
    const { _rev } = (await ask({ as: 'ada:fourth', method: 'GET', path })).json
    const document = { _rev, name: 'ada', password: 'fifth', roles: [], type: 'user' }
    assert.equal((await ask({ as: 'ada:fourth', method: 'PUT', path, body: document })).status, 201)
    assert.equal(await takeSubject('ada@example.com'), 'Your password at Shop was changed')
  })

  it('says that a second factor was removed', async () => {
    await addUser('bob', 'bob@example.com')
    const { secret } = (await ask({ as: 'bob:first', path: `${ACCOUNT}/totp`, body: {} })).json
    const totp = readTotp({ key: secret }) ?? assert.fail()
    const code = renderCode(totp, Math.floor(Date.now() / 30_000))
    const confirmed = await ask({ as: 'bob:first', path: `${ACCOUNT}/totp/confirm`, body: { secret, code } })
    assert.equal(confirmed.status, 200, confirmed.body)
    const removed = await ask({ as: AS_ADMIN, method: 'DELETE', path: `${API}/users/bob/totp` })
    assert.equal(removed.status, 200, removed.body)
    assert.equal(await takeSubject('bob@example.com'), 'A second factor of your account at Shop was removed')
  })

  it('says that an access token was created', async () => {
    await addUser('cleo', 'cleo@example.com')
    await ask({ as: 'cleo:first', path: `${ACCOUNT}/tokens`, body: { name: 'ci', expires: '2099-01-01' } })
    assert.equal(await takeSubject('cleo@example.com'), 'A new way into your account at Shop')
  })

  it('is not sent for other changes, to users without an address, or for a new user', async () => {
    await addUser('dora', 'dora@example.com', { roles: ['reader'] })
    await ask({ as: AS_ADMIN, method: 'PUT', path: `${API}/users/dora/roles`, body: { add: ['writer'] } })
    await addUser('dan')
    await setPassword('dan', 'second')
    await settle()
    assert.equal(countMails('dora@example.com'), 0)
  })

  it('has no secret of the change', async () => {
    await addUser('eli', 'eli@example.com')
    await setPassword('eli', 'very-secret')
    const mail = await mailServer.take('eli@example.com')
    assert.ok(!`${mail.text}${mail.html}`.includes('very-secret'))
    assert.ok(!JSON.stringify(server.log).includes(tokenOf(mail)))
  })
})

describe('"this was not me"', () => {
  it('ends all sessions and requires a new password, once', async () => {
    await addUser('fay', 'fay@example.com')
    await setPassword('fay', 'evil')
    const session = await ask({ path: '/_session', body: { name: 'fay', password: 'evil' } })
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? ''
    const token = tokenOf(await mailServer.take('fay@example.com'))
    const found = await ask({ path: `${ACCOUNT}/address/undo/find`, body: { token } })
    assert.deepEqual([found.json.name, found.json.address], ['fay', 'fay@example.com'])
    assert.equal((await undo(token)).status, 200)
    const after = await send(server.document, { path: '/_session', headers: { cookie } })
    assert.equal(after.json.userCtx.name, null)
    assert.equal((await ask({ as: 'fay:evil', method: 'GET', path: ACCOUNT })).status, 401)
    assert.equal((await ask({ as: 'fay:mine', method: 'GET', path: ACCOUNT })).status, 200)
    assert.deepEqual(errorOf(await undo(token)), [404, 'not_found'])
  })

  it('gives back the address that was changed afterwards, and ends links that went to the other mailbox', async () => {
    await addUser('gil', 'gil@example.com')
    await setPassword('gil', 'evil')
    const owner = tokenOf(await mailServer.take('gil@example.com'))
    await changeAddress('gil', 'gil@evil.example', 'evil')
    await setPassword('gil', 'evil2')
    const thief = tokenOf(await mailServer.take('gil@evil.example'))
    assert.equal((await undo(owner)).status, 200)
    assert.equal(await client.showAddress('gil', 'mine'), 'gil@example.com')
    assert.deepEqual(errorOf(await undo(thief, 'evil')), [404, 'not_found'])
    const told = await mailServer.take('gil@evil.example')
    assert.equal(told.subject, 'Your address at Shop was changed back')
    assert.equal(tokenOf(told), '')
  })

  it('does not remove one-time codes', async () => {
    await addUser('hal', 'hal@example.com')
    await setPassword('hal', 'second')
    const token = tokenOf(await mailServer.take('hal@example.com'))
    const path = '/_users/org.couchdb.user:hal'
    const { _rev } = (await ask({ as: AS_ADMIN, method: 'GET', path })).json
    const totp = { key: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }
    const body = { _rev, name: 'hal', password: 'third', roles: [], type: 'user', totp }
    assert.equal((await ask({ as: AS_ADMIN, method: 'PUT', path, body })).status, 201)
    assert.equal((await undo(token)).status, 200)
    const refused = await ask({ path: '/_session', body: { name: 'hal', password: 'mine' } })
    assert.deepEqual([refused.status, refused.headers['x-cardea-second-factor']], [401, 'required'])
  })
})
