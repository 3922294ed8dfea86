/** Follows the pages about CouchDB in front of a real one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { followPage, readSecret } from '../docs/follow.ts'
import { basic } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import type { Couchdb } from './couchdb.ts'
import { fillSecret, GUIDE } from './in-front.ts'
import { removeDocument } from './replicator.ts'

export function testGuide(couchdb: Couchdb): void {
  test('the guide does what it describes', { timeout: 300_000 }, async (t) => {
    await prepareCouchdb(t, couchdb)
    const port = await followGuide(t, couchdb, GUIDE)
    const isCopied = async () => (await couchdb.fetch('/shop-copy/order-1')).status === 200
    await until(isCopied, 'the document did not arrive in shop-copy')
    await checkUserDatabase(couchdb, port)
    await checkUserCopy(couchdb, port)
  })
  test('the tutorial does what it describes', { timeout: 300_000 }, async (t) => {
    await prepareCouchdb(t, couchdb)
    await followGuide(t, couchdb, 'docs/start/couchdb.md')
  })
}

/** Returns the port of Cardea's document door. */
async function followGuide(scope: Scope, couchdb: Couchdb, page: string): Promise<number> {
  const { port, username, password } = new URL(couchdb.urlWithCredentials)
  const { ports } = await followPage(scope, page, {
    couchdb: { port: Number(port), username, password },
    configureCouchdb: async (walk, ini) => scope.after(await couchdb.configure(fillSecret(ini, readSecret(walk)))),
  })
  return ports.get('5984') ?? assert.fail('no port')
}

/** A user created through Cardea reaches the database that Cardea creates. */
async function checkUserDatabase(couchdb: Couchdb, port: number): Promise<void> {
  const option = `http://127.0.0.1:${port}/_node/_local/_config/user-databases/enabled`
  assert.equal((await fetch(option, { method: 'PUT', headers: adminHeaders(couchdb), body: '"true"' })).status, 200)
  const bob = JSON.stringify({ name: 'bob', type: 'user', roles: [], password: 'builder-of-walls' })
  const path = `http://127.0.0.1:${port}/_users/org.couchdb.user:bob`
  assert.equal((await fetch(path, { method: 'PUT', headers: adminHeaders(couchdb), body: bob })).status, 201)
  const own = `http://127.0.0.1:${port}/userdb-626f62`
  const headers = { Authorization: basic('bob', 'builder-of-walls') }
  await until(async () => (await fetch(own, { headers })).status === 200, 'bob cannot read userdb-626f62')
}

/** A change made in Cardea continues the history of the user that was imported. */
async function checkUserCopy(couchdb: Couchdb, port: number): Promise<void> {
  await copyUsers(couchdb, port)
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

/** As docs/reference/gateway.md describes it. */
async function copyUsers(couchdb: Couchdb, port: number): Promise<void> {
  const { username, password, host } = new URL(couchdb.urlWithCredentials)
  const toUsers = (at: string) => `http://${username}:${password}@${at}/_users`
  const body = JSON.stringify({ source: toUsers(`127.0.0.1:${port}`), target: toUsers(host), continuous: true })
  const job = `http://127.0.0.1:${port}/_replicator/users`
  assert.equal((await fetch(job, { method: 'PUT', headers: adminHeaders(couchdb), body })).status, 201)
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
