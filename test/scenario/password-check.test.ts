// auth.password-check: known passwords are refused wherever a password is chosen.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createCardea } from '../../src/index.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer, startServerWithFiles } from '../support/server.ts'

const API = '/_cardea/api'
const GOOD = 'zebra tin orbit flute'
const LEAKED = 'velvet anchor prism'
const KNOWN =
  'Password does not conform to requirements. It is a known password with digits or signs before or after it. Choose another one, such as four words that have nothing to do with each other.'

const scope = createSharedScope()
const folder = makeFolder(scope)
const hashOf = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()
const writeList = (name: string, words: readonly string[]) => {
  const path = join(folder, name)
  writeFileSync(
    path,
    words
      .map((word) => `${hashOf(word)}:1\r\n`)
      .sort()
      .join(''),
  )
  return path
}
const server = await startServer(scope, {
  auth: { 'password-check': 'on', 'password-file': writeList('leaked.txt', [LEAKED, 'b', 'c']) },
  chttpd_auth: { allow_sign_up: true },
  console: { 'public-url': 'https://db.example.com' },
})
const { cardea } = server

const ask = (method: string, path: string, body?: unknown, as = AS_ADMIN) =>
  send(server.document, { method, path, as, ...(body !== undefined && { body }) })

const toDocument = (name: string, password: string) => ({
  _id: `org.couchdb.user:${name}`,
  type: 'user',
  name,
  password,
  roles: [],
})

type Attempt = (name: string, password: string) => ReturnType<typeof send>

/** Every place where a password is chosen over HTTP. `name` exists where `isNew` is not set. */
const PLACES: Readonly<Record<string, { readonly isNew?: true; readonly code: unknown; readonly attempt: Attempt }>> = {
  'a new user document': {
    isNew: true,
    code: 'bad_request',
    attempt: (name, password) => ask('PUT', `/_users/org.couchdb.user:${name}`, toDocument(name, password)),
  },
  'a sign-up': {
    isNew: true,
    code: 'bad_request',
    attempt: (name, password) =>
      send(server.document, {
        method: 'PUT',
        path: `/_users/org.couchdb.user:${name}`,
        body: toDocument(name, password),
      }),
  },
  'a new administrator': {
    isNew: true,
    code: 'bad_request',
    attempt: (name, password) => ask('PUT', `/_node/_local/_config/admins/${name}`, JSON.stringify(password)),
  },
  'a new user at the multi-model door': {
    isNew: true,
    code: true,
    attempt: (user, passwd) =>
      send(server.multiModel, { method: 'POST', path: '/_api/user', as: AS_ADMIN, body: { user, passwd } }),
  },
  'a change at the multi-model door': {
    code: true,
    attempt: (name, passwd) =>
      send(server.multiModel, { method: 'PATCH', path: `/_api/user/${name}`, as: AS_ADMIN, body: { passwd } }),
  },
  'a new user of the admin API': {
    isNew: true,
    code: 'password_refused',
    attempt: (name, password) => ask('POST', `${API}/users`, { name, password }),
  },
  'a new password of the admin API': {
    code: 'password_refused',
    attempt: (name, password) => ask('PUT', `${API}/users/${name}/password`, { password }),
  },
  'a new password of the own account': {
    code: 'password_refused',
    attempt: (name, password) =>
      ask('PUT', `${API}/account/password`, { password, current_password: GOOD }, `${name}:${GOOD}`),
  },
  'a password link': {
    code: 'password_refused',
    async attempt(name, password) {
      const { token } = await cardea.passwordLinks.create(name)
      return ask('POST', `${API}/password-links/use`, { token, password })
    },
  },
}

it('the address of a user must not be in the password, and is not revealed to others', async () => {
  const contains = /It contains the name or address of the account/
  await cardea.users.create({ name: 'lovelace', password: GOOD })
  await cardea.users.create({ name: 'visitor', password: GOOD })
  const address = 'countess@example.com'
  assert.equal((await ask('PUT', `${API}/users/lovelace/address`, { address })).status, 200)
  for (const password of ['my Countess zebra tin', `${address} zebra`]) {
    const changed = await ask('PUT', `${API}/users/lovelace/password`, { password })
    assert.deepEqual([changed.status, changed.json.error], [400, 'password_refused'])
    assert.match(changed.json.reason, contains)
    const check = (as: string) => ask('POST', `${API}/account/check-password`, { password, name: 'lovelace' }, as)
    assert.match((await check(`lovelace:${GOOD}`)).json.problems[0], contains)
    assert.deepEqual((await check(`visitor:${GOOD}`)).json, { problems: [] })
  }
  const path = '/_users/org.couchdb.user:lovelace'
  const { _rev } = (await ask('GET', path)).json
  const written = await ask('PUT', path, { ...toDocument('lovelace', 'my countess zebra tin'), _rev })
  assert.match(written.json.reason, contains)
})

