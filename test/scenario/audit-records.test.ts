/** What is in the records of the audit trail, whatever clients send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'
import { AS_ADMIN, basic, type Request, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'

const OPTIONS = { chttpd_auth: { iterations: 1 }, chttpd_auth_lockout: { threshold: 3, max_lifetime: 1000 } }

type Record = Readonly<globalThis.Record<string, unknown>> & { readonly event: string }

/** Not the peer whose sign-ins are limited. */
const OTHER_PEER = { 'X-Forwarded-For': '198.51.100.9' }

const listAll = async (url: string): Promise<readonly Record[]> =>
  (await send(url, { path: '/_cardea/api/audit?order=oldest', as: AS_ADMIN, headers: OTHER_PEER })).json.records

const userDocument = (name: string) => ({ name, password: 'right', roles: ['reader'], type: 'user' })

type Step = readonly [door: 'document' | 'multiModel', request: Request]

/** Causes every kind of event that a request can cause without a file, an upstream or another node. */
const STEPS: readonly Step[] = [
  ['document', { method: 'PUT', path: '/_users/org.couchdb.user:jo', as: AS_ADMIN, body: userDocument('jo') }],
  ['document', { method: 'POST', path: '/_session', body: { name: 'jo', password: 'right' } }],
  ['multiModel', { method: 'PUT', path: '/_api/user/jo/database/shop', as: AS_ADMIN, body: { grant: 'ro' } }],
  ['multiModel', { method: 'PUT', path: '/_api/user/jo/database/shop', as: AS_ADMIN, body: { grant: 'rw' } }],
  ['multiModel', { method: 'DELETE', path: '/_api/user/jo/database/shop', as: AS_ADMIN }],
  ['multiModel', { method: 'POST', path: '/_api/token/jo', as: AS_ADMIN, body: { name: 'backup' } }],
  ['multiModel', { method: 'DELETE', path: '/_api/token/jo/1', as: AS_ADMIN }],
  ['multiModel', { method: 'PATCH', path: '/_api/user/jo', as: AS_ADMIN, body: { extra: { a: 1 } } }],
  ['document', { method: 'POST', path: '/_cardea/api/users/jo/sign-out', as: AS_ADMIN }],
  ['document', { method: 'PUT', path: '/_node/_local/_config/admins/eve', as: AS_ADMIN, body: '"a-password"' }],
  ['document', { method: 'PUT', path: '/_node/_local/_config/admins/eve', as: AS_ADMIN, body: '"another-password"' }],
  ['document', { method: 'DELETE', path: '/_node/_local/_config/admins/eve', as: AS_ADMIN }],
  ['document', { method: 'PUT', path: '/_node/_local/_config/chttpd_auth/timeout', as: AS_ADMIN, body: '"1200"' }],
  ['document', { method: 'POST', path: '/_node/_local/_config/_reload', as: AS_ADMIN }],
  ['document', { path: '/_cardea/api/transfer/users?format=cardea', as: AS_ADMIN }],
  ['document', { path: '/_cardea/api/transfer/settings', as: AS_ADMIN }],
  [
    'document',
    { method: 'POST', path: '/_cardea/api/transfer/users', as: AS_ADMIN, body: { users: [{ name: 'mo' }] } },
  ],
  ['document', { method: 'POST', path: '/_session', body: { name: 'jo', password: 'wrong' } }],
  ['document', { method: 'POST', path: '/_session', body: { name: 'jo', password: 'wrong' } }],
  ['document', { method: 'POST', path: '/_session', body: { name: 'jo', password: 'wrong' } }],
  ['document', { method: 'POST', path: '/_cardea/api/users/jo/unlock', as: AS_ADMIN }],
  ['multiModel', { method: 'DELETE', path: '/_api/user/jo', as: AS_ADMIN }],
  ['document', { method: 'POST', path: '/_cardea/api/audit/erase', as: AS_ADMIN, body: { name: 'jo' } }],
]

const EXPECTED: readonly (keyof typeof SECURITY_EVENTS)[] = [
  'sign-in.accepted',
  'sign-in.refused',
  'sign-out',
  'session.revoked',
  'limit.started',
  'limit.lifted',
  'user.created',
  'user.changed',
  'user.removed',
  'user.erased',
  'administrator.created',
  'administrator.changed',
  'administrator.removed',
  'grant.created',
  'grant.changed',
  'grant.removed',
  'access-token.created',
  'access-token.removed',
  'users.imported',
  'users.exported',
  'settings.exported',
  'option.changed',
  'configuration.reloaded',
]

