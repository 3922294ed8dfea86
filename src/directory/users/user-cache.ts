import { CacheCounts, createLiveCache } from '../../base/caches.ts'
import { type Account, toAccount } from '../account.ts'
import type { Stored, UserStore } from '../store-port/users.ts'
import type { UserRecord } from './user.ts'

/** What the store has under a name. */
export interface CachedUser {
  /** The sequence of the record; 0 if there is none. */
  readonly sequence: number
  readonly record: UserRecord | undefined
  /** Set for an active user, unless it is withheld. */
  readonly account: Account | undefined
}

export type UserCache = ReturnType<typeof createUserCache>

interface UserCacheDeps {
  readonly store: Pick<UserStore, 'findUser'>
  size(): number
  /** The sequence up to which all changes are known. */
  knownTo(): number
  readonly counts?: CacheCounts | undefined
}

/** Users as last read, each removed as soon as a change of it is known. */
export function createUserCache({ store, size, knownTo, counts = new CacheCounts() }: UserCacheDeps) {
  const cached = createLiveCache<CachedUser>(size)
  const loading = new Map<string, Promise<CachedUser>>()
  const toCached = (stored: Stored | undefined): CachedUser => {
    const record = stored?.record
    const account = record?.kind === 'user' && record.isActive && !record.isWithheld ? toAccount(record) : undefined
    return { sequence: stored?.sequence ?? 0, record, account }
  }
  const load = async (name: string, cachesUnknown: boolean): Promise<CachedUser> => {
    const known = knownTo()
    const reading = store.findUser(name).then(toCached)
    loading.set(name, reading)
    const isOutdated = () => loading.get(name) !== reading
    try {
      const user = await reading
      // A result that a change has outdated is returned to its callers, who asked before the change, but not cached. Nor is
      // one of a change that was not known yet: if a failover loses that change, no later one would remove it.
      if (!isOutdated() && user.sequence <= known && (user.record || cachesUnknown)) cached.set(name, user)
      return user
    } finally {
      if (!isOutdated()) loading.delete(name)
    }
  }
  return {
    /** Asks the store for a name that is not cached. An unknown name is cached only if asked for. */
    find: async (name: string, unknown?: 'cache unknown'): Promise<CachedUser> =>
      counts.count(cached.get(name)) ?? loading.get(name) ?? load(name, unknown !== undefined),
    /** The entry if it is cached now. */
    peek(name: string): CachedUser | undefined {
      // a miss is counted by the `find` that follows
      const user = cached.get(name)
      if (user) counts.hits += 1
      return user
    },
    forget(name: string): void {
      loading.delete(name)
      cached.delete(name)
    },
    clear(): void {
      loading.clear()
      cached.clear()
    },
  }
}
