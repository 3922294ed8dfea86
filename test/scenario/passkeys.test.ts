// Passkeys: adding and removing them, signing in with them, and what attackers try.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { createAccounts, errorOf, NEEDS_PASSWORD, PASSWORD } from '../support/accounts.ts'
import { createAuthenticator, type Tampering } from '../support/authenticator.ts'
import { createBrowser } from '../support/browser.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), { admin: { 'second-factor-roles': 'staff' } })
const url = server.document
const { ask, addUser, openBrowser } = createAccounts(url)
const { origin: ORIGIN, addPasskey, beginSignIn, signIn, signWith, nameOfSession } = createPasskeyUsers(url)

function codeOf(secret: string): string {
  const totp = readTotp({ key: secret }) ?? assert.fail()
  return renderCode(totp, Math.floor(Date.now() / 30_000))
}

describe('a passkey', () => {
  it('is added, signs in without a name, and shows its last use', async () => {
    const as = await addUser('ada')
    server.takeEvents()
    const { device, options, reply } = await addPasskey(as)
    assert.deepEqual(
      [options.rp.id, options.user.name, options.attestation, options.authenticatorSelection.userVerification],
      ['localhost', 'ada', 'none', 'required'],
    )
    const [passkey] = reply.json.passkeys
    assert.deepEqual(
      { ...passkey, id: '', createdAt: 0 },
      { id: '', label: 'laptop', kind: 'device', host: 'localhost', createdAt: 0 },
    )
    assert.deepEqual(
      server
        .takeEvents()
        .flatMap(({ event, subject, passkey: label }) =>
          subject === 'ada' && event.startsWith('passkey') ? [[event, subject, label]] : [],
        ),
      [['passkey.added', 'ada', 'laptop']],
    )
    const opened = await signIn({ passkey: await signWith(device) })
    assert.deepEqual([opened.status, opened.json.name, await nameOfSession(opened)], [200, 'ada', 'ada'])
    assert.ok(server.takeEvents().some(({ event, handler }) => event === 'sign-in.accepted' && handler === 'passkey'))
    const { passkeys } = (await ask(as, 'GET', '/account/passkeys')).json
    assert.ok(passkeys[0].usedAt > 0)
  })

  it('signs in at the console, and for tokens', async () => {
    const { device } = await addPasskey(await addUser('abe'))
    const browser = createBrowser(url)
    const options = (await browser.ask('/passkeys/sign-in-options', { method: 'POST' })).json.options
    const opened = await browser.ask('/session', { method: 'POST', json: { passkey: device.sign(options) } })
    assert.deepEqual([opened.status, opened.json.name], [200, 'abe'])
    assert.equal((await browser.ask('/session')).json.name, 'abe')
    const body = { passkey: await signWith(device) }
    const tokens = await send(url, { method: 'POST', path: '/_cardea/account/token', body })
    assert.deepEqual([tokens.status, tokens.json.name], [200, 'abe'])
    const headers = { Authorization: `Bearer ${tokens.json.token}` }
    assert.equal((await send(url, { path: '/_cardea/account/session', headers })).json.name, 'abe')
  })

  it('is one of an administrator', async () => {
    const { device, reply } = await addPasskey(AS_ADMIN)
    assert.equal(reply.status, 200, reply.body)
    const browser = createBrowser(url)
    const opened = await browser.ask('/session', { method: 'POST', json: { passkey: await signWith(device) } })
    assert.deepEqual([opened.json.name, opened.json.isAdministrator], ['admin', true])
    const [{ id }] = reply.json.passkeys
    assert.deepEqual((await ask(AS_ADMIN, 'DELETE', `/account/passkeys/${id}`)).json, { passkeys: [] })
    assert.equal((await signIn({ passkey: await signWith(device) })).status, 401)
    assert.equal((await browser.ask('/session')).json.name, null)
  })

  it('is renamed and removed, which ends the sessions', async () => {
    const as = await addUser('ann')
    const { device, reply } = await addPasskey(as)
    const [{ id }] = reply.json.passkeys
    const path = `/account/passkeys/${id}`
    assert.equal((await ask(as, 'PUT', path, { label: ' phone ' })).json.passkeys[0].label, 'phone')
    for (const label of ['', ' ', 'x'.repeat(65), 'a\u0007'])
      assert.deepEqual(errorOf(await ask(as, 'PUT', path, { label })), [400, 'bad_request'])
    const opened = await signIn({ passkey: await signWith(device) })
    assert.deepEqual((await ask(as, 'DELETE', path)).json, { passkeys: [] })
    assert.equal(await nameOfSession(opened), null)
    assert.deepEqual(errorOf(await signIn({ passkey: await signWith(device) })), [401, 'credential_refused'])
    assert.deepEqual(errorOf(await ask(as, 'DELETE', path)), [404, 'not_found'])
  })

  it('is listed and removed by administrators, who see no key', async () => {
    const { device, reply } = await addPasskey(await addUser('art'))
    const [{ id }] = reply.json.passkeys
    const listed = await ask(AS_ADMIN, 'GET', '/users/art/passkeys')
    assert.deepEqual(Object.keys(listed.json.passkeys[0]).sort(), ['createdAt', 'host', 'id', 'kind', 'label'])
    assert.deepEqual(errorOf(await ask(await addUser('eve'), 'GET', '/users/art/passkeys')), [403, 'admin_required'])
    assert.equal((await ask(AS_ADMIN, 'DELETE', `/users/art/passkeys/${id}`)).status, 200)
    assert.equal((await signIn({ passkey: await signWith(device) })).status, 401)
  })

  it('is added with the password only, and a session of a passkey proves none', async () => {
    const as = await addUser('abi')
    const { device } = await addPasskey(as)
    const browser = createBrowser(url)
    const opened = await browser.ask('/session', { method: 'POST', json: { passkey: await signWith(device) } })
    const call = (method: string, path: string, json: object = {}) =>
      browser.ask(path, { method, json, headers: { 'X-Cardea-Page-Token': opened.json.pageToken } })
    assert.deepEqual(errorOf(await call('POST', '/account/passkeys/options')), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('POST', '/account/totp')), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('PUT', '/account/password', { password: 'x' })), NEEDS_PASSWORD)
    assert.deepEqual(errorOf(await call('POST', '/account/totp', { current_password: 'wrong' })), NEEDS_PASSWORD)
    assert.equal((await call('POST', '/account/totp', { current_password: PASSWORD })).status, 200)
    const changed = await call('PUT', '/account/password', { password: 'another', current_password: PASSWORD })
    assert.equal(changed.status, 200, changed.body)
  })

  it('leaves the password enough where no second factor is needed, and ends no session', async () => {
    const as = await addUser('amy')
    const { call } = await openBrowser('amy')
    await addPasskey(as)
    assert.equal((await call('GET', '/account')).status, 200)
    assert.equal((await signIn({ name: 'amy', password: PASSWORD })).status, 200)
    assert.equal((await ask(as, 'GET', '/account')).status, 200)
  })

  it('is one of 20 at most', async () => {
    const as = await addUser('max')
    const device = createAuthenticator(ORIGIN)
    for (let count = 0; count < 19; count += 1) assert.equal((await addPasskey(as, device)).reply.status, 200)
    const early = (await ask(as, 'POST', '/account/passkeys/options')).json.options
    assert.equal((await addPasskey(as, device)).reply.status, 200)
    // before the authenticator keeps one that no account has
    assert.deepEqual(errorOf(await ask(as, 'POST', '/account/passkeys/options')), [400, 'bad_request'])
    const response = device.create(early)
    assert.deepEqual(errorOf(await ask(as, 'POST', '/account/passkeys', { label: 'x', response })), [
      400,
      'bad_request',
    ])
  })

  it('is known by what the authenticator says of itself', async () => {
    const { reply } = await addPasskey(await addUser('syn'), createAuthenticator(ORIGIN, { isSynced: true }))
    assert.equal(reply.json.passkeys[0].kind, 'synced')
  })
})

