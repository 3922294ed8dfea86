import { createLiveCache } from '../base/live-cache.ts'
import { type Account, toAccount } from './account.ts'
import type { Stored, UserStore } from './store-port.ts'
import type { UserRecord } from './user.ts'

/** What is known of a name. */
export interface KnownUser {
  /** The change that wrote it; 0 where there is nothing. */
  readonly sequence: number
  readonly record: UserRecord | undefined
  /** Of an active user. */
  readonly account: Account | undefined
}

/** Users as they were when last read, forgotten as soon as a change is heard of. */
export interface UserMemory {
  /** Asks the store for what is not known. That there is nobody is remembered only where that is asked for. */
  find(name: string, nobody?: 'remember nobody'): Promise<KnownUser>
  /** Something newer is in the store: at this change, if that is known. */
  forget(name: string, sequence?: number): void
  /** What can be told without asking the store. */
  peek(name: string): KnownUser | undefined
  clear(): void
}

export function createUserMemory(store: Pick<UserStore, 'findUser'>, size: () => number): UserMemory {
  const known = createLiveCache<KnownUser>(size)
  const loading = new Map<string, Promise<KnownUser>>()

  const load = async (name: string, keepsNobody: boolean): Promise<KnownUser> => {
    const reading = store.findUser(name).then(toKnown)
    loading.set(name, reading)
    const isOvertaken = () => loading.get(name) !== reading
    try {
      const user = await reading
      // what a change has overtaken is good for those who asked before it, and not to be kept
      if (!isOvertaken() && (user.record || keepsNobody)) known.set(name, user)
      return user
    } finally {
      if (!isOvertaken()) loading.delete(name)
    }
  }

  return {
    peek: known.get,
    find: async (name, nobody) => known.get(name) ?? loading.get(name) ?? load(name, nobody !== undefined),
    forget(name, sequence = Number.POSITIVE_INFINITY) {
      loading.delete(name)
      if ((known.get(name)?.sequence ?? 0) < sequence) known.delete(name)
    },
    clear() {
      loading.clear()
      known.clear()
    },
  }
}

function toKnown(stored: Stored | undefined): KnownUser {
  const record = stored?.record
  const account = record?.kind === 'user' && record.isActive ? toAccount(record) : undefined
  return { sequence: stored?.sequence ?? 0, record, account }
}
