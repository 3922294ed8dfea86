// A second factor ends every credential that has not proved it, and only a session that has proved it can remove it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { createBrowser, tokenOf, withToken } from '../support/browser.ts'
import { AS_ADMIN, basic, type Reply, type Request, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(createSharedScope(), {
  auth: { 'account-failures': 0, 'peer-failures': 0 },
  chttpd_auth: { allow_sign_up: true, public_fields: 'nick', users_db_public: true },
  admin: { endpoint: 'tcp://127.0.0.1:0', 'user-admin-role': 'helpers' },
})
const { document: url, multiModel, cardea } = server

const KEY = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const TOTP = { key: KEY, algorithm: 'sha', length: 6 }
const pathOf = (name: string) => `/_users/org.couchdb.user:${name}`

/** Each code can be used once, and none before the last one used. */
const codeOf = (secret: string, step = 0): string =>
  renderCode(readTotp({ key: secret }) ?? assert.fail(), Math.floor(Date.now() / 30_000) + step)

const addUser = async (name: string, roles: readonly string[] = []): Promise<string> => {
  await cardea.users.create({ name, password: 'pw', roles, grants: { _system: 'rw' } })
  return name
}

async function addAdministrator(name: string): Promise<string> {
  const body = { name, password: 'pw' }
  const reply = await send(url, { as: AS_ADMIN, method: 'POST', path: '/_cardea/api/administrators', body })
  assert.equal(reply.status, 200, reply.body)
  return name
}

type Credential = Pick<Request, 'as' | 'headers'>

async function openCookie(name: string, token?: string): Promise<Credential> {
  const body = { name, password: 'pw', ...(token !== undefined && { token }) }
  const reply = await send(url, { method: 'POST', path: '/_session', body })
  assert.equal(reply.status, 200, reply.body)
  return { headers: { Cookie: (reply.lines['set-cookie']?.[0] ?? '').split(';')[0] ?? '' } }
}

async function openToken(username: string, token?: string): Promise<Credential> {
  // expires so soon that it can be renewed
  const body = { username, password: 'pw', expiryTime: 60, ...(token !== undefined && { token }) }
  const reply = await send(multiModel, { method: 'POST', path: '/_open/auth', body })
  assert.equal(reply.status, 200, reply.body)
  return { as: `Bearer ${reply.json.jwt}` }
}

async function openBrowser(name: string, code?: string) {
  const browser = createBrowser(url)
  const opened = await browser.signIn(name, 'pw', code)
  assert.equal(opened.status, 200, opened.body)
  const headers = withToken(tokenOf(await browser.openPage()))
  return {
    ask: (method: string, path: string, json?: unknown) =>
      browser.ask(path, { method, headers, ...(json !== undefined && { json }) }),
  }
}

async function createAccessToken(name: string): Promise<Credential> {
  const body = { name: 'program', valid_until: Math.floor(Date.now() / 1000) + 600 }
  const reply = await send(multiModel, { as: `${name}:pw`, method: 'POST', path: `/_api/token/${name}`, body })
  assert.equal(reply.status, 200, reply.body)
  return { as: basic(name, reply.json.token) }
}

const nameAt = async (base: string, credential: Credential): Promise<string | null> =>
  base === url
    ? (await send(url, { path: '/_session', ...credential })).json.userCtx?.name
    : (await send(multiModel, { path: '/_api/version', ...credential })).status === 200
      ? 'accepted'
      : null

const readDocument = async (name: string, credential: Credential = { as: AS_ADMIN }) =>
  (await send(url, { path: pathOf(name), ...credential })).json

const writeDocument = (name: string, body: unknown, credential: Credential): Promise<Reply> =>
  send(url, { method: 'PUT', path: pathOf(name), body, ...credential })

async function setByAdministrator(name: string): Promise<void> {
  const reply = await writeDocument(name, { ...(await readDocument(name)), totp: TOTP }, { as: AS_ADMIN })
  assert.equal(reply.status, 201, reply.body)
}

const hasFactor = async (name: string): Promise<boolean> => (await readDocument(name)).totp !== undefined

/** Every kind of credential of a user without a second factor, and where it is used. */
const openAll = async (name: string): Promise<Readonly<Record<string, readonly [base: string, Credential]>>> => ({
  cookie: [url, await openCookie(name)],
  token: [multiModel, await openToken(name)],
  'token at the document door': [url, await openToken(name)],
  'access token': [multiModel, await createAccessToken(name)],
  'access token at the document door': [url, { as: (await createAccessTokenOf(name)).as ?? '' }],
  'Basic, remembered': [url, { as: `${name}:pw` }],
  'Basic at the multi-model door': [multiModel, { as: `${name}:pw` }],
})

async function createAccessTokenOf(name: string): Promise<Credential> {
  const body = { name: 'other', valid_until: Math.floor(Date.now() / 1000) + 600 }
  const reply = await send(multiModel, { as: `${name}:pw`, method: 'POST', path: `/_api/token/${name}`, body })
  return { as: basic(name, reply.json.token) }
}

const SETTERS: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
  'an administrator writes it': setByAdministrator,
  'an administrator imports it': async (name) => {
    const user = { name, keepsPassword: true, grants: { _system: { level: 'rw' } }, members: [['totp', TOTP]] }
    const body = { users: [user], replace: true }
    const reply = await send(url, { as: AS_ADMIN, method: 'POST', path: '/_cardea/api/transfer/users', body })
    assert.equal(reply.json.outcomes?.[0]?.kind, 'replaced', reply.body)
  },
  'the user writes it': async (name) => {
    const own = await openCookie(name)
    const reply = await writeDocument(name, { ...(await readDocument(name)), totp: TOTP }, own)
    assert.equal(reply.status, 201, reply.body)
    assert.equal(await nameAt(url, own), null, 'it confirmed no code')
  },
  'the user confirms it in the console': async (name) => {
    const browser = await openBrowser(name)
    const { secret } = (await browser.ask('POST', '/account/totp')).json
    const confirmed = await browser.ask('POST', '/account/totp/confirm', { secret, code: codeOf(secret) })
    assert.equal(confirmed.status, 200, confirmed.body)
    assert.equal((await browser.ask('GET', '/account')).json.totp.isEnabled, true, 'its session stays')
  },
}

