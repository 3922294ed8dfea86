// What a thief of an account or of a mailbox, and a user administrator, must not get by messages.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAuthenticator } from '../support/authenticator.ts'
import { tokenOf } from '../support/mail.ts'
import { ACCOUNT, API, errorOf, startMailClient } from '../support/mail-client.ts'
import { AS_ADMIN } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const client = await startMailClient(scope, {
  admin: { 'user-admin-role': 'helpdesk' },
  passkeys: { 'rp-id': 'db.example.com' },
})
const { ask, addUser, setAddress, changeAddress, mailServer, undo, countMails, settle } = client

const NOT_FOUND = [404, 'not_found']

/** The secret of the link that undoes the first change of the address. */
async function stealAddress(name: string): Promise<string> {
  await addUser(name, `${name}@example.com`)
  await changeAddress(name, `${name}@evil.example`)
  return tokenOf(await mailServer.take(`${name}@example.com`))
}

describe('a link that undoes a change of the address', () => {
  it('ends when an administrator sets another address, for good', async () => {
    const token = await stealAddress('abe')
    assert.equal((await setAddress('abe', 'abe@new.example')).status, 200)
    assert.deepEqual(errorOf(await undo(token)), NOT_FOUND)
    await changeAddress('abe', 'abe@newer.example')
    assert.deepEqual(errorOf(await undo(token)), NOT_FOUND)
  })

  it('ends when an administrator removes the address', async () => {
    const token = await stealAddress('ann')
    assert.equal((await setAddress('ann', null)).status, 200)
    assert.deepEqual(errorOf(await undo(token)), NOT_FOUND)
  })

  it('removes passkeys that were added since, and ends access tokens', async () => {
    await addUser('bea', 'bea@example.com')
    const as = 'bea:first'
    const addPasskey = async (label: string) => {
      const { options } = (await ask({ as, path: `${ACCOUNT}/passkeys/options` })).json
      const response = createAuthenticator('https://db.example.com').create(options)
      assert.equal((await ask({ as, path: `${ACCOUNT}/passkeys`, body: { label, response } })).status, 200)
    }
    await changeAddress('bea', 'bea@evil.example')
    const token = tokenOf(await mailServer.take('bea@example.com'))
    await addPasskey('of the thief')
    const created = await ask({ as, path: `${ACCOUNT}/tokens`, body: { name: 'thief', expires: '2099-01-01' } })
    assert.equal(created.status, 200, created.body)
    const withToken = () => ask({ method: 'GET', path: ACCOUNT, as: `bea:${created.json.token}` })
    assert.equal((await withToken()).status, 200)
    assert.equal((await undo(token)).status, 200)
    assert.equal((await withToken()).status, 401)
    const { passkeys } = (await ask({ as: 'bea:mine', method: 'GET', path: `${ACCOUNT}/passkeys` })).json
    assert.deepEqual(passkeys, [])
  })

  it('works once, also for requests at the same time', async () => {
    const token = await stealAddress('bob')
    const statuses = await Promise.all(['one1', 'two2', 'three3'].map(async (each) => (await undo(token, each)).status))
    assert.deepEqual(statuses.sort(), [200, 404, 404])
    assert.deepEqual(errorOf(await undo(token)), NOT_FOUND)
  })

  it('stays valid after a password that breaks a rule', async () => {
    const token = await stealAddress('ben')
    assert.deepEqual(errorOf(await undo(token, 'abc')), [400, 'password_refused'])
    assert.equal((await undo(token)).status, 200)
  })

  it('ends those of later changes, and not those of earlier ones within the same second', async () => {
    await addUser('cal', 'cal@example.com')
    await changeAddress('cal', 'cal@evil.example')
    await changeAddress('cal', 'cal@evil2.example')
    const owner = tokenOf(await mailServer.take('cal@example.com'))
    const thief = tokenOf(await mailServer.take('cal@evil.example'))
    assert.equal((await undo(thief, 'evil')).status, 200)
    assert.equal((await undo(owner)).status, 200)
    assert.equal(await client.showAddress('cal', 'mine'), 'cal@example.com')
    assert.deepEqual(errorOf(await undo(thief, 'evil')), NOT_FOUND)
  })

  it('ends no link of a later change if its use is refused', async () => {
    await addUser('ema', 'ema@example.com')
    await changeAddress('ema', 'ema@evil.example')
    await changeAddress('ema', 'ema@evil2.example')
    const first = tokenOf(await mailServer.take('ema@example.com'))
    const second = tokenOf(await mailServer.take('ema@evil.example'))
    await addUser('eli', 'ema@example.com')
    assert.deepEqual(errorOf(await undo(first)), [409, 'conflict'])
    assert.equal((await undo(second, 'back')).status, 200)
    await setAddress('eli', null)
    assert.equal((await undo(first)).status, 200)
  })

  it('is sent once for each change, and for none that was refused', async () => {
    await addUser('cat', 'cat@example.com')
    await addUser('dog', 'dog@example.com')
    await client.requestAddress('cat', 'dog@example.com')
    const token = tokenOf(await mailServer.take('dog@example.com'))
    for (const _ of [1, 2, 3]) assert.deepEqual(errorOf(await client.confirmAddress(token)), [409, 'conflict'])
    await settle()
    assert.equal(countMails('cat@example.com'), 0)
    await changeAddress('cat', 'cat@new.example')
    await settle()
    assert.equal(countMails('cat@example.com'), 1)
  })
})

