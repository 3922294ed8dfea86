// Ending other sessions and setting up a second factor need the same proof of the password as other changes of an account.
import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const { document: url } = await startServer(createSharedScope())

const { ask, addUser, openBrowser, openDoorSession } = createAccounts(url)

const isLive = async (cookie: string) =>
  (await send(url, { path: '/_session', headers: { Cookie: cookie } })).json.userCtx.name !== null

describe('sessions', () => {
  before(() => mock.timers.enable({ apis: ['Date'], now: Date.now() }))
  after(() => mock.timers.reset())

  it('end only with a proof of the password, except the current one', async () => {
    await addUser('sol')
    const { call } = await openBrowser('sol')
    // admin.reauthenticate-after is 900
    mock.timers.tick(901_000)
    const other = await openDoorSession('sol')
    const { sessions } = (await call('GET', '/account/sessions')).json
    const idOf = (isCurrent: boolean) =>
      sessions.find((each: { isCurrent: boolean }) => each.isCurrent === isCurrent).id
    const proof = { current_password: PASSWORD }
    for (const [method, path] of [
      ['POST', '/account/sessions/end-others'],
      ['DELETE', `/account/sessions/${idOf(false)}`],
      ['POST', '/account/totp'],
    ] as const) {
      assert.deepEqual(errorOf(await call(method, path)), NEEDS_PASSWORD, path)
    }
    assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_password: 'wrong' })), NEEDS_PASSWORD)
    assert.equal((await call('POST', '/account/totp', proof)).status, 200)
    const ended = await call('DELETE', `/account/sessions/${idOf(false)}`, proof)
    assert.equal(ended.status, 200, ended.body)
    assert.equal(await isLive(other), false)
    assert.equal((await call('DELETE', `/account/sessions/${idOf(true)}`)).status, 200, 'the current one')
  })

  it('all end with a sign-out everywhere only with a proof, which this session alone does not need', async () => {
    await addUser('sky')
    const first = await openDoorSession('sky')
    mock.timers.tick(500_000)
    const { lines } = await send(url, { path: '/_session', headers: { Cookie: first } })
    const headers = { Cookie: (lines['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    mock.timers.tick(401_000)
    const other = await openDoorSession('sky')
    const signOut = (body: object) => send(url, { method: 'POST', path: '/_cardea/account/sign-out', headers, body })
    assert.deepEqual(errorOf(await signOut({ everywhere: true })), NEEDS_PASSWORD)
    assert.deepEqual([await isLive(headers.Cookie), await isLive(other)], [true, true])
    assert.equal((await signOut({ everywhere: true, current_password: PASSWORD })).status, 200)
    assert.deepEqual([await isLive(headers.Cookie), await isLive(other)], [false, false])
  })

  it('of an administrator end only with a proof, in its own account and in the list of all', async () => {
    const credentials = { name: 'ayn', password: PASSWORD }
    assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', credentials)).status, 200)
    const { call } = await openBrowser('ayn')
    mock.timers.tick(901_000)
    await openDoorSession('ayn')
    const { sessions } = (await call('GET', '/account/sessions')).json
    const { id } = sessions.find((each: { isCurrent: boolean }) => !each.isCurrent)
    assert.deepEqual(errorOf(await call('DELETE', '/users/ayn/sessions')), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('DELETE', `/users/ayn/sessions/${id}`)), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('POST', '/sessions/end', { ids: [id] })), NEEDS_PASSWORD)
    const proved = await call('POST', '/sessions/end', { ids: [id], current_password: PASSWORD })
    assert.deepEqual(proved.json, { endedSessions: 1 })
  })
})
