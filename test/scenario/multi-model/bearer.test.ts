// Which tokens open the door, to the letter.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import {
  GATE,
  type MultiModel,
  makeToken,
  now,
  openMultiModel,
  SECRET,
  superuser,
  userToken,
} from '../../support/multi-model.ts'
import { AS_ADMIN, basic } from '../../support/request.ts'

const VERSION = '/_api/version'
const ISS = { iss: 'arangodb' }
const bearer = (claims: unknown, header?: Readonly<Record<string, unknown>>): string =>
  `Bearer ${makeToken(claims, header ? { header } : {})}`

const OPEN: readonly (readonly [string, string])[] = [
  ['the scheme in lower case', superuser().replace('Bearer', 'bearer')],
  ['the scheme in capitals', superuser().replace('Bearer', 'BEARER')],
  ['more blanks after the scheme', superuser().replace(' ', '    ')],
  ['no exp: it never expires', bearer({ ...ISS, server_id: 'x' })],
  ['exp with a fraction', bearer({ ...ISS, server_id: 'x', exp: now() + 600.5 })],
  ['nbf in the future is ignored', superuser({ nbf: now() + 1000 })],
  ['aud, sub and jti are ignored', superuser({ aud: 'x', sub: 7, jti: [] })],
  ['kid is ignored', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS256', typ: 'JWT', kid: '../../x' })],
  ['a long one', superuser({ groups: 'x'.repeat(45_000) })],
  ['a user token with server_id', userToken('admin', { server_id: 7 })],
  ['the vector of a superuser', `Bearer ${makeToken({ server_id: 'ABCD', iss: 'arangodb', exp: 4102444800 })}`],
]

const CLOSED: readonly (readonly [string, string])[] = [
  ['nothing after the scheme', 'Bearer'],
  ['a tab after the scheme', superuser().replace(' ', '\t')],
  ['two parts', superuser().replace(/\.[^.]*$/, '')],
  ['four parts', `${superuser()}.x`],
  ['an empty signature', superuser().replace(/\.[^.]*$/, '.')],
  ['padding', `${superuser()}=`],
  ['a part in standard base64', superuser().replace('.', '+.')],
  ['a blank inside', superuser().replace('.', '. ')],
  ['typ missing', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS256' })],
  ['typ in lower case', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS256', typ: 'jwt' })],
  ['typ at+jwt', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS256', typ: 'at+jwt' })],
  ['alg missing', bearer({ ...ISS, server_id: 'x' }, { typ: 'JWT' })],
  ['alg none', bearer({ ...ISS, server_id: 'x' }, { alg: 'none', typ: 'JWT' })],
  ['alg HS384', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS384', typ: 'JWT' })],
  ['alg hs256', bearer({ ...ISS, server_id: 'x' }, { alg: 'hs256', typ: 'JWT' })],
  ['alg RS256', bearer({ ...ISS, server_id: 'x' }, { alg: 'RS256', typ: 'JWT' })],
  ['alg ES256 without such a key', bearer({ ...ISS, server_id: 'x' }, { alg: 'ES256', typ: 'JWT' })],
  ['crit', bearer({ ...ISS, server_id: 'x' }, { alg: 'HS256', typ: 'JWT', crit: ['exp'] })],
  ['claims that are an array', bearer([ISS])],
  ['claims that are a string', bearer('x')],
  ['claims that are null', bearer(null)],
  ['neither name nor server_id', bearer(ISS)],
  ['a null name, even with server_id', userToken('x', { preferred_username: null, server_id: 'x' })],
  ['an empty name, even with server_id', userToken('', { server_id: 'x' })],
  ['a name that is a number', userToken('x', { preferred_username: 7 })],
  ['an unknown name', userToken('unknown')],
  ['an impossible name', userToken('a:b\u0000')],
  ['a very long name', userToken('x'.repeat(5000))],
  ['exp null', superuser({ exp: null })],
  ['exp as a string', superuser({ exp: '4102444800' })],
  ['exp 0', superuser({ exp: 0 })],
  ['exp now', superuser({ exp: now() })],
  ['exp long ago', superuser({ exp: 1 })],
  ['exp negative', superuser({ exp: -1 })],
  ['allowed_paths empty', superuser({ allowed_paths: [] })],
  ['allowed_paths not a list', superuser({ allowed_paths: VERSION })],
  ['allowed_paths with a number', superuser({ allowed_paths: [VERSION, 7] })],
  ['allowed_paths null', superuser({ allowed_paths: null })],
  ['the secret with a newline', superuser({}, { secret: `${SECRET}\n` })],
  ['a duplicate member', `Bearer ${makeTwice()}`],
]

/** A correctly signed token whose payload has a duplicate member. */
function makeTwice(): string {
  const payload = Buffer.from('{"iss":"arangodb","server_id":"x","iss":"arangodb"}').toString('base64url')
  const input = `${makeToken({}).split('.')[0]}.${payload}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

describe('tokens', () => {
  let door: MultiModel
  let close: () => unknown = () => {}
  before(async () => {
    door = await openMultiModel({
      after: (work) => {
        close = work
      },
    })
  })
  after(() => close())

  for (const [name, auth] of OPEN) {
    it(`accepts it: ${name}`, async () => assert.equal((await door.ask('GET', VERSION, { as: auth })).status, 200))
  }
  for (const [name, auth] of CLOSED) {
    it(`rejects it: ${name}`, async () => {
      const answer = await door.ask('GET', VERSION, { as: auth })
      assert.deepEqual([answer.status, answer.json], [401, GATE])
    })
  }
  it('a wrong one is ignored on an open path', async () => {
    const answer = await door.ask('GET', '/_admin/server/availability', { as: 'Bearer x.y.z' })
    assert.equal(answer.status, 200)
  })
  it('an access token is not accepted as Bearer', async () => {
    await door.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user: 'tom' } })
    const json = { name: 'x', valid_until: now() + 100 }
    const made = await door.ask('POST', '/_api/token/tom', { as: AS_ADMIN, body: json })
    const { token } = Object(made.json)
    assert.equal((await door.ask('GET', '/_api/user/tom', { as: `Bearer ${token}` })).status, 401)
    assert.equal((await door.ask('GET', '/_api/user/tom', { as: basic('', token) })).status, 200)
  })
})

describe('allowed_paths', () => {
  const paths = (...allowed_paths: string[]) => superuser({ allowed_paths })
  const rows: readonly (readonly [string, string, string, number])[] = [
    ['accepts the path itself', paths(VERSION), VERSION, 200],
    ['accepts one of several paths', paths('/x', VERSION), VERSION, 200],
    ['accepts the path in a database', paths(VERSION), '/_db/_system/_api/version', 200],
    ['accepts the path with a query', paths(VERSION), '/_api/version?details=true', 200],
    ['rejects another path', paths(VERSION), '/_admin/version', 401],
    ['is not a prefix', paths('/_api'), VERSION, 401],
    ['has no wildcards', paths('/_api/*', '*', '/'), VERSION, 401],
    ['rejects a slash at the end', paths(VERSION), '/_api/version/', 401],
    ['rejects another spelling', paths(VERSION), '/_api/versio%6e', 401],
    ['does not count on a path where no credential is checked', paths(VERSION), '/_admin/server/availability', 200],
    ['counts for renewal', paths(VERSION), '/_open/auth/renew', 401],
    ['counts on the root', paths(VERSION), '/', 401],
    ['counts on an application path', paths(VERSION), '/my-app', 401],
    ['a limited token is not accepted by the admin API', paths('/_cardea/api/users'), '/_cardea/api/users', 401],
  ]
  for (const [name, auth, path, status] of rows) {
    it(name, async (t) => {
      const { ask } = await openMultiModel(t)
      const method = path.startsWith('/_open/') ? 'POST' : 'GET'
      assert.equal((await ask(method, path, { as: auth })).status, status)
    })
  }
})

describe('secrets and EC keys', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const privatePem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const otherPublicPem = other.publicKey.export({ type: 'spki', format: 'pem' }).toString()

  async function openWith(t: TestContext, files: Readonly<Record<string, string>>) {
    const folder = mkdtempSync(join(tmpdir(), 'cardea-keys-'))
    t.after(() => rmSync(folder, { recursive: true }))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return openMultiModel(t, { server: { 'jwt-secret': '', 'jwt-secret-folder': folder } })
  }

  it('an EC key signs and verifies ES256', async (t) => {
    const { ask, signIn } = await openWith(t, { '1.pem': privatePem })
    const auth = await signIn('admin', 'adminpw')
    const [head = ''] = auth.slice('Bearer '.length).split('.')
    assert.deepEqual(JSON.parse(Buffer.from(head, 'base64url').toString()), { alg: 'ES256', typ: 'JWT' })
    assert.equal((await ask('GET', VERSION, { as: auth })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { es256: pair.privateKey }) })).status, 200)
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { es256: other.privateKey }) })).status, 401)
  })
  it('EC keys and secrets verify only their own algorithm', async (t) => {
    const secret = randomBytes(24).toString('hex')
    const { ask } = await openWith(t, { '1.key': secret, '2.pem': otherPublicPem, '3.pem': privatePem })
    for (const es256 of [pair.privateKey, other.privateKey]) {
      assert.equal((await ask('GET', VERSION, { as: superuser({}, { es256 }) })).status, 200)
    }
    assert.equal((await ask('GET', VERSION, { as: superuser({}, { secret }) })).status, 200)
  })
  it('the text of a key is not accepted as a secret', async (t) => {
    const { ask } = await openWith(t, { '1.pem': privatePem, '2.pem': otherPublicPem })
    const texts = [publicPem, otherPublicPem, privatePem].flatMap((pem) => [
      pem,
      pem.trim(),
      ` ${pem}`,
      pem.replaceAll('\n', '\\n'),
      pem.replaceAll('\n', ''),
      pem.replace(/-----[A-Z ]+-----/g, '').replaceAll('\n', ''),
    ])
    for (const secret of texts) {
      assert.equal((await ask('GET', VERSION, { as: superuser({}, { secret }) })).status, 401, secret)
    }
  })
})
