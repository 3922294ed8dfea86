// Stores written by earlier releases, opened by this one: every user still signs in, and what was revoked stays revoked.
import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { type Cardea, type CardeaOptions, createCardea } from '../../src/index.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { basic, type Reply, send } from '../support/request.ts'
import { createSqlitePlace } from './places.ts'
import { connectPostgres, type Postgres } from './postgres-server.ts'

interface Credential {
  readonly name: string
  readonly password: string
  readonly roles?: readonly string[]
  readonly totp?: { readonly key: string; readonly algorithm: string; readonly length: number }
}

interface Carried {
  readonly cookie: string
  readonly token: string
}

/** The facts that `scripts/store-fixture.ts` writes next to the stores. */
interface Fixture {
  readonly schema: number
  readonly options: CardeaOptions
  readonly users: readonly Credential[]
  readonly administrators: readonly Credential[]
  readonly refused: readonly Credential[]
  readonly settings: readonly { readonly section: string; readonly key: string; readonly value: string }[]
  readonly engines: Readonly<Record<Engine, Sessions>>
}

interface Sessions {
  readonly liveAccessToken: string
  readonly revokedAccessToken: string
  readonly live: Carried
  readonly ended: readonly Carried[]
}

type Engine = 'sqlite' | 'postgres'

/** A copy of a saved store. */
interface Copy {
  readonly url: string
  execute(sql: string): Promise<readonly Record<string, unknown>[]>
  remove(): Promise<void>
}

const FIXTURES = join(import.meta.dirname, '../fixtures/store')

let postgres: Postgres
before(async () => {
  postgres = await connectPostgres()
})
after(() => postgres.stop())

const COPIES: Readonly<Record<Engine, (folder: string) => Promise<Copy>>> = {
  async sqlite(folder) {
    const place = await createSqlitePlace()
    copyFileSync(join(folder, 'store.db'), place.url.replace('sqlite:', ''))
    return place
  },
  async postgres(folder) {
    const url = await postgres.createPlace()
    const execute = (sql: string) => postgres.execute(url, sql)
    await execute(readFileSync(join(folder, 'store.sql'), 'utf8'))
    return { url, execute, remove: async () => {} }
  },
}

const ENGINES: readonly Engine[] = ['sqlite', 'postgres']

for (const version of readdirSync(FIXTURES)) {
  for (const engine of ENGINES) {
    describe(`a store of version ${version} on ${engine}`, () => describeUpgrade(join(FIXTURES, version), engine))
  }
}

