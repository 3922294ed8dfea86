// Which databases exist where there is no upstream: the system database, and every name that a user was granted.
import type { Clock } from '../../base/clock.ts'
import type { Directory } from '../../directory/directory.ts'
import { ALL, SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { User } from '../../directory/users/user.ts'
import { listUserPages } from '../../directory/users/user-operations.ts'
import type { Databases } from './settings.ts'

export interface GrantedDatabasesDeps {
  readonly directory: Pick<Directory, 'findUser' | 'listUsers' | 'onRevoked'>
  /** With an upstream every name may exist: the upstream decides. */
  hasUpstream(): boolean
  readonly clock: Clock
}

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

const createIndex = (): Index => ({ databases: new Map(), byUser: new Map() })

/** For each database a few of the users who were granted it. As long as one of them still is, the database exists. */
class GrantWitnesses {
  #index = createIndex()
  /** Whether some database has lost its last witness although more users had been granted it. */
  isDoubtful = false

  has(database: string): boolean {
    return this.#index.databases.has(database)
  }

  names(): Iterable<string> {
    return this.#index.databases.keys()
  }

  /** Takes over a user as it is now; `undefined`: it was deleted. */
  update(name: string, user: User | undefined): void {
    const databases = databasesOf(user)
    if (removeOthers(this.#index, name, databases)) this.isDoubtful = true
    for (const database of databases) add(this.#index, name, database)
  }

  /** Starts again with all users of the directory. */
  async readAll(directory: Pick<Directory, 'listUsers'>): Promise<void> {
    const next = createIndex()
    for await (const page of listUserPages(directory))
      for (const user of page) for (const database of databasesOf(user)) add(next, user.name, database)
    this.#index = next
    this.isDoubtful = false
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

/** With more changed users than this, reading all users is cheaper. */
const MAX_CHANGED = 1000
/** After reading all users, the next time is put off by so many times its duration. */
const REST_FACTOR = 10

/** Reads nothing before the first use. Then it reads all users once, and after that only those that change. */
export class GrantedDatabases implements Databases {
  readonly #deps: GrantedDatabasesDeps
  readonly #witnesses = new GrantWitnesses()
  readonly #changed = new Set<string>()
  #isComplete = false
  #nextScanMs = 0
  #reading: Promise<void> | undefined

  constructor(deps: GrantedDatabasesDeps) {
    this.#deps = deps
    deps.directory.onRevoked((ended) => {
      if (ended.kind === 'account') this.#changed.add(ended.name)
      if (ended.kind !== 'everything' && this.#changed.size <= MAX_CHANGED) return
      this.#isComplete = false
      this.#changed.clear()
    })
  }

  async exists(name: string): Promise<boolean> {
    if (name === SYSTEM_DATABASE || this.#deps.hasUpstream()) return true
    await this.#catchUp()
    return this.#witnesses.has(name)
  }

  async list(): Promise<readonly string[]> {
    if (this.#deps.hasUpstream()) return [SYSTEM_DATABASE]
    await this.#catchUp()
    return [...new Set([SYSTEM_DATABASE, ...this.#witnesses.names()])].toSorted()
  }

  async #catchUp(): Promise<void> {
    if (this.#isBehind()) await this.#readOnce()
    // a change that arrived while another request was reading is read now
    if (this.#isBehind()) await this.#readOnce()
  }

  #isBehind(): boolean {
    return this.#changed.size > 0 || this.#isScanDue()
  }

  #isScanDue(): boolean {
    const isNeeded = !this.#isComplete || this.#witnesses.isDoubtful
    return isNeeded && this.#deps.clock.nowMs() >= this.#nextScanMs
  }

  /** Concurrent requests share one reading. */
  #readOnce(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    if (this.#isScanDue()) await this.#readAll()
    for (const name of [...this.#changed]) await this.#readChanged(name)
  }

  async #readChanged(name: string): Promise<void> {
    // before the user is read: a change that arrives meanwhile is read again
    this.#changed.delete(name)
    try {
      this.#witnesses.update(name, await this.#deps.directory.findUser(name))
    } catch (error) {
      this.#changed.add(name)
      throw error
    }
  }

  async #readAll(): Promise<void> {
    const { clock, directory } = this.#deps
    const startMs = clock.nowMs()
    this.#changed.clear()
    this.#isComplete = true
    try {
      await this.#witnesses.readAll(directory)
    } catch (error) {
      this.#isComplete = false
      throw error
    }
    this.#nextScanMs = clock.nowMs() + REST_FACTOR * (clock.nowMs() - startMs)
  }
}