describe('a known password is refused for', () => {
  for (const [place, { isNew, code, attempt }] of Object.entries(PLACES))
    it(place, async () => {
      const name = `u${place.replaceAll(/\W/g, '').toLowerCase()}`
      if (!isNew) await cardea.users.create({ name, password: GOOD })
      for (const [password, flaw] of [
        ['Superman2026', 'It is a known password with digits or signs'],
        [`xx ${name} xx`, 'It contains the name or address of the account.'],
        [LEAKED, 'It is among the passwords that have leaked.'],
      ] as const) {
        const { status, json } = await attempt(name, password)
        assert.deepEqual([status, json.error], [400, code], password)
        assert.match(json.reason ?? json.errorMessage, new RegExp(flaw))
      }
      const accepted = await attempt(name, `another ${GOOD}`)
      assert.ok(accepted.status < 300, accepted.body)
    })

  it('the library and an import', async () => {
    await assert.rejects(cardea.users.create({ name: 'lib', password: 'Superman2026' }), { message: KNOWN })
    const users = [{ name: 'imp', password: { clear: 'Superman2026' } }]
    const { json } = await ask('POST', `${API}/transfer/users`, { users })
    assert.deepEqual(json, { outcomes: [{ kind: 'refused', reason: KNOWN }] })
  })
})

describe('the check of a password', () => {
  it('names the flaw, for the own account or another', async () => {
    await cardea.users.create({ name: 'charles', password: GOOD })
    const check = async (body: object) =>
      (await ask('POST', `${API}/account/check-password`, body, `charles:${GOOD}`)).json.problems.map(
        (problem: string) => problem.split('.')[0],
      )
    assert.deepEqual(await check({ password: GOOD }), [])
    assert.deepEqual(await check({ password: LEAKED }), ['It is among the passwords that have leaked'])
    assert.deepEqual(await check({ password: 'x charles x' }), ['It contains the name or address of the account'])
    assert.deepEqual(await check({ password: 'x charles x', name: 'emma' }), [])
    assert.deepEqual(await check({ password: 'x emma x', name: 'emma' }), [
      'It contains the name or address of the account',
    ])
  })

  it('is announced among the rules for passwords', async () => {
    const { passwordRules } = (await ask('GET', `${API}/account`)).json
    assert.deepEqual(passwordRules, ['Use no known password, no row of keys, and not your name.'])
  })

  it('is off by default, and stored forms are not checked', async (t) => {
    const plain = await startServer(t)
    await plain.cardea.users.create({ name: 'ada', password: 'Superman2026' })
    const body = toDocument('eve', 'x')
    const stored = { ...body, password: undefined, password_scheme: 'simple', salt: '1', password_sha: '0'.repeat(40) }
    assert.equal((await ask('PUT', '/_users/org.couchdb.user:eve', stored)).status, 201)
  })

  it('leaves passwords that exist alone', async (t) => {
    const file = join(folder, 'later.ini')
    writeFileSync(file, '[auth]\npassword-check = off\n')
    const later = await startServerWithFiles(t, [file])
    await later.cardea.users.create({ name: 'ada', password: 'Superman2026' })
    writeFileSync(file, '[auth]\npassword-check = on\n')
    await later.cardea.reload()
    await assert.rejects(later.cardea.users.create({ name: 'eve', password: 'Superman2026' }), { message: KNOWN })
    assert.equal((await later.cardea.users.checkPassword('ada', 'Superman2026')).status, 'verified')
  })

  it('warns of an administrator in a file, whose password is hashed', async (t) => {
    const file = join(folder, 'admins.ini')
    writeFileSync(file, '[auth]\npassword-check = on\n[admins]\nroot = Superman2026\n')
    const { log, document } = await startServerWithFiles(t, [file])
    assert.ok(log.some(({ message, fields }) => /does not conform/.test(message) && fields['name'] === 'root'))
    assert.equal((await send(document, { path: '/_session', as: 'root:Superman2026' })).status, 200)
  })

  it('refuses an administrator among the options of a program', async () => {
    const options = {
      store: { url: 'sqlite::memory:' },
      auth: { 'password-check': 'on' as const },
      admins: { root: 'Superman2026' },
    }
    await assert.rejects(createCardea({ options }), /It is a known password with digits or signs/)
  })
})

describe('auth.password-file', () => {
  it('that is not such a file prevents a start', async (t) => {
    const path = join(folder, 'other.txt')
    writeFileSync(path, 'password\n')
    const auth = { 'password-check': 'on', 'password-file': path } as const
    await assert.rejects(startServer(t, { auth }), /auth\.password-file: .*expected lines with a SHA-1 hash/)
    const missing = { ...auth, 'password-file': join(folder, 'missing.txt') }
    await assert.rejects(startServer(t, { auth: missing }), /auth\.password-file: ENOENT/)
  })

  it('that cannot be searched any more is 503: a password that cannot be checked is not accepted', async (t) => {
    const path = writeList('gone.txt', ['a', 'b'])
    const { document, multiModel } = await startServer(t, { auth: { 'password-check': 'on', 'password-file': path } })
    rmSync(path)
    const body = toDocument('ada', GOOD)
    const put = await send(document, { method: 'PUT', path: `/_users/${body._id}`, as: AS_ADMIN, body })
    assert.deepEqual([put.status, put.json.error], [503, 'service unavailable'])
    const users = { method: 'POST', path: '/_api/user', as: AS_ADMIN, body: { user: 'ada', passwd: GOOD } }
    assert.equal((await send(multiModel, users)).status, 503)
    const own = await send(document, {
      method: 'POST',
      path: `${API}/users`,
      as: AS_ADMIN,
      body: { name: 'ada', password: GOOD },
    })
    assert.deepEqual([own.status, own.json.error], [503, 'password_check_failed'])
    assert.match(own.json.reason, /Reason: ENOENT/)
  })
})
