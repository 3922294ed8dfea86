import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../support/commands.ts'
import { startShared } from '../support/hosted-server.ts'
import { FREE_PORTS, type Started, start, stop } from '../support/process.ts'
import { basic, send } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

/** A CouchDB that can be set up as its administrator would. */
interface FakeCouchdb {
  readonly url: string
  readonly methods: Set<string>
  /** The text of `hmac:_default`; empty: the JWT handler is not configured. */
  key: string
  /** The status for a token that no key of it signed. */
  rejectionStatus: 400 | 401
  /** Whether anonymous clients are administrators. */
  isOpen: boolean
  /** The status for proxy headers without their token; CouchDB 3.5.2 fails with 500. Left out: they are ignored. */
  unsignedStatus?: number
}

type Claims = Readonly<Record<string, unknown>>

/** The claims of a token that this key signed. */
function readToken({ headers }: IncomingMessage, key: string): Claims | undefined {
  const [head = '', claims = '', signature] = headers.authorization?.replace('Bearer ', '').split('.') ?? []
  const secret = Buffer.from(key, 'base64')
  const expected = createHmac('sha256', secret).update(`${head}.${claims}`).digest('base64url')
  return key !== '' && signature === expected ? JSON.parse(Buffer.from(claims, 'base64url').toString()) : undefined
}

const ADA = {
  _id: 'org.couchdb.user:ada',
  name: 'ada',
  type: 'user',
  roles: ['sales'],
  password_scheme: 'pbkdf2',
  iterations: 10,
  derived_key: 'e579375db0e0c6a6fc79cd9e36a36859f71575c3',
  salt: '4e170ffeb6f34daecfd814dfb4001a73',
}

const PAGES: Readonly<Record<string, object>> = {
  '/_users': { doc_count: 1 },
  '/_users/_all_docs': { total_rows: 1, offset: 0, rows: [{ id: ADA._id, key: ADA._id, value: {}, doc: ADA }] },
  '/_node/_local/_config/admins': { root: '-pbkdf2-e579375db0e0c6a6fc79cd9e36a36859f71575c3,4e170ffeb6f34dae,10' },
}

async function openCouchdb(scope: Scope): Promise<FakeCouchdb> {
  const backend = await openBackend(scope, (request, response) => {
    fake.methods.add(request.method ?? '')
    const isUnsigned = request.headers['x-auth-couchdb-username'] !== undefined
    if (isUnsigned && fake.unsignedStatus) return void response.writeHead(fake.unsignedStatus).end('{}')
    const claims = readToken(request, fake.key)
    const roles = fake.isOpen ? ['_admin'] : ((claims?.['_couchdb.roles'] as string[] | undefined) ?? [])
    const { pathname } = new URL(request.url ?? '', 'http://x')
    const page = pathname === '/_session' ? { userCtx: { name: claims?.['sub'] ?? null, roles } } : PAGES[pathname]
    const isAllowed = pathname === '/_session' || roles.includes('_admin')
    response.writeHead(isAllowed ? 200 : fake.rejectionStatus, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(isAllowed ? page : { error: 'unauthorized' }))
  })
  const fake: FakeCouchdb = { url: backend.url, methods: new Set(), key: '', rejectionStatus: 401, isOpen: false }
  return fake
}

const readKey = ({ stdout }: Started): string => /^hmac:_default = (\S+)$/m.exec(stdout())?.[1] ?? ''

const READY = /the upstream servers of the document door have no problems/

