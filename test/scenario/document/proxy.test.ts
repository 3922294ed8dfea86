import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { createSessionServer, NO_USER, type Who } from './session-server.ts'

const SECRET = 'the_secret'
const tokenOf = (name: string, alg = 'sha256', secret = SECRET): string =>
  createHmac(alg, secret).update(name).digest('hex')

const strict = createSessionServer({ chttpd_auth: { secret: SECRET } })
const trusting = createSessionServer({ chttpd_auth: { proxy_use_secret: false } })
const distrusting = createSessionServer({
  chttpd_auth: { proxy_use_secret: false },
  chttpd: { trusted_proxies: '192.0.2.0/24' },
})
const renamed = createSessionServer({
  chttpd_auth: { secret: SECRET, x_auth_username: 'X-Who', x_auth_roles: 'X-What', x_auth_token: 'X-Why' },
})
const otherName = createSessionServer({ document: { name: 'Elsewhere' }, chttpd_auth: { secret: SECRET } })

type Headers = Readonly<Record<string, string>>
const headersOf = (username: string, token?: string, roles?: string): Headers => ({
  'X-Auth-CouchDB-UserName': username,
  ...(token === undefined ? {} : { 'X-Auth-CouchDB-Token': token }),
  ...(roles === undefined ? {} : { 'X-Auth-CouchDB-Roles': roles }),
})

const FOO: Who = { name: 'foo', roles: [], by: 'proxy' }

type Row = readonly [what: string, server: typeof strict, headers: Headers, who: Who]

const ROWS: readonly Row[] = [
  [
    'the example of the reference, sha256',
    strict,
    headersOf('foo', '3f0786e96b20b0102b77f1a49c041be6977cfb3bf78c41a12adc121cd9b4e68a'),
    FOO,
  ],
  [
    'a token made with another listed algorithm: sha',
    strict,
    headersOf('foo', '22047ebd7c4ec67dfbcbad7213a693249dbfbf86'),
    FOO,
  ],
  ['an upper-case token', strict, headersOf('foo', tokenOf('foo').toUpperCase()), FOO],
  [
    'roles separated by commas',
    strict,
    headersOf('foo', tokenOf('foo'), 'r1, r2 ,r3'),
    { ...FOO, roles: ['r1', 'r2', 'r3'] },
  ],
  ['empty roles are ignored', strict, headersOf('foo', tokenOf('foo'), ',r1,,'), { ...FOO, roles: ['r1'] }],
  ['an empty roles header', strict, headersOf('foo', tokenOf('foo'), ''), FOO],
  [
    'a name in UTF-8',
    strict,
    headersOf(Buffer.from('zoë').toString('latin1'), tokenOf('zoë')),
    { ...FOO, name: 'zoë' },
  ],
  ['an algorithm that is not listed', strict, headersOf('foo', tokenOf('foo', 'sha512')), NO_USER],
  ['a wrong token', strict, headersOf('foo', tokenOf('bar')), NO_USER],
  ['a token made with another secret', strict, headersOf('foo', tokenOf('foo', 'sha256', 'x')), NO_USER],
  ['a token made with an empty secret', strict, headersOf('foo', tokenOf('foo', 'sha256', '')), NO_USER],
  ['a token that is not hexadecimal', strict, headersOf('foo', 'zz'), NO_USER],
  ['an empty token', strict, headersOf('foo', ''), NO_USER],
  ['proxy_use_secret requires a token', strict, headersOf('foo', undefined, '_admin'), NO_USER],
  ['no name', strict, { 'X-Auth-CouchDB-Roles': '_admin', 'X-Auth-CouchDB-Token': tokenOf('') }, NO_USER],
  ['an empty name', strict, headersOf('', tokenOf('')), NO_USER],
  ['an invalid name', strict, headersOf('a:b', tokenOf('a:b')), NO_USER],
  ['a name that is not UTF-8', strict, headersOf('\xff', tokenOf('\xff')), NO_USER],
  ['header names with underscores', trusting, { x_auth_couchdb_username: 'foo' }, NO_USER],
  [
    'without proxy_use_secret a trusted proxy needs no token',
    trusting,
    headersOf('foo', undefined, 'r1'),
    { ...FOO, roles: ['r1'] },
  ],
  ['without proxy_use_secret the token is ignored', trusting, headersOf('foo', 'zz'), FOO],
  ['without proxy_use_secret other peers are ignored', distrusting, headersOf('foo', undefined, '_admin'), NO_USER],
  [
    'the roles of a user in the directory are not added',
    strict,
    headersOf('admin', tokenOf('admin')),
    { ...FOO, name: 'admin' },
  ],
  [
    'configured header names',
    renamed,
    { 'X-Who': 'foo', 'X-What': 'r1', 'X-Why': tokenOf('foo') },
    { ...FOO, roles: ['r1'] },
  ],
  ['the default names if others are configured', renamed, headersOf('foo', tokenOf('foo')), NO_USER],
  [
    'the default names contain the name of the service',
    otherName,
    { 'X-Auth-Elsewhere-UserName': 'foo', 'X-Auth-Elsewhere-Token': tokenOf('foo') },
    FOO,
  ],
]

for (const [what, server, headers, who] of ROWS) {
  test(what, async () => assert.deepEqual(await server.fetchIdentity({ headers }), who))
}

test('a proxy can assert the role _admin', async () => {
  const headers = headersOf('boss', tokenOf('boss'), '_admin')
  assert.equal((await strict.ask('GET', '/_all_dbs', { as: '', headers })).status, 200)
})

/** Sends raw header lines, because an object cannot repeat a name. */
const sendLines = (url: string, lines: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const sent = request({ hostname, port, path: '/_session', headers: ['Host', 'localhost', ...lines] }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      answer.on('end', () => resolve(body))
    })
    sent.on('error', reject).end()
  })

for (const lines of [
  ['X-Auth-CouchDB-UserName', 'foo', 'X-Auth-CouchDB-Roles', '_admin', 'X-Auth-CouchDB-Roles', 'r1'],
  ['X-Auth-CouchDB-UserName', 'foo', 'x-auth-couchdb-username', 'bar'],
]) {
  test(`a repeated header is ignored: ${lines.join(' ')}`, async () => {
    const { url } = await trusting.started
    assert.equal(JSON.parse(await sendLines(url, lines)).userCtx.name, null)
  })
}

test('without a valid proxy token the next handler decides', async () => {
  const headers = headersOf('foo', 'zz')
  assert.equal((await strict.fetchIdentity({ as: 'admin:adminpw', headers })).by, 'default')
})

test('a proxy cannot assert a deactivated user', async () => {
  await strict.add('gone')
  const headers = headersOf('gone', tokenOf('gone'))
  assert.equal((await strict.fetchIdentity({ headers })).name, 'gone')
  const answer = await strict.ask('PUT', '/_cardea/api/users/gone/active', { body: { active: false } })
  assert.equal(answer.status, 200, answer.body)
  assert.deepEqual(await strict.fetchIdentity({ headers }), NO_USER)
})
