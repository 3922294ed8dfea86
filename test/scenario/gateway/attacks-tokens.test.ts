// Tokens that have passed other servers and gateways, by the public names of how they did.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { makeToken, now } from '../../support/multi-model.ts'
import { ADMIN, basic, type Request, send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'
import { type Server, startServer } from '../../support/server.ts'
import { beforeDocument, beforeMultiModel, openBackend, openToken, UPSTREAM_SECRET } from '../../support/upstream.ts'

const AS_ADMIN = { ...ADMIN, 'Content-Type': 'application/json' }

const backend = await openBackend({ after })
const both = {
  upstream: { ...beforeDocument(backend.url)['upstream'], ...beforeMultiModel({ after }, backend.url)['upstream'] },
}

/** Asks, and gives the status with how much reached the server behind. */
async function attempt(door: 'document' | 'multiModel', sent: Request, of: Server): Promise<[number, number]> {
  const before = backend.seen.length
  const { status } = await send(of[door], sent)
  return [status, backend.seen.length - before]
}

test('CVE-2026-33496, CVE-2021-32701: a credential verified at one door is not accepted at the other', async (t) => {
  const key = 'a-key-of-the-document-door-alone-here'
  const jwt_keys = { 'hmac:_default': Buffer.from(key).toString('base64') }
  const own = await startServer(t, both, { jwt_keys })
  const claims = { sub: 'admin', preferred_username: 'admin', iss: 'arangodb', exp: now() + 60 }
  const [document, multiModel] = [makeToken(claims, { secret: key }), makeToken(claims)].map((text) => ({
    Authorization: `Bearer ${text}`,
  }))
  for (let i = 0; i < 2; i += 1) {
    assert.deepEqual(await attempt('document', { path: '/db', headers: document ?? {} }, own), [200, 1])
    assert.deepEqual(await attempt('multiModel', { path: '/_api/version', headers: multiModel ?? {} }, own), [200, 1])
    assert.equal((await attempt('document', { path: '/db', headers: multiModel ?? {} }, own))[1], 0)
    assert.deepEqual(await attempt('multiModel', { path: '/_api/version', headers: document ?? {} }, own), [401, 0])
  }
})

test('CVE-2026-35039: a cached token never belongs to another user', async (t) => {
  const own = await startServer(t, both)
  const users = [
    ['a', ['b', 'c']],
    ['a b', ['c']],
    ['b', ['a', 'c']],
    ['null', []],
    ['a"', ['b']],
  ] as const
  for (const [name, roles] of [...users, ...users]) {
    const path = `/_users/org.couchdb.user:${encodeURIComponent(name)}`
    await send(own.document, {
      method: 'PUT',
      path,
      headers: AS_ADMIN,
      body: JSON.stringify({ name, password: 'pw', roles, type: 'user' }),
    })
    await send(own.document, { path: '/db', headers: { Authorization: basic(name, 'pw') } })
    const claims = openToken(backend.seen.at(-1)?.header('authorization'), UPSTREAM_SECRET)
    assert.deepEqual([claims['sub'], claims['_couchdb.roles']], [name, roles])
  }
})

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const CLAIMS = {
  sub: 'admin',
  '_couchdb.roles': ['_admin'],
  preferred_username: 'admin',
  iss: 'arangodb',
  exp: now() + 600,
}

async function openWithKeys(t: TestContext) {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  const jwk = { ...curve.publicKey.export({ format: 'jwk' }), kid: 'ec' }
  const set = join(makeFolder(t), 'set.json')
  writeFileSync(set, JSON.stringify({ keys: [jwk] }))
  const jwt_keys = {
    'rsa:_default': pem.trim().replaceAll('\n', '\\n'),
    'rsa:rsa': pem.trim().replaceAll('\n', '\\n'),
    'jwks:set': set,
  }
  const texts = [
    pem,
    pem.trim(),
    ` ${pem}`,
    pem.replaceAll('PUBLIC KEY', 'RSA PUBLIC KEY'),
    pem.replaceAll('\n', '\\n'),
  ]
  return { own: await startServer(t, both, { jwt_keys }), texts, jwk, privateKey: curve.privateKey }
}

async function refuse(own: Server, token: string, name: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  const [document, reached] = await attempt('document', { path: '/db', headers }, own)
  assert.ok(document >= 400 && document < 500 && reached === 0, `${name}: ${document}, ${reached} reached`)
  assert.deepEqual(await attempt('multiModel', { path: '/_api/version', headers }, own), [401, 0], name)
}

test('CVE-2023-48223, CVE-2026-34950: the text of a public key is not an HMAC secret', async (t) => {
  const { own, texts } = await openWithKeys(t)
  for (const secret of texts)
    for (const kid of [undefined, 'rsa', '_default'])
      await refuse(
        own,
        makeToken(CLAIMS, { secret, header: { alg: 'HS256', typ: 'JWT', kid } }),
        JSON.stringify(secret),
      )
})

test('CVE-2026-107723: a signed payload that is not an object is rejected', async (t) => {
  const key = 'a-key-of-the-document-door-alone-here'
  const own = await startServer(t, both, { jwt_keys: { 'hmac:_default': Buffer.from(key).toString('base64') } })
  for (const claims of [[CLAIMS], [], 'admin', 1, null, true])
    for (const secret of [key, undefined])
      await refuse(own, makeToken(claims, secret === undefined ? {} : { secret }), JSON.stringify(claims))
})

test('CVE-2022-23539, CVE-2022-23540, CVE-2022-23541: only the algorithm of the key is accepted', async (t) => {
  const { own, privateKey } = await openWithKeys(t)
  for (const alg of ['none', 'None', 'NONE', '', 'HS1', 'RS256', 'ES256', 'constructor', null]) {
    const head = part({ alg, typ: 'JWT' })
    for (const signature of ['', 'AA']) await refuse(own, `${head}.${part(CLAIMS)}.${signature}`, String(alg))
    const header = { alg, typ: 'JWT', kid: 'rsa' }
    await refuse(own, makeToken(CLAIMS, { header, es256: privateKey }), `${alg} for a key of RSA`)
  }
})

test('CVE-2026-22817, CVE-2026-22818: a key without an algorithm does not take that of the token', async (t) => {
  const { own, jwk, privateKey } = await openWithKeys(t)
  const right = makeToken(CLAIMS, { es256: privateKey, header: { alg: 'ES256', typ: 'JWT', kid: 'ec' } })
  const headers = { Authorization: `Bearer ${right}` }
  assert.deepEqual(await attempt('document', { path: '/db', headers }, own), [200, 1], 'the key itself is good')
  for (const secret of [JSON.stringify(jwk), String(jwk.x), `${jwk.x}${jwk.y}`])
    for (const alg of ['HS256', 'HS384', 'HS512'])
      await refuse(own, makeToken(CLAIMS, { secret, header: { alg, typ: 'JWT', kid: 'ec' } }), alg)
})