describe('start in front of CouchDB', () => {
  it('makes a secret, prints the lines CouchDB needs, and is ready once CouchDB has them', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const first = start(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await first.says(/Stop with Ctrl-C/)
    assert.match(first.stdout(), /^authentication_handlers = \{chttpd_auth, jwt_authentication_handler\}, /m)
    assert.match(first.stdout(), /^\[jwt_auth\]\nrequired_claims = exp\n\[jwt_keys\]\nhmac:_default = \S+==$/m)
    assert.match(first.stdout(), /^Not ready\..*\n.*the identity is ignored\n {4}In CouchDB: \[jwt_keys\]/m)
    assert.match(first.stderr(), /"problem":"identity rejected"/)
    const secret = readFileSync(join(folder, 'keys', 'upstream-document'), 'utf8')
    assert.equal(Buffer.from(readKey(first), 'base64').toString(), secret)
    for (const name of ['keys/upstream-document', 'upstream-document.ini'])
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
    assert.ok(!first.stderr().includes(secret) && !first.stderr().includes(readKey(first)))
    couchdb.key = readKey(first)
    await first.says(READY)
    await stop(first)
    assert.deepEqual([...couchdb.methods], ['GET'], 'nothing was changed')

    const second = start(t, ['start', folder, ...FREE_PORTS])
    await second.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(second.stdout(), /Not ready|hmac:_default/)
    assert.match(second.stdout(), /^Users in CouchDB: 1\. To leave them there: --directory\.source couchdb\. /m)
    await stop(second)
    assert.deepEqual([...couchdb.methods], ['GET'], 'nothing was changed')
    const moved = await runCommand(['import', '--from-upstream', '--config', folder])
    assert.equal(moved.code, 0, moved.stderr)
    const third = start(t, ['start', folder, ...FREE_PORTS])
    await third.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(third.stdout(), /Users in CouchDB/)
    await stop(third)
  })

  it('leaves the users in CouchDB at later starts', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const flags = ['--upstream.document', couchdb.url, '--directory.source', 'couchdb']
    const first = startShared(t, ['start', folder, ...flags, ...FREE_PORTS])
    await first.says(/Stop with Ctrl-C/)
    assert.match(first.stdout(), /^Its users stay there\./m)
    assert.doesNotMatch(first.stdout(), /cardea import/)
    couchdb.key = readKey(first)
    await stop(first)
    const second = startShared(t, ['start', folder, ...FREE_PORTS])
    await second.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(second.stdout(), /directory\.source|cardea import/)
    const status = await runCommand(['status', '--json', '--config', folder])
    assert.ok(JSON.parse(status.stdout).parts.some((part: { name: string }) => part.name === 'users in CouchDB'))
    await stop(second)
  })

  it('warns of a CouchDB that makes anonymous clients administrators, and tells it in the health of the server', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    couchdb.isOpen = true
    const cardea = startShared(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await cardea.says(/Stop with Ctrl-C/)
    assert.match(
      cardea.stdout(),
      /GET \/_session without a credential: the role _admin\n {4}In CouchDB: an administrator/,
    )
    const { document } = await cardea.doors()
    const password = /^ {2}password {2}(\S+)$/m.exec(cardea.stdout())?.[1] ?? ''
    const headers = { Authorization: basic('admin', password) }
    const { upstreams } = JSON.parse((await send(document, { path: '/_cardea/api/health', headers })).body)
    assert.equal(upstreams.length, 1)
    assert.deepEqual([upstreams[0].door, upstreams[0].isReady], ['document', false])
    assert.ok(upstreams[0].findings.some(({ problem }: { problem: string }) => problem === 'open'))
    await stop(cardea)
  })

  it('takes 500 in reply to unsigned proxy headers for a refusal, and 503 for a failure', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const first = startShared(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await first.says(/Stop with Ctrl-C/)
    couchdb.key = readKey(first)
    await stop(first)
    couchdb.unsignedStatus = 503
    const second = startShared(t, ['start', folder, ...FREE_PORTS])
    await second.says(/"problem":"failed","reason":"GET \/_session: status 503"/)
    couchdb.unsignedStatus = 500
    second.child.kill('SIGHUP')
    await second.says(READY)
    await stop(second)
  })

  it('notices a CouchDB that rejects its identity later, and when it accepts it again', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const cardea = startShared(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await cardea.says(/Stop with Ctrl-C/)
    const key = readKey(cardea)
    couchdb.key = key
    await cardea.says(READY)
    const { document } = await cardea.doors()
    const password = /^ {2}password {2}(\S+)$/m.exec(cardea.stdout())?.[1] ?? ''
    const ask = (path: string) => send(document, { path, headers: { Authorization: basic('admin', password) } })
    await waitUntil(async () => (await ask('/_cardea/ready')).status === 200)
    assert.equal((await ask('/_up')).status, 200)

    couchdb.key = 'b3RoZXI='
    assert.equal((await ask('/db')).status, 502)
    await cardea.says(/"problem":"identity rejected".*\n(?:.*\n)*.*"problem":"identity rejected"/)
    await waitUntil(async () => (await ask('/_cardea/ready')).status === 503)
    assert.equal((await ask('/_up')).status, 503)
    const { isReady, parts, upstreams } = (await ask('/_cardea/api/health')).json
    const overview = (await ask('/_cardea/api/overview')).json.health
    assert.deepEqual([overview.isReady, overview.parts, overview.upstreams], [isReady, parts, upstreams])
    assert.deepEqual([isReady, upstreams[0].isReady], [false, false])
    assert.match(parts.find(({ name }: { name: string }) => name === 'upstream.document').problem, /identity rejected/)
    const status = await runCommand(['status', '--config', folder])
    assert.match(status.stdout, /^state +not ready$/m)
    assert.match(status.stdout, /^ {2}upstream.document +failed: .* identity rejected/m)
    const check = await runCommand(['check', '--config', folder, '--upstream.document', couchdb.url])
    assert.equal(check.code, 1)
    assert.match(check.stdout, /^problem {2}upstreams .* identity rejected: /m)
    assert.match(check.stdout, /^problem {2}server +not ready: upstream.document: .* identity rejected: /m)

    couchdb.key = key
    await waitUntil(async () => (await ask('/_up')).status === 200)
    await waitUntil(async () => (await ask('/_cardea/api/health')).json.isReady)
    await stop(cardea)
  })

  it('starts without a CouchDB, and inspects again when the configuration is reloaded', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const nowhere = ['--upstream.document', 'http://127.0.0.1:1']
    const first = startShared(t, ['start', folder, ...nowhere, ...FREE_PORTS])
    await first.says(/Stop with Ctrl-C/)
    assert.match(first.stdout(), /http:\/\/127\.0\.0\.1:1: ECONNREFUSED\n {4}Does a server run at this URL/)
    couchdb.key = readKey(first)
    await stop(first)

    const second = startShared(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await second.says(/Stop with Ctrl-C/)
    assert.doesNotMatch(second.stdout(), /Not ready/)
    couchdb.key = ''
    second.child.kill('SIGHUP')
    await second.says(/"problem":"identity rejected"/)
    couchdb.key = readKey(first)
    second.child.kill('SIGHUP')
    await second.says(READY)
    await stop(second)
  })
})

