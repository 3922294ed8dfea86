import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { lockStore } from '../../../src/store/lock.ts'
import { runCommand } from '../../support/commands.ts'
import { ADMIN_PASSWORD, makeManaged } from '../../support/managed.ts'
import { FREE_PORTS, get, signsIn, start, stop } from '../../support/process.ts'
import { makeFolder } from '../../support/scope.ts'
import { waitUntil } from '../../support/wait.ts'

it('a change through a running server is in effect at both doors when the command ends', async (t) => {
  const { cardea, serve } = makeManaged(t)
  const { document, multiModel } = await serve()
  const ann = ['ann', 'pw'] as const
  await cardea(['user', 'add', 'ann', '--password-stdin', '--grant', '_system=rw'], 'pw')
  assert.equal(await signsIn(document, ann), true)
  assert.equal((await get(`${multiModel}/_api/version`, ann)).status, 200)
  await cardea(['user', 'roles', 'ann', 'cook'])
  assert.match((await get(`${document}/_session`, ann)).body, /"roles":\["cook"\]/)
  await cardea(['user', 'grant', 'ann', '_system', 'none'])
  assert.equal((await get(`${multiModel}/_api/version`, ann)).status, 401)
  await cardea(['user', 'set-password', 'ann', '--password-stdin'], 'new')
  assert.equal(await signsIn(document, ann), false)
  assert.equal(await signsIn(document, ['ann', 'new']), true)
  await cardea(['user', 'disable', 'ann'])
  assert.equal(await signsIn(document, ['ann', 'new']), false)
  await cardea(['admin', 'add', 'root', '--password-stdin'], 'rootpw')
  assert.equal((await get(`${multiModel}/_api/version`, ['root', 'rootpw'])).status, 200)
  await cardea(['admin', 'remove', 'admin'])
  assert.equal(await signsIn(document, ['admin', ADMIN_PASSWORD]), false)
  assert.equal((await get(document)).status, 200)
  await cardea(['config', 'set', 'chttpd.require_valid_user', 'true'])
  assert.equal((await get(document)).status, 401)
  await cardea(['config', 'unset', 'chttpd.require_valid_user'])
  assert.equal((await get(document)).status, 200)
})

it('a change without a server is in effect when the server starts', async (t) => {
  const { cardea, serve } = makeManaged(t)
  await cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
  await cardea(['admin', 'add', 'root', '--password-stdin'], 'rootpw')
  await cardea(['admin', 'remove', 'admin'])
  await cardea(['config', 'set', 'chttpd.require_valid_user', 'true'])
  const { document } = await serve()
  assert.equal(await signsIn(document, ['ann', 'pw']), true)
  assert.equal(await signsIn(document, ['root', 'rootpw']), true)
  assert.equal(await signsIn(document, ['admin', ADMIN_PASSWORD]), false)
  assert.equal((await get(document)).status, 401)
})

it('the first administrator can be created', async (t) => {
  const { cardea, serve } = makeManaged(
    t,
    '[store]\nurl = sqlite:cardea.db\n[chttpd]\nport = 0\n[server]\nendpoint = tcp://127.0.0.1:0\n',
  )
  assert.equal((await cardea(['admin', 'list', '--json'])).stdout, '')
  assert.equal((await cardea(['admin', 'add', 'ada', '--password-stdin'], 'pw')).code, 0)
  assert.equal(await signsIn((await serve()).document, ['ada', 'pw']), true)
})

