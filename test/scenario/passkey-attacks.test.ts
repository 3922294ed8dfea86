// What must end a passkey, and what attackers send in place of one.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { createAccounts, errorOf, PASSWORD } from '../support/accounts.ts'
import { createAuthenticator, type Tampering } from '../support/authenticator.ts'
import { startMailServer, tokenOf } from '../support/mail.ts'
import { createPasskeyUsers, type Device } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const mailServer = await startMailServer(scope)
const server = await startServer(scope, {
  admin: { 'second-factor-roles': 'staff' },
  mail: { url: mailServer.url, from: 'Shop <no-reply@shop.example>' },
  console: { 'public-url': 'http://localhost:1' },
})
const url = server.document
const { ask, addUser, openBrowser } = createAccounts(url)
const { addPasskey, signIn, signWith, nameOfSession, origin } = createPasskeyUsers(url)

const statusWith = async (device: Device) => (await signIn({ passkey: await signWith(device) })).status
const setAdmin = (name: string, password: string, as = AS_ADMIN) =>
  send(url, { method: 'PUT', path: `/_node/_local/_config/admins/${name}`, as, body: JSON.stringify(password) })

describe('a passkey, when the password is set by other means,', () => {
  it('ends with a link of an administrator', async () => {
    const { device } = await addPasskey(await addUser('ann'))
    const { json } = await ask(AS_ADMIN, 'POST', '/users/ann/password-link')
    const token = json.url.slice(json.url.lastIndexOf('/') + 1)
    assert.equal((await ask(undefined, 'POST', '/password-links/use', { token, password: PASSWORD })).status, 200)
    assert.equal(await statusWith(device), 401)
    assert.deepEqual((await ask(`ann:${PASSWORD}`, 'GET', '/account/passkeys')).json, { passkeys: [] })
  })

  it('stays with a link that its user has asked for: the mailbox was proved', async () => {
    const { device } = await addPasskey(await addUser('ben'))
    const body = { address: 'ben@example.com' }
    assert.equal((await ask(AS_ADMIN, 'PUT', '/users/ben/address', body)).status, 200)
    await send(url, { method: 'POST', path: '/_cardea/account/password-reset', body })
    const token = tokenOf(await mailServer.take('ben@example.com'))
    const path = '/_cardea/account/password-reset/confirm'
    const used = await send(url, { method: 'POST', path, body: { token, password: 'another long one' } })
    assert.equal(used.status, 200, used.body)
    assert.equal(await statusWith(device), 200)
  })

  const putUser = async (name: string, password: string, as: string) => {
    const path = `/_users/org.couchdb.user:${name}`
    const { json: document } = await send(url, { path, as })
    return send(url, { method: 'PUT', path, as, body: JSON.stringify({ ...document, password }) })
  }
  const WAYS: Readonly<
    Record<string, (name: string, password: string, as: string) => Promise<{ readonly status: number }>>
  > = {
    'in the admin API': (name, password, as) => ask(as, 'PUT', `/users/${name}/password`, { password }),
    'at the document door': putUser,
    'at the multi-model door': (name, passwd, as) =>
      send(server.multiModel, { method: 'PATCH', path: `/_api/user/${name}`, as, body: { passwd } }),
    'at the multi-model door, replacing the user': (name, passwd, as) =>
      send(server.multiModel, { method: 'PUT', path: `/_api/user/${name}`, as, body: { passwd } }),
  }
  for (const [way, set] of Object.entries(WAYS))
    it(`ends if an administrator sets another one ${way}`, async () => {
      const name = `set ${way}`.replaceAll(/\W/g, '-')
      const { device } = await addPasskey(await addUser(name))
      assert.ok((await set(name, PASSWORD, AS_ADMIN)).status < 300)
      // it was this password already
      assert.equal(await statusWith(device), 200)
      assert.ok((await set(name, 'another long one', AS_ADMIN)).status < 300)
      assert.equal(await statusWith(device), 401)
      assert.deepEqual((await ask(`${name}:another long one`, 'GET', '/account/passkeys')).json, { passkeys: [] })
    })

  for (const [way, set] of Object.entries({
    ...WAYS,
    'in the admin API': (_name: string, password: string, as: string) =>
      ask(as, 'PUT', '/account/password', { password }),
  }))
    it(`stays if its user sets another one ${way}`, async () => {
      const name = `own ${way}`.replaceAll(/\W/g, '-')
      const as = await addUser(name)
      const { device } = await addPasskey(as)
      assert.ok((await set(name, 'another long one', as)).status < 300)
      assert.equal(await statusWith(device), 200)
    })

  it('of an administrator ends if another one sets the password, and stays if the administrator does', async () => {
    assert.equal((await setAdmin('root', 'first password')).status, 200)
    const { device } = await addPasskey('root:first password')
    assert.equal((await setAdmin('root', 'second password', 'root:first password')).status, 200)
    assert.equal(await statusWith(device), 200)
    assert.equal((await setAdmin('root', 'third password')).status, 200)
    assert.equal(await statusWith(device), 401)
    assert.deepEqual((await ask('root:third password', 'GET', '/account/passkeys')).json, { passkeys: [] })
  })
})