describe('start in front of ArangoDB', () => {
  it('makes a secret, prints the lines ArangoDB needs, and warns where its authentication is off', async (t) => {
    const arangodb = await openBackend(t)
    const folder = join(makeFolder(t), 'data')
    const cardea = startShared(t, ['start', folder, '--upstream.multi-model', arangodb.url, ...FREE_PORTS])
    await cardea.says(/Stop with Ctrl-C/)
    const file = join(folder, 'keys', 'upstream-multi-model')
    assert.match(cardea.stdout(), /^\[server\]\nauthentication = true\njwt-secret-keyfile = /m)
    assert.ok(cardea.stdout().includes(file))
    assert.ok(!cardea.stdout().includes(readFileSync(file, 'utf8')))
    assert.match(cardea.stdout(), /without a credential: status 200\n {4}In ArangoDB: \[server\] authentication = true/)
    await stop(cardea)
    const ended = await runCommand(['import', '--from-upstream', '--config', folder])
    assert.equal(ended.code, 1)
    assert.match(ended.stderr, /^ArangoDB does not show stored passwords over HTTP/)
  })
})

describe('import --from-upstream', () => {
  it('reads users and administrators with the shared secret, without a password', async (t) => {
    const couchdb = await openCouchdb(t)
    const folder = join(makeFolder(t), 'data')
    const cardea = startShared(t, ['start', folder, '--upstream.document', couchdb.url, ...FREE_PORTS])
    await cardea.says(/Stop with Ctrl-C/)
    assert.match(cardea.stdout(), /^ {2}cardea import --from-upstream --admins --replace$/m)
    for (const status of [401, 400] as const) {
      couchdb.rejectionStatus = status
      const early = await runCommand(['import', '--from-upstream', '--config', folder])
      assert.equal(early.code, 1)
      assert.match(
        early.stderr,
        /cannot be read: it rejects the identity that Cardea signs\. Add the lines .* restart it/,
      )
    }
    couchdb.key = readKey(cardea)
    const ended = await runCommand(['import', '--from-upstream', '--admins', '--config', folder])
    assert.equal(ended.code, 0, ended.stderr)
    assert.match(ended.stdout, /^Users: 1 created, .*\nAdministrators: 1 created, /)
    await stop(cardea)
  })

  it('needs an upstream, and no other source', async (t) => {
    const folder = join(makeFolder(t), 'data')
    await runCommand(['init', folder])
    for (const [args, message] of [
      [['--from-upstream'], /^No upstream is configured/],
      [[], /^Give a source, or --from-upstream/],
    ] as const) {
      const ended = await runCommand(['import', ...args, '--config', folder])
      assert.notEqual(ended.code, 0)
      assert.match(ended.stderr, message)
    }
  })
})