describe('an attacker who adds a passkey', () => {
  let as = ''
  before(async () => {
    as = await addUser('victor')
  })
  const ROWS: Readonly<Record<string, Tampering>> = {
    'on another page': { origin: 'https://evil.example' },
    'on a page of another port of the host': { origin: 'http://localhost:1' },
    'for another host': { rpId: 'evil.example' },
    'with what was signed for a sign-in': { type: 'webauthn.get' },
    'in a frame of another page': { crossOrigin: true },
    'below a page of another origin': { topOrigin: 'https://evil.example' },
    'without the verification of its user': { isVerified: false },
    'with an algorithm that was not offered': { algorithm: -65535 },
    'with a challenge of its own': { challenge: Buffer.alloc(32).toString('base64url') },
  }
  for (const [name, change] of Object.entries(ROWS))
    it(`${name} is refused`, async () => {
      const { reply } = await addPasskey(as, createAuthenticator(ORIGIN), change)
      assert.deepEqual(errorOf(reply), [400, 'bad_request'], reply.body)
    })

  it('with a challenge that was used is refused', async () => {
    const { options } = await addPasskey(as)
    const response = createAuthenticator(ORIGIN).create(options)
    const reply = await ask(as, 'POST', '/account/passkeys', { label: 'again', response })
    assert.deepEqual(errorOf(reply), [400, 'bad_request'])
    assert.match(reply.json.reason, /used already/)
  })

  it('with a challenge of another user, another session or a sign-in is refused', async () => {
    const other = await addUser('vera')
    const mine = (await ask(as, 'POST', '/account/passkeys/options')).json.options
    const { call } = await openBrowser('vera')
    const ofSession = (await call('POST', '/account/passkeys/options', {})).json.options
    for (const options of [mine, ofSession, { ...mine, ...(await beginSignIn()) }]) {
      const response = createAuthenticator(ORIGIN).create(options)
      const reply = await ask(other, 'POST', '/account/passkeys', { label: 'x', response })
      assert.deepEqual(errorOf(reply), [400, 'bad_request'])
    }
  })

  it('that another user has is refused', async () => {
    const { response } = await addPasskey(as)
    const { reply } = await addPasskey(await addUser('vic'), createAuthenticator(ORIGIN), { id: response.id })
    assert.deepEqual(errorOf(reply), [409, 'conflict'])
    const again = await addPasskey(as, createAuthenticator(ORIGIN), { id: response.id })
    assert.deepEqual(errorOf(again.reply), [409, 'conflict'])
  })

  it('with anything else is refused', async () => {
    for (const response of [
      {},
      { id: 1 },
      { id: 'x', response: null },
      { id: 'x', response: { clientDataJSON: 'e30' } },
    ])
      assert.deepEqual(errorOf(await ask(as, 'POST', '/account/passkeys', { label: 'x', response })), [
        'credential_refused' in response ? 401 : 400,
        'bad_request',
      ])
  })
})

