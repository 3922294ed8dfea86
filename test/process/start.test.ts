import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { mountDisk } from '../scenario/faults/disk.ts'
import { runCommand } from '../support/commands.ts'
import { startShared } from '../support/hosted-server.ts'
import { FREE_PORTS, get, ROOT, run, signsIn, start, stop } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const readPassword = (text: string): string => /^ {2}password {2}(\S+)$/m.exec(text)?.[1] ?? ''

/** Files of a folder that others may read, write or enter. */
const openToOthers = (folder: string): string[] =>
  ['.', ...readdirSync(folder, { recursive: true }).map(String)].filter(
    (name) => (statSync(join(folder, name)).mode & 0o077) !== 0,
  )

describe('start', () => {
  it('creates a folder on first use, and the second start uses it', async (t) => {
    const folder = join(makeFolder(t), 'new', 'data')
    const first = start(t, ['start', folder, ...FREE_PORTS])
    const doors = await first.doors()
    await first.says(/Stop with Ctrl-C/)
    const password = readPassword(first.stdout())
    assert.ok(password.length >= 20)
    assert.deepEqual(openToOthers(folder), [], 'for its owner alone')
    assert.ok(existsSync(join(folder, 'keys', 'cookie')))
    assert.doesNotMatch(readFileSync(join(folder, 'local.ini'), 'utf8'), new RegExp(password))
    assert.equal(first.stderr().match(/"msg":"store migrated"/g)?.length, 1, 'one line for all migrations')
    assert.equal((await get(`${doors.document}/_up`)).status, 200)
    assert.equal((await get(`${doors.multiModel}/_api/version`, ['admin', password])).status, 200)
    await stop(first)

    const second = start(t, ['start', folder, ...FREE_PORTS])
    const { document } = await second.doors()
    await second.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(second.stdout(), /password {2}/)
    assert.ok(await signsIn(document, ['admin', password]), 'the password of the first start')
    assert.ok(!(await signsIn(document, ['admin', 'other'])))
    await stop(second)
  })

  it('creates nothing if a flag is invalid', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const { code, stdout, stderr } = await runCommand(['start', folder, '--upstream.document', '127.0.0.1:24984'])
    assert.notEqual(code, 0)
    assert.match(stderr, /--upstream\.document/)
    assert.deepEqual([stdout, existsSync(folder)], ['', false])
  })

  it('says that the password is kept if a port is in use, and the next start accepts it', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const ports = ['--chttpd.port', String(Object(taken.address()).port), '--server.endpoint', 'tcp://127.0.0.1:0']
    const failed = await run(t, ['start', folder, ...ports])
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /the address is in use/)
    assert.ok(
      failed.stdout.trimEnd().endsWith(`${folder}/ is complete: the next start uses it, with the password above.`),
    )
    const again = await run(t, ['start', folder, ...ports])
    assert.deepEqual([again.code, again.stdout], [1, ''], 'there is no password above')

    const cardea = start(t, ['start', folder, ...FREE_PORTS])
    const { document } = await cardea.doors()
    assert.ok(await signsIn(document, ['admin', readPassword(failed.stdout)]))
    await stop(cardea)
  })

  it('writes strict options: short passwords are rejected, and cookies have SameSite=Lax', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const cardea = startShared(t, ['start', folder, ...FREE_PORTS])
    const { document } = await cardea.doors()
    await cardea.says(/Stop with Ctrl-C/)
    const password = readPassword(cardea.stdout())
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
    }
    const addUser = async (name: string, secret: string) => {
      const body = JSON.stringify({ name, type: 'user', roles: [], password: secret })
      const made = await fetch(`${document}/_users/org.couchdb.user:${name}`, { method: 'PUT', headers, body })
      return `${made.status} ${await made.text()}`
    }
    assert.match(await addUser('ada', 'elevenchars'), /^400 .*Use at least 12 characters\./)
    assert.match(await addUser('ada', 'twelve chars'), /^201 /)
    const short = await runCommand(['user', 'add', 'bob', '--password-stdin', '--config', folder], {
      input: 'elevenchars',
    })
    assert.match(`${short.code} ${short.stderr}`, /^1 .*Use at least 12 characters\./)
    const body = JSON.stringify({ name: 'ada', password: 'twelve chars' })
    const session = await fetch(`${document}/_session`, { method: 'POST', headers, body })
    assert.match(session.headers.get('set-cookie') ?? '', /; SameSite=Lax/)
    await stop(cardea)
  })

  it('ends its greeting with the console, the next database and the next user, a line each', async (t) => {
    const folder = makeFolder(t)
    const cardea = startShared(t, ['start', folder, ...FREE_PORTS])
    const { document } = await cardea.doors()
    await cardea.says(/\nStop with Ctrl-C/)
    assert.deepEqual(cardea.stdout().trimEnd().split('\n').slice(-3), [
      // where browsers allow passkeys
      `  console                   ${document.replace('127.0.0.1', 'localhost')}/_cardea/`,
      `  in front of your CouchDB  cardea start ${folder} --upstream.document http://127.0.0.1:15984`,
      `  add a user                cardea user add NAME --config ${folder}`,
    ])
    await stop(cardea)
  })

  it('prints the addresses and three commands that work', async (t) => {
    const cardea = startShared(t, ['start', makeFolder(t), ...FREE_PORTS])
    const doors = await cardea.doors()
    const [, tries = ''] = await cardea.says(/\nTry:\n((?:.|\n)*?)\n\n/)
    assert.match(cardea.stdout(), new RegExp(`document door +${doors.document}\n`))
    assert.match(cardea.stdout(), new RegExp(`multi-model door +${doors.multiModel}\n`))
    const commands = tries.split('\n').map((line) => /^ {2}curl(?: -u '(\S+):(\S+)')? (\S+)$/.exec(line))
    assert.equal(commands.length, 3)
    for (const command of commands) {
      assert.ok(command, tries)
      const [, name, password, url = ''] = command
      const answer = await get(url, name && password ? [name, password] : undefined)
      assert.equal(answer.status, 200, url)
    }
    await stop(cardea)
  })

  it('with a named configuration creates nothing', async (t) => {
    const cwd = makeFolder(t)
    writeFileSync(join(cwd, 'other.ini'), '[admins]\nada = one\n[store]\nurl = sqlite::memory:\n', { mode: 0o600 })
    const cardea = startShared(t, ['start', '--config', 'other.ini', ...FREE_PORTS], { cwd })
    const { document } = await cardea.doors()
    await cardea.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(cardea.stdout(), /password {2}/)
    assert.deepEqual(readdirSync(cwd), ['other.ini'])
    assert.ok(await signsIn(document, ['ada', 'one']))
    await stop(cardea)
  })

  it('prints commands for a Unix socket', async (t) => {
    const folder = makeFolder(t)
    const path = join(folder, 'door.sock')
    const cardea = start(t, [
      'start',
      join(folder, 'data'),
      '--chttpd.port',
      'none',
      '--server.endpoint',
      `unix://${path}`,
    ])
    await cardea.says(/curl -u \S+ --unix-socket \S+door\.sock http:\/\/localhost\/_api\/version/)
    await stop(cardea)
  })

  it('npm start does the same and forwards signals', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const cardea = start(t, [folder, ...FREE_PORTS], { command: ['npm', 'start', '--'], cwd: ROOT, hasFamily: true })
    const { document } = await cardea.doors()
    assert.equal((await get(`${document}/_up`)).status, 200)
    await stop(cardea)
    assert.match(cardea.stderr(), /"msg":"stopped"/)
  })
})

