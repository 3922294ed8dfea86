// Paths of Cardea that are in neither database's dialect follow the rules of the door they are asked at.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { superuser } from '../support/multi-model.ts'
import { request, sendRaw } from '../support/raw.ts'
import { ADMIN, basic, send } from '../support/request.ts'
import { makeFolder } from '../support/scope.ts'
import { type AnyOptions, type DoorName, startServer } from '../support/server.ts'
import { openBackend } from '../support/upstream.ts'

const KEYS = '/.well-known/jwks.json'
/** Beside the control API: as open as the console's files. */
const NO_PAGE = '/_cardea/nothing'
const LIVE = '/_cardea/live'
const READY = '/_cardea/ready'
const WRONG = { Authorization: basic('admin', 'wrong') }
const ANN = { Authorization: basic('ann', 'apple') }

interface Mode {
  readonly door: DoorName
  readonly name: string
  readonly options: AnyOptions
  /** Statuses for an anonymous request, a wrong password, a user without grants, an administrator. */
  readonly expected: Readonly<Record<string, readonly [number, number, number, number]>>
}

const CONTROL = [401, 401, 403, 200] as const
const GATE = [401, 401, 204, 204] as const
const OPEN = [200, 200, 200, 200] as const
const MISSING = [404, 404, 404, 404] as const

const OWN_PATHS = { [KEYS]: OPEN, '/_gate': GATE, '/_cardea/api/health': CONTROL, [NO_PAGE]: MISSING }

const MODES: readonly Mode[] = [
  {
    door: 'document',
    name: 'anonymous requests allowed',
    options: {},
    expected: { ...OWN_PATHS, [LIVE]: OPEN, [READY]: [200, 401, 200, 200] },
  },
  ...(['require_valid_user', 'require_valid_user_except_for_up'] as const).map(
    (option): Mode => ({
      door: 'document',
      name: option,
      options: { chttpd: { [option]: true } },
      expected: {
        [KEYS]: [401, 401, 200, 200],
        '/_gate': GATE,
        '/_cardea/api/health': CONTROL,
        [NO_PAGE]: [401, 401, 404, 404],
        [LIVE]: [401, 401, 200, 200],
        [READY]: [401, 401, 200, 200],
        '/_up': option === 'require_valid_user' ? [401, 401, 200, 200] : [200, 401, 200, 200],
        '/': [401, 401, 200, 200],
      },
    }),
  ),
  {
    door: 'multiModel',
    name: 'system only',
    options: {},
    expected: { ...OWN_PATHS, [LIVE]: OPEN, [READY]: OPEN },
  },
  {
    door: 'multiModel',
    name: 'every path',
    options: { server: { 'authentication-system-only': false } },
    // as every path of this door: a user without a grant on _system may not enter
    expected: {
      [KEYS]: [401, 401, 401, 200],
      '/_gate': GATE,
      '/_cardea/api/health': CONTROL,
      [NO_PAGE]: [401, 401, 401, 404],
      [LIVE]: [401, 401, 401, 200],
      [READY]: [401, 401, 401, 200],
    },
  },
  {
    door: 'multiModel',
    name: 'authentication off',
    options: { server: { authentication: false } },
    expected: { ...OWN_PATHS, [LIVE]: OPEN, [READY]: OPEN },
  },
  {
    door: 'multiModel',
    name: 'authentication off, every path',
    options: { server: { authentication: false, 'authentication-system-only': false } },
    expected: { ...OWN_PATHS, [LIVE]: OPEN, [READY]: OPEN },
  },
]

const JSON_TYPE = { 'Content-Type': 'application/json' }