it('passkeys of a removed administrator are not those of a later one of the name, even with the stored password', async () => {
  await setAdmin('temp', 'first password')
  const { device } = await addPasskey('temp:first password')
  const path = '/_node/_local/_config/admins/temp'
  const { json: stored } = await send(url, { path, as: AS_ADMIN })
  assert.equal((await send(url, { method: 'DELETE', path, as: AS_ADMIN })).status, 200)
  assert.equal(await statusWith(device), 401)
  const again = await send(url, { method: 'PUT', path: `${path}?raw=true`, as: AS_ADMIN, body: JSON.stringify(stored) })
  assert.equal(again.status, 200, again.body)
  assert.equal(await statusWith(device), 401)
})

it('two passkeys that an administrator adds at the same time are both added', async () => {
  await setAdmin('both', 'first password')
  const added = await Promise.all([1, 2, 3].map(() => addPasskey('both:first password')))
  assert.deepEqual(
    added.map(({ reply }) => reply.status),
    [200, 200, 200],
  )
  for (const { device } of added) assert.equal(await statusWith(device), 200)
})

it('passkeys of a user who is disabled or expired are listed and removed by administrators', async () => {
  for (const [name, path, body] of [
    ['off', 'active', { active: false }],
    ['late', 'expiry', { expires: '2020-01-01' }],
  ] as const) {
    const { reply } = await addPasskey(await addUser(name))
    assert.equal((await ask(AS_ADMIN, 'PUT', `/users/${name}/${path}`, body)).status, 200)
    assert.equal((await ask(AS_ADMIN, 'GET', `/users/${name}/passkeys`)).json.passkeys.length, 1)
    const { id } = reply.json.passkeys[0]
    assert.deepEqual((await ask(AS_ADMIN, 'DELETE', `/users/${name}/passkeys/${id}`)).json, { passkeys: [] })
  }
  assert.deepEqual(errorOf(await ask(AS_ADMIN, 'GET', '/users/unknown/passkeys')), [404, 'not_found'])
})

describe('an import', () => {
  const replace = (user: object) => ask(AS_ADMIN, 'POST', '/transfer/users', { users: [user], replace: true })
  const exported = async (name: string) => {
    const { json } = await ask(AS_ADMIN, 'GET', '/transfer/users?format=cardea')
    return JSON.parse(json.users.find((user: { name: string }) => user.name === name).text).user
  }

  it('with an empty list of passkeys leaves its user without a second factor, not locked out', async () => {
    const as = await addUser('empty', { roles: ['staff'] })
    const { json } = await replace({ ...(await exported('empty')), passkeys: [] })
    assert.equal(json.outcomes[0].kind, 'kept')
    assert.equal((await signIn({ name: 'empty', password: PASSWORD })).status, 200)
    assert.equal((await addPasskey(as)).reply.status, 200)
  })

  it('that replaces a user without a passkey ends its sessions, and is in the audit trail', async () => {
    const { device } = await addPasskey(await addUser('lost'))
    const opened = await signIn({ passkey: await signWith(device) })
    const { passkeys: _passkeys, ...user } = await exported('lost')
    server.takeEvents()
    assert.equal((await replace(user)).json.outcomes[0].kind, 'replaced')
    assert.equal(await nameOfSession(opened), null)
    assert.equal(await statusWith(device), 401)
  })
})

it('recovery codes of removed passkeys do not come back with a later one', async () => {
  const as = await addUser('codes', { roles: ['staff'] })
  const { device, reply } = await addPasskey(as)
  const [code] = reply.json.recoveryCodes
  const { id } = reply.json.passkeys[0]
  assert.equal((await ask(AS_ADMIN, 'DELETE', `/users/codes/passkeys/${id}`)).status, 200)
  assert.equal((await ask(AS_ADMIN, 'PUT', '/users/codes/roles', { roles: [] })).status, 200)
  assert.equal((await addPasskey(as)).reply.status, 200)
  assert.equal((await ask(AS_ADMIN, 'PUT', '/users/codes/roles', { roles: ['staff'] })).status, 200)
  assert.deepEqual(errorOf(await signIn({ name: 'codes', password: PASSWORD, code })), [401, 'credential_refused'])
  assert.equal(await statusWith(device), 401)
})

