// The contract about sessions and credentials, sentence by sentence. Other tests in this folder cover the details.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { before, test } from 'node:test'
import type { CardeaOptions } from '../../../src/index.ts'
import { cookieOf, createSessionServer, HANDLERS, lineOf, mintClassic, mintJwt, nowSeconds } from './session-server.ts'

const SECRET = 'a-cookie-secret-for-these-tests'
const JWT_SECRET = 'a-shared-secret-of-enough-bytes-for-hs256'
const jwt_keys = { 'hmac:_default': Buffer.from(JWT_SECRET).toString('base64') }

const serverWith = (auth: CardeaOptions['chttpd_auth'], more: CardeaOptions = {}) =>
  createSessionServer({ jwt_keys, ...more, chttpd_auth: { secret: SECRET, ...auth } })

const standard = serverWith({})
const chosen = serverWith({
  cookie_domain: 'example.com',
  same_site: 'lax',
  timeout: 50,
  authentication_redirect: '/landing',
  hash_algorithms: 'sha512, sha256, sha',
  x_auth_username: 'X-Name',
  x_auth_roles: 'X-Roles',
  x_auth_token: 'X-Token',
})
const unkept = serverWith({ allow_persistent_cookies: false })
const believing = serverWith({ proxy_use_secret: false })
const required = serverWith({}, { chttpd: { require_valid_user: true } })
const exceptForUp = serverWith({}, { chttpd: { require_valid_user_except_for_up: true } })
const named = serverWith({}, { jwt_auth: { required_claims: 'exp, iss', roles_claim_name: 'groups' } })
const pathed = serverWith({}, { jwt_auth: { roles_claim_path: 'app.my\\.roles', roles_claim_name: 'groups' } })
const migrated = serverWith({}, { jwt_auth: { roles_claim_path: '_couchdb\\.roles' } })

type Server = typeof standard
before(() => Promise.all([standard, chosen].map((server) => server.add('ada', { roles: ['math'] }))))

const ADA = { name: 'ada', password: 'ada-pw' }
const signIn = (server: Server) => server.post({ name: 'admin', password: 'adminpw' })
const bearer = (claims: Record<string, unknown>) => ({
  Authorization: `Bearer ${mintJwt({ sub: 'jo', exp: nowSeconds() + 60, ...claims }, JWT_SECRET)}`,
})
const hmac = (text: string, alg = 'sha256') => createHmac(alg, SECRET).update(text).digest('hex')
const rolesOf = async (server: Server, claims: Record<string, unknown>) =>
  (await server.fetchIdentity({ headers: bearer(claims) })).roles