describe('a second factor ends every session, token and remembered header', () => {
  for (const [how, set] of Object.entries(SETTERS))
    it(how, async () => {
      const name = await addUser(`end-${how.replaceAll(' ', '-')}`)
      const open = await openAll(name)
      for (const [kind, [base, credential]] of Object.entries(open))
        assert.ok(await nameAt(base, credential), `${kind} before`)
      await set(name)
      assert.ok(await hasFactor(name))
      for (const [kind, [base, credential]] of Object.entries(open))
        assert.ok(!(await nameAt(base, credential)), `${kind} after`)
      const reset = await send(url, { as: AS_ADMIN, method: 'DELETE', path: `/_cardea/api/users/${name}/totp` })
      assert.equal(reset.json.hadTotp, true, reset.body)
      for (const [kind, [base, credential]] of Object.entries(open))
        assert.equal(!!(await nameAt(base, credential)), kind.startsWith('Basic'), `${kind} without it again`)
    })

  it('of an administrator too', async () => {
    const name = await addAdministrator('end-admin')
    const [cookie, token, browser] = [await openCookie(name), await openToken(name), await openBrowser(name)]
    const confirming = await openBrowser(name)
    const { secret } = (await confirming.ask('POST', '/account/totp')).json
    const body = { secret, code: codeOf(secret) }
    assert.equal((await confirming.ask('POST', '/account/totp/confirm', body)).status, 200)
    assert.equal(await nameAt(url, cookie), null)
    assert.equal(await nameAt(multiModel, token), null)
    assert.equal((await browser.ask('GET', '/account')).status, 401)
    assert.equal((await confirming.ask('GET', '/users')).status, 200, 'the session that confirmed stays')
    assert.equal((await confirming.ask('POST', '/account/recovery-codes')).status, 200, 'and has proved it')
  })

  it('but not the token that confirmed it, renewed or not', async () => {
    const name = await addUser('end-by-token')
    const [own, other] = [await openToken(name), await openToken(name)]
    const ask = (path: string, body?: unknown) =>
      send(multiModel, { method: 'POST', path, ...own, ...(body !== undefined && { body }) })
    const { secret } = (await ask('/_cardea/api/account/totp')).json
    assert.equal((await ask('/_cardea/api/account/totp/confirm', { secret, code: codeOf(secret) })).status, 200)
    assert.equal(await nameAt(multiModel, other), null)
    assert.equal(await nameAt(multiModel, own), 'accepted')
    assert.equal(await nameAt(url, own), name)
    const renewed = await ask('/_open/auth/renew')
    assert.equal(renewed.status, 200, renewed.body)
    assert.equal(await nameAt(multiModel, { as: `Bearer ${renewed.json.jwt}` }), 'accepted')
    const sessions = await send(url, { as: AS_ADMIN, path: `/_cardea/api/users/${name}/sessions` })
    assert.equal(sessions.json.sessions.length, 1, sessions.body)
    await cardea.users.setPassword(name, 'next')
    assert.equal(await nameAt(multiModel, own), null, 'a new password ends it')
  })
})

