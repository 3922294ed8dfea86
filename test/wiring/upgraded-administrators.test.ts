// Administrators whose stored form is weaker than the configured one: replaced at sign-in, in whichever layer it is.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type Cardea, type CardeaOptions, createTestCardea } from '../../src/index.ts'
import { createPasskeyUsers } from '../support/passkeys.ts'
import { ADMIN, basic, send } from '../support/request.ts'

const hashed = (password: string): string =>
  `-hashed-${createHash('sha1').update(`${password}salt`).digest('hex')},salt`
const UPGRADED = /^-pbkdf2-[0-9a-f]{64},salt,10$/

/** A server over a file, which can be stopped and started again with other options. */
async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'local.ini')
  let running: Cardea | undefined
  let url = ''
  const stop = async () => running?.close()
  t.after(stop)

  const start = async (admins: Readonly<Record<string, string>> = {}, lines: readonly string[] = []) => {
    await stop()
    if (lines.length > 0) writeFileSync(file, `[admins]\n${lines.join('\n')}\n`, { mode: 0o600 })
    const options: CardeaOptions = {
      store: { url: `sqlite:${join(folder, 'store.db')}` },
      chttpd_auth: { iterations: 10 },
      admins,
    }
    running = await createTestCardea({ options, files: lines.length > 0 ? [file] : [] })
    url = (await running.listen()).document[0] ?? ''
  }
  const put = (path: string, value: string) =>
    send(url, { method: 'PUT', path: `/_node/_local/_config/${path}`, headers: ADMIN, body: JSON.stringify(value) })
  const read = async (name: string): Promise<string> =>
    JSON.parse((await send(url, { path: `/_node/_local/_config/admins/${name}`, headers: ADMIN })).body)
  const signIn = async (name: string, password: string) => {
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name, password })
    const answer = await send(url, { method: 'POST', path: '/_session', headers, body })
    return { status: answer.status, cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '' }
  }
  const ask = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
    JSON.parse((await send(url, { path: '/_session', headers })).body).userCtx?.name
  return { file, store: join(folder, 'store.db'), url: () => url, stop, start, put, read, signIn, ask }
}

test('a hash set at run time is upgraded at sign-in; the new session stays valid, also after a restart', async (t) => {
  const { start, put, read, signIn, ask } = await open(t)
  await start()
  assert.equal((await put('admins/ops?raw=true', hashed('apple'))).status, 200)
  const { cookie } = await signIn('ops', 'apple')
  const text = await read('ops')
  assert.match(text, UPGRADED)
  assert.equal(await ask({ Cookie: cookie }), 'ops')
  await start()
  assert.equal(await read('ops'), text)
  assert.equal((await signIn('ops', 'apple')).status, 200)
  assert.equal((await signIn('ops', 'wrong')).status, 401)
  assert.equal(await ask({ Cookie: cookie }), 'ops')
})

test('Basic upgrades it too, but not a hash that was set meanwhile', async (t) => {
  const { start, put, read, ask } = await open(t)
  await start({ ops: hashed('apple') })
  assert.equal(await ask({ Authorization: basic('ops', 'apple') }), 'ops')
  assert.match(await read('ops'), UPGRADED)
  await put('admins/fresh?raw=true', hashed('apple'))
  assert.equal(await ask({ Authorization: basic('fresh', 'apple') }), 'fresh')
  assert.equal(await read('fresh'), hashed('apple'))
})

test('a hash in a file is upgraded there, and removed with its line', async (t) => {
  const { start, read, signIn, file } = await open(t)
  await start({}, [`ops = ${hashed('apple')}`])
  assert.equal((await signIn('ops', 'apple')).status, 200)
  const text = await read('ops')
  assert.match(text, UPGRADED)
  assert.equal(readFileSync(file, 'utf8'), `[admins]\nops = ${text}\n`)
  await start({}, [`ops = ${text}`])
  assert.equal((await signIn('ops', 'apple')).status, 200)
  await start({}, [`other = ${hashed('pear')}`])
  assert.equal((await signIn('ops', 'apple')).status, 401)
})

test('the weak hash in a file counts as the upgraded one after a restart', async (t) => {
  const { start, read, signIn } = await open(t)
  const lines = [`ops = ${hashed('apple')}`]
  await start({}, lines)
  await signIn('ops', 'apple')
  const text = await read('ops')
  await start({}, lines)
  assert.equal(await read('ops'), text)
  assert.equal((await signIn('ops', 'apple')).status, 200)
})

test('another hash in the file takes effect', async (t) => {
  const { start, read, signIn } = await open(t)
  await start({}, [`ops = ${hashed('apple')}`])
  await signIn('ops', 'apple')
  await start({}, [`ops = ${hashed('pear')}`])
  assert.equal(await read('ops'), hashed('pear'))
  assert.deepEqual([(await signIn('ops', 'apple')).status, (await signIn('ops', 'pear')).status], [401, 200])
})

test('a hash of a flag is upgraded in the store, until the flag changes', async (t) => {
  const { start, read, signIn } = await open(t)
  await start({ ops: hashed('apple') })
  await signIn('ops', 'apple')
  const text = await read('ops')
  assert.match(text, UPGRADED)
  await start({ ops: hashed('apple') })
  assert.equal(await read('ops'), text)
  await start({ ops: hashed('pear') })
  assert.equal((await signIn('ops', 'pear')).status, 200)
})

test('a stronger hash, or upgrade_hash_on_auth = false, prevents the upgrade', async (t) => {
  const { start, put, read, signIn } = await open(t)
  await start()
  const strong = '-pbkdf2-15a4b9e1b9a6c87ef6a1b9d3d14c2f0b6df36ae21ac8ae4fa4e95e9e1e0f6e8c,salt,11'
  await put('admins/strong?raw=true', strong)
  await put('chttpd_auth/upgrade_hash_on_auth', 'false')
  await put('admins/ops?raw=true', hashed('apple'))
  assert.equal((await signIn('ops', 'apple')).status, 200)
  assert.deepEqual([await read('ops'), await read('strong')], [hashed('apple'), strong])
})

test('passkeys stay with the upgraded hash, and with the weak one if the store fails meanwhile', async (t) => {
  const { store, url, stop, start, put, read, signIn } = await open(t)
  const lines = [`given = ${hashed('apple')}`]
  await start({}, lines)
  assert.equal((await put('admins/ops?raw=true', hashed('apple'))).status, 200)
  const { addPasskey } = createPasskeyUsers(url())
  for (const name of ['ops', 'given']) assert.equal((await addPasskey(`${name}:apple`)).reply.status, 200)
  const count = async (name: string) =>
    (await send(url(), { path: `/_cardea/api/users/${name}/passkeys`, headers: ADMIN })).json.passkeys.length
  await stop()
  const change = (sql: string) => {
    const database = new DatabaseSync(store)
    database.exec(sql)
    database.close()
  }
  change(`CREATE TRIGGER broken BEFORE UPDATE ON cardea_settings WHEN NEW.section = '[admins] passkeys'
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
  await start({}, lines)
  assert.equal((await signIn('ops', 'apple')).status, 200)
  assert.deepEqual([await read('ops'), await count('ops')], [hashed('apple'), 1])
  await stop()
  change('DROP TRIGGER broken')
  await start({}, lines)
  for (const name of ['ops', 'given']) {
    assert.equal((await signIn(name, 'apple')).status, 200)
    assert.match(await read(name), UPGRADED)
    assert.equal(await count(name), 1, name)
  }
})
