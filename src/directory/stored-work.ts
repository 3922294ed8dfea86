import type { HashWork } from '../passwords/hash-work.ts'
import { findHashWork } from '../passwords/schemes.ts'
import type { Administration } from './deps.ts'
import type { UserStore } from './store-port.ts'

/** What the passwords of users and administrators cost. */
export interface StoredWork {
  list(): readonly HashWork[]
  /** Asks the store again: users have changed. */
  refresh(): Promise<void>
}

export function createStoredWork(store: Pick<UserStore, 'listHashWork'>, administration: Administration): StoredWork {
  let ofUsers: readonly HashWork[] = []
  const ofAdministrators = () =>
    [...administration.accounts().values()].flatMap(({ password }) => findHashWork(password) ?? [])
  return {
    list: () => [...ofUsers, ...ofAdministrators()],
    async refresh() {
      ofUsers = await store.listHashWork()
    },
  }
}