describe('a role that needs a second factor', () => {
  it('locks an account that is taken back without its passkey, until an administrator enables it', async (t) => {
    const options = { admin: { 'second-factor-roles': 'boss' }, passkeys: { 'rp-id': 'db.example.com' } }
    const strict = await startMailClient(t, options)
    await strict.addUser('ira', 'ira@example.com')
    const as = 'ira:first'
    const { options: wanted } = (await strict.ask({ as, path: `${ACCOUNT}/passkeys/options` })).json
    const response = createAuthenticator('https://db.example.com').create(wanted)
    assert.equal((await strict.ask({ as, path: `${ACCOUNT}/passkeys`, body: { label: 'own', response } })).status, 200)
    const token = tokenOf(await strict.mailServer.take('ira@example.com'))
    const roles = { method: 'PUT', as: AS_ADMIN, path: `${API}/users/ira/roles`, body: { add: ['boss'] } }
    assert.equal((await strict.ask(roles)).status, 200)
    const signIn = () => strict.ask({ path: '/_session', body: { name: 'ira', password: 'mine' } })
    const taken = await strict.undo(token)
    assert.deepEqual([taken.status, taken.json.needsAdministrator], [200, true])
    assert.equal((await signIn()).status, 401)
    const active = { method: 'PUT', as: AS_ADMIN, path: `${API}/users/ira/active`, body: { active: true } }
    assert.equal((await strict.ask(active)).status, 200)
    assert.equal((await signIn()).status, 200)
  })
})

describe('a message that waits', () => {
  it('to an address that was mistyped ends with a request for the right one', async (t) => {
    const refusing = await startMailClient(
      t,
      {},
      {
        onRcptTo({ address }, _session, done) {
          done(address.endsWith('.typo') ? Object.assign(new Error('try later'), { responseCode: 451 }) : null)
        },
      },
    )
    await refusing.addUser('gia')
    await refusing.requestAddress('gia', 'gia@example.typo')
    const listWaiting = async (): Promise<readonly { address: string; problem: string }[]> =>
      (await refusing.ask({ as: AS_ADMIN, method: 'GET', path: `${API}/messages` })).json.messages
    await waitUntil(async () => (await listWaiting()).some(({ problem }) => problem !== ''))
    await refusing.requestAddress('gia', 'gia@example.com')
    const token = tokenOf(await refusing.mailServer.take('gia@example.com'))
    await waitUntil(async () => (await listWaiting()).every(({ address }) => address !== 'gia@example.com'))
    assert.deepEqual(await listWaiting(), [])
    assert.equal((await refusing.confirmAddress(token)).status, 200)
  })

  it('of a deleted user is not sent for a later user of the name', async (t) => {
    let isOpen = false
    const held: (() => void)[] = []
    const slow = await startMailClient(
      t,
      {},
      {
        onConnect: (_session, done) => (isOpen ? done() : void held.push(done)),
      },
    )
    // as many as are sent at the same time
    for (const index of Array(8).keys()) {
      await slow.addUser(`eva${index}`)
      await slow.requestAddress(`eva${index}`, `eva@${index}.example`)
    }
    await waitUntil(() => held.length === 8)
    await slow.addUser('gus')
    await slow.requestAddress('gus', 'gus@example.com')
    await slow.ask({ as: AS_ADMIN, method: 'DELETE', path: `${API}/users/gus` })
    await slow.addUser('gus')
    isOpen = true
    for (const go of held) go()
    await slow.settle()
    assert.equal(slow.countMails('gus@example.com'), 0)
  })
})