function describeUpgrade(folder: string, engine: Engine): void {
  const fixture: Fixture = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'))
  const { live, ended, liveAccessToken, revokedAccessToken } = fixture.engines[engine]
  const [root = assert.fail('The fixture has no administrator')] = fixture.administrators
  const AS_ROOT = { Authorization: basic(root.name, root.password) }
  let copy: Copy
  let cardea: Cardea
  let document = ''
  let multiModel = ''

  before(async () => {
    copy = await COPIES[engine](folder)
    assert.equal(await readSchema(), fixture.schema)
    cardea = await createCardea({ options: { ...fixture.options, store: { url: copy.url } } })
    const urls = await cardea.listen()
    document = urls.document[0] ?? ''
    multiModel = urls.multiModel[0] ?? ''
  })
  after(async () => {
    await cardea.close()
    await copy.remove()
  })

  const readSchema = async () =>
    (await copy.execute('SELECT max(number) AS number FROM cardea_migrations'))[0]?.['number']

  const askSession = (headers: Readonly<Record<string, string>>) => send(document, { path: '/_session', headers })

  /** A user may read its own record without any grant. */
  const askSelf = (name: string, authorization: string) =>
    send(multiModel, { path: `/_api/user/${name}`, headers: { Authorization: authorization } })

  const signInAtDocument = ({ name, password, totp }: Credential): Promise<Reply> =>
    post(document, '/_session', { name, password, ...(totp && { token: codeOf(totp) }) })

  const signInAtMultiModel = ({ name, password, totp }: Credential): Promise<Reply> =>
    post(multiModel, '/_open/auth', { username: name, password, ...(totp && { token: codeOf(totp, 1) }) })

  test('has the schema of this version after it was opened', async () => {
    assert.equal(await readSchema(), MIGRATIONS.at(-1)?.number)
  })

  for (const user of [...fixture.users, ...fixture.administrators]) {
    test(`"${user.name}" signs in at both doors`, async () => {
      const answer = await signInAtDocument(user)
      assert.equal(answer.status, 200, answer.body)
      if (user.roles) assert.deepEqual(JSON.parse(answer.body).roles, user.roles)
      assert.equal((await signInAtMultiModel(user)).status, 200)
    })
  }

  for (const credential of fixture.refused) {
    test(`"${credential.name}" with "${credential.password}" does not sign in`, async () => {
      assert.equal((await signInAtDocument(credential)).status, 401)
      assert.equal((await signInAtMultiModel(credential)).status, 401)
    })
  }

  test('live sessions and tokens stay valid', async () => {
    assert.equal(JSON.parse((await askSession({ Cookie: live.cookie })).body).userCtx.name, 'sessions')
    assert.equal((await askSelf('sessions', `Bearer ${live.token}`)).status, 200)
    assert.equal((await askSelf('tokens', basic('tokens', liveAccessToken))).status, 200)
  })

  test('revoked sessions and tokens stay revoked', async () => {
    for (const { cookie, token } of ended) {
      assert.equal(JSON.parse((await askSession({ Cookie: cookie })).body).userCtx.name, null)
      assert.equal((await askSelf('sessions', `Bearer ${token}`)).status, 401)
    }
    assert.equal((await askSelf('tokens', basic('tokens', revokedAccessToken))).status, 401)
  })

  test('settings are kept, and deleted ones stay deleted', async () => {
    for (const { section, key, value } of fixture.settings) {
      const path = `/_node/_local/_config/${section}/${encodeURIComponent(key)}`
      assert.equal(JSON.parse((await send(document, { path, headers: AS_ROOT })).body), value)
    }
    const gone = await send(document, { path: '/_node/_local/_config/vendor/gone', headers: AS_ROOT })
    assert.equal(gone.status, 404)
  })

  test('the cost of every stored password is known', async () => {
    const rows = await copy.execute('SELECT prf, max(iterations) AS iterations FROM cardea_users GROUP BY prf')
    const work = rows.flatMap(({ prf, iterations }) => (prf === null ? [] : [[prf, Number(iterations)]]))
    assert.deepEqual(
      work.sort(),
      ['sha', 'sha224', 'sha256', 'sha384', 'sha512'].map((prf) => [prf, 1000]),
    )
  })

  test('grants, extra data, members and tombstones are kept', async () => {
    const ask = async (url: string, path: string) => JSON.parse((await send(url, { path, headers: AS_ROOT })).body)
    const { result } = await ask(multiModel, '/_api/user/granted/database?full=true')
    assert.equal(result.shop.permission, 'rw')
    assert.equal(result.shop.collections.orders, 'none')
    assert.equal(result.archive.collections.letters, 'ro')
    assert.deepEqual((await ask(multiModel, '/_api/user/inactive')).extra, { a: [1] })
    const { nickname, list } = await ask(document, '/_users/org.couchdb.user:plain')
    assert.deepEqual({ nickname, list }, { nickname: 'P', list: [1, 'two', null] })
    assert.equal((await ask(document, '/_users/org.couchdb.user:deleted')).reason, 'deleted')
    assert.match((await ask(document, '/_users/org.couchdb.user:deleted%20and%20made%20again'))._rev, /^3-/)
  })
}

const post = (url: string, path: string, body: object): Promise<Reply> =>
  send(url, { method: 'POST', path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

/** The code of now, or of a later step: each is valid once. */
function codeOf(member: NonNullable<Credential['totp']>, later = 0): string {
  const totp = readTotp(member) ?? assert.fail('The fixture has a broken second factor')
  return renderCode(totp, Math.floor(Date.now() / 30_000) + later)
}