describe('an attacker who signs in', () => {
  let known: Awaited<ReturnType<typeof addPasskey>> & { readonly as: string }
  before(async () => {
    const as = await addUser('mallory')
    known = { as, ...(await addPasskey(as)) }
  })
  const refused = async (passkey: unknown, message = '') => {
    const reply = await signIn({ passkey })
    assert.deepEqual(errorOf(reply), [401, 'credential_refused'], message)
    assert.equal(reply.lines['set-cookie'], undefined)
  }
  const ROWS: Readonly<Record<string, Tampering>> = {
    'on another page': { origin: 'https://evil.example' },
    'on a page of another port of the host': { origin: 'http://localhost:1' },
    'for another host': { rpId: 'evil.example' },
    'with what was signed for a new passkey': { type: 'webauthn.create' },
    'in a frame of another page': { crossOrigin: true },
    'below a page of another origin': { topOrigin: 'https://evil.example' },
    'without the verification of its user': { isVerified: false },
    'as another user': { userHandle: Buffer.from('another').toString('base64url') },
    'without saying as which user': { userHandle: '' },
    'with a challenge of its own': { challenge: Buffer.alloc(32).toString('base64url') },
  }
  for (const [name, change] of Object.entries(ROWS))
    it(`${name} is refused`, async () => refused(await signWith(known.device, change)))

  it('a second time with the same response is refused, also at the same time', async () => {
    const passkey = await signWith(known.device)
    const replies = await Promise.all([1, 2, 3, 4].map(() => signIn({ passkey })))
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 401, 401, 401])
    await refused(passkey)
  })

  it('with a challenge for a new passkey is refused', async () => {
    const { as, device } = known
    const { options } = (await ask(as, 'POST', '/account/passkeys/options')).json
    await refused(device.sign({ ...options, rpId: 'localhost' }))
  })

  it('with the signature of another key, or none, is refused', async () => {
    const right = await signWith(known.device)
    const other = createAuthenticator(ORIGIN)
    other.create({ challenge: '', rp: { id: 'localhost' }, user: { id: right.response.userHandle } }, { id: right.id })
    await refused(other.sign(await beginSignIn()))
    await refused({ ...right, response: { ...right.response, signature: '' } })
    await refused({ ...right, id: 'AAAA', rawId: 'AAAA' })
  })

  it('with a passkey of a user who is disabled, deleted or expired meanwhile is refused', async () => {
    for (const [name, end] of [
      ['off', () => ask(AS_ADMIN, 'PUT', '/users/off/active', { active: false })],
      ['late', () => ask(AS_ADMIN, 'PUT', '/users/late/expiry', { expires: '2020-01-01' })],
      ['gone', () => ask(AS_ADMIN, 'DELETE', '/users/gone')],
    ] as const) {
      const { device } = await addPasskey(await addUser(name))
      const passkey = await signWith(device)
      assert.equal((await end()).status, 200, name)
      await refused(passkey, name)
    }
    // a later user of the name is another one
    const { device } = await addPasskey(await addUser('again'))
    await ask(AS_ADMIN, 'DELETE', '/users/again')
    await addUser('again')
    await refused(await signWith(device))
  })

  it('with anything else is refused', async () => {
    for (const passkey of [
      {},
      { id: 'x' },
      { id: 'x', response: {} },
      { id: 'x', response: { clientDataJSON: 'bnVsbA' } },
    ])
      await refused(passkey)
    for (const body of [{}, { passkey: 1 }, { name: 'x' }, { password: 'x' }, { name: '', password: '', passkey: {} }])
      assert.deepEqual(errorOf(await signIn(body)), [400, 'bad_request'], JSON.stringify(body))
  })
})