/** Ways in which a user gets rid of the own second factor. Each returns the status. */
const REMOVALS: Readonly<Record<string, (name: string, own: Credential) => Promise<number>>> = {
  'the document without it': async (name, own) => {
    const { totp: _totp, ...rest } = await readDocument(name)
    return (await writeDocument(name, rest, own)).status
  },
  'the document with another': async (name, own) => {
    const body = { ...(await readDocument(name)), totp: { ...TOTP, key: `${KEY.slice(0, 31)}A` } }
    return (await writeDocument(name, body, own)).status
  },
  'the document in _bulk_docs': async (name, own) => {
    const { totp: _totp, ...rest } = await readDocument(name)
    const body = { docs: [rest] }
    const { json } = await send(url, { method: 'POST', path: '/_users/_bulk_docs', body, ...own })
    return json[0].error === undefined ? 201 : 403
  },
  'deleting the document, to sign up again': async (name, own) => {
    const { _rev } = await readDocument(name)
    return (await send(url, { method: 'DELETE', path: `${pathOf(name)}?rev=${_rev}`, ...own })).status
  },
}

/** The same with a token, at the multi-model door and its admin API. */
const TOKEN_REMOVALS: Readonly<Record<string, (name: string, own: Credential) => Promise<number>>> = {
  'DELETE /account/totp': async (_name, own) =>
    (await send(multiModel, { method: 'DELETE', path: '/_cardea/api/account/totp', ...own })).status,
  'POST /account/recovery-codes': async (_name, own) =>
    (await send(multiModel, { method: 'POST', path: '/_cardea/api/account/recovery-codes', ...own })).status,
  'POST /account/totp/confirm': async (_name, own) => {
    const { secret } = (await send(multiModel, { method: 'POST', path: '/_cardea/api/account/totp', ...own })).json
    const body = { secret, code: codeOf(secret, 1) }
    return (await send(multiModel, { method: 'POST', path: '/_cardea/api/account/totp/confirm', body, ...own })).status
  },
  'DELETE /_api/user/NAME, to create it again': async (name, own) =>
    (await send(multiModel, { method: 'DELETE', path: `/_api/user/${name}`, ...own })).status,
}

/** A session that a program opened without the code, and a token of that kind: neither has proved the second factor. */
const openUnproved = async (name: string): Promise<Credential> => {
  const { cookie } = await cardea.sessions.create(name)
  return { headers: { Cookie: cookie.split(';')[0] ?? '' } }
}

