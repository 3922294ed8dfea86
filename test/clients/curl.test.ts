import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type Cardea, createTestCardea } from '../../src/index.ts'

const run = promisify(execFile)
/** Whatever the user of this machine has set up for it. */
const PLAIN = ['-q', '-sS', '--noproxy', '*', '--max-time', '20']
const folder = mkdtempSync(join(tmpdir(), 'cardea-curl-'))
const jar = join(folder, 'jar')

let cardea: Cardea
let url = ''
before(async () => {
  await run('curl', ['--version']).catch(() => assert.fail('curl is needed on the PATH for this test'))
  cardea = await createTestCardea()
  url = (await cardea.listen()).document[0] ?? ''
})
after(async () => {
  await cardea.close()
  rmSync(folder, { recursive: true })
})

/** Says nothing but the body; the jar is read and written. */
async function curl(path: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', [...PLAIN, '-b', jar, '-c', jar, ...args, `${url}${path}`])
  return stdout
}

const askName = async (): Promise<string | null> => JSON.parse(await curl('/_session')).userCtx.name
const keptLine = (): string =>
  readFileSync(jar, 'utf8')
    .split('\n')
    .find((line) => line.includes('AuthSession')) ?? ''

test('a jar takes the cookie, keeps it to this host and to HTTP, sends it, and lets it go', async () => {
  assert.equal(await askName(), null)
  assert.equal(
    await curl('/_session', '-d', 'name=admin&password=adminpw'),
    '{"ok":true,"name":"admin","roles":["_admin"]}\n',
  )
  const [host, , path, isSecure, expires, name] = keptLine().replace('#HttpOnly_', '').split('\t')
  assert.deepEqual([host, path, isSecure, name], ['127.0.0.1', '/', 'FALSE', 'AuthSession'])
  assert.match(keptLine(), /^#HttpOnly_/)
  assert.ok(Math.abs(Number(expires) - Date.now() / 1000 - 600) < 30, 'for as long as the session')
  assert.equal(await askName(), 'admin')
  assert.match(await curl('/_all_dbs'), /_users/)

  const kept = keptLine().split('\t')[6] ?? ''
  assert.equal(await curl('/_session', '-X', 'DELETE'), '{"ok":true}\n')
  assert.equal(await askName(), null)
  const { stdout } = await run('curl', [...PLAIN, '-b', `AuthSession=${kept}`, `${url}/_session`])
  assert.equal(JSON.parse(stdout).userCtx.name, null, 'not even with the cookie that was kept')
})

test('a failed sign-in empties the jar', async () => {
  await curl('/_session', '-d', 'name=admin&password=adminpw')
  await curl('/_session', '-d', 'name=admin&password=wrong')
  assert.equal(await askName(), null)
})

test('a sign-in is led on', async () => {
  const args = ['-L', '--post302', '-o', '/dev/null', '-w', '%{url_effective}', '-H', 'Content-Type: application/json']
  const shown = await curl('/_session?next=/_session', ...args, '-d', '{"name":"admin","password":"adminpw"}')
  assert.equal(shown, `${url}/_session`)
})
