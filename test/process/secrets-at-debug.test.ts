// Accounts, the admin API, the gateway and the command line with everything at debug: no secret is in the log, the access
// log, the audit trail, the metrics, or in what commands print. `secrets-in-output.test.ts` has the credentials of the
// doors.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { type Managed, makeManaged, type Serving } from '../support/managed.ts'
import { basic, type Reply, type Request, send } from '../support/request.ts'
import { Secrets } from '../support/secrets.ts'
import { openServer } from '../support/upstream.ts'

const API = '/_cardea/api'

interface Scene {
  readonly server: Serving
  readonly managed: Managed
  readonly secrets: Secrets
  readonly adminPassword: string
}

const ask = async ({ server }: Scene, request: Request, expected = 200): Promise<Reply> => {
  const reply = await send(server.document, request)
  assert.equal(reply.status, expected, `${request.method ?? 'GET'} ${request.path}: ${reply.body}`)
  return reply
}

const asAdmin = ({ adminPassword }: Scene): string => basic('admin', adminPassword)

/** Passwords, the second factor, tokens and links of an account, by its owner. */
async function useAccount(scene: Scene): Promise<void> {
  const { secrets } = scene
  const password = secrets.note('password of the account')
  const body = { name: 'ada', password, roles: ['reader'] }
  await ask(scene, { as: asAdmin(scene), method: 'POST', path: `${API}/users`, body })
  const as = basic('ada', password)
  await ask(scene, {
    as,
    method: 'POST',
    path: `${API}/account/check-password`,
    body: { password: secrets.note('tried') },
  })
  const token = { name: 'backup', expires: '2099-01-01', current_password: password }
  const { json } = await ask(scene, { as, method: 'POST', path: `${API}/account/tokens`, body: token })
  secrets.note('access token of the account', json.token)
  await ask(scene, { as: basic('ada', json.token), path: '/_session' })
  await changePasswordByLink(scene)
}

async function changePasswordByLink(scene: Scene): Promise<void> {
  const { secrets } = scene
  const path = `${API}/users/ada/password-link`
  const { url } = (await ask(scene, { as: asAdmin(scene), method: 'POST', path, body: {} })).json
  const token = secrets.note('token of a link', url.split(/[=/]/).at(-1))
  const password = secrets.note('password by a link')
  await ask(scene, { method: 'POST', path: `${API}/password-links/find`, body: { token } })
  await ask(scene, { method: 'POST', path: `${API}/password-links/use`, body: { token, password } })
  await ask(scene, { method: 'POST', path: `${API}/password-links/use`, body: { token, password } }, 404)
  await enrol(scene, password)
}

async function enrol(scene: Scene, password: string): Promise<void> {
  const { secrets } = scene
  const as = basic('ada', password)
  const { secret } = (await ask(scene, { as, method: 'POST', path: `${API}/account/totp`, body: {} })).json
  secrets.note('secret of one-time codes', secret)
  const totp = readTotp({ key: secret }) ?? assert.fail('no second factor')
  const code = renderCode(totp, Math.floor(Date.now() / 30_000))
  const body = { secret, code, current_password: password }
  const { recoveryCodes } = (await ask(scene, { as, method: 'POST', path: `${API}/account/totp/confirm`, body })).json
  for (const [i, text] of recoveryCodes.entries()) secrets.note(`recovery code ${i}`, text)
  const signIn = { name: 'ada', password, token: recoveryCodes[0] }
  const opened = await ask(scene, { method: 'POST', path: '/_session', body: signIn })
  const cookie = secrets.note('cookie of the account', opened.headers['set-cookie']?.[0]?.split(';')[0])
  await ask(scene, { path: '/_session', headers: { Cookie: cookie } })
}