it('a refused sign-in leaves its reason in the audit trail', async (t) => {
  const { document, takeEvents } = await startServer(t)
  const passkey = createAuthenticator(document)
  passkey.create({ challenge: '' })
  const body = { passkey: passkey.sign({ challenge: 'AAAA', rpId: 'localhost' }) }
  await send(document, { method: 'POST', path: '/_cardea/account/sign-in', body })
  assert.deepEqual(
    takeEvents().map(({ event, handler, reason }) => [event, handler, reason]),
    [['sign-in.refused', 'passkey', 'passkey: the challenge was not made here']],
  )
})

describe('a counter that goes back', () => {
  it('is a security event and no refusal', async () => {
    const { device } = await addPasskey(await addUser('carl'), createAuthenticator(ORIGIN, { counts: true }))
    for (let count = 0; count < 3; count += 1)
      assert.equal((await signIn({ passkey: await signWith(device) })).status, 200)
    server.takeEvents()
    assert.equal((await signIn({ passkey: await signWith(device, { counter: 2 }) })).status, 200)
    assert.deepEqual(
      server.takeEvents().flatMap(({ event, subject }) => (event === 'passkey.counter' ? [subject] : [])),
      ['carl'],
    )
  })
})

describe('where a second factor is on or required', () => {
  it('a passkey is the second step after the password', async () => {
    const as = await addUser('tom')
    const { device } = await addPasskey(as)
    const { secret } = (await ask(as, 'POST', '/account/totp')).json
    assert.equal((await ask(as, 'POST', '/account/totp/confirm', { secret, code: codeOf(secret) })).status, 200)
    assert.deepEqual(errorOf(await signIn({ name: 'tom', password: PASSWORD })), [401, 'code_required'])
    const right = await signIn({ name: 'tom', password: PASSWORD, passkey: await signWith(device) })
    assert.deepEqual([right.status, right.json.name], [200, 'tom'])
    assert.equal((await signIn({ passkey: await signWith(device) })).status, 200)
    const wrong = await signIn({ name: 'tom', password: 'wrong', passkey: await signWith(device) })
    assert.deepEqual(errorOf(wrong), [401, 'credential_refused'])
  })

  it('a passkey of another user is refused as the second step, and not noted as used', async () => {
    const as = await addUser('tam')
    const { secret } = (await ask(as, 'POST', '/account/totp')).json
    assert.equal((await ask(as, 'POST', '/account/totp/confirm', { secret, code: codeOf(secret) })).status, 200)
    const { device } = await addPasskey(await addUser('tim'))
    const reply = await signIn({ name: 'tam', password: PASSWORD, passkey: await signWith(device) })
    assert.deepEqual(errorOf(reply), [401, 'credential_refused'])
    const { passkeys } = (await ask(AS_ADMIN, 'GET', '/users/tim/passkeys')).json
    assert.equal(passkeys[0].usedAt, undefined)
  })

  it('the first passkey ends the sessions without it, gives recovery codes, and the password alone is refused', async () => {
    const as = await addUser('sam')
    const before = await openBrowser('sam')
    await ask(AS_ADMIN, 'PUT', '/users/sam/roles', { roles: ['staff'] })
    const { call } = await openBrowser('sam')
    assert.deepEqual(errorOf(await call('GET', '/account/sessions')), [403, 'second_factor_setup_required'])
    const { options } = (await call('POST', '/account/passkeys/options', {})).json
    const device = createAuthenticator(ORIGIN)
    const added = await call('POST', '/account/passkeys', { label: 'laptop', response: device.create(options) })
    assert.equal(added.status, 200, added.body)
    assert.equal(added.json.recoveryCodes.length, 10)
    assert.equal((await call('GET', '/account/sessions')).status, 200)
    assert.equal((await before.browser.ask('/session')).json.name, null)
    await assertPasswordRefused(as)
    const opened = await signIn({ name: 'sam', password: PASSWORD, passkey: await signWith(device) })
    assert.deepEqual([opened.status, await nameOfSession(opened)], [200, 'sam'])
    const alone = await signIn({ passkey: await signWith(device) })
    assert.deepEqual(
      [alone.json, await nameOfSession(alone)],
      [{ ...alone.json, name: 'sam', roles: ['staff'] }, 'sam'],
    )
    const [code] = added.json.recoveryCodes
    assert.equal((await signIn({ name: 'sam', password: PASSWORD, code })).status, 200)
    assert.deepEqual(errorOf(await signIn({ name: 'sam', password: PASSWORD, code })), [401, 'credential_refused'])
    assert.equal((await call('GET', '/account')).json.totp.recoveryCodesLeft, 9)
  })

  it('a role that needs one later ends the sessions of the password', async () => {
    const as = await addUser('lea')
    const { device } = await addPasskey(as)
    const { browser } = await openBrowser('lea')
    const { token } = (await ask(as, 'POST', '/account/tokens', { name: 'ci', expires: '2099-01-01' })).json
    const paths = { document: '/_session', multiModel: '/_api/user/lea' } as const
    const useToken = (door: keyof typeof paths) => send(server[door], { path: paths[door], as: `lea:${token}` })
    assert.equal((await useToken('document')).status, 200)
    assert.equal((await useToken('multiModel')).status, 200)
    const byPasskey = await signIn({ passkey: await signWith(device) })
    await ask(AS_ADMIN, 'PUT', '/users/lea/roles', { roles: ['staff'] })
    assert.equal((await browser.ask('/session')).json.name, null)
    assert.equal(await nameOfSession(byPasskey), 'lea')
    await assertPasswordRefused(as)
    // as with TOTP, Basic has no place for a second factor, also with an access token
    assert.equal((await useToken('document')).status, 401)
    assert.equal((await useToken('multiModel')).status, 401)
  })

  it('the last passkey is removed by a session that proved it; then a second factor must be set up', async () => {
    const as = await addUser('len', { roles: ['staff'] })
    const { device, reply } = await addPasskey(as)
    const browser = createBrowser(url)
    const json = { passkey: await signWith(device) }
    const opened = await browser.ask('/session', { method: 'POST', json })
    assert.equal(opened.status, 200, opened.body)
    const headers = { 'X-Cardea-Page-Token': opened.json.pageToken }
    const path = `/account/passkeys/${reply.json.passkeys[0].id}`
    assert.equal(
      (
        await browser.ask(path, {
          method: 'DELETE',
          headers: { ...headers, 'Content-Length': String(JSON.stringify({ current_password: PASSWORD }).length) },
          json: { current_password: PASSWORD },
        })
      ).status,
      200,
    )
    assert.equal((await browser.ask('/session')).json.mustSetUpFactor, true)
  })

  it('the web interface behind the multi-model door gets a token from a session of a passkey', async () => {
    const { device } = await addPasskey(await addUser('mia', { roles: ['staff'] }))
    const opened = await send(server.multiModel, {
      method: 'POST',
      path: '/_cardea/sign-in/sign-in',
      body: { passkey: device.sign(await beginSignIn(), { origin: ORIGIN_OF_OTHER_DOOR }) },
    })
    assert.equal(opened.status, 200, opened.body)
    const Cookie = (opened.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    const { json } = await send(server.multiModel, {
      method: 'POST',
      path: '/_cardea/sign-in/token',
      headers: { Cookie },
    })
    const headers = { Authorization: `Bearer ${json.jwt}` }
    assert.equal((await send(server.multiModel, { path: '/_cardea/account/session', headers })).json.name, undefined)
    assert.equal((await send(server.multiModel, { path: '/_cardea/account', headers })).json.name, 'mia')
  })

  it('a token from a session of a recovery code proves no passkey', async () => {
    const { reply } = await addPasskey(await addUser('mio', { roles: ['staff'] }))
    const [code] = reply.json.recoveryCodes
    const opened = await send(server.multiModel, {
      method: 'POST',
      path: '/_cardea/sign-in/sign-in',
      body: { name: 'mio', password: PASSWORD, code },
    })
    assert.equal(opened.status, 200, opened.body)
    const Cookie = (opened.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    const made = await send(server.multiModel, {
      method: 'POST',
      path: '/_cardea/sign-in/token',
      headers: { Cookie },
    })
    const headers = { Authorization: `Bearer ${made.json.jwt}` }
    assert.equal((await send(server.multiModel, { path: '/_cardea/account', headers })).json.name, 'mio')
    const path = `/_cardea/account/passkeys/${reply.json.passkeys[0].id}`
    // Node adds no length to the body of DELETE
    const body = JSON.stringify({ current_password: PASSWORD })
    const own = { 'Content-Length': String(body.length), 'Content-Type': 'application/json' }
    const remove = { method: 'DELETE', path, headers: { ...headers, ...own }, body }
    assert.deepEqual(errorOf(await send(server.multiModel, remove)), NEEDS_PASSWORD)
  })
})

const ORIGIN_OF_OTHER_DOOR = `http://localhost:${new URL(server.multiModel).port}`

/** As that of a user with TOTP: at both doors, in every form. */
async function assertPasswordRefused(as: string): Promise<void> {
  const [name = '', password = ''] = as.split(':')
  const body = { username: name, password }
  const replies = [
    await ask(as, 'GET', '/account'),
    await send(url, { path: '/_session', as }),
    await send(url, { method: 'POST', path: '/_session', body: { name, password } }),
    await send(server.multiModel, { path: '/_api/user', as }),
    await send(server.multiModel, { method: 'POST', path: '/_open/auth', body }),
    await signIn({ name, password }),
  ]
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 401),
  )
}
