import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { makeAuditKey } from '../../src/observe/audit/audit-key.ts'
import { toCheckpointPath } from '../../src/observe/audit/checkpoint-files.ts'
import { ADMIN_PASSWORD, type Managed, makeManaged } from '../support/managed.ts'
import { start } from '../support/process.ts'
import { send } from '../support/request.ts'
import { waitUntil } from '../support/wait.ts'

const ADMIN = `admin:${ADMIN_PASSWORD}`

/** A folder whose audit trail has a key. */
function makeAudited(t: Parameters<typeof makeManaged>[0]): Managed {
  const managed = makeManaged(t)
  writeFileSync(join(managed.folder, 'audit.pem'), makeAuditKey(), { mode: 0o600 })
  appendFileSync(join(managed.folder, 'local.ini'), '[audit]\nkey-file = audit.pem\n')
  return managed
}

const list = async (managed: Managed, ...args: readonly string[]) => {
  const { code, stdout, stderr } = await managed.cardea(['audit', 'list', '--json', ...args])
  assert.equal(code, 0, stderr)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

const change = (managed: Managed, sql: string): void => {
  const database = new DatabaseSync(join(managed.folder, 'cardea.db'))
  database.exec(sql)
  database.close()
}

test('the chain continues after kill -9 and a restart, and verify finds what is done to it', async (t) => {
  const managed = makeAudited(t)
  const first = await managed.serve()
  await managed.cardea(['user', 'add', 'jo', '--password-stdin'], 'a password\n')
  await send(first.document, { path: '/_session', as: ADMIN })
  assert.equal((await list(managed, '--event', 'user.created')).length, 1)
  first.child.kill('SIGKILL')
  await first.ended
  // a command without a server continues the same chain
  await managed.cardea(['user', 'roles', 'jo', 'reader'])
  const second = await managed.serve()
  const records = await list(managed)
  assert.deepEqual(
    records.map(({ sequence }) => sequence),
    records.map((_, index) => index + 1),
  )
  const running = await managed.cardea(['audit', 'verify'])
  assert.equal(running.code, 0, running.stdout + running.stderr)
  assert.match(running.stdout, /records 1 to \d+, signed up to \d+, unchanged/)
  second.child.kill('SIGTERM')
  await second.ended
  const kinds = (await list(managed)).map(({ event }) => event)
  for (const kind of ['server.started', 'user.created', 'sign-in.accepted', 'user.changed', 'server.stopped'])
    assert.ok(kinds.includes(kind), `${kind} in ${kinds}`)
  assert.equal(kinds.filter((kind) => kind === 'server.started').length, 2)

  const checkpoint = toCheckpointPath(join(managed.folder, 'audit.pem'), 'cardea@127.0.0.1')
  assert.ok(readFileSync(checkpoint).length > 0)
  assert.equal(statSync(checkpoint).mode & 0o777, 0o600)
  change(managed, `UPDATE cardea_audit SET subject = 'eve' WHERE event = 'user.created'`)
  const altered = await managed.cardea(['audit', 'verify'])
  assert.equal(altered.code, 1)
  assert.match(altered.stdout, /altered: record \d+ \(user\.created\) was altered/)
  change(managed, `UPDATE cardea_audit SET subject = 'jo' WHERE event = 'user.created'`)
  change(managed, 'DELETE FROM cardea_audit WHERE sequence > 3')
  // an attacker who can write to the store puts the end of the chain right, too
  change(
    managed,
    'UPDATE cardea_audit_chains SET sequence = 3, hash = (SELECT hash FROM cardea_audit WHERE sequence = 3)',
  )
  const truncated = await managed.cardea(['audit', 'verify', '--json'])
  assert.equal(truncated.code, 1)
  assert.deepEqual(
    [...new Set(JSON.parse(truncated.stdout).findings.map(({ kind }: { kind: string }) => kind))],
    ['truncated'],
  )
  const third = await managed.serve()
  const [found] = await list(managed, '--event', 'audit.broken')
  assert.equal(found?.['found'], 3)
  assert.equal(found?.['reason'], 'the store ends before the last checkpoint')
  third.child.kill('SIGTERM')
  await third.ended
})

test('audit list prints sentences, filters and follows', async (t) => {
  const managed = makeAudited(t)
  const server = await managed.serve()
  await managed.cardea(['user', 'add', 'jo', '--password-stdin'], 'a password\n')
  await send(server.document, { path: '/_session', as: 'jo:wrong' })
  const { stdout } = await managed.cardea(['audit', 'list', '--user', 'jo', '--since', '1h'])
  const lines = stdout.trim().split('\n')
  assert.match(
    lines[0] ?? '',
    /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}User jo was created by the owner of the server, with the command line$/,
  )
  assert.match(lines[1] ?? '', /jo.* at the document door with default from 127\.0\.0\.1/)
  assert.deepEqual(
    (await list(managed, '--outcome', 'failure')).map(({ event }) => event),
    ['sign-in.refused'],
  )
  const following = start(t, ['audit', 'list', '--follow', '--user', 'mo', '--config', managed.folder], {
    cwd: managed.folder,
  })
  await managed.cardea(['user', 'add', 'mo', '--password-stdin'], 'a password\n')
  await following.says(/User mo was created by the owner of the server/)
  following.child.kill('SIGTERM')
  await following.ended
  const local = await managed.cardea(['audit', 'list', '--since', '12/11/2030'])
  assert.notEqual(local.code, 0)
  const bad = await managed.cardea(['audit', 'list', '--since', 'yesterday'])
  assert.equal(bad.code, 2)
  const unknown = await managed.cardea(['audit', 'list', '--event', 'no.such'])
  assert.match(unknown.stderr, /event must be one of sign-in\.accepted/)
})

