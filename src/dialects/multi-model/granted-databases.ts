// Which databases exist where there is no upstream: the system database, and every name that a user was granted.
import type { Clock } from '../../base/clock.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import type { RevocationFeed } from '../../directory/revocation.ts'
import { listUserPages } from '../../directory/users/list-user-pages.ts'
import type { User } from '../../directory/users/user.ts'
import type { UserReader } from '../../directory/users/user-directory.ts'
import type { Databases } from './access.ts'
import { createGrantWitnesses } from './grant-witnesses.ts'

export interface GrantedDatabasesDeps {
  readonly directory: Pick<UserReader, 'findUser' | 'listUsers'> & RevocationFeed
  /** With an upstream every name may exist: the upstream decides. */
  hasUpstream(): boolean
  readonly clock: Clock
}

/** With more changed users than this, reading all users is cheaper. */
const MAX_CHANGED = 1000
/** After reading all users, the next time is put off by so many times its duration. */
const REST_FACTOR = 10

/** Reads nothing before the first use. Then it reads all users once, and after that only those that change. */
export class GrantedDatabases implements Databases {
  readonly #deps: GrantedDatabasesDeps
  readonly #witnesses = createGrantWitnesses()
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
    const isNeeded = !this.#isComplete || this.#witnesses.isDoubtful()
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
      await this.#witnesses.replaceAll(listAllUsers(directory))
    } catch (error) {
      this.#isComplete = false
      throw error
    }
    this.#nextScanMs = clock.nowMs() + REST_FACTOR * (clock.nowMs() - startMs)
  }
}

async function* listAllUsers(directory: Pick<UserReader, 'listUsers'>): AsyncGenerator<User> {
  for await (const page of listUserPages(directory)) yield* page
}
