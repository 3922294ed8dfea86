// TOTP and recovery codes of users and administrators, set up at /_cardea/api and used at every door.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { createBrowser, tokenOf, withToken } from '../support/browser.ts'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const API = '/_cardea/api'
const server = await startServer(createSharedScope(), { auth: { 'account-failures': 0, 'peer-failures': 0 } })
const url = server.document

const ask = (as: string | undefined, method: string, path: string, body?: unknown) =>
  send(url, { method, path: `${API}${path}`, ...(as && { as }), ...(body !== undefined && { body }) })

const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]

/** Each code can be used once: a test takes the one of the next step for its second. */
function codeOf(secret: string, step = 0): string {
  const totp = readTotp({ key: secret }) ?? assert.fail()
  return renderCode(totp, Math.floor(Date.now() / 30_000) + step)
}

async function addUser(name: string): Promise<string> {
  assert.equal((await ask(AS_ADMIN, 'POST', '/users', { name, password: 'pw' })).status, 200)
  return `${name}:pw`
}

async function addAdministrator(name: string): Promise<string> {
  assert.equal((await ask(AS_ADMIN, 'POST', '/administrators', { name, password: 'pw' })).status, 200)
  return `${name}:pw`
}

/** Enrols with the code of the previous step, so that the current and the next one are still unused. */
async function enrol(as: string): Promise<{ secret: string; recoveryCodes: readonly string[] }> {
  const { secret, uri } = (await ask(as, 'POST', '/account/totp')).json
  assert.match(uri, new RegExp(`^otpauth://totp/Cardea%3A${as.split(':')[0]}\\?secret=${secret}&issuer=Cardea$`))
  const confirm = () => ask(as, 'POST', '/account/totp/confirm', { secret, code: codeOf(secret, -1) })
  const first = await confirm()
  // a step may end between the code and its check
  const reply = first.status === 400 ? await confirm() : first
  assert.equal(reply.status, 200, reply.body)
  return { secret, recoveryCodes: reply.json.recoveryCodes }
}

const SIGN_INS: Readonly<Record<string, (name: string, token: string) => Promise<Reply>>> = {
  'the document door': (name, token) =>
    send(url, { method: 'POST', path: '/_session', body: { name, password: 'pw', token } }),
  'the multi-model door': (username, token) =>
    send(server.multiModel, { method: 'POST', path: '/_open/auth', body: { username, password: 'pw', token } }),
  'the console': (name, token) => createBrowser(url).signIn(name, 'pw', token),
}