test('user remove --erase replaces the name in the audit trail, and the chain stays whole', async (t) => {
  const managed = makeAudited(t)
  const server = await managed.serve()
  await managed.cardea(['user', 'add', 'jolanda', '--password-stdin'], 'a password\n')
  await managed.cardea(['user', 'add', 'mo', '--password-stdin'], 'a password\n')
  await send(server.document, { path: '/_session', as: 'jolanda:a password' })
  await send(server.document, { path: '/_session', as: 'jolanda:wrong' })
  const early = await managed.cardea(['user', 'remove', 'unknown', '--erase'])
  assert.equal(early.code, 5, early.stderr)
  const removed = await managed.cardea(['user', 'remove', 'jolanda', '--erase'])
  assert.equal(removed.code, 0, removed.stderr)
  const [, count, pseudonym = ''] =
    /^Deleted jolanda\. (\d+) audit records show (erased-[0-9a-f]{12}) instead\.$/m.exec(removed.stdout) ?? []
  assert.equal(count, '5')
  const all = await list(managed)
  assert.doesNotMatch(JSON.stringify(all), /jolanda/)
  const kinds = (await list(managed, '--user', pseudonym)).map(({ event }) => event)
  assert.deepEqual(kinds, [
    'user.created',
    'sign-in.accepted',
    'sign-in.refused',
    'user.removed',
    'session.revoked',
    'user.erased',
  ])
  const signIn = all.find(({ event, subject }) => event === 'sign-in.accepted' && subject === pseudonym)
  assert.equal(signIn?.['peer'], '(erased)')
  assert.equal((await managed.cardea(['user', 'remove', 'jolanda', '--erase'])).code, 5)
  server.child.kill('SIGTERM')
  await server.ended
  const bytes = readFileSync(join(managed.folder, 'cardea.db'), 'latin1')
  assert.equal((await managed.cardea(['audit', 'verify'])).code, 0)
  assert.ok(bytes.includes(pseudonym))
  // a name that was removed without a record of it is found
  change(
    managed,
    `UPDATE cardea_audit SET subject = 'erased-000000000000', salts = '{}', erased = '{"subject":{"digest":"x"}}' WHERE subject = 'mo'`,
  )
  const tampered = await managed.cardea(['audit', 'verify'])
  assert.equal(tampered.code, 1)
  assert.match(tampered.stdout, /erased: record \d+: 1 records name erased-000000000000, but only 0 were erased/)
})

test('copies records to a file and standard output, and opens the file again on SIGHUP', async (t) => {
  const managed = makeAudited(t)
  appendFileSync(join(managed.folder, 'local.ini'), 'destinations = file:audit.log, stdout\n')
  const server = await managed.serve()
  await server.says(/^\{"id":"cardea@127\.0\.0\.1:1",.*"event":"server\.started".*"hash":"[0-9a-f]{64}"\}$/m)
  const file = join(managed.folder, 'audit.log')
  await waitUntil(() => existsSync(file) && readFileSync(file, 'utf8').includes('server.started'))
  renameSync(file, `${file}.old`)
  // the file is opened again even if the configuration is not valid
  const options = readFileSync(join(managed.folder, 'local.ini'), 'utf8')
  appendFileSync(join(managed.folder, 'local.ini'), 'keep = x\n')
  server.child.kill('SIGHUP')
  await server.says(/^\{"id":.*"event":"reload\.failed"/m)
  writeFileSync(join(managed.folder, 'local.ini'), options)
  // a command goes through the server, and prints nothing of its own trail
  const { stdout } = await managed.cardea(['user', 'add', 'jo', '--password-stdin'], 'a password\n')
  assert.doesNotMatch(stdout, /"hash"/)
  await server.says(/^\{"id":.*"event":"user\.created"/m)
  server.child.kill('SIGTERM')
  await server.ended
  const written = [`${file}.old`, file].map((path) => readFileSync(path, 'utf8'))
  assert.match(written[0] ?? '', /server\.started/)
  assert.match(written[1] ?? '', /user\.created[\s\S]*server\.stopped/)
  assert.deepEqual(
    written
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).sequence),
    (await list(managed)).map(({ sequence }) => sequence),
  )
})

