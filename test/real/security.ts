/** Every cell of the matrix is asked twice: through Cardea, and of CouchDB itself with the same user there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, basic } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'
import type { Couchdb } from './couchdb.ts'
import type { Scene } from './in-front.ts'

const NONE = { names: [], roles: [] }
const SECURITY: Readonly<Record<string, object>> = {
  'administrators only': { admins: { names: [], roles: ['_admin'] }, members: { names: [], roles: ['_admin'] } },
  'no members': { admins: NONE, members: NONE },
  'a member by name': { admins: NONE, members: { names: ['matrix-ann'], roles: [] } },
  'members by role': { admins: NONE, members: { names: [], roles: ['writers'] } },
  'an administrator by name': { admins: { names: ['matrix-ann'], roles: [] }, members: { names: [], roles: ['none'] } },
  'administrators by role': { admins: { names: [], roles: ['leads'] }, members: { names: ['matrix-cy'], roles: [] } },
}

type Operation = readonly [method: string, path: string, body?: unknown]

const OPERATIONS: readonly Operation[] = [
  ['GET', ''],
  ['GET', '/there'],
  ['HEAD', '/there'],
  ['GET', '/_changes'],
  ['GET', '/_all_docs'],
  ['GET', '/_security'],
  ['GET', '/_design/view'],
  ['POST', '/_bulk_get', { docs: [{ id: 'there' }] }],
  ['POST', '/_find', { selector: {} }],
  ['POST', '', {}],
  ['POST', '/_bulk_docs', { docs: [{}] }],
  ['PUT', '/_design/new', {}],
  ['PUT', '/_revs_limit', 900],
  ['POST', '/_compact', {}],
]

interface Identity {
  readonly name: string
  readonly direct: Record<string, string>
  readonly through: Record<string, string>
}

const ROLES: Readonly<Record<string, readonly string[]>> = {
  'matrix-ann': ['writers'],
  'matrix-bob': ['leads'],
  'matrix-cy': [],
}

export function testSecurity(scene: Scene): void {
  test('_security decides through Cardea as it does in CouchDB', async (t) => {
    const identities = await createIdentities(t, scene)
    let cells = 0
    for (const [title, security] of Object.entries(SECURITY)) {
      const direct = await createDatabase(t, scene, security)
      const through = await createDatabase(t, scene, security)
      for (const identity of identities)
        for (const operation of OPERATIONS) {
          const expected = await ask(`${scene.couchdb.url}/${direct}`, operation, identity.direct)
          const actual = await ask(`${scene.url()}/${through}`, operation, identity.through)
          assert.equal(actual, expected, `${title}, ${identity.name}: ${operation[0]} ${operation[1]}`)
          cells += 1
        }
    }
    t.diagnostic(`${cells} cells agree`)
  })
}

async function createDatabase(scope: Scope, scene: Scene, security: object): Promise<string> {
  const name = await scene.createDatabase(scope, security)
  await scene.couchdb.request('PUT', `/${name}/there`, {})
  await scene.couchdb.request('PUT', `/${name}/_design/view`, {})
  return name
}

async function ask(url: string, [method, path, body]: Operation, headers: Record<string, string>): Promise<number> {
  const payload = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, 'Content-Type': 'application/json' },
    ...payload,
  })
  await response.arrayBuffer()
  return response.status
}

async function createIdentities(scope: Scope, { couchdb, createUser }: Scene): Promise<Identity[]> {
  const { username, password } = new URL(couchdb.urlWithCredentials)
  const identities: Identity[] = [
    { name: 'anonymous', direct: {}, through: {} },
    { name: 'admin', direct: { Authorization: basic(username, password) }, through: ADMIN },
  ]
  for (const [name, roles] of Object.entries(ROLES)) {
    const { headers, password: own } = await createUser(name, roles)
    await copyUser(scope, couchdb, { name, password: own, roles })
    identities.push({ name, direct: headers, through: headers })
  }
  return identities
}

interface CopiedUser {
  readonly name: string
  readonly password: string
  readonly roles: readonly string[]
}

/** The same user in CouchDB itself. */
async function copyUser(scope: Scope, couchdb: Couchdb, user: CopiedUser): Promise<void> {
  const path = `/_users/org.couchdb.user:${user.name}`
  const made = await couchdb.request('PUT', path, { type: 'user', ...user })
  assert.ok(typeof made === 'object' && made !== null && 'rev' in made)
  scope.after(() => couchdb.request('DELETE', `${path}?rev=${made.rev}`))
}
