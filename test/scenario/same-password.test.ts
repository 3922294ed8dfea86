// Setting the password a user or administrator already has ends nothing; another one ends everything.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type MultiModel, member, openMultiModel } from '../support/multi-model.ts'
import { AS_ADMIN, basic, createAsk } from '../support/request.ts'

interface Doors extends MultiModel {
  readonly askDocument: MultiModel['ask']
}

type SetPassword = (doors: Doors, password: string) => ReturnType<MultiModel['ask']>

async function open(t: TestContext): Promise<Doors> {
  const door = await openMultiModel(t)
  const doors = { ...door, askDocument: createAsk(door.document) }
  const made = await doors.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'ann', passwd: 'apple' } })
  assert.equal(made.status, 201, made.body)
  const admin = await doors.askDocument('PUT', ADMIN_PATH, { as: AS_ADMIN, body: '"apple"' })
  assert.equal(admin.status, 200, admin.body)
  return doors
}

const ADMIN_PATH = '/_node/_local/_config/admins/ops'
const USER_PATH = '/_users/org.couchdb.user:ann'

/** Signs in at both doors; gives a way to ask whether the cookie and the token still count. */
async function openSessions({ ask, askDocument, signIn }: Doors, name: string) {
  const answer = await askDocument('POST', '/_session', { body: { name, password: 'apple' } })
  const cookie = /^AuthSession=[^;]+/.exec(answer.header('set-cookie') ?? '')?.[0] ?? ''
  const token = await signIn(name, 'apple')
  return async () => ({
    cookie: member(
      member((await askDocument('GET', '/_session', { headers: { Cookie: cookie } })).json, 'userCtx'),
      'name',
    ),
    token: (await ask('GET', `/_api/user/${name}`, { as: token })).status,
  })
}

async function openAccessToken({ ask }: Doors) {
  const auth = basic('ann', 'apple')
  const made = await ask('POST', '/_api/token/ann', { as: auth, body: { name: 'script', valid_until: 4102444800 } })
  const token = String(member(made.json, 'token'))
  return async () => (await ask('GET', '/_api/user/ann', { as: basic('ann', token) })).status
}

const SIMPLE_APPLE = {
  salt: '1112283cf988a34f124200a050d308a1',
  password_sha: 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf',
}

async function setOption({ askDocument }: Doors, key: string, value: string): Promise<void> {
  const answer = await askDocument('PUT', `/_node/_local/_config/chttpd_auth/${key}`, {
    as: AS_ADMIN,
    body: JSON.stringify(value),
  })
  assert.equal(answer.status, 200, answer.body)
}

const USER_DOORS: Readonly<Record<string, SetPassword>> = {
  'PUT of the user document': async ({ askDocument }, password) => {
    const { json } = await askDocument('GET', USER_PATH, { as: AS_ADMIN })
    return askDocument('PUT', USER_PATH, { as: AS_ADMIN, body: { ...Object(json), password } })
  },
  'PATCH /_api/user/{user}': ({ ask }, passwd) => ask('PATCH', '/_api/user/ann', { as: AS_ADMIN, body: { passwd } }),
  'PUT /_api/user/{user}': ({ ask }, passwd) => ask('PUT', '/_api/user/ann', { as: AS_ADMIN, body: { passwd } }),
  'PATCH by the user': ({ ask }, passwd) =>
    ask('PATCH', '/_api/user/ann', { as: basic('ann', 'apple'), body: { passwd } }),
  'the admin API': ({ ask }, password) =>
    ask('PUT', '/_cardea/api/users/ann/password', { as: AS_ADMIN, body: { password } }),
}

