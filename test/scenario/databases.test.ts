// The databases behind both doors at /_cardea/api/databases, and who may use them.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDatabases } from '../support/databases.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'
import { beforeDocument, openBackend, openToken, UPSTREAM_SECRET } from '../support/upstream.ts'

const scope = createSharedScope()
const { couchdb, arangodb, securities, options } = await openDatabases(scope, ['a/b', 'app', 'billing', 'mail'])
const { document: url } = await startServer(scope, options)

const ask = (method: string, path: string, body?: unknown) =>
  send(url, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body !== undefined && { body }) })

await ask('POST', '/users', {
  name: 'ada',
  password: 'pw',
  grants: [
    { database: 'shop', level: 'rw' },
    { database: 'zoo', collection: 'lions', level: 'ro' },
  ],
})

interface Listed {
  readonly name: string
  readonly users: number
  readonly security?: object
  readonly securityProblem?: string
}
const list = async (query: string) => (await ask('GET', `/databases${query}`)).json
const listNames = async (query: string) => (await list(query)).databases.map(({ name }: Listed) => name)

const EVE = '/_node/_local/_config/admins/eve'
const NONE = { names: [], roles: [] }

describe('the list of databases', () => {
  it('has those of CouchDB, of ArangoDB and of grants, in the order of their names', async () => {
    const { databases, couchdb: document, arangodb: multiModel, next } = await list('')
    assert.deepEqual(
      databases.map(({ name }: Listed) => name),
      ['_system', 'a/b', 'app', 'billing', 'mail', 'shop', 'zoo'],
    )
    assert.deepEqual([document, multiModel, next], [{ isSet: true }, { isSet: true }, undefined])
    const security = { admins: NONE, members: { names: [], roles: ['_admin'] } }
    assert.deepEqual(databases[1], { name: 'a/b', isInArangodb: false, users: 0, security })
    assert.deepEqual(databases.slice(5), [
      { name: 'shop', isInArangodb: true, users: 1 },
      { name: 'zoo', isInArangodb: false, users: 1 },
    ])
    const claims = openToken(couchdb.seen.at(-1)?.header('Authorization'), UPSTREAM_SECRET)
    assert.deepEqual([claims['sub'], claims['_couchdb.roles']], ['admin', ['_admin']])
  })

  it('has pages and is searched by the beginning of a name', async () => {
    const pages: string[][] = []
    for (let after = ''; ; ) {
      const { databases, next } = await list(`?limit=3${after && `&after=${encodeURIComponent(after)}`}`)
      pages.push(databases.map(({ name }: Listed) => name))
      if (next === undefined) break
      after = next
    }
    assert.deepEqual(pages, [['_system', 'a/b', 'app'], ['billing', 'mail', 'shop'], ['zoo']])
    assert.deepEqual(await listNames('?search=a'), ['a/b', 'app'])
    assert.deepEqual(await listNames('?search=sh'), ['shop'])
    assert.deepEqual(await listNames('?search=x'), [])
  })

  it('finds the users with a grant on one', async () => {
    for (const database of ['shop', 'zoo'])
      assert.equal((await ask('GET', `/users?database=${database}`)).json.total, 1)
    assert.deepEqual((await ask('GET', '/users?database=sho')).json.users, [])
  })
})

describe('the access to a CouchDB database', () => {
  const members = { names: ['ada'], roles: ['editor'] }

  it('is changed as it was read, and keeps other members', async () => {
    securities.set('app', { members: { roles: ['_admin'] }, cloudant: { x: 1 } })
    const expected = { admins: NONE, members: { names: [], roles: ['_admin'] } }
    const security = { admins: NONE, members }
    const reply = await ask('PUT', '/databases/app/security', { security, expected })
    assert.deepEqual(reply.json, security)
    assert.deepEqual(securities.get('app'), { cloudant: { x: 1 }, ...security })
    assert.deepEqual(await listNames('?role=editor'), ['app'])
    const { json } = await ask('GET', '/audit?event=database.access')
    assert.equal(json.records[0].database, 'app')
  })

  it('is not changed if it is another one by now, or the database is gone', async () => {
    securities.set('mail', { admins: { names: ['root'] } })
    const body = { security: { admins: NONE, members }, expected: { admins: NONE, members: NONE } }
    assert.equal((await ask('PUT', '/databases/mail/security', body)).json.error, 'conflict')
    assert.deepEqual(securities.get('mail'), { admins: { names: ['root'] } })
    assert.equal((await ask('PUT', '/databases/none/security', body)).json.error, 'not_found')
  })

  it('is not changed by an administrator who was removed while it was read', async (t) => {
    const written: string[] = []
    const remove = () => send(here.document, { method: 'DELETE', path: EVE, as: AS_ADMIN })
    const backend = await openBackend(t, async (request, response) => {
      if (request.method === 'PUT') written.push(request.url ?? '')
      else if (request.url?.endsWith('/_security')) await remove()
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
    const here = await startServer(t, beforeDocument(backend.url))
    await send(here.document, { method: 'PUT', path: EVE, as: AS_ADMIN, body: '"a-password-of-eve"' })
    const body = { security: { admins: NONE, members }, expected: { admins: NONE, members: NONE } }
    const path = '/_cardea/api/databases/app/security'
    const reply = await send(here.document, { method: 'PUT', path, as: 'eve:a-password-of-eve', body })
    assert.deepEqual([reply.status, written], [401, []], reply.body)
  })
})

it('a `_security` of another form is not shown as empty, and not overwritten', async () => {
  const body = { security: { admins: NONE, members: NONE }, expected: { admins: NONE, members: NONE } }
  for (const odd of [null, { admins: 7 }, { members: { names: 'ada' } }, { members: { roles: [1] } }]) {
    securities.set('mail', odd)
    const { databases } = await list('?search=mail')
    const securityProblem = 'The `_security` of the database in CouchDB is not made of lists of names and roles.'
    assert.deepEqual(databases, [{ name: 'mail', isInArangodb: false, users: 0, securityProblem }], JSON.stringify(odd))
    const { status, json } = await ask('PUT', '/databases/mail/security', body)
    assert.deepEqual([status, json.error], [502, 'upstream_failed'])
    assert.deepEqual(securities.get('mail'), odd)
  }
  securities.set('mail', {})
})

it('a `_security` that cannot be read says so, and leaves the other rows as they are', async () => {
  securities.set('app', undefined)
  securities.set('billing', 'not an object')
  const { databases, couchdb: state } = await list('')
  assert.deepEqual(
    databases.map(({ name, security, securityProblem }: Listed) => [name, securityProblem ?? security !== undefined]),
    [
      ['_system', false],
      ['a/b', true],
      ['app', 'CouchDB gave no usable answer.'],
      ['billing', 'The `_security` of the database in CouchDB is not made of lists of names and roles.'],
      ['mail', true],
      ['shop', false],
      ['zoo', false],
    ],
  )
  assert.deepEqual(state, { isSet: true })
})

it('an upstream that does not answer is said in words, and the rest is listed', async () => {
  await couchdb.close()
  const { databases, couchdb: state } = await list('')
  assert.deepEqual(
    databases.map(({ name }: Listed) => name),
    ['_system', 'shop', 'zoo'],
  )
  assert.deepEqual(state, { isSet: true, problem: 'CouchDB does not answer. Check that it is running.' })
  await arangodb.close()
  assert.equal((await list('')).arangodb.problem, 'ArangoDB does not answer. Check that it is running.')
})
