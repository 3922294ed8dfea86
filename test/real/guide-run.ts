/** Follows docs/guides/couchdb.md block by block: runs every command, applies every file, compares what is printed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../store/postgres-server.ts'
import { CARDEA, start } from '../support/process.ts'
import { basic } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { makeFolder } from '../support/scope.ts'
import type { Couchdb } from './couchdb.ts'
import { type Block, GUIDE } from './guide.ts'
import { fillSecret } from './in-front.ts'
import { removeDocument } from './replicator.ts'

const run = promisify(execFile)

export function testGuide(couchdb: Couchdb): void {
  test('the guide does what it describes', { timeout: 300_000 }, async (t) => {
    await prepareCouchdb(t, couchdb)
    const walk = await createWalk(t, couchdb)
    for (const block of GUIDE) await findStep(block)(walk, block)
    const isCopied = async () => (await couchdb.fetch('/shop-copy/order-1')).status === 200
    await until(isCopied, 'the document did not arrive in shop-copy')
    await checkUserDatabase(walk)
    await checkUserCopy(walk)
  })
}

/** A user created through Cardea reaches the database that couch_peruser creates. */
async function checkUserDatabase({ couchdb, port }: Walk): Promise<void> {
  const bob = JSON.stringify({ name: 'bob', type: 'user', roles: [], password: 'builder-of-walls' })
  const path = `http://127.0.0.1:${port}/_users/org.couchdb.user:bob`
  assert.equal((await fetch(path, { method: 'PUT', headers: adminHeaders(couchdb), body: bob })).status, 201)
  const own = `http://127.0.0.1:${port}/userdb-626f62`
  const headers = { Authorization: basic('bob', 'builder-of-walls') }
  // couch_peruser begins up to a minute after a start, and no feed tells when
  await until(async () => (await fetch(own, { headers })).status === 200, 'bob cannot read userdb-626f62')
}

/** A change made in Cardea continues the history of the user that was imported. */
async function checkUserCopy({ couchdb, port }: Walk): Promise<void> {
  const id = 'org.couchdb.user:ada'
  const url = `http://127.0.0.1:${port}/_users/${id}`
  const user: unknown = await (await fetch(url, { headers: adminHeaders(couchdb) })).json()
  assert.ok(typeof user === 'object' && user !== null)
  const body = JSON.stringify({ ...user, roles: ['sales', 'support'] })
  assert.equal((await fetch(url, { method: 'PUT', headers: adminHeaders(couchdb), body })).status, 201)
  const isCopied = async () => {
    const copy = await couchdb.request('GET', `/_users/${id}?conflicts=true`)
    assert.ok(typeof copy === 'object' && copy !== null && 'roles' in copy)
    assert.ok(!('_conflicts' in copy))
    return Array.isArray(copy.roles) && copy.roles.includes('support')
  }
  await until(isCopied, 'the change did not arrive in CouchDB')
}

async function until(isDone: () => Promise<boolean>, fallback: string): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    if (await isDone()) return
    await pause(100)
  }
  assert.fail(fallback)
}

function adminHeaders({ urlWithCredentials }: Couchdb): Record<string, string> {
  const { username, password } = new URL(urlWithCredentials)
  return { Authorization: basic(username, password), 'Content-Type': 'application/json' }
}

interface Walk {
  readonly scope: Scope
  readonly couchdb: Couchdb
  readonly folder: string
  readonly port: number
  /** What the last command printed. */
  printed: string
}

type Step = (walk: Walk, block: Block) => Promise<void> | void

const STEPS: Readonly<Record<string, Step>> = {
  sh: async (walk, { text }) => {
    if (text.startsWith('cardea serve')) return serve(walk)
    walk.printed = await runShell(walk, fill(walk, text))
  },
  text: ({ printed }, { text }) => assertPrinted(printed, text),
  json: ({ printed }, { text }) => assertPrinted(printed, text),
  'ini couchdb': configureCouchdb,
  'ini couchdb-peruser': configureCouchdb,
  'ini cardea': (walk, { text }) => appendFileSync(join(walk.folder, 'local.ini'), fill(walk, text)),
  // the tests in front of it use these two
  'ini couchdb-proxy': () => {},
  'ini cardea-proxy': () => {},
}

const findStep = ({ kind }: Block): Step => STEPS[kind] ?? assert.fail(`no step for ${kind}`)

async function createWalk(scope: Scope, couchdb: Couchdb): Promise<Walk> {
  const folder = makeFolder(scope)
  mkdirSync(join(folder, 'bin'))
  symlinkSync(CARDEA, join(folder, 'bin', 'cardea'))
  const { username, password } = new URL(couchdb.urlWithCredentials)
  writeFileSync(join(folder, 'couchdb-admin'), `${username}:${password}`, { mode: 0o600 })
  return { scope, couchdb, folder, port: await findFreePort(), printed: '' }
}

/** The addresses and the password of this run. */
function fill({ couchdb, port }: Walk, text: string): string {
  return text
    .replaceAll('127.0.0.1:15984', couchdb.host)
    .replaceAll('127.0.0.1:5984', `127.0.0.1:${port}`)
    .replaceAll('PASSWORD', new URL(couchdb.urlWithCredentials).password)
}

async function runShell({ folder }: Walk, script: string): Promise<string> {
  const path = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const quiet = 'curl() { command curl -q -sS --noproxy "*" "$@"; }'
  const { stdout } = await run('sh', ['-ec', `${quiet}\n${script}`], { cwd: folder, env: { PATH: path, HOME: folder } })
  return stdout
}

/** `…` stands for what differs from run to run. */
function assertPrinted(printed: string, expected: string): void {
  const pattern = expected
    .trim()
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^"]*')
  assert.match(printed.trim(), new RegExp(`^${pattern}$`))
}

async function serve({ scope, folder, port }: Walk): Promise<void> {
  const server = start(scope, ['serve', '--config', '.', '--chttpd.port', String(port), '--server.endpoint', 'none'], {
    cwd: folder,
  })
  await server.doors()
}

async function configureCouchdb({ scope, couchdb, folder }: Walk, { text }: Block): Promise<void> {
  const secret = readFileSync(join(folder, 'document-secret'), 'utf8').trim()
  scope.after(await couchdb.configure(fillSecret(text, secret)))
}

/** What the reader has: a user, a database with a document. And what the guide leaves behind. */
async function prepareCouchdb(scope: Scope, couchdb: Couchdb): Promise<void> {
  const ids = ['/_replicator/copy-shop', '/_replicator/users', `${USERS}ada`, `${USERS}bob`]
  const clear = async () => {
    for (const path of ids) await removeDocument(couchdb, path)
    for (const name of await listDatabases(couchdb)) if (!kept.has(name)) await couchdb.request('DELETE', `/${name}`)
  }
  for (const path of ids) await removeDocument(couchdb, path)
  const kept = new Set(await listDatabases(couchdb))
  scope.after(clear)
  const ada = { name: 'ada', type: 'user', roles: ['sales'], password: 'analytical' }
  await couchdb.request('PUT', `${USERS}ada`, ada)
  await couchdb.request('PUT', '/shop')
  await couchdb.request('PUT', '/shop/_security', { members: { names: [], roles: ['sales'] } })
  await couchdb.request('PUT', '/shop/order-1', { item: 'lamp' })
}

const USERS = '/_users/org.couchdb.user:'

async function listDatabases(couchdb: Couchdb): Promise<string[]> {
  const names = await couchdb.request('GET', '/_all_dbs')
  assert.ok(Array.isArray(names))
  return names.map(String)
}