test('with audit.on-failure = refuse an operator can take access away and leave the mode, while a copy fails', async (t) => {
  const managed = makeAudited(t)
  await managed.cardea(['user', 'add', 'jo', '--password-stdin'], 'a password\n')
  const file = join(managed.folder, 'local.ini')
  appendFileSync(file, 'destinations = file:missing/audit.log\non-failure = refuse\n')
  const server = await managed.serve()
  const disable = () => managed.cardea(['user', 'disable', 'jo'])
  await server.says(/audit records cannot be written/)
  const refused = await disable()
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /The audit trail cannot be written/)
  assert.equal((await managed.cardea(['user', 'sign-out', 'jo'])).code, 0)
  // neither a session nor a new sign-in is left
  assert.equal((await send(server.document, { path: '/_session', as: 'jo:a password' })).status, 503)
  writeFileSync(file, readFileSync(file, 'utf8').replace('= refuse', '= continue'))
  assert.equal((await managed.cardea(['reload'])).code, 0)
  const disabled = await disable()
  assert.equal(disabled.code, 0, disabled.stderr)
  server.child.kill('SIGTERM')
  await server.ended
  assert.match(server.stderr(), /audit records were lost: a destination cannot be written/)
})

const REFUSED_COMMANDS: readonly (readonly string[])[] = [
  ['secret', 'replace'],
  ['secret', 'rotate', '--server.jwt-secret-folder', 'tokens'],
  ['restore', 'saved.gz', '--replace'],
]

test('commands without a server follow audit.on-failure, too', async (t) => {
  const managed = makeAudited(t)
  const file = join(managed.folder, 'local.ini')
  await managed.cardea(['user', 'add', 'ann', '--no-password'])
  assert.equal((await managed.cardea(['backup', 'saved.gz'])).code, 0)
  await managed.cardea(['user', 'remove', 'ann'])
  appendFileSync(file, 'destinations = file:later/audit.log\non-failure = refuse\n')
  mkdirSync(join(managed.folder, 'tokens'))
  writeFileSync(join(managed.folder, 'tokens/1.key'), 'a secret of the token folder, long enough')
  const add = (name: string) => managed.cardea(['user', 'add', name, '--password-stdin'], 'a password\n')
  const refused = await add('jo')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /The audit trail cannot be written/)
  assert.equal((await managed.cardea(['user', 'show', 'jo'])).code, 5)
  for (const words of REFUSED_COMMANDS) {
    const { code, stderr } = await managed.cardea(words)
    assert.equal(code, 1, words.join(' '))
    assert.match(stderr, /The audit trail cannot be written/)
  }
  assert.deepEqual(readdirSync(join(managed.folder, 'tokens')), ['1.key'])
  assert.equal((await managed.cardea(['user', 'show', 'ann'])).code, 5)
  mkdirSync(join(managed.folder, 'later'))
  assert.equal((await add('jo')).code, 0)
  assert.match(readFileSync(join(managed.folder, 'later/audit.log'), 'utf8'), /"event":"user\.created".*"subject":"jo"/)
  rmSync(join(managed.folder, 'later'), { recursive: true })
  writeFileSync(file, readFileSync(file, 'utf8').replace('= refuse', '= continue'))
  const unrecorded = await add('mo')
  assert.equal(unrecorded.code, 0)
  assert.match(unrecorded.stderr, /audit records were lost: a destination cannot be written/)
})

test('start makes the key of the audit trail where a folder has none', async (t) => {
  const managed = makeManaged(t)
  const server = start(t, ['start', managed.folder], { cwd: managed.folder })
  await server.says(/Stop with Ctrl-C/)
  server.child.kill('SIGTERM')
  await server.ended
  assert.match(readFileSync(join(managed.folder, 'keys/audit.pem'), 'utf8'), /^-----BEGIN PRIVATE KEY-----/)
  assert.ok(existsSync(toCheckpointPath(join(managed.folder, 'keys/audit.pem'), 'cardea@127.0.0.1')))
  rmSync(join(managed.folder, 'keys/audit.pem'))
  const failed = await managed.cardea(['serve'])
  assert.match(failed.stderr, /audit\.key-file: .*audit\.pem cannot be used/)
})
