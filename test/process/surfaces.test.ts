// What a server says of itself, in each state that an operator must notice: on every surface the same.
import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { mountDisk } from '../scenario/faults/disk.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { createAuthority } from '../support/certificates.ts'
import { CONFIG, makeManaged } from '../support/managed.ts'
import { start, stop } from '../support/process.ts'
import { startProvider } from '../support/provider.ts'
import { expectVerdict } from '../support/surfaces.ts'
import { openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

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

  it('if a certificate expires in three days, and after it has expired', async (t) => {
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
    renew(-1)
    const over = /ssl\.cert_file: the certificate in \S+cert\.pem expired on \d{4}-\d\d-\d\d, and clients reject it/
    await expectVerdict(managed, server, { part: 'certificates', state: 'failed', words: over })
  })

  it('if worker threads do not run', async (t) => {
    const managed = makeManaged(t)
    const program = `import { isMainThread, workerData } from 'node:worker_threads'
      if (!isMainThread && workerData?.relayPath) process.exit(1)`
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
    const started = start(t, ['serve', '--config', managed.folder, '--server.workers', '2'], { env })
    const server = { ...started, ...(await started.doors()) }
    await expectVerdict(managed, server, {
      part: 'workers',
      state: 'warning',
      words: /[12] of 2 worker threads do not run/,
    })
  })

  it('if PostgreSQL is down', async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    const url = await postgres.createPlace()
    const managed = makeManaged(t, CONFIG.replace('sqlite:cardea.db', url))
    const server = await managed.serve()
    await postgres.stop()
    await expectVerdict(managed, server, { part: 'store', state: 'failed', words: /ECONNREFUSED|terminat/ })
    assert.match((await managed.cardea(['status'])).stdout, /^store +postgres, last read \d+ s ago$/m)
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

const toUtcTime = (ms: number): string => `${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
