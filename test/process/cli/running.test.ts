import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { ADMIN_PASSWORD, makeManaged } from '../../support/managed.ts'
import { start, stop } from '../../support/process.ts'

it('status and reload need a running server', async (t) => {
  const { cardea } = makeManaged(t)
  for (const command of ['status', 'reload']) {
    const { code, stderr } = await cardea([command])
    assert.deepEqual([code, /^No server is running with this configuration\./.test(stderr)], [1, true], command)
  }
})

it('status shows the version, listeners, store and options that wait for a restart', async (t) => {
  const managed = makeManaged(t)
  const server = await managed.serve()
  await managed.cardea(['config', 'set', 'chttpd.bind_address', '::1'])
  const { code, stdout } = await managed.cardea(['status'])
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`^listening +${server.document}, ${server.multiModel}$`, 'm'))
  assert.match(stdout, new RegExp(`^process +${server.child.pid}, since \\d{4}-`, 'm'))
  assert.match(stdout, /^store +sqlite, up to date$/m)
  assert.match(stdout, /^restart needed for +chttpd\.bind_address$/m)
  const json = JSON.parse((await managed.cardea(['status', '--json'])).stdout)
  assert.deepEqual([json.node, json.needRestart], ['cardea@127.0.0.1', ['chttpd.bind_address']])
  await stop(server)
})

it('reload applies changed files, or keeps the configuration and says why', async (t) => {
  const managed = makeManaged(t)
  const server = await managed.serve()
  const file = join(managed.folder, 'local.ini')
  // the start has hashed the password in the file
  await managed.cardea(['reload'])
  const ini = readFileSync(file, 'utf8')
  writeFileSync(file, `${ini}[chttpd]\nrequire_valid_user = true\n[node]\nname = two@127.0.0.1\n`)
  const applied = await managed.cardea(['reload'])
  assert.deepEqual(
    [applied.code, applied.stdout],
    [0, 'Applied: chttpd.require_valid_user.\nAfter a restart: node.name.\n'],
  )
  assert.equal((await fetch(`${server.document}/_all_dbs`)).status, 401)
  writeFileSync(file, `${ini}[chttpd]\nport = x\n`)
  const refused = await managed.cardea(['reload'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^The configuration was not applied; .*\n\[chttpd\] port: expected .*local\.ini:\d+\)$/m)
  assert.equal((await fetch(`${server.document}/_all_dbs`)).status, 401)
  writeFileSync(file, ini)
  const credentials = join(managed.folder, 'credentials')
  writeFileSync(credentials, `admin:${ADMIN_PASSWORD}`)
  const remote = await managed.cardea(['reload', '--url', server.document, '--credentials', credentials, '--json'])
  assert.deepEqual(JSON.parse(remote.stdout).changed, ['chttpd.require_valid_user'])
  await stop(server)
})

it('a log level that is changed at run time takes effect at once', async (t) => {
  const managed = makeManaged(t)
  const server = start(t, ['serve', '--config', managed.folder])
  await server.doors()
  assert.equal((await managed.cardea(['config', 'set', 'log.level', 'error'])).code, 0)
  await stop(server)
  assert.doesNotMatch(server.stderr(), /"msg":"stopp/)
})

it('check ends with 1 for a problem of the machine and says what to change', async (t) => {
  const managed = makeManaged(t)
  const good = await managed.cardea(['check'])
  assert.equal(good.code, 0, good.stdout + good.stderr)
  assert.match(good.stdout, /^ok {7}configuration {2}no problems$/m)
  const services = ['--services.shop', '/shop http://127.0.0.1:1']
  const bad = await managed.cardea(['check', ...services])
  assert.deepEqual([bad.code, bad.stderr], [1, 'Problems: 1.\n'])
  assert.match(bad.stdout, /^problem {2}upstreams {6}services\.shop: .* ECONNREFUSED.*\n {24}Start that server,/m)
  const invalid = await managed.cardea(['check', '--chttpd.prot', '1'])
  assert.equal(invalid.code, 3)
})
