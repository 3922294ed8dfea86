import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createAccounts } from '../../support/accounts.ts'
import { ADMIN_PASSWORD, makeManaged } from '../../support/managed.ts'
import { createPasskeyUsers } from '../../support/passkeys.ts'
import { start, stop } from '../../support/process.ts'
import { basic } from '../../support/request.ts'

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
    [0, 'Applied: chttpd.require_valid_user.\nnode.name waits for a restart.\n'],
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
  writeFileSync(file, '')
  const emptied = await managed.cardea(['reload'])
  assert.equal(emptied.code, 1)
  assert.match(
    emptied.stderr,
    /^The configuration file \S+local\.ini is empty, .* Restore the file, or name the server/,
  )
  writeFileSync(file, ini)
  assert.equal((await managed.cardea(['reload'])).stdout, 'No option has changed.\n')
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

it('makes a change that would refuse the same change over HTTP', async (t) => {
  const managed = makeManaged(t)
  const server = start(t, ['serve', '--config', managed.folder])
  await server.doors()
  for (const args of [
    ['config', 'set', 'chttpd.validate_host', 'true'],
    ['config', 'unset', 'chttpd.validate_host'],
  ]) {
    const { code, stderr } = await managed.cardea(args)
    assert.equal(code, 0, stderr)
  }
  await stop(server)
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

it('an import with a second factor ends the sessions of the user, with a server and without one', async (t) => {
  const managed = makeManaged(t)
  const { cardea } = managed
  const server = await managed.serve()
  await cardea(['user', 'add', 'ann', '--password-stdin'], 'the-password-of-ann')
  const importWith = async (key: string) => {
    const { stdout: text } = await cardea(['export', '--to', 'document'])
    const changed = text.replace('"name":"ann"', `"totp":{"key":"${key}"},"name":"ann"`)
    assert.notEqual(changed, text)
    assert.equal((await cardea(['import', '-', '--from', 'document', '--replace'], changed)).code, 0)
  }
  const openSession = async () => {
    const body = JSON.stringify({ name: 'ann', password: 'the-password-of-ann' })
    const headers = { 'content-type': 'application/json' }
    const opened = await fetch(`${server.document}/_session`, { method: 'POST', headers, body })
    return { cookie: (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? '' }
  }
  const nameOf = async (base: string, headers: Record<string, string>) => {
    const { userCtx } = (await (await fetch(`${base}/_session`, { headers })).json()) as { userCtx: { name: string } }
    return userCtx.name
  }
  const session = await openSession()
  assert.equal(await nameOf(server.document, session), 'ann')
  await importWith('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  assert.equal(await nameOf(server.document, session), null)
  await cardea(['user', 'reset-totp', 'ann'])
  const second = await openSession()
  assert.equal(await nameOf(server.document, second), 'ann')
  await stop(server)
  await importWith('JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP')
  await cardea(['user', 'reset-totp', 'ann'])
  const again = await managed.serve()
  for (const cookie of [session, second]) assert.equal(await nameOf(again.document, cookie), null)
  await stop(again)
})

it('user show has sign-ins, sessions, TOTP and lockout; unlock and reset-totp change them', async (t) => {
  const managed = makeManaged(t)
  const { cardea } = managed
  const server = await managed.serve()
  await cardea(['user', 'add', 'ann', '--password-stdin'], 'the-password-of-ann')
  const fresh = JSON.parse((await cardea(['user', 'show', 'ann', '--json'])).stdout)
  assert.deepEqual([fresh.totp, fresh.sessions, fresh.lastSignIn, fresh.lockout], [false, 0, null, null])
  const signIn = async (password: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'ann', password })
    return (await fetch(`${server.document}/_session`, { method: 'POST', headers, body })).status
  }
  assert.equal(await signIn('the-password-of-ann'), 200)
  const show = async () => (await cardea(['user', 'show', 'ann'])).stdout
  assert.match(await show(), /^last sign-in +20\d\d-\S+Z from 127\.0\.0\.1\nsessions +1\nlockout +none$/m)

  for (let attempt = 0; attempt < 5; attempt += 1) await signIn('wrong')
  assert.equal(await signIn('the-password-of-ann'), 403)
  assert.match(await show(), /^lockout +1 address, until 20\d\d-/m)
  assert.match((await cardea(['user', 'unlock', 'ann'])).stdout, /^ann is unlocked \(it was locked: 1 address, until /)
  assert.equal(await signIn('the-password-of-ann'), 200)
  assert.equal((await cardea(['user', 'unlock', 'ann'])).stdout, 'ann was not locked.\n')
  assert.equal((await cardea(['user', 'unlock', 'admin'])).stdout, 'admin was not locked.\n')
  assert.equal((await cardea(['user', 'unlock', 'eve'])).code, 5)

  const authorization = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`
  const place = `${server.document}/_users/org.couchdb.user:ann`
  const document = (await (await fetch(place, { headers: { authorization } })).json()) as object
  const body = JSON.stringify({ ...document, totp: { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' } })
  assert.equal((await fetch(place, { method: 'PUT', headers: { authorization }, body })).status, 201)
  assert.match(await show(), /^one-time code +required \(TOTP\)$/m)
  assert.match(await show(), /^sessions +0$/m)
  assert.equal(await signIn('the-password-of-ann'), 401)
  assert.equal((await cardea(['user', 'reset-totp', 'ann'])).stdout, 'ann signs in without a one-time code.\n')
  assert.equal(await signIn('the-password-of-ann'), 200)
  assert.equal((await cardea(['user', 'reset-totp', 'ann'])).stdout, 'ann had no one-time code.\n')

  const { stdout: table } = await cardea(['user', 'sessions', 'ann'])
  assert.match(table, /^ID +DOOR +OPENED +LAST USED +ADDRESS +CLIENT\n\S+ +document +20\S+Z +20\S+Z +127\.0\.0\.1/)
  const sessions = (await cardea(['user', 'sessions', 'ann', '--json'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const ended = await cardea(['user', 'end-session', 'ann', sessions[0].id])
  assert.equal(ended.stdout, 'The session of ann at the door document has ended.\n')
  assert.equal((await cardea(['user', 'end-session', 'ann', sessions[0].id])).code, 5)
  assert.equal((await cardea(['user', 'sessions', 'admin'])).stdout, 'admin has no sessions.\n')
  assert.equal((await cardea(['user', 'sessions', 'eve'])).code, 5)
  assert.equal((await cardea(['admin', 'reset-totp', 'admin'])).stdout, 'admin had no one-time code.\n')

  for (let attempt = 0; attempt < 5; attempt += 1) await signIn('wrong')
  await stop(server)
  const offline = await show()
  assert.match(offline, /^lockout +1 address, until /m)
  assert.match(offline, /^last sign-in +20/m)
  await cardea(['user', 'unlock', 'ann'])
  assert.match(await show(), /^lockout +none$/m)
})

it('config get prints what the running server uses, not what waits in its files', async (t) => {
  const managed = makeManaged(t)
  const file = join(managed.folder, 'local.ini')
  await managed.serve()
  writeFileSync(file, `${readFileSync(file, 'utf8')}[node]\nname = two@127.0.0.1\n[chttpd_auth]\ntimeout = 77\n`)
  const get = async (name: string) => (await managed.cardea(['config', 'get', name])).stdout.trim()
  assert.deepEqual([await get('node.name'), await get('chttpd_auth.timeout')], ['cardea@127.0.0.1', '600'])
  await managed.cardea(['reload'])
  assert.deepEqual([await get('node.name'), await get('chttpd_auth.timeout')], ['cardea@127.0.0.1', '77'])
  assert.equal((await managed.cardea(['config', 'get', 'no.option'])).code, 3)
})

it('prints and removes passkeys of a user, and changes where they can be used', async (t) => {
  const managed = makeManaged(t)
  const server = await managed.serve()
  const { ask } = createAccounts(server.document)
  const asAdmin = basic('admin', ADMIN_PASSWORD)
  assert.equal((await ask(asAdmin, 'POST', '/users', { name: 'ada', password: 'difference engine' })).status, 200)
  const { reply } = await createPasskeyUsers(server.document).addPasskey('ada:difference engine')
  const [{ id }] = reply.json.passkeys
  const print = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await managed.cardea(args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  assert.match(await print('user', 'show', 'ada'), /^passkeys +1$/m)
  assert.equal(await print('user', 'passkeys', 'ada'), `${id}  device  localhost  laptop\n`)
  const refused = await ask(asAdmin, 'PUT', '/settings/console/public-url', { value: 'https://db.example.com' })
  assert.match(refused.json.reason, /1 passkey of localhost/)
  await print('config', 'set', 'console.public-url', 'https://db.example.com')
  assert.equal(await print('user', 'remove-passkey', 'ada', id), 'ada has no passkeys.\n')
  assert.doesNotMatch(await print('user', 'show', 'ada'), /^passkeys/m)
  assert.notEqual((await managed.cardea(['user', 'remove-passkey', 'ada', id])).code, 0)
  await stop(server)
})