describe('a new passkey', () => {
  let as = ''
  before(async () => {
    as = await addUser('forms')
  })

  const REFUSED: Readonly<Record<string, Tampering>> = {
    'with an id of more than 1023 bytes': { id: Buffer.alloc(1024, 7).toString('base64url') },
    'with a key of more than 2048 bytes': { padding: 2048 },
    'with an attestation of Android': { format: 'android-safetynet' },
    'with an attestation of a TPM': { format: 'tpm' },
    'with an attestation of FIDO U2F': { format: 'fido-u2f' },
    'with an attestation of Apple': { format: 'apple' },
    'with an attestation that is unknown': { format: 'constructor' },
  }
  for (const [name, change] of Object.entries(REFUSED))
    it(`${name} is refused`, async () => {
      const { reply } = await addPasskey(as, createAuthenticator(origin), change)
      assert.deepEqual(errorOf(reply), [400, 'bad_request'], reply.body)
    })

  it('with an id of 1023 bytes is accepted', async () => {
    const { device, reply } = await addPasskey(as, createAuthenticator(origin), {
      id: Buffer.alloc(1023, 7).toString('base64url'),
    })
    assert.equal(reply.status, 200, reply.body)
    assert.equal(await statusWith(device), 200)
  })

  for (const transports of [undefined, null, 'usb', 7, {}, [], [null, { a: 1 }, 'usb', 'usb', 'constructor']])
    it(`with the transports ${JSON.stringify(transports)} is accepted, with those that are known`, async () => {
      const { reply } = await addPasskey(as, createAuthenticator(origin), { transports })
      assert.equal(reply.status, 200, reply.body)
      assert.equal(reply.json.passkeys.at(-1).kind, 'security-key')
    })
})

it('a passkey that is removed ends the session that it opened, of a user and of an administrator', async () => {
  await setAdmin('chief', 'first password')
  for (const as of [await addUser('rita'), 'chief:first password']) {
    const { device, reply } = await addPasskey(as)
    const opened = await signIn({ passkey: await signWith(device) })
    const { browser } = await openBrowser(as.slice(0, as.indexOf(':')), { password: as.slice(as.indexOf(':') + 1) })
    assert.equal((await ask(as, 'DELETE', `/account/passkeys/${reply.json.passkeys[0].id}`)).status, 200)
    assert.equal(await nameOfSession(opened), null)
    assert.equal((await browser.ask('/session')).json.name, null)
  }
})

it('of two first passkeys that are added at the same time, one gives the recovery codes, and they work', async () => {
  await addUser('first', { roles: ['staff'] })
  assert.equal((await setAdmin('first', PASSWORD)).status, 200)
  for (const as of [await addUser('twins', { roles: ['staff'] }), `first:${PASSWORD}`]) {
    const bodies = await Promise.all(
      [1, 2].map(async () => {
        const { options } = (await ask(as, 'POST', '/account/passkeys/options')).json
        return { label: 'laptop', response: createAuthenticator(origin).create(options) }
      }),
    )
    const replies = await Promise.all(bodies.map((body) => ask(as, 'POST', '/account/passkeys', body)))
    const lists = replies.flatMap(({ json }) => (json.recoveryCodes === undefined ? [] : [json.recoveryCodes]))
    assert.equal(lists.length, 1)
    const name = as.slice(0, as.indexOf(':'))
    const { status, json } = await signIn({ name, password: PASSWORD, code: lists[0][0] })
    assert.equal(status, 200, json.reason)
  }
})

it('the counter of a passkey is forgotten with the passkey, however it ends', async () => {
  const exported = async (name: string) => {
    const { json } = await ask(AS_ADMIN, 'GET', '/transfer/users?format=cardea')
    return JSON.parse(json.users.find((user: { name: string }) => user.name === name).text).user
  }
  const ENDS: Readonly<Record<string, (name: string) => ReturnType<typeof ask>>> = {
    removal: async (name) => {
      const { passkeys } = (await ask(AS_ADMIN, 'GET', `/users/${name}/passkeys`)).json
      return ask(AS_ADMIN, 'DELETE', `/users/${name}/passkeys/${passkeys[0].id}`)
    },
    password: (name) => ask(AS_ADMIN, 'PUT', `/users/${name}/password`, { password: 'another long one' }),
    import: async (name) =>
      ask(AS_ADMIN, 'POST', '/transfer/users', { users: [{ ...(await exported(name)), passkeys: [] }], replace: true }),
  }
  for (const [way, end] of Object.entries(ENDS)) {
    const name = `counted-${way}`
    const { device } = await addPasskey(await addUser(name))
    assert.equal((await signIn({ passkey: await signWith(device, { counter: 9 }) })).status, 200)
    const users = [await exported(name)]
    assert.equal((await end(name)).status, 200)
    assert.equal(await statusWith(device), 401)
    const { outcomes } = (await ask(AS_ADMIN, 'POST', '/transfer/users', { users, replace: true })).json
    assert.match(outcomes[0].kind, /created|replaced/)
    server.takeEvents()
    assert.equal((await signIn({ passkey: await signWith(device, { counter: 2 }) })).status, 200, way)
    assert.ok(!server.takeEvents().some(({ event }) => event === 'passkey.counter'), way)
  }
})