for (const [kind, add] of Object.entries({ user: addUser, administrator: addAdministrator }))
  describe(`second factor of a ${kind}`, () => {
    it('is required after it is confirmed with a code, not before', async () => {
      const as = await add(`${kind}-a`)
      const { secret } = (await ask(as, 'POST', '/account/totp')).json
      const wrong = await ask(as, 'POST', '/account/totp/confirm', { secret, code: '000000' })
      assert.deepEqual(errorOf(wrong), [400, 'bad_request'])
      assert.equal((await ask(as, 'GET', '/account')).json.totp.isEnabled, false)
      const { secret: kept, recoveryCodes } = await enrol(as)
      assert.equal(new Set(recoveryCodes).size, 10)
      assert.equal((await ask(as, 'GET', '/account')).status, 401, 'Basic has no place for a code')
      for (const [door, signIn] of Object.entries(SIGN_INS))
        assert.equal((await signIn(`${kind}-a`, '')).status, 401, door)
      assert.equal((await createBrowser(url).signIn(`${kind}-a`, 'pw', codeOf(kept))).status, 200)
    })

    for (const path of [`${API}/account`, '/_cardea/account', '/_gate'])
      it(`is named as missing by ${path}, after the right password only`, async () => {
        const name = `${kind}-at${path.replaceAll('/', '-')}`
        await enrol(await add(name))
        const missing = 'The password is right, and the one-time code is missing.'
        for (const door of [url, server.multiModel]) {
          const right = await send(door, { path, as: `${name}:pw` })
          assert.deepEqual([right.status, right.json.reason], [401, missing])
          const wrong = await send(door, { path, as: `${name}:wrong` })
          assert.equal(wrong.status, 401)
          assert.notEqual(wrong.json.reason, missing)
        }
      })

    for (const [door, signIn] of Object.entries(SIGN_INS))
      it(`a recovery code is accepted once at ${door}`, async () => {
        const name = `${kind}-${door.replaceAll(' ', '-')}`
        const { recoveryCodes } = await enrol(await add(name))
        server.takeEvents()
        const [first = '', second = ''] = recoveryCodes
        assert.ok((await signIn(name, first)).status < 300)
        const used = server.takeEvents().find(({ event }) => event === 'recovery-code.used')
        assert.deepEqual([used?.['subject'], used?.['left']], [name, 9])
        assert.equal((await signIn(name, first)).status, 401)
        const typed = second.toLowerCase().replaceAll('-', ' ')
        assert.ok((await signIn(name, typed)).status < 300, 'however it is typed')
        assert.equal((await signIn(name, 'AAAA-AAAA-AAAA-AAAA')).status, 401)
        assert.ok(!JSON.stringify(server.log).includes(first))
      })

    it('a recovery code needs the right password', async () => {
      const { recoveryCodes } = await enrol(await add(`${kind}-p`))
      const [code = ''] = recoveryCodes
      assert.equal((await createBrowser(url).signIn(`${kind}-p`, 'wrong', code)).status, 401)
      assert.equal((await createBrowser(url).signIn(`${kind}-p`, 'pw', code)).status, 200)
    })

    it('an administrator removes it, with its recovery codes', async () => {
      const as = await add(`${kind}-r`)
      await enrol(as)
      const reset = await ask(AS_ADMIN, 'DELETE', `/${kind}s/${kind}-r/totp`)
      assert.deepEqual([reset.json.totp, reset.json.hadTotp], [false, true])
      assert.deepEqual((await ask(as, 'GET', '/account')).json.totp, { isEnabled: false, recoveryCodesLeft: 0 })
    })
  })

it('a new second factor makes the earlier recovery codes invalid', async () => {
  const as = await addUser('twice')
  const { recoveryCodes } = await enrol(as)
  await ask(AS_ADMIN, 'DELETE', '/users/twice/totp')
  await ask(as, 'POST', '/account/totp')
  const { secret } = (await ask(as, 'POST', '/account/totp')).json
  assert.equal((await ask(as, 'POST', '/account/totp/confirm', { secret, code: codeOf(secret) })).status, 200)
  assert.equal((await createBrowser(url).signIn('twice', 'pw', recoveryCodes[0])).status, 401)
})

it('recovery codes are replaced, and the second factor removed, only with the password proved', async () => {
  const as = await addUser('proof')
  const body = { name: 'proof', password: 'pw' }
  const { jwt } = (
    await send(server.multiModel, { method: 'POST', path: '/_open/auth', body: { ...body, username: 'proof' } })
  ).json
  assert.ok(jwt)
  const { recoveryCodes, secret } = await enrol(as)
  const signedIn = createBrowser(url)
  assert.equal((await signedIn.signIn('proof', 'pw', codeOf(secret))).status, 200)
  const headers = withToken(tokenOf(await signedIn.openPage()))
  const replaced = await signedIn.ask('/account/recovery-codes', { method: 'POST', headers })
  assert.equal(replaced.json.recoveryCodes.length, 10)
  assert.equal((await createBrowser(url).signIn('proof', 'pw', recoveryCodes[0])).status, 401)
  assert.equal((await signedIn.ask('/account/totp', { method: 'DELETE', headers })).json.isEnabled, false)
  assert.deepEqual(errorOf(await signedIn.ask('/account/recovery-codes', { method: 'POST', headers })), [
    409,
    'conflict',
  ])
})

it('a secret of another form is rejected', async () => {
  const as = await addUser('odd')
  for (const secret of ['', 'AAAA', 'a'.repeat(32), `${'A'.repeat(31)}1`, 'A'.repeat(40)])
    assert.deepEqual(errorOf(await ask(as, 'POST', '/account/totp/confirm', { secret, code: '123456' })), [
      400,
      'bad_request',
    ])
})

