// Two workers, on both engines: once a change is acknowledged, none of them accepts what was valid before.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { now, userToken } from '../support/multi-model.ts'
import { basic, createAsk } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import {
  ADMIN,
  addUser,
  api,
  type Doors,
  makeConfiguration,
  must,
  openClient,
  type Sent,
  serve,
} from '../support/workers.ts'

const IS_LONG = process.env['TEST_LONG'] !== undefined
const CLIENTS = IS_LONG ? 8 : 4
/** The long form makes each change again and again, and sends more than 20 000 requests after changes on each engine. */
const ROUNDS = IS_LONG ? 30 : 1
/** Requests after each change. */
const LATE_REQUESTS = 48

interface Race {
  readonly name: string
  readonly door?: 'multiModel'
  /** `{name}` is the user of the race. */
  readonly path?: string
  /** Returns the headers with which the requests are accepted until the change. */
  prepare(doors: Doors, name: string): Promise<Record<string, string>>
  change(doors: Doors, name: string, headers: Record<string, string>): Promise<unknown>
  /** Whether the response is that of the state before the change. */
  isOld?(sent: Sent): boolean
  restore?(doors: Doors): Promise<unknown>
}

async function signIn(doors: Doors, name: string) {
  await addUser(doors, name)
  const reply = await createAsk(doors.document)('POST', '/_session', { body: { name, password: 'one' } })
  return { Cookie: (reply.header('set-cookie') ?? '').split(';')[0] ?? '' }
}

const SHOP = { grants: [{ database: 'shop', level: 'rw' }] }
const isNamed = ({ body }: Sent): boolean => Boolean(JSON.parse(body).userCtx?.name)
const setRequired = ({ document }: Doors, value: string) =>
  must(createAsk(document)('PUT', '/_node/_local/_config/chttpd/require_valid_user', { as: ADMIN, body: `"${value}"` }))

const TOKEN_KEY = 'the-key-of-tokens-that-others-sign'

function signToken(claims: object): string {
  const toPart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${toPart({ alg: 'HS256', kid: 'race' })}.${toPart(claims)}`
  return `${text}.${createHmac('sha256', TOKEN_KEY).update(text).digest('base64url')}`
}

/** Reloads the configuration, with these lines at its end. */
async function reloadWith(doors: Doors, lines: string) {
  const file = join(doors.folder, 'a.ini')
  const [own = ''] = readFileSync(file, 'utf8').split('[jwt_keys]')
  writeFileSync(file, `${own}${lines}`)
  const { applied, problems } = await api(doors, 'POST', '/reload', {})
  assert.equal(applied, true, String(problems))
}

const RACES: readonly Race[] = [
  {
    name: 'a new password',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/password`, { password: 'two' }),
  },
  {
    name: 'a new password, through the gateway',
    path: '/db/doc',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/password`, { password: 'two' }),
  },
  {
    name: 'other roles',
    prepare: (doors, name) => addUser(doors, name, { roles: ['old'] }),
    isOld: ({ body }) => body.includes('"old"'),
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/roles`, { roles: ['new'] }),
  },
  {
    name: 'a user who is deactivated',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/active`, { active: false }),
  },
  { name: 'a user who is removed', prepare: addUser, change: (doors, name) => api(doors, 'DELETE', `/users/${name}`) },
  {
    name: 'a session that ends',
    prepare: signIn,
    isOld: isNamed,
    change: (doors, _name, headers) => must(createAsk(doors.document)('DELETE', '/_session', { headers })),
  },
  {
    name: 'the sign-out of a user by an administrator',
    prepare: signIn,
    isOld: isNamed,
    change: (doors, name) => api(doors, 'POST', `/users/${name}/sign-out`, {}),
  },
  {
    name: 'a new user',
    path: '/_cardea/api/users/{name}',
    prepare: async () => ({ Authorization: ADMIN }),
    isOld: ({ status }) => status === 404,
    change: (doors, name) => addUser(doors, name),
  },
  {
    name: 'a cookie secret that is replaced',
    prepare: signIn,
    isOld: isNamed,
    change: (doors) => api(doors, 'POST', '/secrets/replacement', { now: true }),
  },
  {
    name: 'an access token that is deleted',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    async prepare(doors, name) {
      await addUser(doors, name, SHOP)
      const body = { name: 'program', valid_until: now() + 1000 }
      const made = await must(
        createAsk(doors.multiModel)('POST', `/_api/token/${name}`, { as: basic(name, 'one'), body }),
      )
      return { Authorization: basic(name, made.token) }
    },
    change: (doors, name) =>
      must(createAsk(doors.multiModel)('DELETE', `/_api/token/${name}/1`, { as: basic(name, 'one') })),
  },
  {
    name: 'a second factor',
    prepare: addUser,
    async change(doors, name) {
      const as = basic(name, 'one')
      const { secret } = await api(doors, 'POST', '/account/totp', undefined, as)
      const totp = readTotp({ key: secret }) ?? assert.fail()
      const code = renderCode(totp, Math.floor(Date.now() / 30_000))
      await api(doors, 'POST', '/account/totp/confirm', { secret, code }, as)
    },
  },
  {
    name: 'a secret of tokens that is replaced',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    async prepare(doors, name) {
      await addUser(doors, name, SHOP)
      const secret = 'the-first-secret-of-the-tokens-here'
      return { Authorization: userToken(name, {}, { secret }) }
    },
    async change(doors) {
      writeFileSync(join(doors.folder, 'token-secret'), 'the-second-secret-of-the-tokens-here')
      await api(doors, 'POST', '/secrets/reload')
    },
    async restore(doors) {
      writeFileSync(join(doors.folder, 'token-secret'), 'the-first-secret-of-the-tokens-here')
      await api(doors, 'POST', '/secrets/reload')
    },
  },
  {
    name: 'a password that a link sets',
    prepare: addUser,
    async change(doors, name) {
      const { url } = await api(doors, 'POST', `/users/${name}/password-link`, {})
      const token = String(url).split('/').at(-1)
      await must(
        createAsk(doors.document)('POST', '/_cardea/api/password-links/use', { body: { token, password: 'two' } }),
      )
    },
  },
  {
    name: 'a key for tokens that a reload removes',
    async prepare(doors, name) {
      await addUser(doors, name)
      await reloadWith(doors, `[jwt_keys]\nhmac:race = ${Buffer.from(TOKEN_KEY).toString('base64')}\n`)
      return { Authorization: `Bearer ${signToken({ sub: name, exp: now() + 1000 })}` }
    },
    change: (doors) => reloadWith(doors, ''),
  },
  {
    name: 'an option',
    prepare: async () => ({}),
    change: (doors) => setRequired(doors, 'true'),
    restore: (doors) => setRequired(doors, 'false'),
  },
  {
    name: 'an administrator who is removed',
    async prepare(doors, name) {
      await api(doors, 'POST', '/administrators', { name, password: 'one' })
      return { Authorization: basic(name, 'one') }
    },
    change: (doors, name) => api(doors, 'DELETE', `/administrators/${name}`),
  },
  {
    name: 'grants that are taken away',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    prepare: (doors, name) => addUser(doors, name, SHOP),
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/grants`, { database: 'shop', level: 'none' }),
  },
]