describe('--url', () => {
  it('uses a server at either door, as an administrator', async (t) => {
    const { cardea, serve, folder } = makeManaged(t)
    const { document, multiModel } = await serve()
    const file = (text: string) => {
      const path = join(folder, 'credentials')
      writeFileSync(path, text, { mode: 0o600 })
      return path
    }
    const own = file(`admin:${ADMIN_PASSWORD}\n`)
    for (const url of [document, multiModel]) {
      const { stdout } = await cardea(['admin', 'list', '--json', '--url', url, '--credentials', own])
      assert.match(stdout, /"name":"admin"/)
    }
    await cardea(['user', 'add', 'ann', '--password-stdin', '--url', document, '--credentials', own], 'pw')
    assert.equal(await signsIn(document, ['ann', 'pw']), true)
    const args = (text: string) => ['user', 'list', '--url', document, '--credentials', file(text)]
    const refused = [
      { row: 'a wrong password', text: 'admin:wrong', says: /incorrect/ },
      { row: 'a user who is not an administrator', text: 'ann:pw', says: /needs an administrator/ },
      { row: 'no credential', text: 'nothing', says: /name:password/ },
    ]
    for (const { row, text, says } of refused) {
      const { code, stderr } = await cardea(args(text))
      assert.equal(code, 1, row)
      assert.match(stderr, says, row)
    }
    const wrong = ['user', 'list', '--url', multiModel, '--credentials', file('admin:wrong')]
    assert.equal((await cardea(wrong)).stderr, 'Name or password is incorrect.\n')
  })

  it('rejects a URL with a password, and an invalid one', async (t) => {
    const { cardea } = makeManaged(t)
    for (const url of ['http://admin:pw@127.0.0.1:1', 'localhost:5984', 'ftp://x', 'http://127.0.0.1:1/path']) {
      const { code, stderr } = await cardea(['user', 'list', '--url', url])
      assert.equal(code, 2, url)
      assert.doesNotMatch(stderr, /pw/)
    }
    const { code, stderr } = await cardea(['user', 'list', '--url', 'http://127.0.0.1:1'])
    assert.equal(code, 2)
    assert.match(stderr, /not a terminal.*--credentials/)
  })

  it('reports an unreachable server, and one that is not Cardea', async (t) => {
    const { cardea, folder } = makeManaged(t)
    const credentials = join(folder, 'credentials')
    writeFileSync(credentials, 'admin:pw')
    const stranger = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'))
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    t.after(() => stranger.close())
    const address = stranger.address()
    const port = typeof address === 'object' ? address?.port : 0
    const to = (place: string) => cardea(['user', 'list', '--url', place, '--credentials', credentials])
    const unreachable = await to('http://127.0.0.1:1')
    assert.equal(unreachable.code, 1)
    assert.match(unreachable.stderr, /cannot be reached/)
    const other = await to(`http://127.0.0.1:${port}`)
    assert.equal(other.code, 1)
    assert.match(other.stderr, /not the control API/)
  })
})

describe('no command opens the store of a running server', { concurrency: true }, () => {
  it('a running server that does not respond is an error', async (t) => {
    const { cardea, serve } = makeManaged(t)
    const server = await serve()
    server.child.kill('SIGSTOP')
    const { code, stderr } = await cardea(['user', 'add', 'ann', '--no-password'])
    assert.equal(code, 1)
    assert.match(stderr, /A server is running, but does not answer/)
    server.child.kill('SIGCONT')
    assert.equal((await cardea(['user', 'list', '--json'])).stdout, '')
  })

  it('a store locked by another process is an error for commands and servers', async (t) => {
    const { cardea, folder } = makeManaged(t)
    const lock = await lockStore(`sqlite:${join(folder, 'cardea.db')}`, 0)
    assert.ok(lock)
    const holder = existsSync('/proc/locks') ? `\\(process ${process.pid}\\) ` : ''
    const [command, server] = await Promise.all([cardea(['user', 'list']), cardea(['serve'])])
    assert.equal(command.code, 1)
    assert.match(command.stderr, new RegExp(`^Another process ${holder}holds the store`))
    assert.equal(server.code, 1)
    assert.match(server.stderr, new RegExp(`^Another Cardea process ${holder}is using this store`))
    lock.release()
    assert.equal((await cardea(['user', 'list'])).code, 0)
  })

  it('a command names the program that holds the store as a library', {
    skip: !existsSync('/proc/locks'),
  }, async (t) => {
    const { cardea, folder } = makeManaged(t)
    const lockModule = JSON.stringify(new URL('../../../src/store/lock.ts', import.meta.url).href)
    const url = JSON.stringify(`sqlite:${join(folder, 'cardea.db')}`)
    const script = join(folder, 'app.mjs')
    writeFileSync(
      script,
      `import { lockStore } from ${lockModule}
      await lockStore(${url}, 0)
      console.log('held')
      setInterval(() => {}, 1000)`,
    )
    const program = spawn(process.execPath, [script, 'a-secret'], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => program.kill())
    await once(program.stdout, 'data')
    const { code, stderr } = await cardea(['user', 'list'])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /holds the store and does not answer: node \S+app\.mjs, a program that uses Cardea as a library\./,
    )
    assert.doesNotMatch(stderr, /a-secret/)
  })

  it('a second server on the same store does not start', async (t) => {
    const { cardea, serve } = makeManaged(t)
    await serve()
    assert.equal((await cardea(['serve'])).code, 1)
    assert.equal((await cardea(['user', 'list'])).code, 0, 'the first is not disturbed')
  })

  it('commands at the same time wait for each other and lose nothing', async (t) => {
    const { cardea } = makeManaged(t)
    // two: each waits at most five seconds for the others
    const names = ['a', 'b']
    const ended = await Promise.all(names.map((name) => cardea(['user', 'add', name, '--no-password'])))
    assert.deepEqual(
      ended.map(({ code }) => code),
      [0, 0],
      ended.map(({ stderr }) => stderr).join(''),
    )
    const lines = (await cardea(['user', 'list', '--json'])).stdout.trim().split('\n')
    const listed: { name: string }[] = lines.map((line) => JSON.parse(line))
    assert.deepEqual(
      listed.map(({ name }) => name),
      names,
    )
  })

  it('socket and lock of a killed server do not block the next', async (t) => {
    const { cardea, serve, folder } = makeManaged(t)
    const server = await serve()
    server.child.kill('SIGKILL')
    await server.ended
    assert.ok(existsSync(join(folder, 'cardea.db.sock')))
    assert.equal((await cardea(['user', 'add', 'ann', '--no-password'])).code, 0)
    await serve()
    assert.equal((await cardea(['user', 'show', 'ann'])).code, 0)
  })
})