describe('removing or replacing a second factor', () => {
  for (const [how, remove] of Object.entries(REMOVALS)) {
    const name = `remove-${how.replaceAll(/\W/g, '-')}`
    it(`${how}: needs a session that has proved it`, async () => {
      await addUser(name)
      await setByAdministrator(name)
      const refused = await remove(name, await openUnproved(name))
      assert.equal(refused, 403)
      assert.ok(await hasFactor(name))
      const status = await remove(name, await openCookie(name, codeOf(KEY)))
      assert.ok(status === 200 || status === 201, String(status))
    })
  }

  for (const [how, remove] of Object.entries(TOKEN_REMOVALS))
    it(`${how}: a token that has proved it may`, async () => {
      const name = await addUser(`by-token-${how.replaceAll(/\W/g, '-')}`, ['helpers'])
      await setByAdministrator(name)
      const status = await remove(name, await openToken(name, codeOf(KEY)))
      assert.ok(status === 200 || status === 202, String(status))
    })

  it('a user administrator may for others', async () => {
    const [helper, name] = [await addUser('helper', ['helpers']), 'helped']
    await cardea.users.create({ name, password: 'pw' })
    await setByAdministrator(name)
    const path = `/_cardea/api/users/${name}/totp`
    assert.equal((await send(url, { as: `${helper}:pw`, method: 'DELETE', path })).status, 200)
    assert.ok(!(await hasFactor(name)))
  })

  it('other members are changed without it', async () => {
    const name = await addUser('nick')
    await setByAdministrator(name)
    const own = await openUnproved(name)
    const reply = await writeDocument(name, { ...(await readDocument(name)), nick: 'N' }, own)
    assert.equal(reply.status, 201, reply.body)
    assert.ok(await hasFactor(name))
  })

  it('a new password keeps the proof of the session of the console', async () => {
    const name = await addUser('renewed')
    await setByAdministrator(name)
    const browser = await openBrowser(name, codeOf(KEY))
    const changed = await browser.ask('PUT', '/account/password', { password: 'next', current_password: 'pw' })
    assert.equal(changed.status, 200, changed.body)
    const again = createBrowser(url)
    assert.equal((await again.signIn(name, 'next', codeOf(KEY, 1))).status, 200)
  })

  it('a session of the library has proved what verifyPassword has checked', async () => {
    const name = await addUser('library')
    await setByAdministrator(name)
    const user = (await cardea.users.verifyPassword(name, 'pw', { code: codeOf(KEY) })) ?? assert.fail()
    const { cookie } = await cardea.sessions.create(user)
    const { totp: _totp, ...rest } = await readDocument(name)
    const own = { headers: { Cookie: cookie.split(';')[0] ?? '' } }
    assert.equal((await writeDocument(name, rest, own)).status, 201)
  })
})

