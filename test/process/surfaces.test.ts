// What a server says of itself, in each state that an operator must notice: on every surface the same.
import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { mountDisk, mountFailingDisk } from '../scenario/faults/disk.ts'
import { connectPostgres, findFreePort, startPostgres } from '../store/postgres-server.ts'
import { createAuthority } from '../support/certificates.ts'
import { ADMIN_PASSWORD, CONFIG, makeManaged } from '../support/managed.ts'
import { start, stop } from '../support/process.ts'
import { startProvider } from '../support/provider.ts'
import { basic, send } from '../support/request.ts'
import { expectVerdict } from '../support/surfaces.ts'
import { openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const shared = await connectPostgres()
after(() => shared.stop())

describe('log, probes, admin API, command line and metrics say the same', () => {
  it('if an upstream answers /_up, and fails with 500 at /_session', async (t) => {
    const upstream = await openBackend(t, (request, response) =>
      response.writeHead(request.url === '/_up' ? 200 : 500).end('{"status":"ok"}'),
    )
    const managed = makeManaged(
      t,
      `${CONFIG}[upstream]\ndocument = ${upstream.url}\ndocument-secret = ${'s'.repeat(32)}\n`,
    )
    const words = /failed: GET \/_session: status 500/
    await expectVerdict(managed, await managed.serve(), { part: 'upstream.document', state: 'failed', words, up: 503 })
  })

  it('if one of two upstreams fails with 500 at /_session', async (t) => {
    const broken = await openBackend(t, (request, response) =>
      response.writeHead(request.url === '/_up' ? 200 : 500).end('{"status":"ok"}'),
    )
    const whole = await openBackend(t, ({ headers }, response) => {
      const name = headers.authorization ? 'cardea-probe' : null
      response.end(JSON.stringify({ userCtx: { name, roles: [] } }))
    })
    const managed = makeManaged(
      t,
      `${CONFIG}[upstream]\ndocument = ${broken.url}, ${whole.url}\ndocument-secret = ${'s'.repeat(32)}\n`,
    )
    const words = /failed: GET \/_session: status 500/
    await expectVerdict(managed, await managed.serve(), { part: 'upstream.document', state: 'warning', words })
  })

  it('if an upstream accepts connections and never answers', async (t) => {
    const upstream = await openBackend(t, () => {})
    const managed = makeManaged(
      t,
      `${CONFIG}[upstream]\ndocument = ${upstream.url}\ndocument-secret = ${'s'.repeat(32)}\n`,
    )
    const words = /no response in time|no server responds/
    await expectVerdict(managed, await managed.serve(), { part: 'upstream.document', state: 'failed', words, up: 503 })
  })

  it('if an identity provider is down', async (t) => {
    const provider = await startProvider(t)
    provider.state.isDown = true
    const section = `[provider:acme]\nissuer = ${provider.issuer}\naudience = cardea\nusers = link\n`
    const managed = makeManaged(t, CONFIG + section)
    await expectVerdict(managed, await managed.serve(), {
      part: 'provider.acme',
      state: 'warning',
      words: /other side closed/,
    })
  })

  it('if a certificate expires in three days, cannot be read, and has expired', async (t) => {
    const managed = makeManaged(
      t,
      `${CONFIG}[ssl]\nenable = true\nport = 0\ncert_file = cert.pem\nkey_file = key.pem\n`,
    )
    const authority = createAuthority(managed.folder, 'ca')
    const renew = (days: number) => {
      const to = toUtcTime(Date.now() + days * 86_400_000)
      const issued = authority.issue({ subject: '/CN=localhost', usage: 'serverAuth', from: '20200101000000Z', to })
      writeFileSync(join(managed.folder, 'cert.pem'), issued.cert)
      writeFileSync(join(managed.folder, 'key.pem'), issued.key, { mode: 0o600 })
    }
    renew(3)
    const server = await managed.serve()
    const soon = /ssl\.cert_file: the certificate in \S+cert\.pem expires on \d{4}-\d\d-\d\d/
    await expectVerdict(managed, server, { part: 'certificates', state: 'warning', words: soon })
    renew(90)
    writeFileSync(join(managed.folder, 'cert.pem'), '-----BEGIN CERTIFICATE-----\n')
    const unread = /ssl\.cert_file: \S+cert\.pem: the certificate is damaged/
    await waitUntil(async () => unread.test((await managed.cardea(['status'])).stdout))
    await expectVerdict(managed, server, { part: 'certificates', state: 'warning', words: unread, isUnstartable: true })
    rmSync(join(managed.folder, 'cert.pem'))
    const gone = /ssl\.cert_file: \S+cert\.pem: there is no such file/
    await waitUntil(async () => gone.test((await managed.cardea(['status'])).stdout))
    await expectVerdict(managed, server, { part: 'certificates', state: 'warning', words: gone, isUnstartable: true })
    renew(-1)
    const over = /ssl\.cert_file: the certificate in \S+cert\.pem expired on \d{4}-\d\d-\d\d, and clients reject it/
    await expectVerdict(managed, server, { part: 'certificates', state: 'failed', words: over })
  })

  it('if a worker was killed and does not start again', async (t) => {
    const managed = makeManaged(t)
    const program = `import cluster from 'node:cluster'
      if (cluster.worker?.id > 2) process.exit(1)`
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
    const started = start(t, ['serve', '--config', managed.folder, '--server.workers', '2'], { env })
    const server = { ...started, ...(await started.doors()) }
    const headers = { Authorization: basic('admin', ADMIN_PASSWORD) }
    const { processes } = (await send(server.document, { path: '/_cardea/api/health', headers })).json
    process.kill(processes[1].pid, 'SIGKILL')
    const words = /only 1 of 2 workers serve requests/
    await expectVerdict(managed, server, { part: 'workers', state: 'warning', words })
  })

  it('if PostgreSQL is down', async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    const url = await postgres.createPlace()
    const managed = makeManaged(t, CONFIG.replace('sqlite:cardea.db', url))
    const server = await managed.serve()
    await postgres.stop()
    await expectVerdict(managed, server, {
      part: 'store',
      state: 'failed',
      words: /ECONNREFUSED|ECONNRESET|terminat|connection error/,
    })
    assert.match((await managed.cardea(['status'])).stdout, /^store +postgres, last read \d+ s ago$/m)
  })

  it('if another node has different keys: the later one is not ready, and the earlier one warns', async (t) => {
    const config = CONFIG.replace('sqlite:cardea.db', await shared.createPlace())
    const toNode = (name: string, secret: string) =>
      makeManaged(
        t,
        config
          .replace('a-secret-of-cookies', secret)
          .replace('[server]\n', `[node]\nname = ${name}\n[server]\njwt-secret = one-of-tokens\n`),
      )
    const [a, b, c] = [toNode('a@here', 'one'), toNode('b@here', 'two'), toNode('c@here', 'one')]
    const [first, second] = [await a.serve(), await b.serve()]
    const words = (name: string) => new RegExp(`${name}.* has different keys, so sessions and tokens of one node`)
    await expectVerdict(b, second, { part: 'nodes', state: 'failed', words: words('a@here'), up: 503 })
    await expectVerdict(a, first, { part: 'nodes', state: 'warning', words: words('b@here') })
    await stop(second)
    const third = await c.serve()
    for (const { document } of [first, third])
      await waitUntil(async () => (await send(document, { path: '/_cardea/ready' })).json.components.nodes === 'ok')
  })

  it('if the disk is full', async (t) => {
    const disk = mountDisk(t)
    if (!disk) return
    const managed = makeManaged(t, CONFIG.replace('sqlite:cardea.db', `sqlite:${disk.folder}/cardea.db`))
    const server = await managed.serve()
    disk.fill()
    await expectVerdict(managed, server, { part: 'store', state: 'failed', words: /the disk is full/, up: 503 })
    const added = await managed.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    assert.equal(added.code, 1)
    assert.match(added.stderr, /the disk is full: free some space/)
    await stop(server)
    const alone = await managed.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    assert.match(alone.stderr, /the disk is full: free some space/)
  })

  it('if the file system becomes read-only', async (t) => {
    const disk = mountFailingDisk(t)
    if (!disk) return
    const managed = makeManaged(t, CONFIG.replace('sqlite:cardea.db', `sqlite:${disk.folder}/cardea.db`))
    const server = await managed.serve()
    disk.fail()
    const words = /input or output error: check the disk, its quota, and whether it became read-only/
    await expectVerdict(managed, server, { part: 'store', state: 'failed', words, up: 503 })
    const added = await managed.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    assert.equal(added.code, 1)
    assert.match(added.stderr, words)
    await stop(server)
    const alone = await managed.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    assert.equal(alone.code, 1)
    assert.match(alone.stderr, /the file system is read-only: remount it for writing, or move the store/)
  })

  it('if the files of the store are deleted', async (t) => {
    const managed = makeManaged(t)
    const server = await managed.serve()
    for (const end of ['', '-wal', '-shm', '.lock', '.sock'])
      rmSync(join(managed.folder, `cardea.db${end}`), { force: true })
    await waitUntil(() => existsSync(join(managed.folder, 'cardea.db.sock')))
    const words = /cardea\.db was deleted, moved or replaced/
    await expectVerdict(managed, server, { part: 'store', state: 'failed', words, up: 503 })
    const added = await managed.cardea(['user', 'add', 'ann', '--password-stdin'], 'pw')
    assert.equal(added.code, 1)
    assert.match(added.stderr, words)
    assert.ok(!existsSync(join(managed.folder, 'cardea.db')), 'no other store is made')
  })
})

