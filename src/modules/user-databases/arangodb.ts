/** The databases of users in ArangoDB. Who may use one is a grant there, and in the directory for the door. */
import { randomBytes } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import { PROGRAM } from '../../directory/caller.ts'
import type { Directory } from '../../directory/directory.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import { type Ask, findTextMember, requireStatus, type UserDatabaseServer } from './server.ts'

const SERVER = 'ArangoDB'
const API = `/_db/${SYSTEM_DATABASE}/_api`

export const createArangodb = (ask: Ask, directory: Pick<Directory, 'setGrant'>): UserDatabaseServer => ({
  async create(database, user, { mayBeHalfMade }) {
    const reply = await ask(`${API}/database`, 'POST', toCreation(database, user))
    // 400: the name or the user is not accepted; 409: it exists
    const { status, body } = requireStatus(SERVER, 'the creation of a database', reply, 201, 400, 409)
    if (status === 400) return `ArangoDB refuses it: ${findTextMember(body, 'errorMessage')}`
    if (status === 409 && (await readLevel(ask, database, user)) !== 'rw') {
      const reason = 'the database exists, and the user has no grant on it'
      if (mayBeHalfMade) throw new Refusal('upstream_failed', { detail: reason })
      return reason
    }
    await directory.setGrant(user, PROGRAM, { database }, 'rw')
    await directory.setGrant(user, PROGRAM, { database, collection: ALL }, 'rw')
    return undefined
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
})

/** A user that ArangoDB does not know yet gets a password that is kept nowhere: users sign in at Cardea. */
const toCreation = (name: string, username: string) => ({
  name,
  users: [{ username, passwd: randomBytes(32).toString('base64url'), active: true }],
})

const toGrantPath = (database: string, user: string): string =>
  `${API}/user/${encodeURIComponent(user)}/database/${encodeURIComponent(database)}`

/** The grant of the user in ArangoDB; `none` too if there is no such user or database. */
async function readLevel(ask: Ask, database: string, user: string): Promise<string> {
  const reply = requireStatus(SERVER, 'the grant of a user', await ask(toGrantPath(database, user)), 200, 400, 404)
  if (reply.status !== 200) return 'none'
  const level = isJsonObject(reply.body) ? reply.body['result'] : undefined
  if (typeof level === 'string') return level
  throw new Refusal('upstream_failed', { detail: 'ArangoDB returned no level of a grant' })
}