describe('the key of a second factor', () => {
  /** Every way to read the own document. Each returns its member `totp`. */
  const READS: Readonly<Record<string, (name: string, own: Credential) => Promise<unknown>>> = {
    GET: async (name, own) => (await readDocument(name, own)).totp,
    'GET with open_revs': async (name, own) => {
      const headers = { Accept: 'application/json', ...own.headers }
      const path = `${pathOf(name)}?open_revs=all`
      return (await send(url, { path, ...(own.as && { as: own.as }), headers })).json[0].ok.totp
    },
    _all_docs: async (name, own) => {
      const path = `/_users/_all_docs?include_docs=true&key="org.couchdb.user:${name}"`
      return (await send(url, { path: encodeURI(path), ...own })).json.rows[0].doc.totp
    },
    _bulk_get: async (name, own) => {
      const body = { docs: [{ id: `org.couchdb.user:${name}` }] }
      return (await send(url, { method: 'POST', path: '/_users/_bulk_get', body, ...own })).json.results[0].docs[0].ok
        .totp
    },
  }
  /** Feeds are for administrators. */
  const ADMIN_READS: typeof READS = {
    ...READS,
    _changes: async (name, own) => {
      const { json } = await send(url, { path: '/_users/_changes?include_docs=true', ...own })
      return json.results.find(({ id }: { id: string }) => id === `org.couchdb.user:${name}`).doc.totp
    },
    'an export': async (name, own) => {
      const path = `/_cardea/api/transfer/users?format=cardea&limit=1000`
      const { users } = (await send(url, { path, ...own })).json
      const { text } = users.find((user: { name: string }) => user.name === name)
      return text.includes(KEY) ? TOTP : text
    },
  }
  const MASKED = { ...TOTP, key: '***' }

  it('is masked for its user on every read', async () => {
    const name = await addUser('masked')
    await setByAdministrator(name)
    const [proved, unproved] = [await openCookie(name, codeOf(KEY)), await openUnproved(name)]
    for (const [how, read] of Object.entries(READS))
      for (const own of [proved, unproved]) assert.deepEqual(await read(name, own), MASKED, how)
    const changes = await send(url, { path: '/_users/_changes?include_docs=true', ...proved })
    assert.equal(changes.status, 401)
    const find = { method: 'POST', path: '/_users/_find', body: { selector: { name } }, ...proved }
    assert.equal((await send(url, find)).status, 404)
  })

  it('is whole for administrators and in exports', async () => {
    const name = await addUser('whole')
    await setByAdministrator(name)
    for (const [how, read] of Object.entries(ADMIN_READS))
      assert.deepEqual(await read(name, { as: AS_ADMIN }), TOTP, how)
  })

  it('stays as it is if the mask is written, by the user or an administrator', async () => {
    const name = await addUser('unchanged')
    await setByAdministrator(name)
    const own = await openUnproved(name)
    const sent = { ...(await readDocument(name, own)), nick: 'U' }
    assert.deepEqual(sent.totp, MASKED)
    assert.equal((await writeDocument(name, sent, own)).status, 201)
    assert.equal(await nameAt(url, own), name, 'no session ends')
    const bulk = { docs: [{ ...(await readDocument(name, own)), nick: 'V' }] }
    const written = await send(url, { method: 'POST', path: '/_users/_bulk_docs', body: bulk, ...own })
    assert.equal(written.json[0].ok, true, written.body)
    assert.equal(
      (await writeDocument(name, { ...(await readDocument(name)), totp: MASKED }, { as: AS_ADMIN })).status,
      201,
    )
    const { totp, nick } = await readDocument(name)
    assert.deepEqual([totp, nick], [TOTP, 'V'])
    assert.ok(await openCookie(name, codeOf(KEY)))
  })

  it('is masked in a browser that has the whole document from an administrator', async () => {
    const name = await addUser('shared-browser')
    await setByAdministrator(name)
    const { headers } = await send(url, { path: pathOf(name), as: AS_ADMIN })
    const own = await openUnproved(name)
    const again = { ...own, headers: { ...own.headers, 'If-None-Match': headers.etag ?? '' } }
    const { status, json } = await send(url, { path: pathOf(name), ...again })
    assert.deepEqual([status, json?.totp], [200, MASKED])
  })

  it('with another algorithm or length beside the mask it is another second factor', async () => {
    const name = await addUser('other-length')
    await setByAdministrator(name)
    const sent = { ...(await readDocument(name)), totp: { ...MASKED, length: 8 } }
    assert.equal((await writeDocument(name, sent, await openUnproved(name))).status, 403)
    assert.equal((await writeDocument(name, sent, await openCookie(name, codeOf(KEY)))).status, 201)
    assert.deepEqual((await readDocument(name)).totp, { ...TOTP, length: 8 })
  })

  it('a mask without a second factor is 400', async () => {
    const name = await addUser('no-factor')
    const own = await openCookie(name)
    for (const totp of [MASKED, '***'])
      assert.equal((await writeDocument(name, { ...(await readDocument(name)), totp }, own)).status, 400)
  })
})