describe('the name of a node', () => {
  it('is cardea@ and the host name with PostgreSQL, and cardea@127.0.0.1 with SQLite', async (t) => {
    const readName = async (config: string) =>
      (await makeManaged(t, config).cardea(['config', 'get', 'node.name'])).stdout.trim()
    assert.equal(await readName(CONFIG), 'cardea@127.0.0.1')
    const config = CONFIG.replace('sqlite:cardea.db', await shared.createPlace())
    assert.equal(await readName(config), `cardea@${hostname()}`)
    assert.equal(await readName(`${config}[node]\nname = shop@eu-1\n`), 'shop@eu-1')
  })

  it('belongs to one running node: another does not start, and one that was killed starts again', async (t) => {
    const config = CONFIG.replace('sqlite:cardea.db', await shared.createPlace())
    const [managed, other] = [makeManaged(t, config), makeManaged(t, config)]
    const first = start(t, ['serve', '--config', managed.folder])
    await first.doors()
    const second = start(t, ['serve', '--config', other.folder])
    assert.equal((await second.ended).code, 1)
    const refused = `Another node with the name cardea@${hostname()} is running (host ${hostname()}, process ${first.child.pid}).`
    assert.ok(second.stderr().includes(refused), second.stderr())
    assert.match(second.stderr(), /--node\.name/)

    first.child.kill('SIGKILL')
    await first.ended
    const again = start(t, ['serve', '--config', managed.folder])
    await again.doors()
    await stop(again)
  })
})

describe('PostgreSQL that is away at the start', () => {
  it('is waited for, for store.start-timeout', async (t) => {
    const url = new URL(await shared.createPlace())
    const { port } = url
    url.port = `${await findFreePort()}`
    const managed = makeManaged(t, CONFIG.replace('sqlite:cardea.db', url.href))
    const server = start(t, ['serve', '--config', managed.folder])
    await server.says(/the store cannot be reached yet: trying again/)
    const proxy = createServer((socket) => {
      const other = connect(Number(port), '127.0.0.1')
      for (const each of [socket, other]) each.on('error', () => {})
      socket.pipe(other).pipe(socket)
    })
    t.after(() => proxy.close())
    proxy.listen(Number(url.port), '127.0.0.1')
    await server.doors()
    await stop(server)

    url.port = `${await findFreePort()}`
    const late = start(t, ['serve', '--config', managed.folder, '--store.url', url.href, '--store.start-timeout', '1'])
    assert.equal((await late.ended).code, 1)
    assert.match(late.stderr(), /The store cannot be opened: .*ECONNREFUSED/)
  })
})

const toUtcTime = (ms: number): string => `${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
