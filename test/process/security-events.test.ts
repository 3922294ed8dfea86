import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADMIN_PASSWORD, makeManaged, type Serving } from '../support/managed.ts'
import { basic, send } from '../support/request.ts'

/** The fields of the first line about this event, once it is there. */
async function waitForEvent(server: Serving, event: string, further = ''): Promise<Record<string, unknown>> {
  const [line] = await server.says(new RegExp(`^.*"event":"${event}".*${further}.*$`, 'm'))
  return JSON.parse(line)
}

const pick = (record: Record<string, unknown>, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, record[name]]))

test('a command that goes through the server is recorded as the owner of the process', async (t) => {
  const managed = makeManaged(t)
  const server = await managed.serve()
  const { code, stderr } = await managed.cardea(['user', 'add', 'jo', '--password-stdin'], 'a password\n')
  assert.equal(code, 0, stderr)
  const created = await waitForEvent(server, 'user.created')
  assert.deepEqual(pick(created, 'subject', 'actor', 'door', 'handler', 'peer', 'level', 'msg'), {
    subject: 'jo',
    actor: '_owner',
    door: 'control',
    handler: 'socket',
    peer: undefined,
    level: 30,
    msg: 'user created',
  })
})

test('a reload by signal records every changed option and administrator', async (t) => {
  const managed = makeManaged(t)
  const server = await managed.serve()
  const path = join(managed.folder, 'local.ini')
  const text = readFileSync(path, 'utf8')
  const changed = text
    .replace('a-secret-of-cookies', 'another-secret-of-cookies')
    .replace('[chttpd]', '[chttpd]\nmax_uri_length = 5000')
  writeFileSync(path, `${changed}bob = another-password\n`)
  server.child.kill('SIGHUP')
  const reloaded = await waitForEvent(server, 'configuration.reloaded')
  assert.deepEqual(pick(reloaded, 'actor', 'door', 'outcome'), {
    actor: undefined,
    door: undefined,
    outcome: 'success',
  })
  const created = await waitForEvent(server, 'administrator.created')
  assert.equal(created['subject'], 'bob')
  const secret = await waitForEvent(server, 'option.changed', 'chttpd_auth.secret')
  assert.deepEqual(pick(secret, 'old', 'new'), { old: '***', new: '***' })
  const limit = await waitForEvent(server, 'option.changed', 'max_uri_length')
  assert.equal(limit['new'], '5000')
  writeFileSync(path, '[chttpd\n')
  server.child.kill('SIGHUP')
  const failed = await waitForEvent(server, 'reload.failed')
  assert.deepEqual(pick(failed, 'level', 'source', 'outcome'), {
    level: 50,
    source: 'configuration',
    outcome: 'failure',
  })
  assert.match(String(failed['reason']), /local\.ini:1/)
})

test('reloads of secrets over HTTP, failed ones too, are recorded with the actor', async (t) => {
  const managed = makeManaged(t)
  const keyfile = join(managed.folder, 'token-secret')
  writeFileSync(keyfile, 'a-secret-of-the-multi-model-door', { mode: 0o600 })
  const path = join(managed.folder, 'local.ini')
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(
      '[server]',
      `[server]\njwt-secret-keyfile = ${keyfile}\njwt-secret-watch = false`,
    ),
  )
  const server = await managed.serve()
  const made = await managed.cardea(['token', 'create', '--superuser'])
  assert.equal(made.code, 0, made.stderr)
  const request = {
    method: 'POST',
    path: '/_admin/server/jwt',
    headers: { Authorization: `bearer ${made.stdout.trim()}` },
  }
  assert.equal((await send(server.multiModel, request)).status, 200)
  const reloaded = await waitForEvent(server, 'secrets.reloaded')
  const from = { source: 'server.jwt-secret-keyfile', actor: '_superuser', handler: 'bearer', door: 'multi-model' }
  assert.deepEqual(pick(reloaded, 'source', 'actor', 'handler', 'door'), from)
  writeFileSync(keyfile, '')
  await send(server.multiModel, request)
  const failed = await waitForEvent(server, 'reload.failed')
  assert.deepEqual(pick(failed, 'source', 'actor', 'handler', 'door'), from)
})

test('the sign-in of an administrator at a door, start and stop are recorded', async (t) => {
  const server = await makeManaged(t).serve()
  const started = await waitForEvent(server, 'server.started')
  assert.deepEqual(started['listening'], [server.document, server.multiModel])
  await send(server.document, { path: '/', headers: { Authorization: basic('admin', ADMIN_PASSWORD) } })
  assert.equal((await waitForEvent(server, 'sign-in.accepted'))['subject'], 'admin')
  server.child.kill('SIGTERM')
  await waitForEvent(server, 'server.stopped')
})

test('a key set that changed is recorded when the configuration is reloaded', async (t) => {
  const managed = makeManaged(t)
  const file = join(managed.folder, 'keys.json')
  const writeKey = (secret: string) => {
    const key = { kty: 'oct', alg: 'HS256', kid: 'a', k: Buffer.from(secret).toString('base64url') }
    writeFileSync(file, JSON.stringify({ keys: [key] }), { mode: 0o600 })
  }
  writeKey('a-secret-of-thirty-two-characters')
  const path = join(managed.folder, 'local.ini')
  writeFileSync(path, `${readFileSync(path, 'utf8')}[jwt_keys]\njwks:main = ${file}\n`)
  const server = await managed.serve()
  writeKey('another-secret-of-enough-characters')
  server.child.kill('SIGHUP')
  assert.equal((await waitForEvent(server, 'key-set.reloaded'))['source'], file)
})