for (const { door, name, options, expected } of MODES)
  describe(`${door}, ${name}`, () => {
    let base = ''
    const closing: (() => unknown)[] = []
    before(async () => {
      const front = await startServer({ after: (work) => void closing.push(work) }, options)
      base = front[door]
      const body = JSON.stringify({ user: 'ann', passwd: 'apple' })
      await send(front.multiModel, { method: 'POST', path: '/_api/user', headers: { ...ADMIN, ...JSON_TYPE }, body })
    })
    after(async () => {
      for (const close of closing) await close()
    })
    for (const [path, statuses] of Object.entries(expected))
      test(`${path}: ${statuses.join(', ')}`, async () => {
        const actual: number[] = []
        // a name of its own for each path: none is locked out
        const wrong = { Authorization: basic(`no user of ${path}`, 'wrong') }
        for (const headers of [{}, wrong, ANN, ADMIN]) actual.push((await send(base, { path, headers })).status)
        assert.deepEqual(actual, statuses)
      })
  })

test('a key set that required a credential is not stored by shared caches', async (t) => {
  const open = await startServer(t)
  const closed = await startServer(t, { chttpd: { require_valid_user: true } })
  const cacheOf = async (base: string) => (await send(base, { path: KEYS, headers: ADMIN })).headers['cache-control']
  assert.deepEqual(
    [await cacheOf(open.document), await cacheOf(closed.document)],
    ['public, max-age=300', 'private, max-age=300'],
  )
})

test('a changed option applies to own paths at once', async (t) => {
  const front = await startServer(t)
  const anonymous = async () => (await send(front.document, { path: KEYS })).status
  assert.equal(await anonymous(), 200)
  const path = '/_node/_local/_config/chttpd/require_valid_user'
  await send(front.document, { method: 'PUT', path, headers: ADMIN, body: '"true"' })
  assert.equal(await anonymous(), 401)
})

test('a token for some paths opens the key set only if it is one of them', async (t) => {
  const front = await startServer(t, { server: { 'authentication-system-only': false } })
  const ask = async (...allowed_paths: string[]) =>
    (await send(front.multiModel, { path: KEYS, headers: { Authorization: superuser({ allowed_paths }) } })).status
  assert.deepEqual([await ask(KEYS), await ask('/_api/version')], [200, 401])
})

test('a Unix socket without authentication needs no credential for the key set', async (t) => {
  const path = `${makeFolder(t)}/door`
  const server = {
    endpoint: `unix://${path}`,
    'authentication-unix-sockets': false,
    'authentication-system-only': false,
  }
  await startServer(t, { server })
  assert.equal((await sendRaw({ path }, request(KEYS))).status, 200)
})

describe('paths that need no identity check no credential', () => {
  const lockout = { chttpd_auth_lockout: { mode: 'enforce', threshold: 3 } }
  const ROWS: readonly (readonly [method: string, path: string, status: number])[] = [
    ['GET', '/_admin/server/availability', 200],
    ['HEAD', '/_admin/server/availability', 200],
    ['GET', '/_db/_system/_admin/server/availability', 200],
    ['GET', '/_arango/v0/_admin/server/availability', 200],
    ['OPTIONS', '/_api/version', 200],
    ['OPTIONS', '/_gate', 200],
    ['GET', '/_open/auth', 405],
    ['POST', '/_open/auth', 400],
    ['POST', '/_open/auth/x', 400],
    ['POST', '/_open/auth/renew', 404],
    ['DELETE', '/_open/auth', 401],
    ['GET', '/_open/nothing', 404],
  ]
  for (const [method, path, status] of ROWS)
    test(`${method} ${path} does not count for the lockout`, async (t) => {
      const front = await startServer(t, lockout)
      for (let i = 0; i < 5; i += 1)
        assert.equal((await send(front.multiModel, { method, path, headers: WRONG })).status, status)
      assert.equal((await send(front.multiModel, { path: '/_api/version', headers: ADMIN })).status, 200)
    })

  test('an open service checks credentials, and failures count', async (t) => {
    const backend = await openBackend(t)
    const front = await startServer(t, lockout, { services: { shop: `/shop ${backend.url}` } })
    for (let i = 0; i < 5; i += 1)
      assert.equal((await send(front.multiModel, { path: '/shop', headers: WRONG })).status, 200)
    assert.equal((await send(front.multiModel, { path: '/_api/version', headers: ADMIN })).status, 401)
    await send(front.multiModel, { path: '/shop', headers: ADMIN })
    assert.equal(backend.seen.at(-1)?.header('x-auth-user'), undefined)
  })
})
