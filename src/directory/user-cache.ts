import { CacheCounts } from '../base/cache-counts.ts'
import { createLiveCache } from '../base/live-cache.ts'
import { type Account, toAccount } from './account.ts'
import type { Stored, UserStore } from './store-port.ts'
import type { UserRecord } from './user.ts'

/** What the store has under a name. */
export interface CachedUser {
  /** The sequence of the record; 0 if there is none. */
  readonly sequence: number
  readonly record: UserRecord | undefined
  /** Set for an active user. */
  readonly account: Account | undefined
}

/** Users as last read, each removed as soon as a change of it is known. */
export interface UserCache {
  /** Asks the store for a name that is not cached. An unknown name is cached only if asked for. */
  find(name: string, unknown?: 'cache unknown'): Promise<CachedUser>
  /** The entry if it is cached now. */
  peek(name: string): CachedUser | undefined
  /** Removes the entry if it is older than this sequence; without a sequence in any case. */
  forget(name: string, sequence?: number): void
  clear(): void
}

export function createUserCache(
  store: Pick<UserStore, 'findUser'>,
  size: () => number,
  counts = new CacheCounts(),
): UserCache {
  const cached = createLiveCache<CachedUser>(size)
  const loading = new Map<string, Promise<CachedUser>>()

  const load = async (name: string, cachesUnknown: boolean): Promise<CachedUser> => {
    const reading = store.findUser(name).then(toCached)
    loading.set(name, reading)
    const isOutdated = () => loading.get(name) !== reading
    try {
      const user = await reading
      // a result that a change has outdated is returned to its callers, who asked before the change, but not cached
      if (!isOutdated() && (user.record || cachesUnknown)) cached.set(name, user)
      return user
    } finally {
      if (!isOutdated()) loading.delete(name)
    }
  }

  return {
    find: async (name, unknown) =>
      counts.count(cached.get(name)) ?? loading.get(name) ?? load(name, unknown !== undefined),
    peek(name) {
      // a miss is counted by the `find` that follows
      const user = cached.get(name)
      if (user) counts.hits += 1
      return user
    },
    forget(name, sequence = Number.POSITIVE_INFINITY) {
      loading.delete(name)
      if ((cached.get(name)?.sequence ?? 0) < sequence) cached.delete(name)
    },
    clear() {
      loading.clear()
      cached.clear()
    },
  }
}

function toCached(stored: Stored | undefined): CachedUser {
  const record = stored?.record
  const account = record?.kind === 'user' && record.isActive ? toAccount(record) : undefined
  return { sequence: stored?.sequence ?? 0, record, account }
}
