// For each database a few of the users who were granted it. As long as one of them still is, the database exists.
import { ALL } from '../../directory/grants.ts'
import type { User } from '../../directory/users/user.ts'

/** Kept for each database, so that a million users of one database need no memory. */
const MAX_WITNESSES = 8

interface Granted {
  readonly users: Set<string>
  /** Whether more users were granted the database than are kept here. */
  hasMore: boolean
}

interface Index {
  readonly databases: Map<string, Granted>
  /** The databases that each kept user is a witness of. */
  readonly byUser: Map<string, Set<string>>
}

export interface GrantWitnesses {
  has(database: string): boolean
  names(): Iterable<string>
  /** Whether some database has lost its last witness although more users had been granted it. */
  isDoubtful(): boolean
  /** Takes over a user as it is now; `undefined`: it was deleted. */
  update(name: string, user: User | undefined): void
  /** Starts again with these users. */
  replaceAll(users: AsyncIterable<User>): Promise<void>
}

const createIndex = (): Index => ({ databases: new Map(), byUser: new Map() })

export function createGrantWitnesses(): GrantWitnesses {
  let index = createIndex()
  let isDoubtful = false
  return {
    has: (database) => index.databases.has(database),
    names: () => index.databases.keys(),
    isDoubtful: () => isDoubtful,
    update(name, user) {
      const databases = databasesOf(user)
      if (removeOthers(index, name, databases)) isDoubtful = true
      for (const database of databases) add(index, name, database)
    },
    async replaceAll(users) {
      const next = createIndex()
      for await (const user of users) for (const database of databasesOf(user)) add(next, user.name, database)
      index = next
      isDoubtful = false
    },
  }
}

const databasesOf = (user: User | undefined): ReadonlySet<string> =>
  new Set([...(user?.multiModel.grants.keys() ?? [])].filter((database) => database !== ALL))

function add({ databases, byUser }: Index, name: string, database: string): void {
  const granted = databases.get(database) ?? { users: new Set<string>(), hasMore: false }
  databases.set(database, granted)
  if (granted.users.has(name)) return
  if (granted.users.size >= MAX_WITNESSES) {
    granted.hasMore = true
    return
  }
  granted.users.add(name)
  byUser.set(name, (byUser.get(name) ?? new Set()).add(database))
}

/** Removes a user from every database but `kept`. Returns whether one of them may still exist without a witness. */
function removeOthers({ databases, byUser }: Index, name: string, kept: ReadonlySet<string>): boolean {
  let isDoubtful = false
  for (const database of byUser.get(name) ?? []) {
    const granted = databases.get(database)
    if (kept.has(database) || !granted) continue
    granted.users.delete(name)
    byUser.get(name)?.delete(database)
    if (granted.users.size > 0) continue
    if (granted.hasMore) isDoubtful = true
    else databases.delete(database)
  }
  if (byUser.get(name)?.size === 0) byUser.delete(name)
  return isDoubtful
}