/** Sends requests while the change is made. Returns how many saw the old state although they were sent after it. */
async function race(doors: Doors, row: Race, name: string): Promise<{ late: number; stale: number }> {
  const { path = '/_session', isOld = ({ status }: Sent) => status === 200 } = row
  const headers = await row.prepare(doors, name)
  const counts = { early: 0, late: 0, stale: 0 }
  let isAcknowledged = false
  const sendMany = async () => {
    const client = openClient(doors[row.door ?? 'document'])
    while (counts.late < LATE_REQUESTS) {
      const isLate = isAcknowledged
      const sent = await client.get(path.replace('{name}', name), headers)
      if (isLate) counts.late += 1
      if (isLate && isOld(sent)) counts.stale += 1
      if (!isLate && isOld(sent)) counts.early += 1
    }
    client.close()
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, sendMany))
  await Promise.race([waitUntil(() => counts.early >= 2 * CLIENTS), running])
  await row.change(doors, name, headers)
  isAcknowledged = true
  await running
  await row.restore?.(doors)
  return counts
}

const scope = createSharedScope()
const postgres = await connectPostgres()
scope.after(() => postgres.stop())

const ENGINES = {
  SQLite: async () => [],
  PostgreSQL: async () => ['--store.url', await postgres.createPlace()],
}

for (const [engine, toFlags] of Object.entries(ENGINES))
  describe(`two workers over ${engine}`, () => {
    let doors: Doors
    before(async () => {
      const { folder } = await makeConfiguration(scope)
      doors = await serve(scope, folder, '--console.public-url', 'https://db.example.com', ...(await toFlags()))
    })
    for (const [index, row] of RACES.entries())
      it(`accept nothing old after ${row.name}`, async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const { late, stale } = await race(doors, row, `user${index}-${round}`)
          assert.ok(late >= LATE_REQUESTS)
          assert.equal(stale, 0)
        }
      })

    it('count guesses together', async () => {
      await addUser(doors, 'guessed')
      const guess = (password: string) =>
        createAsk(doors.document)('GET', '/_session', { as: basic('guessed', password) })
      const statuses: number[] = []
      for (let attempt = 0; attempt < 40; attempt += 1) statuses.push((await guess('wrong')).status)
      const allowed = statuses.filter((status) => status === 401).length
      assert.ok(allowed <= 21, `${allowed} of ${statuses.length} guesses were checked`)
    })
  })
