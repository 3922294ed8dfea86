/** A server whose users are in a document database in memory. */
import { createHash, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type MemoryDatabase, openPouchdbServer } from './pouchdb-server.ts'
import { AS_ADMIN, basic, type Reply, send } from './request.ts'
import type { Scope } from './scope.ts'
import { type AnyOptions, type Server, startServer } from './server.ts'
import { beforeDocument } from './upstream.ts'
import { waitUntil } from './wait.ts'

export const toId = (name: string): string => `org.couchdb.user:${name}`

/** The members of a document for a password, as CouchDB 3.5 makes them; with the same salt, as its upgrades do. */
export function hashPassword(password: string, { salt = randomBytes(16).toString('hex'), iterations = 10 } = {}) {
  const key = pbkdf2Sync(password, salt, iterations, 32, 'sha256').toString('hex')
  return { password_scheme: 'pbkdf2', pbkdf2_prf: 'sha256', salt, iterations, derived_key: key }
}

/** As CouchDB 1 hashed it. */
export function hashSimply(password: string, salt: string) {
  return {
    password_scheme: 'simple',
    salt,
    password_sha: createHash('sha1')
      .update(password + salt)
      .digest('hex'),
  }
}

export const toDocument = (name: string, password = 'pw', more: object = {}): object => ({
  _id: toId(name),
  type: 'user',
  name,
  roles: [],
  ...hashPassword(password),
  ...more,
})

/** A change made at the database, as by another client of it. Members of the password are replaced together. */
export async function changeUser(users: MemoryDatabase, name: string, members: object): Promise<string> {
  const { rev } = await users.put({ ...(await users.get(toId(name))), ...members })
  return rev
}

export async function removeUser(users: MemoryDatabase, name: string): Promise<void> {
  await users.remove(toId(name), String((await users.get(toId(name)))['_rev']))
}

/** Failed attempts must not limit the others of a test. */
export const UNLIMITED = { auth: { 'account-failures': 0, 'peer-failures': 0 }, chttpd_auth_lockout: { mode: 'off' } }

export const IN_COUCHDB = { directory: { source: 'couchdb' } }

export async function openUsersInCouchdb(scope: Scope, documents: readonly object[], ...more: AnyOptions[]) {
  const database = await openPouchdbServer(scope)
  const users = database.open('_users')
  await users.bulkDocs(documents)
  const server = await startServer(scope, beforeDocument(database.url), IN_COUCHDB, ...more)
  return { database, users, server, ...createActs(server) }
}

export function createActs({ document }: Pick<Server, 'document'>) {
  const signIn = (name: string, password = 'pw'): Promise<Reply> =>
    send(document, { method: 'POST', path: '/_session', body: { name, password } })
  const api = (method: string, path: string, body?: object) =>
    send(document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body && { body }) })
  const findHealth = async () => {
    const parts: readonly { name: string; state: string; problem?: string }[] = (await api('GET', '/health')).json.parts
    return parts.find(({ name }) => name === 'users in CouchDB')
  }
  return {
    signIn,
    api,
    findHealth,
    isReady: () => waitUntil(async () => (await send(document, { path: '/_up' })).status === 200),
    /** Waits until a sign-in has this status. */
    becomes: (status: number, name: string, password = 'pw') =>
      waitUntil(async () => (await signIn(name, password)).status === status),
    /** The request of a user with this cookie. */
    isSignedIn: async (cookie: string) =>
      (await send(document, { path: '/_session', headers: { Cookie: cookie } })).json?.userCtx?.name !== null,
    openSession: async (name: string, password = 'pw') =>
      (await signIn(name, password)).header('set-cookie')?.split(';')[0] ?? '',
    as: (name: string, password = 'pw') => basic(name, password),
  }
}