describe('init', () => {
  it('says that the file system is read-only, and what to do', async (t) => {
    const disk = mountDisk(t)
    if (!disk) return
    disk.makeReadOnly()
    for (const folder of [disk.folder, join(disk.folder, 'new', 'folder')]) {
      const { code, stderr } = await runCommand(['init', folder])
      assert.equal(code, 1)
      assert.equal(
        stderr,
        `${folder} cannot be made: the file system is read-only. Remount it for writing, or choose another folder.\n`,
      )
    }
  })

  it('creates a folder for serve, once', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const made = await runCommand(['init', folder])
    assert.equal(made.code, 0, made.stderr)
    const before = readFileSync(join(folder, 'local.ini'), 'utf8')
    assert.match(before, /^same_site = lax$/m, 'stricter than the compatible default')
    assert.match(before, /^min-password-length = 12$/m)
    const again = await runCommand(['init', folder])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /nothing was changed/)
    assert.equal(readFileSync(join(folder, 'local.ini'), 'utf8'), before)

    const cardea = startShared(t, ['serve', '--config', folder, ...FREE_PORTS])
    const { document } = await cardea.doors()
    assert.ok(await signsIn(document, ['admin', readPassword(made.stdout)]))
    await stop(cardea)
  })

  it('creates a folder in which sessions end 30 days after the sign-in', async (t) => {
    const folder = join(makeFolder(t), 'data')
    assert.equal((await runCommand(['init', folder])).code, 0)
    assert.match(
      readFileSync(join(folder, 'local.ini'), 'utf8'),
      /^\[chttpd_auth\]\n(?:[^[].*\n)*max_lifetime = 2592000$/m,
    )
    const { stdout } = await runCommand(['config', 'show', '--config', folder])
    assert.match(stdout, /chttpd_auth\.max_lifetime\b.*\b2592000\b/)
  })

  it('of several at once one creates it, and the password it prints is valid', async (t) => {
    const folder = join(makeFolder(t), 'data')
    const all = await Promise.all(['init', 'init', 'init'].map((command) => runCommand([command, folder])))
    const [made, ...others] = all.filter(({ code }) => code === 0)
    assert.equal(others.length, 0)
    for (const { stderr, stdout } of all.filter(({ code }) => code !== 0)) {
      assert.match(stderr, /has a configuration already: nothing was changed/)
      assert.equal(stdout, '')
    }
    assert.deepEqual(readdirSync(folder).sort(), ['keys', 'local.ini'])
    const cardea = startShared(t, ['serve', '--config', folder, ...FREE_PORTS])
    const { document } = await cardea.doors()
    assert.ok(await signsIn(document, ['admin', readPassword(made?.stdout ?? '')]))
    await stop(cardea)
  })

  const keys: readonly [row: string, text: string, mode: number, says: RegExp | undefined][] = [
    ['empty', '', 0o600, /keys\/cookie exists, but it is empty/],
    ['blank', '\n', 0o600, /it is empty/],
    ['readable by others', 'an existing key', 0o644, /others than its owner/],
    ['good', 'an existing key', 0o600, undefined],
  ]
  for (const [row, text, mode, says] of keys) {
    it(`${says ? 'rejects' : 'keeps'} an existing key that is ${row}`, async (t) => {
      const folder = makeFolder(t)
      mkdirSync(join(folder, 'keys'))
      writeFileSync(join(folder, 'keys', 'cookie'), text, { mode })
      const { code, stderr } = await runCommand(['init', folder])
      assert.equal(code, says ? 1 : 0, stderr)
      assert.match(stderr, says ?? /^$/)
      assert.equal(existsSync(join(folder, 'local.ini')), says === undefined)
      assert.equal(readFileSync(join(folder, 'keys', 'cookie'), 'utf8'), text)
    })
  }

  it('two folders share no secret', async (t) => {
    const folder = makeFolder(t)
    const contents = []
    for (const name of ['a', 'b']) {
      await runCommand(['init', join(folder, name)])
      for (const file of ['keys/cookie', 'keys/tokens/1.key']) {
        contents.push(readFileSync(join(folder, name, file), 'utf8'))
      }
    }
    assert.equal(new Set(contents).size, 4)
    for (const content of contents) assert.match(content, /^[0-9a-f]{64}$/)
  })
})

it('a second server on the same folder is rejected with a message', async (t) => {
  const folder = join(makeFolder(t), 'data')
  const first = start(t, ['start', folder, ...FREE_PORTS])
  await first.doors()
  const second = await run(t, ['start', folder, ...FREE_PORTS])
  assert.equal(second.code, 1, second.stderr)
  assert.doesNotMatch(second.stderr, /^ {4}at /m)
  await stop(first)
})