test('every kind of event of a request is recorded with its actor, peer, door, handler and request', async (t) => {
  const server = await startServer(t, OPTIONS)
  for (const [door, request] of STEPS) {
    const reply = await send(server[door], request)
    assert.ok(reply.status < 400 || reply.status === 401, `${request.method} ${request.path}: ${reply.body}`)
    if (request.path !== '/_session' || reply.status !== 200) continue
    const Cookie = reply.lines['set-cookie']?.[0]?.split(';')[0] ?? ''
    await send(server.document, { method: 'DELETE', path: '/_session', headers: { Cookie } })
  }
  const records = await listAll(server.document)
  for (const kind of EXPECTED) {
    const record = records.find(({ event }) => event === kind)
    assert.ok(record, kind)
    const isAnonymous = kind === 'sign-in.refused' || kind === 'limit.started'
    for (const field of isAnonymous ? ['peer', 'door', 'request'] : ['actor', 'peer', 'door', 'handler', 'request'])
      assert.ok(
        typeof record[field] === 'string' && record[field] !== '',
        `${field} of ${kind}: ${JSON.stringify(record)}`,
      )
    for (const field of Object.keys(SECURITY_EVENTS[kind].fields)) {
      const { isOptional } = SECURITY_EVENTS[kind].fields[field as never] as { isOptional?: true }
      assert.ok(isOptional || field in record, `${field} of ${kind}`)
    }
  }
})

test('no record holds a secret or long text, whatever clients send', async (t) => {
  const server = await startServer(t, OPTIONS)
  const SECRET = 'hidden-in-the-credential'
  const text = fc.string({ maxLength: 400, unit: ANY_CHARACTER })
  await fc.assert(
    fc.asyncProperty(text, text, fc.constantFrom('document', 'multiModel'), async (name, password, door) => {
      const secret = `${SECRET}${password}`
      const isDocument = door === 'document'
      const body = isDocument
        ? { name: `${secret}${name}`, password: secret }
        : { username: `${secret}${name}`, password: secret }
      await send(server[isDocument ? 'document' : 'multiModel'], {
        method: 'POST',
        path: isDocument ? '/_session' : '/_open/auth',
        body,
        headers: { 'User-Agent': 'x'.repeat(2000), 'X-Forwarded-For': `203.0.113.${password.length % 250}` },
      })
      await send(server.document, { path: '/', headers: { Authorization: basic(secret, secret) } })
      await send(server.multiModel, {
        path: '/_api/version',
        headers: { Authorization: `bearer ${Buffer.from(secret).toString('base64url')}` },
      })
    }),
    { numRuns: 40 },
  )
  const records = await listAll(server.document)
  const lines = records.map((record) => JSON.stringify(record))
  for (const line of lines)
    assert.ok(!line.includes(SECRET) && !line.includes(Buffer.from(SECRET).toString('base64url').slice(0, 20)), line)
  for (const value of records.flatMap((record) => Object.values(record)).flat())
    if (typeof value === 'string') assert.ok(Buffer.byteLength(value) <= 256, value)
})

test('a client that is refused again and again leaves a bounded number of records', async (t) => {
  const server = await startServer(t, { ...OPTIONS, chttpd: { trusted_proxies: 'loopback' } })
  for (let guess = 0; guess < 200; guess += 1)
    await send(server.document, { method: 'POST', path: '/_session', body: { name: `user${guess}`, password: 'x' } })
  const refused = (await listAll(server.document)).filter(({ event }) => event === 'sign-in.refused')
  assert.equal(refused.length, 1)
})

test('refused sign-ins from one address are recorded for each user', async (t) => {
  const server = await startServer(t, { chttpd_auth: { iterations: 1 } })
  for (const name of ['alice', 'bella', 'cindy'])
    await send(server.document, {
      method: 'PUT',
      path: `/_users/org.couchdb.user:${name}`,
      as: AS_ADMIN,
      body: userDocument(name),
    })
  for (const name of ['alice', 'alice', 'bella', 'cindy', 'nobody', 'somebody'])
    await send(server.document, { method: 'POST', path: '/_session', body: { name, password: 'wrong' } })
  const refused = (await listAll(server.document)).filter(({ event }) => event === 'sign-in.refused')
  assert.deepEqual(
    refused.map((record) => record['subject']),
    ['alice', 'bella', 'cindy', '(unknown name)'],
  )
})
