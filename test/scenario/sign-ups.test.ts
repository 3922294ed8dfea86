// Limits on users that clients create for themselves (chttpd_auth.allow_sign_up).
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { CardeaOptions } from '../../src/index.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

interface Sent {
  readonly from?: string
  readonly as?: string
  readonly method?: 'PUT' | 'POST'
  readonly more?: object
}

const signUp = (url: string, name: string, { from, as, method = 'PUT', more }: Sent = {}): Promise<Reply> => {
  const id = `org.couchdb.user:${name}`
  return send(url, {
    method,
    path: method === 'PUT' ? `/_users/${id}` : '/_users',
    ...(as && { as }),
    headers: { 'Content-Type': 'application/json', ...(from && { 'X-Forwarded-For': from }) },
    body: { _id: id, type: 'user', name, password: 'pw', roles: [], ...more },
  })
}

const open = (scope: Scope, auth: CardeaOptions['auth'] = {}, more: CardeaOptions = {}) =>
  startServer(scope, { chttpd_auth: { allow_sign_up: true }, auth: { ...auth }, ...more })

/** Only the address that a proxy names counts. */
const BEHIND_PROXY: CardeaOptions = { chttpd: { trusted_proxies: 'loopback' } }

const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status)
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

describe('sign-ups', () => {
  it('are 10 an hour from one address, then 429 with Retry-After', async (t) => {
    const { document, takeEvents } = await open(t)
    for (let at = 0; at < 10; at += 1) assert.equal((await signUp(document, `user${at}`)).status, 201)
    takeEvents()
    const refused = await signUp(document, 'more')
    assert.deepEqual(
      [refused.status, refused.json],
      [429, { error: 'too_many_requests', reason: 'Too many new users. Try again later.' }],
    )
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(seconds > 3500 && seconds <= 3600, String(seconds))
    await signUp(document, 'again')
    const started = takeEvents().filter(({ event }) => event === 'limit.started')
    assert.deepEqual(
      started.map(({ limit, subject }) => [limit, subject]),
      [['sign-up', undefined]],
    )
  })

  it('do not pass the limit together', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 3 })
    const replies = await Promise.all(times(12, (at) => signUp(document, `user${at}`)))
    assert.equal(statusesOf(replies).filter((status) => status === 201).length, 3)
    assert.equal(statusesOf(replies).filter((status) => status === 429).length, 9)
  })

  it('count by POST and by PUT, of signed-in users too', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 3 })
    assert.equal((await signUp(document, 'one', { method: 'POST' })).status, 201)
    assert.equal((await signUp(document, 'two', { as: 'one:pw' })).status, 201)
    assert.equal((await signUp(document, 'three', { as: 'one:pw', method: 'POST' })).status, 201)
    for (const sent of [{}, { method: 'POST' }, { as: 'one:pw' }, { as: 'one:pw', method: 'POST' }] as const)
      assert.equal((await signUp(document, 'four', sent)).status, 429)
  })

  it('that fail do not count', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 2, 'min-password-length': 2 })
    assert.equal((await signUp(document, 'one')).status, 201)
    for (const more of [{ roles: ['x'] }, { password: 'p' }]) {
      const { status } = await signUp(document, 'two', { more })
      assert.ok(status === 400 || status === 403, String(status))
    }
    assert.equal((await signUp(document, 'one')).status, 409)
    assert.equal((await signUp(document, 'two')).status, 201)
    assert.equal((await signUp(document, 'three')).status, 429)
  })

  it('of administrators are not limited, and changes of the own document neither', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 1 })
    const { json } = await signUp(document, 'one')
    for (const name of ['two', 'three']) assert.equal((await signUp(document, name, { as: AS_ADMIN })).status, 201)
    assert.equal((await signUp(document, 'one', { as: 'one:pw', more: { _rev: json.rev } })).status, 201)
    assert.equal((await signUp(document, 'four')).status, 429)
  })

  it('are counted by the client behind a trusted proxy, and by the /64 network of IPv6', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 1 }, BEHIND_PROXY)
    const rows = [
      ['192.0.2.1', 201],
      ['192.0.2.1', 429],
      ['::ffff:192.0.2.1', 429],
      ['192.0.2.2', 201],
      ['2001:db8:1:2::1', 201],
      ['2001:db8:1:2:ffff::9', 429],
      ['2001:db8:1:3::1', 201],
    ] as const
    for (const [at, [from, status]] of rows.entries())
      assert.equal((await signUp(document, `user${at}`, { from })).status, status, from)
  })

  it('count for the address of the connection too, while no proxy is named', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 2 })
    const replies = await Promise.all(times(4, (at) => signUp(document, `user${at}`, { from: `192.0.2.${at}` })))
    assert.deepEqual(statusesOf(replies).sort(), [201, 201, 429, 429])
  })

  it('are limited in total', async (t) => {
    const { document } = await open(t, { 'sign-ups-per-hour': 3 }, BEHIND_PROXY)
    const replies = await Promise.all(times(5, (at) => signUp(document, `user${at}`, { from: `192.0.2.${at}` })))
    assert.deepEqual(statusesOf(replies).sort(), [201, 201, 201, 429, 429])
  })

  it('are not limited with 0', async (t) => {
    const { document } = await open(t, { 'peer-sign-ups-per-hour': 0, 'sign-ups-per-hour': 0 })
    const replies = await Promise.all(times(12, (at) => signUp(document, `user${at}`)))
    assert.deepEqual(new Set(statusesOf(replies)), new Set([201]))
  })

  it('at one node soon count at the other', async (t) => {
    const store = { url: await postgres.createPlace() }
    const { document: here } = await open(t, { 'peer-sign-ups-per-hour': 100 }, { store })
    const { document: there } = await open(t, { 'peer-sign-ups-per-hour': 100 }, { store })
    // ten at a time: more than the queue of hashes holds would be 503
    for (const lot of times(10, (first) => times(10, (at) => `here${first}${at}`)))
      assert.deepEqual(new Set(statusesOf(await Promise.all(lot.map((name) => signUp(here, name))))), new Set([201]))
    let tries = 0
    await waitUntil(async () => (await signUp(there, `there${tries++}`)).status === 429)
    assert.ok(tries < 100, 'it did not count on its own alone')
  })
})
