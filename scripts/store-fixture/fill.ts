// Fills a running Cardea over HTTP with everything a store can hold.
import assert from 'node:assert/strict'
import { ADMINISTRATORS, passwordOf, SETTINGS, USERS } from './people.ts'

/** The options with which the fixture is written and read. Hashes are not upgraded while the store is filled. */
export const OPTIONS = {
  chttpd: { port: 0 },
  server: {
    endpoint: 'tcp://127.0.0.1:0',
    'jwt-secret': 'store-fixture-token-secret',
    'session-timeout': 3153600000,
  },
  chttpd_auth: { iterations: 1000, secret: 'store-fixture-cookie-secret', upgrade_hash_on_auth: false },
  couchdb: { uuid: '0'.repeat(32) },
}

/** The administrator that fills the store. It is deleted at the end. */
export const SEED = { name: 'removed-admin', password: passwordOf('removed-admin') }

const FAR_AWAY = 4_102_444_800
type Credentials = Readonly<Record<'name' | 'password', string>>

const basic = ({ name, password }: Credentials) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
const find = (name: string) => USERS.find((user) => user.name === name) ?? assert.fail(name)

interface Request {
  readonly as?: Credentials
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
}

const createAsk =
  (url) =>
  async (method: string, path: string, { as, body, headers = {} }: Request = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(as && { Authorization: basic(as) }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return { json: text && JSON.parse(text), cookie: (response.headers.getSetCookie()[0] ?? '').split(';')[0] }
  }

/** Returns the cookies and tokens, live and revoked. */
export async function fillStore(document, multiModel) {
  const doors = { document: createAsk(document), multiModel: createAsk(multiModel) }
  await putSettings(doors)
  await putUsers(doors)
  await putGrants(doors)
  const tokens = await createAccessTokens(doors)
  const sessions = await createSessions(doors)
  await putAdministrators(doors)
  return { ...tokens, ...sessions }
}

const configPath = (section, key) => `/_node/_local/_config/${section}/${encodeURIComponent(key)}`
const userPath = (name) => `/_users/org.couchdb.user:${encodeURIComponent(name)}`

async function putSettings({ document }) {
  for (const { section, key, value } of SETTINGS) {
    await document('PUT', configPath(section, key), { as: SEED, body: value })
  }
  // a setting that was deleted again
  await document('PUT', configPath('vendor', 'gone'), { as: SEED, body: 'x' })
  await document('DELETE', configPath('vendor', 'gone'), { as: SEED })
}

type Given = Partial<(typeof USERS)[number]> & { readonly name: string }

const putUser = (document: ReturnType<typeof createAsk>, { name, password, plain, roles = [], members = {} }: Given) =>
  document('PUT', userPath(name), {
    as: SEED,
    body: { type: 'user', name, roles, ...members, ...(plain && { password }) },
  })

async function removeUser(document, name) {
  const { json } = await document('GET', userPath(name), { as: SEED })
  await document('DELETE', `${userPath(name)}?rev=${json._rev}`, { as: SEED })
}

async function putUsers({ document, multiModel }) {
  const again = find('deleted and made again')
  await putUser(document, { ...again, password: 'another password' })
  await removeUser(document, again.name)
  for (const user of USERS.filter(({ isImported }) => !isImported)) await putUser(document, user)
  const users = USERS.filter(({ isImported }) => isImported).map(({ name, members }) => ({ name, password: members }))
  await document('POST', '/_cardea/api/transfer/users', { as: SEED, body: { users } })
  await putUser(document, { name: 'without password' })
  await putUser(document, { name: 'deleted', password: passwordOf('deleted'), plain: true })
  await removeUser(document, 'deleted')
  const inactive = { user: 'inactive', passwd: passwordOf('inactive'), active: false, extra: { a: [1] } }
  await multiModel('POST', '/_api/user', { as: SEED, body: inactive })
}

async function putGrants({ multiModel }) {
  const grants = [
    ['shop', 'rw'],
    ['*', 'ro'],
    ['shop/orders', 'none'],
    ['archive', 'ro'],
    ['archive/letters', 'ro'],
  ]
  for (const [path, grant] of grants) {
    await multiModel('PUT', `/_api/user/granted/database/${path}`, { as: SEED, body: { grant } })
  }
  // from here on only a collection of `archive` is granted
  await multiModel('DELETE', '/_api/user/granted/database/archive', { as: SEED })
  await multiModel('PUT', '/_api/user/granted/config/theme', { as: SEED, body: { value: { dark: true } } })
}

async function createAccessTokens({ multiModel }) {
  const as = find('tokens')
  const create = async (name) =>
    (await multiModel('POST', '/_api/token/tokens', { as, body: { name, valid_until: FAR_AWAY } })).json
  const [kept, deleted] = [await create('kept'), await create('deleted')]
  await multiModel('DELETE', `/_api/token/tokens/${deleted.id}`, { as })
  return { liveAccessToken: kept.token, revokedAccessToken: deleted.token }
}

async function createSessions({ document, multiModel }) {
  const openCookie = async ({ name, password }) =>
    (await document('POST', '/_session', { body: { name, password } })).cookie
  const openToken = async ({ name: username, password }) =>
    (await multiModel('POST', '/_open/auth', { body: { username, password } })).json.jwt
  const [user, signedOut] = [find('sessions'), find('signed-out')]
  const [liveCookie, endedCookie] = [await openCookie(user), await openCookie(user)]
  const [liveToken, endedToken] = [await openToken(user), await openToken(user)]
  const [olderCookie, olderToken] = [await openCookie(signedOut), await openToken(signedOut)]
  await document('DELETE', '/_session', { headers: { Cookie: endedCookie } })
  await multiModel('DELETE', '/_open/auth', { headers: { Authorization: `Bearer ${endedToken}` } })
  // a deactivation raises the session epoch
  for (const active of [false, true]) await multiModel('PATCH', '/_api/user/signed-out', { as: SEED, body: { active } })
  return {
    live: { cookie: liveCookie, token: liveToken },
    ended: [
      { cookie: endedCookie, token: endedToken },
      { cookie: olderCookie, token: olderToken },
    ],
  }
}

/** Called last, because it removes the administrator that fills the store. */
async function putAdministrators({ document }) {
  for (const { name, password, text } of ADMINISTRATORS) {
    const path = configPath('admins', name)
    await document('PUT', text ? `${path}?raw=true` : path, { as: SEED, body: text ?? password })
  }
  await document('DELETE', configPath('admins', SEED.name), { as: SEED })
}