/** What the store keeps of passwords. */
async function noteHashes(scene: Scene): Promise<void> {
  const { json } = await ask(scene, { as: asAdmin(scene), path: '/_users/org.couchdb.user:ada' })
  for (const member of ['derived_key', 'salt']) scene.secrets.note(`${member} of the account`, json[member])
  const { json: exported } = await ask(scene, { as: asAdmin(scene), path: `${API}/transfer/administrators` })
  for (const text of JSON.stringify(exported).match(/-pbkdf2[^"]+/g) ?? [])
    scene.secrets.note('hash of an administrator', text)
}

/** Credentials pass through to the upstream server, and it sends some back. */
async function useGateway(scene: Scene): Promise<void> {
  const headers = {
    'X-Api-Key': scene.secrets.note('header for the upstream server'),
    Cookie: `app=${scene.secrets.note('cookie of the application')}`,
  }
  await ask(scene, { as: asAdmin(scene), path: '/db/doc', headers })
  await ask(scene, { as: asAdmin(scene), method: 'PUT', path: '/db/doc', body: { secret: scene.secrets.note('body') } })
  await ask(scene, { as: asAdmin(scene), path: `/db/broken?key=${scene.secrets.note('key in a query')}` }, 502)
}

/** Each command with its input. `fails`: it must end with an error. */
const listCommands = ({ secrets, managed }: Scene): readonly CommandRow[] => [
  { args: ['user', 'add', 'cli', '--password-stdin'], input: secrets.note('password by a command') },
  { args: ['user', 'set-password', 'cli', '--password-stdin'], input: secrets.note('next password by a command') },
  { args: ['user', 'show', 'ada'] },
  { args: ['admin', 'add', 'eve', '--password-stdin'], input: secrets.note('password of another administrator') },
  { args: ['config', 'set', 'chttpd_auth.secret', '--value-stdin'], input: secrets.note('secret by a command') },
  { args: ['config', 'show'] },
  { args: ['secret', 'replace'] },
  { args: ['secret', 'list'] },
  { args: ['export', join(managed.folder, 'export.json')] },
  { args: ['import', join(managed.folder, 'broken.json'), '--from', 'document'], fails: true },
  { args: ['reload'] },
  // the upstream server of this test is not a CouchDB
  { args: ['status'], fails: true },
  { args: ['check'], fails: true },
]

interface CommandRow {
  readonly args: readonly string[]
  readonly input?: string
  readonly fails?: true
}

async function runCommands(scene: Scene): Promise<void> {
  const { managed, secrets } = scene
  const password = secrets.note('password in a broken file')
  writeFileSync(join(managed.folder, 'broken.json'), `{"docs":[{"name":"x","type":"user","password":"${password}"}`)
  for (const { args, input, fails = false } of listCommands(scene)) {
    const { code, stderr } = await managed.cardea(args, input)
    assert.equal(code !== 0, fails, `${args.join(' ')}: ${stderr}`)
  }
}

test('no secret of accounts, commands and the gateway is in any output', { timeout: 120_000 }, async (t) => {
  const secrets = new Secrets()
  const adminPassword = secrets.note('password of the administrator')
  const upstream = await openServer(t, (request, response) => {
    if (request.url?.includes('broken')) return void request.socket.destroy()
    response.setHeader('Set-Cookie', `upstream=${secrets.note('cookie of the upstream server')}`)
    response.end('{"ok":true}')
  })
  const managed = makeManaged(
    t,
    `[store]
url = sqlite:cardea.db
[log]
access = true
[audit]
destinations = file:audit.log, stdout, ${upstream.url}/broken/${secrets.note('path of a webhook')}
webhook-key-file = webhook.key
[chttpd]
port = 0
[server]
endpoint = tcp://127.0.0.1:0
jwt-secret = ${secrets.note('secret of the multi-model door')}
[chttpd_auth]
iterations = 1
secret = ${secrets.note('secret of cookies')}
[upstream]
document = ${upstream.url}
document-secret = ${secrets.note('secret of the upstream server')}
[admins]
admin = ${adminPassword}
`,
  )
  writeFileSync(join(managed.folder, 'webhook.key'), secrets.note('key of a webhook'), { mode: 0o600 })
  const scene: Scene = { server: await managed.serve(), managed, secrets, adminPassword }
  await useAccount(scene)
  await useGateway(scene)
  await noteHashes(scene)
  const metrics = await ask(scene, { as: asAdmin(scene), path: '/_cardea/metrics' })
  const audit = await ask(scene, { as: asAdmin(scene), path: `${API}/audit?limit=1000` })
  await runCommands(scene)
  scene.server.child.kill('SIGTERM')
  await scene.server.ended
  const log = scene.server.stdout() + scene.server.stderr()
  const outputs = {
    log,
    'the audit file': readFileSync(join(managed.folder, 'audit.log'), 'utf8'),
    'the audit trail': audit.body,
    metrics: metrics.body,
    commands: managed.traces.filter((text) => text !== log).join('\n'),
  }
  for (const [name, output] of Object.entries(outputs)) {
    assert.deepEqual(secrets.find(output), [], name)
    assert.ok(output.length > 100, `${name} is empty`)
  }
  // the scenario did what it is for
  for (const event of ['access-token.created', 'sign-in.accepted', 'option.changed'])
    assert.ok(log.includes(event), event)
})
