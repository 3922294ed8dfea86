import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ADMIN, AS_ADMIN, basic, send } from '../support/request.ts'
import { type Row, runRows } from '../support/rows.ts'
import { type DoorName, startServer } from '../support/server.ts'

const API = '/_cardea/api'
const JSON_TYPE = { 'Content-Type': 'application/json' }
const ANONYMOUS = { error: 'authentication_required', reason: 'This needs a credential.' }

const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  path: `${API}${path}`,
  headers: { ...ADMIN, ...JSON_TYPE, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const refused = (name: string, body: unknown, status: number, error: string, reason?: string): Row => ({
  name: `rejects a body: ${name}`,
  ...post('/users', body),
  expect: { status, ...(reason === undefined ? {} : { json: { error, reason } }) },
})

const ROWS: readonly Row[] = [
  {
    name: 'challenges an anonymous request',
    path: `${API}/users`,
    expect: {
      status: 401,
      headers: { 'www-authenticate': 'Basic realm="Cardea", charset="UTF-8"', 'cache-control': 'no-store' },
      json: ANONYMOUS,
    },
  },
  {
    name: 'does not challenge a program that sends X-Cardea-Control',
    path: `${API}/users`,
    headers: { 'X-Cardea-Control': '1' },
    expect: { status: 401, headers: { 'www-authenticate': undefined } },
  },
  { name: 'rejects a wrong password', path: `${API}/users`, as: 'admin:wrong', expect: { status: 401 } },
  {
    name: 'rejects an anonymous request even with authentication off',
    options: { server: { authentication: false } },
    path: `${API}/users`,
    expect: { status: 401, json: ANONYMOUS },
  },
  {
    name: 'accepts an administrator',
    path: `${API}/users`,
    as: AS_ADMIN,
    expect: {
      status: 200,
      headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
      json: { users: [], total: 0 },
    },
  },
  {
    name: 'rejects a page of another origin, whatever its credential',
    ...post('/users', { name: 'eve' }, { Origin: 'https://evil.example' }),
    expect: {
      status: 403,
      headers: { 'access-control-allow-origin': undefined },
      json: { error: 'forbidden', reason: 'A request from a browser needs the header X-Cardea-Control.' },
    },
  },
  {
    name: 'rejects a cookie without X-Cardea-Control',
    path: `${API}/users`,
    as: AS_ADMIN,
    headers: { Cookie: 'AuthSession=x' },
    expect: { status: 403 },
  },
  {
    name: 'accepts a program with a cookie of the door and X-Cardea-Control',
    path: `${API}/users`,
    as: AS_ADMIN,
    headers: { Cookie: 'AuthSession=x', 'X-Cardea-Control': '1' },
    expect: { status: 200 },
  },
  ...[{ Origin: 'http://127.0.0.1' }, { 'Sec-Fetch-Site': 'same-origin' }].map((headers) => ({
    name: `rejects a Basic password from a browser: ${Object.keys(headers)}`,
    path: `${API}/users`,
    as: AS_ADMIN,
    headers: { ...headers, 'X-Cardea-Control': '1' },
    expect: {
      status: 403,
      json: { error: 'forbidden', reason: 'Basic is for programs: a browser signs in at /_cardea/.' },
    },
  })),
  {
    name: 'does not challenge a browser without a session',
    path: `${API}/users`,
    headers: { 'Sec-Fetch-Site': 'same-origin', 'X-Cardea-Control': '1' },
    expect: { status: 401, headers: { 'www-authenticate': undefined }, json: ANONYMOUS },
  },
  {
    name: 'unknown method',
    method: 'PATCH',
    path: `${API}/users`,
    as: AS_ADMIN,
    expect: { status: 405, headers: { allow: 'GET,POST' } },
  },
  { name: 'unknown path', path: `${API}/nothing`, as: AS_ADMIN, expect: { status: 404 } },
  { name: 'unknown user', path: `${API}/users/unknown`, as: AS_ADMIN, expect: { status: 404 } },
  {
    name: 'redirects /_cardea to the page',
    path: '/_cardea',
    expect: { status: 308, headers: { location: '/_cardea/', 'set-cookie': undefined } },
  },
  {
    name: 'leads a browser to the page of the console',
    path: '/_cardea/users',
    headers: { Accept: 'text/html,*/*;q=0.8' },
    expect: { status: 302, headers: { location: '/_cardea/#/users' } },
  },
  {
    name: 'leads a browser to a user in the console, with the name encoded',
    path: '/_cardea/users/a%2Fb%22',
    headers: { Accept: 'text/html' },
    expect: { status: 302, headers: { location: '/_cardea/#/users/a%2Fb%22' } },
  },
  { name: 'leads no program to a page', path: '/_cardea/users', expect: { status: 404 } },
  ...['/_cardea/users', '/_cardea/users/ada', '/_cardea/assets/unknown.js', `${API}/nothing`].flatMap((path) =>
    ['POST', 'PUT', 'DELETE'].map((method) => ({
      name: `finds no ${path} for ${method}`,
      method,
      path,
      as: AS_ADMIN,
      headers: { Accept: 'text/html' },
      expect: { status: 404 },
    })),
  ),
  ...['/_cardea', '/_cardea/live'].map((path) => ({
    name: `rejects POST to ${path}, which exists`,
    method: 'POST',
    path,
    expect: { status: 405, headers: { allow: 'GET,HEAD' } },
  })),
  { name: 'rejects an invalid percent-encoding', path: `${API}/users/%FF`, as: AS_ADMIN, expect: { status: 400 } },
  { name: 'rejects a dot segment', path: `${API}/users/../users`, as: AS_ADMIN, expect: { status: 400 } },
  refused('not JSON', '{', 400, 'invalid_json', 'The body is not JSON in UTF-8.'),
  refused('a duplicate member', '{"name":"a","name":"b"}', 400, 'invalid_json', 'The body is not JSON in UTF-8.'),
  refused('not an object', [], 400, 'bad_request', 'The body must be an object.'),
  refused('null', null, 400, 'bad_request', 'The body must be an object.'),
  {
    name: 'rejects null where the body may be missing',
    ...post('/users/nobody', null, { 'Content-Length': '4' }),
    method: 'DELETE',
    expect: { status: 400, json: { error: 'bad_request', reason: 'The body must be an object.' } },
  },
  {
    name: 'rejects a missing body that would remove the expiry',
    ...post('/users/nobody/expiry', undefined),
    method: 'PUT',
    expect: { status: 400, json: { error: 'missing_body', reason: 'The request needs a body.' } },
  },
  refused('no name', {}, 400, 'bad_request', 'name is missing.'),
  refused('a name that is not a string', { name: 1 }, 400, 'bad_request', 'name must be a string.'),
  refused('an inherited member name', { name: 'x', constructor: 1 }, 400, 'bad_request'),
  refused('an unknown member', { name: 'x', rols: [] }, 400, 'bad_request'),
  refused(
    'roles that are not strings',
    { name: 'x', roles: [1] },
    400,
    'bad_request',
    'roles must be a list of strings.',
  ),
  refused('an unknown level', { name: 'x', grants: [{ database: 'd', level: 'all' }] }, 400, 'bad_request'),
  {
    name: 'rejects another content type',
    ...post('/users', { name: 'x' }),
    headers: { ...ADMIN, 'Content-Type': 'text/plain' },
    expect: { status: 415 },
  },
  { name: 'rejects a missing body', method: 'POST', path: `${API}/users`, as: AS_ADMIN, expect: { status: 400 } },
  { name: 'rejects an invalid limit', path: `${API}/users?limit=0`, as: AS_ADMIN, expect: { status: 400 } },
  {
    name: 'rejects administrators as settings',
    ...post('/settings/admins/eve', { value: 'pw' }),
    method: 'PUT',
    expect: { status: 403 },
  },
  {
    name: 'lists settings',
    path: `${API}/settings`,
    as: AS_ADMIN,
    expect: { status: 200, headers: { 'content-type': 'application/json' } },
  },
]

const PREFLIGHT = {
  method: 'OPTIONS',
  path: `${API}/users`,
  headers: { Origin: 'https://evil.example', 'Access-Control-Request-Headers': 'content-type, X-Cardea-Control' },
}

runRows('document', [
  {
    name: 'document: does not allow a preflight',
    ...PREFLIGHT,
    expect: {
      status: 403,
      headers: { 'access-control-allow-origin': undefined, 'access-control-allow-headers': undefined },
    },
  },
])
runRows('multiModel', [
  {
    name: 'multiModel: answers a preflight without allowing the header',
    options: { http: { 'trusted-origin': '*' } },
    ...PREFLIGHT,
    expect: { status: 200, headers: { 'access-control-allow-headers': undefined } },
  },
  ...['/_cardea', API, `${API}/users`, `${API}/%2e%2e`, '/.well-known/jwks.json'].map((path) => ({
    name: `multiModel: OPTIONS ${path} is always answered`,
    method: 'OPTIONS',
    path,
    headers: { Authorization: 'Basic x' },
    expect: {
      status: 200,
      headers: { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT', 'content-type': 'text/plain' },
      text: '',
    },
  })),
  {
    name: 'multiModel: OPTIONS of /_gate names no user',
    method: 'OPTIONS',
    path: '/_gate',
    as: AS_ADMIN,
    expect: { status: 200, headers: { 'x-auth-user': undefined, 'x-auth-token': undefined } },
  },
  ...[`${API}/users`, '/_gate'].flatMap((path) => [
    {
      name: `multiModel: ${path} challenges`,
      path,
      expect: { status: 401, headers: { 'www-authenticate': /^Basic/ } },
    },
    {
      name: `multiModel: ${path} does not challenge with X-Omit-Www-Authenticate`,
      path,
      headers: { 'X-Omit-Www-Authenticate': '' },
      expect: { status: 401, headers: { 'www-authenticate': undefined } },
    },
  ]),
])

const DOORS: readonly DoorName[] = ['document', 'multiModel']

for (const door of DOORS) {
  runRows(
    door,
    ROWS.map((row) => ({ ...row, name: `${door}: ${row.name}` })),
  )
}

test('rejects a user, whatever its grants and roles', async (t) => {
  const { document, multiModel } = await startServer(t)
  const grants = [{ database: '*', level: 'rw' }]
  const made = await send(document, post('/users', { name: 'ann', password: 'pw', roles: ['admin'], grants }))
  assert.equal(made.status, 200, made.body)
  const headers = { Authorization: basic('ann', 'pw') }
  for (const url of [document, multiModel]) {
    const { status, body } = await send(url, { path: `${API}/users`, headers })
    assert.equal(status, 403)
    assert.equal(JSON.parse(body).error, 'admin_required')
  }
})

test('no reply contains a password or its hash', async (t) => {
  const { document: url } = await startServer(t)
  await send(url, post('/users', { name: 'ann', password: 'opensesame' }))
  for (const path of ['/users', '/users/ann', '/administrators', '/settings', '/health']) {
    const { status, body } = await send(url, { path: `${API}${path}`, headers: ADMIN })
    assert.equal(status, 200, path)
    assert.doesNotMatch(body, /opensesame|adminpw|-pbkdf2-|derived_key|test-cookie-secret|test-token-secret/, path)
  }
})

test('lists users page by page up to the last', async (t) => {
  const { document: url } = await startServer(t)
  const names = ['a', 'a/b', 'ä', '.', 'z%2Fz']
  for (const name of names) assert.equal((await send(url, post('/users', { name }))).status, 200, name)
  const seen: string[] = []
  let after: string | undefined
  do {
    const path = `${API}/users?limit=2${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`
    const page = JSON.parse((await send(url, { path, headers: ADMIN })).body)
    seen.push(...page.users.map(({ name }: { name: string }) => name))
    after = page.next
  } while (after !== undefined)
  assert.deepEqual(seen, [...names].sort())
  for (const name of ['a/b', 'ä', 'z%2Fz']) {
    const { body } = await send(url, { path: `${API}/users/${encodeURIComponent(name)}`, headers: ADMIN })
    assert.equal(JSON.parse(body).name, name)
  }
  assert.equal((await send(url, { path: `${API}/users/%2E`, headers: ADMIN })).status, 200)
})

const PATHS = [
  '/health',
  '/users',
  '/users/{}',
  '/users/{}/password',
  '/users/{}/roles',
  '/users/{}/grants',
  '/users/{}/active',
  '/users/{}/sign-out',
  '/administrators',
  '/administrators/{}',
  '/administrators/{}/password',
  '/settings',
  '/settings/{}/{}',
  '/{}',
]

const MEMBERS = [
  'name',
  'password',
  'roles',
  'add',
  'active',
  'grants',
  'database',
  'level',
  'stored',
  'value',
  '__proto__',
]

const anyBody = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .dictionary(fc.constantFrom(...MEMBERS), fc.oneof(fc.jsonValue(), fc.string()))
    .map((value) => JSON.stringify(value)),
)

const anyRequest = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
  path: fc
    .tuple(
      fc.constantFrom(...PATHS),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', '?limit=x', '?after=%00', '?&&'),
    )
    .map(([path, text, query]) => `${API}${path.replaceAll('{}', encodeURIComponent(text.toWellFormed()))}${query}`),
  body: anyBody,
})

test('every request gets a response, and none is a 5xx', async (t) => {
  const { document, multiModel } = await startServer(t)
  const urls = [document, multiModel]
  await fc.assert(
    fc.asyncProperty(anyRequest, fc.constantFrom(...urls), async ({ method, path, body }, url) => {
      const { status, body: answer } = await send(url, { method, path, headers: { ...ADMIN, ...JSON_TYPE }, body })
      assert.ok(status < 500, `${status} ${answer}`)
    }),
    { numRuns: 500 },
  )
})