describe('a user administrator', () => {
  it('cannot decide where the links of a user go, who may get more rights later', async () => {
    await addUser('hel', undefined, { roles: ['helpdesk'] })
    await addUser('ida')
    assert.equal((await setAddress('ida', 'hel@example.com', 'hel:first')).status, 403)
    const path = `${API}/users/ida/address`
    assert.equal((await ask({ as: 'hel:first', path, body: { address: 'hel@example.com' } })).status, 403)
    assert.equal((await ask({ as: 'hel:first', method: 'GET', path })).status, 200)
  })

  it('does not see addresses of users with more rights', async () => {
    await addUser('ian', 'ian@example.com', { roles: ['boss'] })
    await addUser('ivy', 'ivy@example.com')
    const { users } = (await ask({ as: 'hel:first', method: 'GET', path: `${API}/users` })).json
    const find = (name: string) => users.find((user: { name: string }) => user.name === name)
    assert.equal(find('ivy').address, 'ivy@example.com')
    assert.equal(find('ian').address, undefined)
    const shown = await ask({ as: 'hel:first', method: 'GET', path: `${API}/users/ian` })
    assert.ok(!shown.body.includes('ian@example.com'))
  })
})

describe('a link for a forgotten password', () => {
  it('ends with the address it was sent to', async () => {
    await addUser('jan', 'jan@example.com')
    await client.forget('jan@example.com')
    const token = tokenOf(await mailServer.take('jan@example.com'))
    await setAddress('jan', 'jan@new.example')
    assert.deepEqual(errorOf(await client.confirmReset(token, 'second')), NOT_FOUND)
  })

  it('does not serve to link an account at an identity provider', async (t) => {
    const other = await startMailClient(t, {
      'provider:corp': {
        issuer: 'https://id.example.com',
        audience: 'x',
        'client-id': 'x',
        'client-secret': 'y'.repeat(32),
      },
    })
    await other.addUser('kai', 'kai@example.com')
    await other.forget('kai@example.com')
    const token = tokenOf(await other.mailServer.take('kai@example.com'))
    const reply = await other.ask({ path: '/_cardea/sign-in/providers/corp', body: { password_link: token } })
    assert.deepEqual(errorOf(reply), NOT_FOUND)
    assert.equal((await other.ask({ path: `${API}/password-links/find`, body: { token } })).json.canLink, undefined)
  })
})

describe('sign-up', () => {
  it('with a link counts as every other one', async (t) => {
    const open = await startMailClient(t, { mail: { 'sign-up': 'verified' }, auth: { 'peer-sign-ups-per-hour': 1 } })
    const tokens: string[] = []
    for (const name of ['lea', 'leo']) {
      await open.ask({ path: `${ACCOUNT}/sign-up/request`, body: { name, address: `${name}@example.com` } })
      tokens.push(tokenOf(await open.mailServer.take(`${name}@example.com`)))
    }
    const confirm = (token = '') => open.ask({ path: `${ACCOUNT}/sign-up/confirm`, body: { token, password: 'first' } })
    assert.equal((await confirm(tokens[0])).status, 200)
    assert.deepEqual(errorOf(await confirm(tokens[1])), [429, 'too_many_sign_ups'])
  })

  it('is counted before it shows that a name is taken', async (t) => {
    const open = await startMailClient(t, { mail: { 'sign-up': 'verified', 'client-requests-per-hour': 2 } })
    await open.addUser('max')
    const ask = (name: string) =>
      open.ask({ path: `${ACCOUNT}/sign-up/request`, body: { name, address: `${name}@example.com` } })
    assert.deepEqual(errorOf(await ask('max')), [409, 'conflict'])
    assert.deepEqual(errorOf(await ask('max')), [409, 'conflict'])
    assert.deepEqual(errorOf(await ask('max')), [429, 'too_many_requests'])
    assert.deepEqual(errorOf(await ask('mia')), [429, 'too_many_requests'])
  })
})
