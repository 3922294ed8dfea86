/** The databases of users in ArangoDB. Who may use one is a grant there, and in the directory for the door. */
import { randomBytes } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import { PROGRAM } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import { findTextMember, requireStatus, type ServerReply } from '../reply.ts'
import { type Ask, refuse, requireNames, type UserDatabaseServer } from './server.ts'

const SERVER = 'ArangoDB'
const API = `/_db/${SYSTEM_DATABASE}/_api`

export const createArangodb = (ask: Ask, directory: Pick<Directory, 'setGrant'>): UserDatabaseServer => ({
  async create(database, user, { mayBeHalfMade, claim, onAccepted }) {
    const reply = await ask(`${API}/database`, 'POST', toCreation(database, user))
    // 400: the name or the user is not accepted; 409: it exists
    const { status, body } = requireStatus(SERVER, 'the creation of a database', reply, 201, 400, 409)
    if (status === 400) return refuse(`ArangoDB refuses it: ${findTextMember(body, 'errorMessage')}`)
    const isGranted = status === 201 || (await readLevel(ask, database, user)) === 'rw'
    if (!isGranted && claim === 'any') await grant(ask, database, user)
    else if (!isGranted) {
      const reason = 'the database exists, and the user has no grant on it'
      if (mayBeHalfMade) throw new Refusal('upstream_failed', { detail: reason })
      return refuse(reason)
    }
    if (status === 409 && claim === 'none' && !(await isEmpty(ask, database)))
      return refuse('the database exists, with collections of an earlier user')
    await onAccepted?.()
    await directory.setGrant(user, PROGRAM, { database }, 'rw')
    await directory.setGrant(user, PROGRAM, { database, collection: ALL }, 'rw')
    return { state: status === 201 || !isGranted ? 'given' : 'had' }
  },
  async keep(database, user) {
    if ((await readLevel(ask, database, user)) !== 'rw') return undefined
    requireStatus(SERVER, 'the removal of a grant', await ask(toGrantPath(database, user), 'DELETE'), 200, 202, 404)
    return 'kept'
  },
  async remove(database, user) {
    if ((await readLevel(ask, database, user)) !== 'rw') return undefined
    const path = `${API}/database/${encodeURIComponent(database)}`
    requireStatus(SERVER, 'the removal of a database', await ask(path, 'DELETE'), 200, 404)
    return 'removed'
  },
  async list(prefix) {
    const reply = requireStatus(SERVER, 'the list of databases', await ask(`${API}/database`), 200)
    return requireNames(SERVER, findResult(reply)).filter((name) => name.startsWith(prefix))
  },
})

/** For a user that ArangoDB does not know yet. It is kept nowhere: users sign in at Cardea. */
const createPassword = (): string => randomBytes(32).toString('base64url')

const toCreation = (name: string, username: string) => ({
  name,
  users: [{ username, passwd: createPassword(), active: true }],
})

async function grant(ask: Ask, database: string, user: string): Promise<void> {
  const created = await ask(`${API}/user`, 'POST', { user, passwd: createPassword() })
  requireStatus(SERVER, 'the creation of a user', created, 201, 409)
  const granted = await ask(toGrantPath(database, user), 'PUT', { grant: 'rw' })
  requireStatus(SERVER, 'a grant', granted, 200)
}

async function isEmpty(ask: Ask, database: string): Promise<boolean> {
  const path = `/_db/${encodeURIComponent(database)}/_api/collection?excludeSystem=true`
  const collections = findResult(requireStatus(SERVER, 'the list of collections', await ask(path), 200))
  return Array.isArray(collections) && collections.length === 0
}

const toGrantPath = (database: string, user: string): string =>
  `${API}/user/${encodeURIComponent(user)}/database/${encodeURIComponent(database)}`

const findResult = ({ body }: ServerReply): unknown => (isJsonObject(body) ? body['result'] : undefined)

/** The grant of the user in ArangoDB; `none` too if there is no such user or database. */
async function readLevel(ask: Ask, database: string, user: string): Promise<string> {
  const reply = requireStatus(SERVER, 'the grant of a user', await ask(toGrantPath(database, user)), 200, 400, 404)
  if (reply.status !== 200) return 'none'
  const level = findResult(reply)
  if (typeof level === 'string') return level
  throw new Refusal('upstream_failed', { detail: 'ArangoDB returned no level of a grant' })
}