it('an administrator who is removed and created again has no second factor', async () => {
  const as = await addAdministrator('again')
  await enrol(as)
  assert.equal((await ask(AS_ADMIN, 'DELETE', '/administrators/again')).json.totp, true)
  await addAdministrator('again')
  assert.equal((await ask(as, 'GET', '/account')).json.totp.isEnabled, false)
})

it('a new password of an administrator keeps the second factor', async () => {
  const as = await addAdministrator('keeps')
  const { secret } = await enrol(as)
  assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/keeps', { password: 'new' })).json.totp, true)
  assert.equal((await createBrowser(url).signIn('keeps', 'new', '')).status, 401)
  assert.equal((await createBrowser(url).signIn('keeps', 'new', codeOf(secret))).status, 200)
})

describe('a second factor that a role needs', () => {
  const SET_UP = 'x-cardea-second-factor'
  const requireFor = (roles: string) => ask(AS_ADMIN, 'PUT', '/settings/admin/second-factor-roles', { value: roles })
  const listMissing = async () => (await ask(AS_ADMIN, 'GET', '/second-factor')).json

  it('is set up at the next sign-in; until then both doors say what is missing', async () => {
    for (const [name, roles] of Object.entries({ olga: ['ops'], rita: ['reader'] }))
      await ask(AS_ADMIN, 'POST', '/users', { name, password: 'pw', roles })
    assert.deepEqual(await listMissing(), { roles: [], missing: [], isComplete: true })
    await requireFor('ops, billing')
    const signedIn = await send(url, { method: 'POST', path: '/_session', body: { name: 'olga', password: 'pw' } })
    assert.deepEqual([signedIn.status, signedIn.headers[SET_UP]], [200, 'set-up'])
    const document = await send(url, { path: '/', as: 'olga:pw' })
    assert.deepEqual([document.status, document.json.error, document.headers[SET_UP]], [403, 'forbidden', 'set-up'])
    assert.match(document.json.reason, /second factor/)
    const multiModel = await send(server.multiModel, { path: '/_api/version', as: 'olga:pw' })
    assert.deepEqual([multiModel.status, multiModel.json.errorNum, multiModel.headers[SET_UP]], [403, 11, 'set-up'])
    assert.equal((await ask('olga:pw', 'GET', '/account/sessions')).json.error, 'second_factor_setup_required')
    assert.equal((await ask('olga:pw', 'GET', '/account')).json.mustSetUpFactor, true)
    assert.equal((await send(url, { path: '/', as: 'rita:pw' })).status, 200)
    const { missing } = await listMissing()
    assert.deepEqual(
      missing.map(({ name, roles }: { name: string; roles: readonly string[] }) => [name, roles]),
      [['olga', ['ops']]],
    )
    const { secret } = await enrol('olga:pw')
    assert.equal((await createBrowser(url).signIn('olga', 'pw', codeOf(secret))).status, 200)
    assert.deepEqual((await listMissing()).missing, [])
    await requireFor('')
  })

  it('is needed by administrators too', async () => {
    await addAdministrator('root')
    await addAdministrator('late')
    const tooSoon = await requireFor('_admin')
    assert.equal(tooSoon.status, 400, 'an administrator without one would lock itself out')
    const { secret } = await enrol('root:pw')
    const browser = createBrowser(url)
    assert.equal((await browser.signIn('root', 'pw', codeOf(secret))).status, 200)
    const headers = withToken(tokenOf(await browser.openPage()))
    const required = { value: '_admin' }
    const change = await browser.ask('/settings/admin/second-factor-roles', { method: 'PUT', headers, json: required })
    assert.equal(change.status, 200)
    assert.deepEqual(errorOf(await ask('late:pw', 'GET', '/users')), [403, 'second_factor_setup_required'])
    const { json } = await browser.ask('/second-factor', { headers })
    assert.deepEqual(json.roles, ['_admin'])
    const names = json.missing.map(({ name }: { name: string }) => name)
    assert.ok(names.includes('admin') && !names.includes('root'), names.join())
    const off = { value: '', expected: '_admin' }
    await browser.ask('/settings/admin/second-factor-roles', { method: 'PUT', headers, json: off })
    assert.equal((await ask(AS_ADMIN, 'GET', '/second-factor')).status, 200)
  })
})
