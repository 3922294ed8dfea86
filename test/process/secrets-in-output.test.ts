import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeManaged, type Serving } from '../support/managed.ts'
import { start } from '../support/process.ts'
import { basic, type Reply, type Request, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { Secrets } from '../support/secrets.ts'
import { openServer } from '../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

const toJson = (method: string, path: string, body: unknown, headers: Record<string, string> = {}): Request => ({
  method,
  path,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
})

function signJwt(secret: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const cookieOf = ({ headers }: Reply): string => headers['set-cookie']?.[0]?.split(';')[0] ?? ''

/** So that a scenario which stopped working does not pass by being silent. */
const RECORDED = [
  'sign-in.accepted',
  'sign-in.refused',
  'sign-out',
  'user.created',
  'session.revoked',
  'administrator.created',
  'administrator.changed',
  'access-token.created',
  'option.changed',
  'configuration.reloaded',
  'reload.failed',
  'upstream.token-rejected',
]

for (const format of ['json', 'text'])
  test(`no secret is in the output of a server, everything at debug, as ${format}`, { timeout: 120_000 }, async (t) => {
    const secrets = new Secrets()
    const adminPassword = secrets.note('password of an administrator')
    const cookieSecret = secrets.note('secret of cookies')
    const jwtSecret = secrets.note('secret of tokens')
    const upstreamSecret = secrets.note('secret of the upstream')
    // rejects every identity, so that the failure is logged too
    const couch = await openServer(t, (_request, response) => {
      response.writeHead(400, JSON_TYPE).end('{"error":"bad_request","reason":"Bad HMAC in authentication token"}')
    })
    const config = (further: string) => `[store]
url = sqlite:cardea.db
[log]
format = ${format}
[chttpd]
port = 0
[server]
endpoint = tcp://127.0.0.1:0
jwt-secret = ${secrets.note('secret of the multi-model door')}
[chttpd_auth]
iterations = 1
secret = ${cookieSecret}
[jwt_keys]
hmac:_default = ${Buffer.from(jwtSecret).toString('base64')}
[upstream]
document = ${couch.url}
document-secret = ${upstreamSecret}
[admins]
admin = ${adminPassword}
${further}`
    const managed = makeManaged(t, config(''))
    const server = await serve(t, managed.folder)
    const ADMIN = { Authorization: basic('admin', adminPassword) }

    await signInWithEverything(server, ADMIN, secrets, { cookieSecret, jwtSecret })
    await changeThings(server, ADMIN, secrets)
    await sendNonsense(server, secrets)
    // the identity of the upstream, a reload, one that fails
    assert.equal((await send(server.document, { path: '/db', headers: ADMIN })).status, 502)
    for (const further of [
      `[jwt_keys]\nhmac:broken = ${secrets.note('broken key', '!not-base64-a1b2c3!')}\n`,
      // one secret for two uses is refused
      `[upstream]\ndocument-secret = ${cookieSecret}\n`,
    ]) {
      writeFileSync(join(managed.folder, 'local.ini'), config(further), { mode: 0o600 })
      await send(server.document, toJson('POST', '/_node/_local/_config/_reload', {}, ADMIN))
    }
    server.child.kill('SIGTERM')
    await server.ended
    const output = server.stdout() + server.stderr()
    assert.deepEqual(secrets.find(output), [])
    // a text of several words is quoted, so that it cannot pass for another field
    if (format === 'text') assert.match(output, / subject=jo reason="wrong password"/)
    for (const event of RECORDED) assert.ok(output.includes(event), `${event} was not recorded`)
  })

/** The addresses of the doors, from a log in either form. */
const LISTENING = /document"?[=:]\["(?<document>[^"]+)"\].*multiModel"?[=:]\["(?<multiModel>[^"]+)"\]/

async function serve(scope: Scope, folder: string): Promise<Serving> {
  const server = start(scope, ['serve', '--config', folder, '--log.level', 'debug'], { cwd: folder })
  const { groups } = await server.says(LISTENING)
  return { ...server, document: groups?.['document'] ?? '', multiModel: groups?.['multiModel'] ?? '' }
}

interface Keys {
  readonly cookieSecret: string
  readonly jwtSecret: string
}

async function signInWithEverything(
  { document, multiModel }: Serving,
  ADMIN: Record<string, string>,
  secrets: Secrets,
  { cookieSecret, jwtSecret }: Keys,
): Promise<void> {
  const password = secrets.note('password of a user')
  const wrong = secrets.note('wrong password')
  const user = { name: 'jo', password, roles: [], type: 'user' }
  const created = await send(document, toJson('PUT', '/_users/org.couchdb.user:jo', user, ADMIN))
  assert.equal(created.status, 201)
  for (const given of [password, wrong]) {
    const Authorization = basic('jo', given)
    secrets.note(`Basic header with ${given}`, Authorization.slice('Basic '.length))
    await send(document, { path: '/_session', headers: { Authorization } })
    await send(multiModel, { path: '/_api/version', headers: { Authorization } })
    await send(document, toJson('POST', '/_session', { name: 'jo', password: given }))
    await send(multiModel, toJson('POST', '/_open/auth', { username: 'jo', password: given }))
  }
  const cookie = secrets.note(
    'cookie',
    cookieOf(await send(document, toJson('POST', '/_session', { name: 'jo', password }))),
  )
  await send(document, { path: '/_session', headers: { Cookie: cookie } })
  await send(document, { path: '/_session', headers: { Cookie: secrets.note('broken cookie', `${cookie}xx`) } })
  await send(document, { method: 'DELETE', path: '/_session', headers: { Cookie: cookie } })
  const opened = await send(multiModel, toJson('POST', '/_open/auth', { username: 'jo', password }))
  const bearer = secrets.note('token of the multi-model door', JSON.parse(opened.body).jwt)
  await send(multiModel, { path: '/_api/user/jo', headers: { Authorization: `bearer ${bearer}` } })
  await send(multiModel, { method: 'DELETE', path: '/_open/auth', headers: { Authorization: `bearer ${bearer}` } })
  await send(multiModel, { path: '/_api/user/jo', headers: { Authorization: `bearer ${bearer}` } })
  const exp = Math.floor(Date.now() / 1000) + 600
  for (const [what, jwt] of [
    ['JSON Web Token', signJwt(jwtSecret, { sub: 'anna', exp })],
    ['forged JSON Web Token', signJwt('something else', { sub: 'anna', exp })],
  ] as const)
    await send(document, { path: '/_session', headers: { Authorization: `Bearer ${secrets.note(what, jwt)}` } })
  const proof = createHmac('sha256', cookieSecret).update('anna').digest('hex')
  for (const [what, token] of [
    ['proxy token', proof],
    ['wrong proxy token', `00${proof.slice(2)}`],
  ] as const) {
    const headers = { 'X-Auth-CouchDB-UserName': 'anna', 'X-Auth-CouchDB-Token': secrets.note(what, token) }
    await send(document, { path: '/_session', headers })
  }
  const token = await send(
    multiModel,
    toJson('POST', '/_api/token/jo', { name: 'backup' }, { Authorization: basic('jo', password) }),
  )
  const accessToken = secrets.note('access token', JSON.parse(token.body).token)
  await send(multiModel, { path: '/_api/version', headers: { Authorization: basic('jo', accessToken) } })
  await send(multiModel, { path: '/_api/version', headers: { Authorization: basic('', accessToken) } })
  await send(multiModel, { path: '/_api/version', headers: { Authorization: basic('jo', `${accessToken}00`) } })
}

async function changeThings(
  { document, multiModel }: Serving,
  ADMIN: Record<string, string>,
  secrets: Secrets,
): Promise<void> {
  const created = { user: 'mo', passwd: secrets.note('password at the multi-model door') }
  await send(multiModel, toJson('POST', '/_api/user', created, ADMIN))
  await send(multiModel, toJson('PATCH', '/_api/user/mo', { passwd: secrets.note('new password') }, ADMIN))
  await send(
    document,
    toJson('POST', '/_cardea/api/users', { name: 'po', password: secrets.note('password by the API') }, ADMIN),
  )
  await send(document, toJson('PUT', '/_node/_local/_config/admins/eve', secrets.note('password of eve'), ADMIN))
  await send(document, toJson('PUT', '/_node/_local/_config/admins/eve', secrets.note('next password of eve'), ADMIN))
  const key = Buffer.from(secrets.note('another secret of tokens')).toString('base64')
  const config = '/_node/_local/_config'
  await send(document, toJson('PUT', `${config}/jwt_keys/hmac:other`, key, ADMIN))
  await send(document, toJson('PUT', `${config}/chttpd_auth/secret`, secrets.note('next secret of cookies'), ADMIN))
  await send(document, toJson('PUT', `${config}/my_plugin/place`, secrets.note('value of an unknown option'), ADMIN))
  const totp = { totp: { key: secrets.note('key of one-time codes', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ') } }
  const user = { name: 'to', password: secrets.note('password of a user with codes'), roles: [], type: 'user', ...totp }
  await send(document, toJson('PUT', '/_users/org.couchdb.user:to', user, ADMIN))
  await send(document, toJson('POST', '/_session', { name: 'to', password: user.password, token: '000000' }))
}

/** Secrets where none belongs. */
async function sendNonsense({ document, multiModel }: Serving, secrets: Secrets): Promise<void> {
  const lost = secrets.note('password in a strange place')
  await send(document, { path: `/_session?password=${lost}` })
  await send(document, {
    method: 'POST',
    path: '/_session',
    headers: JSON_TYPE,
    body: `{"name":"jo","password":"${lost}"`,
  })
  await send(multiModel, {
    method: 'POST',
    path: '/_open/auth',
    headers: JSON_TYPE,
    body: `{"username":"jo","password":${lost}}`,
  })
  await send(document, { path: '/_session', headers: { Authorization: `Basic ${lost}` } })
  await send(document, { path: '/_session', headers: { Authorization: `Bearer ${lost}` } })
  await send(multiModel, { path: '/_api/version', headers: { Authorization: `bearer ${lost}.${lost}.${lost}` } })
}
