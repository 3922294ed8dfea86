import { ALL } from '../../directory/grants.ts'
import type { User } from '../../directory/user.ts'

const MAX_WITNESSES = 8

interface Granted {
  readonly users: Set<string>
  /** Others were granted it too, and nobody noted who. */
  hasMore: boolean
}

interface Notes {
  readonly databases: Map<string, Granted>
  /** The databases each user is noted for. */
  readonly byUser: Map<string, Set<string>>
}

/** For each database a few users who were granted it: as long as one of them still is, it exists. */
export interface Witnesses {
  has(database: string): boolean
  names(): Iterable<string>
  /** The last user noted for some database is gone, and there may be others. */
  isDoubtful(): boolean
  /** A user as it is now; `undefined`: it is gone. */
  see(name: string, user: User | undefined): void
  /** Forgets everything but these. */
  seeOnly(users: AsyncIterable<User>): Promise<void>
}

const createNotes = (): Notes => ({ databases: new Map(), byUser: new Map() })

export function createWitnesses(): Witnesses {
  let notes = createNotes()
  let isDoubtful = false
  return {
    has: (database) => notes.databases.has(database),
    names: () => notes.databases.keys(),
    isDoubtful: () => isDoubtful,
    see(name, user) {
      const databases = databasesOf(user)
      if (withdraw(notes, name, databases)) isDoubtful = true
      for (const database of databases) note(notes, name, database)
    },
    async seeOnly(users) {
      const fresh = createNotes()
      for await (const user of users) for (const database of databasesOf(user)) note(fresh, user.name, database)
      notes = fresh
      isDoubtful = false
    },
  }
}

const databasesOf = (user: User | undefined): ReadonlySet<string> =>
  new Set([...(user?.multiModel.grants.keys() ?? [])].filter((database) => database !== ALL))

function note({ databases, byUser }: Notes, name: string, database: string): void {
  const granted = databases.get(database) ?? { users: new Set<string>(), hasMore: false }
  databases.set(database, granted)
  if (granted.users.has(name)) return
  granted.hasMore ||= granted.users.size >= MAX_WITNESSES
  if (granted.users.size >= MAX_WITNESSES) return
  granted.users.add(name)
  byUser.set(name, (byUser.get(name) ?? new Set()).add(database))
}

/** Takes a user's name from every database but these. Gives whether that leaves one in doubt. */
function withdraw({ databases, byUser }: Notes, name: string, kept: ReadonlySet<string>): boolean {
  let leavesDoubt = false
  for (const database of byUser.get(name) ?? []) {
    const granted = databases.get(database)
    if (kept.has(database) || !granted) continue
    granted.users.delete(name)
    byUser.get(name)?.delete(database)
    if (granted.users.size > 0) continue
    if (granted.hasMore) leavesDoubt = true
    else databases.delete(database)
  }
  if (byUser.get(name)?.size === 0) byUser.delete(name)
  return leavesDoubt
}