const PROMISES: Readonly<Record<string, () => Promise<void>>> = {
  'GET /_session: authentication by header, for example `Authorization: Bearer <JWT>`': async () => {
    assert.equal((await standard.ask('GET', '/_session', { as: '', headers: bearer({}) })).status, 200)
  },
  'session information: ok is the success flag': async () => {
    assert.equal((await standard.ask('GET', '/_session')).json.ok, true)
  },
  'session information: userCtx.name is the authenticated user name, userCtx.roles the roles of the user': async () => {
    const { json } = await standard.ask('GET', '/_session', { as: 'ada:ada-pw' })
    assert.deepEqual(json.userCtx, { name: 'ada', roles: ['math'] })
  },
  'session information: info.authentication_handlers are the handlers in order: jwt, proxy, cookie, default':
    async () => {
      assert.deepEqual((await standard.ask('GET', '/_session')).json.info.authentication_handlers, HANDLERS)
    },
  'session information: info.authenticated is the handler that authenticated the request (for example jwt)':
    async () => {
      assert.equal((await standard.fetchIdentity({ headers: bearer({}) })).by, 'jwt')
    },
  'cookie: its name is AuthSession': async () => {
    assert.match(lineOf(await signIn(standard)), /^AuthSession=/)
  },
  'cookie: domain, SameSite, Max-Age and Expires are controlled by configuration': async () => {
    assert.match(lineOf(await signIn(chosen)), /; Expires=[^;]+; Max-Age=50; Domain=example\.com; .*; SameSite=Lax$/)
  },
  'allow_persistent_cookies: when true, the cookie gets Max-Age and Expires, so user agents keep it across restarts':
    async () => {
      assert.match(lineOf(await signIn(standard)), /; Expires=[^;]+GMT; Max-Age=600;/)
      assert.doesNotMatch(lineOf(await signIn(unkept)), /Expires|Max-Age/)
    },
  'cookie_domain: default empty, which sets the cookie on the server’s own domain': async () => {
    assert.doesNotMatch(lineOf(await signIn(standard)), /Domain/)
  },
  'same_site: when non-empty, adds the SameSite attribute to the cookie': async () => {
    assert.doesNotMatch(lineOf(await signIn(standard)), /SameSite/)
    assert.match(lineOf(await signIn(chosen)), /SameSite=Lax/)
  },
  'authentication_redirect: redirect location after successful authentication when the client accepts text/html':
    async () => {
      const answer = await chosen.post(ADA, { headers: { Accept: 'text/html' } })
      assert.deepEqual([answer.status, answer.headers.location], [302, '/landing'])
      assert.equal((await chosen.post(ADA, { headers: { Accept: 'application/json' } })).status, 200)
    },
  'hash_algorithms: the first one is used for new cookie sessions and updates': async () => {
    const macOf = (cookie: string) => Buffer.from(cookie, 'base64url').length - 'ada:66000000:'.length - 16
    assert.equal(macOf(cookieOf(await chosen.post(ADA))), 64)
    const { salt } = (await chosen.get('ada')).json
    const old = mintClassic('ada', nowSeconds() - 20, { secret: SECRET, salt, alg: 'sha256' })
    const updated = await chosen.ask('GET', '/_session', { as: '', headers: { Cookie: `AuthSession=${old}` } })
    assert.equal(macOf(cookieOf(updated)), 64)
  },
  'hash_algorithms: all listed ones can decode cookies and `X-Auth-<svc>-Token`': async () => {
    const { salt } = (await chosen.get('ada')).json
    for (const alg of ['sha512', 'sha256', 'sha1']) {
      const cookie = mintClassic('ada', nowSeconds(), { secret: SECRET, salt, alg })
      assert.equal((await chosen.identifyCookie(cookie)).name, 'ada', alg)
      assert.equal(
        (await chosen.fetchIdentity({ headers: { 'X-Name': 'foo', 'X-Token': hmac('foo', alg) } })).name,
        'foo',
        alg,
      )
    }
  },
  'secret: used for proxy and cookie authentication': async () => {
    const { salt } = (await standard.get('ada')).json
    const cookie = mintClassic('ada', nowSeconds(), { secret: SECRET, salt })
    assert.equal((await standard.identifyCookie(cookie)).name, 'ada')
    const headers = { 'X-Auth-CouchDB-UserName': 'foo', 'X-Auth-CouchDB-Token': hmac('foo') }
    assert.equal((await standard.fetchIdentity({ headers })).name, 'foo')
  },
  'timeout: a session expires after the configured number of seconds without a request': async () => {
    const { salt } = (await chosen.get('ada')).json
    const cookieOfAge = (age: number) => mintClassic('ada', nowSeconds() - age, { secret: SECRET, salt })
    assert.equal((await chosen.identifyCookie(cookieOfAge(35))).name, 'ada')
    assert.equal((await chosen.identifyCookie(cookieOfAge(50))).name, null)
  },
  'proxy_use_secret: when true, secret is required for proxy authentication': async () => {
    assert.equal((await standard.fetchIdentity({ headers: { 'X-Auth-CouchDB-UserName': 'foo' } })).name, null)
  },
  'the proxy token is an HMAC of secret and the value of the user-name header': async () => {
    const headersOf = (name: string) => ({ 'X-Auth-CouchDB-UserName': name, 'X-Auth-CouchDB-Token': hmac('foo') })
    assert.equal((await standard.fetchIdentity({ headers: headersOf('foo') })).name, 'foo')
    assert.equal((await standard.fetchIdentity({ headers: headersOf('bar') })).name, null)
  },
  'the token is optional when proxy_use_secret is not true': async () => {
    assert.equal((await believing.fetchIdentity({ headers: { 'X-Auth-CouchDB-UserName': 'foo' } })).name, 'foo')
  },
  'x_auth_username, x_auth_roles, x_auth_token: defaults `X-Auth-<svc>-UserName`, `-Roles`, `-Token`, roles separated by commas':
    async () => {
      const headers = {
        'X-Auth-CouchDB-UserName': 'foo',
        'X-Auth-CouchDB-Roles': 'a,b',
        'X-Auth-CouchDB-Token': hmac('foo'),
      }
      assert.deepEqual(await standard.fetchIdentity({ headers }), { name: 'foo', roles: ['a', 'b'], by: 'proxy' })
    },
  'x_auth_username, x_auth_roles, x_auth_token: the headers carrying name, roles and token': async () => {
    const headers = { 'X-Name': 'foo', 'X-Roles': 'a', 'X-Token': hmac('foo') }
    assert.deepEqual(await chosen.fetchIdentity({ headers }), { name: 'foo', roles: ['a'], by: 'proxy' })
  },
  'require_valid_user: when true, anonymous requests are not allowed': async () => {
    for (const path of ['/', '/_up', '/_session', '/_users']) {
      assert.equal((await required.ask('GET', path, { as: '' })).status, 401, path)
    }
  },
  'require_valid_user_except_for_up: GET /_up is the only endpoint reachable anonymously': async () => {
    assert.equal((await exceptForUp.ask('GET', '/_up', { as: '' })).status, 200)
    for (const path of [
      '/',
      '/_session',
      '/_users',
      '/_all_dbs',
      '/_utils',
      '/_node/_local/_versions',
      '/x',
      '/_up/x',
    ]) {
      assert.equal((await exceptForUp.ask('GET', path, { as: '' })).status, 401, path)
    }
  },
  'required_claims: claims that must be present in every JWT; a missing claim gives 404 Not Found': async () => {
    assert.equal((await named.ask('GET', '/_session', { as: '', headers: bearer({ iss: 'me' }) })).status, 200)
    assert.equal((await named.ask('GET', '/_session', { as: '', headers: bearer({}) })).status, 404)
  },
  'roles_claim_name: top-level claim used as the roles list of a valid token; default `_<svc>.roles`': async () => {
    assert.deepEqual(await rolesOf(named, { iss: 'me', groups: ['g'] }), ['g'])
    assert.deepEqual(await rolesOf(standard, { '_couchdb.roles': ['r'] }), ['r'])
  },
  'roles_claim_name: ignored when roles_claim_path is set': async () => {
    assert.deepEqual(await rolesOf(pathed, { groups: ['g'], app: { 'my.roles': ['p'] } }), ['p'])
  },
  'roles_claim_path: `.` separates nesting levels; `\\.` is a literal dot in a key': async () => {
    assert.deepEqual(await rolesOf(pathed, { app: { 'my.roles': ['p'], my: { roles: ['no'] } } }), ['p'])
  },
  'migration: a top-level claim whose key contains a dot is written with `\\.` in roles_claim_path': async () => {
    assert.deepEqual(await rolesOf(migrated, { '_couchdb.roles': ['r'] }), ['r'])
  },
}

for (const [sentence, show] of Object.entries(PROMISES)) test(sentence, show)