it('the socket is private to its owner and removed with the server', async (t) => {
  const { serve, folder } = makeManaged(t)
  const socket = join(folder, 'cardea.db.sock')
  chmodSync(folder, 0o755)
  const server = await serve()
  assert.equal(statSync(socket).mode & 0o777, 0o600)
  await stop(server)
  assert.equal(existsSync(socket), false)
})

it('a path that is too long for a socket finds its server too', async (t) => {
  const folder = join(makeFolder(t), 'x'.repeat(120))
  mkdirSync(folder)
  const { cardea, serve } = makeManaged(
    t,
    `[store]\nurl = sqlite:${folder}/cardea.db\n[chttpd]\nport = 0\n[server]\nendpoint = none\n[admins]\nadmin = pw\n`,
  )
  const server = await serve()
  assert.equal(existsSync(join(folder, 'cardea.db.sock')), false)
  assert.equal((await cardea(['user', 'add', 'ann', '--no-password'])).code, 0)
  await stop(server)
  assert.equal((await cardea(['user', 'show', 'ann'])).code, 0)
})

describe('the private folder of a socket whose path is too long', () => {
  const serve = async (t: TestContext) => {
    const tmp = makeFolder(t)
    const folder = join(makeFolder(t), 'x'.repeat(120))
    mkdirSync(folder)
    const env = { TMPDIR: tmp }
    const args = [...FREE_PORTS, '--store.url', `sqlite:${folder}/cardea.db`, '--admins.admin', 'pw']
    const server = start(t, ['serve', ...args], { env })
    await server.doors()
    return {
      server,
      status: () => start(t, ['status', ...args], { env }).ended,
      own: join(tmp, readdirSync(tmp)[0] ?? ''),
    }
  }

  it('is created again with the socket if it is removed', async (t) => {
    const { own, status } = await serve(t)
    assert.equal(readdirSync(own).length, 1)
    rmSync(own, { recursive: true })
    await waitUntil(() => existsSync(own) && readdirSync(own).length === 1)
    assert.equal(statSync(own).mode & 0o777, 0o700)
    assert.equal((await status()).code, 0)
  })

  it('is not used again if other users can write to it', async (t) => {
    const { own, server } = await serve(t)
    chmodSync(own, 0o777)
    rmSync(join(own, readdirSync(own)[0] ?? ''))
    await server.says(/not private to the owner.*no control socket: commands need --url/)
    assert.deepEqual(readdirSync(own), [])
  })
})

it('without --config a command uses the folder of cardea start, and creates nothing', async (t) => {
  const cwd = makeFolder(t)
  const nowhere = await runCommand(['user', 'list'], { cwd })
  assert.equal(nowhere.code, 1)
  assert.match(nowhere.stderr, /There is no store at .*--config/)
  assert.equal(existsSync(join(cwd, 'data')), false)
  const server = start(t, ['start', '--chttpd.port', '0', '--server.endpoint', 'none'], { cwd })
  await server.says(/"msg":"listening"/)
  assert.match((await runCommand(['admin', 'list'], { cwd })).stdout, /^admin /m)
  await stop(server)
  assert.match((await runCommand(['admin', 'list'], { cwd })).stdout, /^admin /m)
})