describe('the password of a user, set by', () => {
  for (const [door, setPassword] of Object.entries(USER_DOORS)) {
    it(`${door}: the same one keeps session, token and access token, another one ends them`, async (t) => {
      const doors = await open(t)
      const askSessions = await openSessions(doors, 'ann')
      const askAccessToken = await openAccessToken(doors)
      const same = await setPassword(doors, 'apple')
      assert.ok(same.status < 300, same.body)
      assert.deepEqual([await askSessions(), await askAccessToken()], [{ cookie: 'ann', token: 200 }, 200])
      const other = await setPassword(doors, 'pear')
      assert.ok(other.status < 300, other.body)
      assert.deepEqual([await askSessions(), await askAccessToken()], [{ cookie: null, token: 401 }, 401])
    })
  }

  it('an import that replaces the user: the same one keeps session and token', async (t) => {
    const doors = await open(t)
    const askSessions = await openSessions(doors, 'ann')
    const importUser = (clear: string) =>
      doors.ask('POST', '/_cardea/api/transfer/users', {
        as: AS_ADMIN,
        body: { replace: true, users: [{ name: 'ann', roles: ['r'], password: { clear } }] },
      })
    assert.deepEqual((await importUser('apple')).json, { outcomes: [{ kind: 'replaced' }] })
    assert.deepEqual(await askSessions(), { cookie: 'ann', token: 200 })
    await importUser('pear')
    assert.deepEqual(await askSessions(), { cookie: null, token: 401 })
  })

  it('a weaker stored form of the same password is replaced, and session and token stay', async (t) => {
    const doors = await open(t)
    const { json } = await doors.askDocument('GET', USER_PATH, { as: AS_ADMIN })
    const { name, type, roles, _id, _rev } = Object(json)
    const weak = { name, type, roles, _id, _rev, password_scheme: 'simple', ...SIMPLE_APPLE }
    assert.equal((await doors.askDocument('PUT', USER_PATH, { as: AS_ADMIN, body: weak })).status, 201)
    await setOption(doors, 'upgrade_hash_on_auth', 'false')
    const askSessions = await openSessions(doors, 'ann')
    await doors.ask('PATCH', '/_api/user/ann', { as: AS_ADMIN, body: { passwd: 'apple' } })
    const after = await doors.askDocument('GET', USER_PATH, { as: AS_ADMIN })
    assert.equal(member(after.json, 'password_scheme'), 'pbkdf2')
    assert.deepEqual(await askSessions(), { cookie: 'ann', token: 200 })
  })
})

const ADMIN_DOORS: Readonly<Record<string, SetPassword>> = {
  'PUT of _config/admins': ({ askDocument }, password) =>
    askDocument('PUT', ADMIN_PATH, { as: AS_ADMIN, body: JSON.stringify(password) }),
  'the admin API': ({ ask }, password) =>
    ask('PUT', '/_cardea/api/administrators/ops', { as: AS_ADMIN, body: { password } }),
}

describe('the password of an administrator, set by', () => {
  for (const [door, setPassword] of Object.entries(ADMIN_DOORS)) {
    it(`${door}: the same one keeps session and token, another one ends them`, async (t) => {
      const doors = await open(t)
      const askSessions = await openSessions(doors, 'ops')
      assert.equal((await setPassword(doors, 'apple')).status, 200)
      assert.deepEqual(await askSessions(), { cookie: 'ops', token: 200 })
      assert.equal((await setPassword(doors, 'pear')).status, 200)
      assert.deepEqual(await askSessions(), { cookie: null, token: 401 })
    })
  }

  it('a stored hash of the same password is stored unchanged and ends them', async (t) => {
    const doors = await open(t)
    const askSessions = await openSessions(doors, 'ops')
    const json = `-hashed-${SIMPLE_APPLE.password_sha},${SIMPLE_APPLE.salt}`
    const answer = await doors.askDocument('PUT', `${ADMIN_PATH}?raw=true`, {
      as: AS_ADMIN,
      body: JSON.stringify(json),
    })
    assert.equal(answer.json, json)
    assert.deepEqual(await askSessions(), { cookie: null, token: 401 })
  })
})
