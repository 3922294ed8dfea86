import { CacheCounts, createLiveCache, type LiveCache } from '../../base/caches.ts'
import type { Account } from '../account.ts'
import type { Stored, UserStore } from '../store-port/users.ts'
import type { User, UserRecord } from './user.ts'

/** What the store has under a name. */
export interface CachedUser {
  /** The sequence of the record; 0 if there is none. */
  readonly sequence: number
  readonly record: UserRecord | undefined
  /** Set for an active user. */
  readonly account: Account | undefined
}

/** Users as last read, each removed as soon as a change of it is known. */
export class UserCache {
  readonly #store: Pick<UserStore, 'findUser'>
  readonly #toAccount: (user: User) => Account
  readonly #counts: CacheCounts
  readonly #cached: LiveCache<CachedUser>
  readonly #loading = new Map<string, Promise<CachedUser>>()

  constructor(
    store: Pick<UserStore, 'findUser'>,
    toAccount: (user: User) => Account,
    size: () => number,
    counts = new CacheCounts(),
  ) {
    this.#store = store
    this.#toAccount = toAccount
    this.#counts = counts
    this.#cached = createLiveCache<CachedUser>(size)
  }

  /** Asks the store for a name that is not cached. An unknown name is cached only if asked for. */
  async find(name: string, unknown?: 'cache unknown'): Promise<CachedUser> {
    const cached = this.#counts.count(this.#cached.get(name))
    return cached ?? this.#loading.get(name) ?? this.#load(name, unknown !== undefined)
  }

  /** The entry if it is cached now. */
  peek(name: string): CachedUser | undefined {
    // a miss is counted by the `find` that follows
    const user = this.#cached.get(name)
    if (user) this.#counts.hits += 1
    return user
  }

  /** Removes the entry if it is older than this sequence; without a sequence in any case. */
  forget(name: string, sequence = Number.POSITIVE_INFINITY): void {
    this.#loading.delete(name)
    if ((this.#cached.get(name)?.sequence ?? 0) < sequence) this.#cached.delete(name)
  }

  clear(): void {
    this.#loading.clear()
    this.#cached.clear()
  }

  async #load(name: string, cachesUnknown: boolean): Promise<CachedUser> {
    const reading = this.#store.findUser(name).then((stored) => this.#toCached(stored))
    this.#loading.set(name, reading)
    const isOutdated = () => this.#loading.get(name) !== reading
    try {
      const user = await reading
      // a result that a change has outdated is returned to its callers, who asked before the change, but not cached
      if (!isOutdated() && (user.record || cachesUnknown)) this.#cached.set(name, user)
      return user
    } finally {
      if (!isOutdated()) this.#loading.delete(name)
    }
  }

  #toCached(stored: Stored | undefined): CachedUser {
    const record = stored?.record
    const account = record?.kind === 'user' && record.isActive ? this.#toAccount(record) : undefined
    return { sequence: stored?.sequence ?? 0, record, account }
  }
}
