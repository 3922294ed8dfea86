import { type Clock, nowSeconds } from '../base/clock.ts'
import { type ErrorCode, Refusal } from '../base/errors.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import { findHashWork } from '../passwords/schemes.ts'
import type { Account } from './account.ts'
import type { ChangeTracker } from './change-tracker.ts'
import type { Administration, DirectoryDeps } from './deps.ts'
import type { UserStore } from './store-port/users.ts'
import { hasPasskeys, isExpired } from './users/user.ts'
import type { CachedUser, UserCache } from './users/user-cache.ts'

export function createAccountFinder(
  administration: Administration,
  cache: UserCache,
  tracker: ChangeTracker,
  { clock, settings, source }: Pick<DirectoryDeps, 'clock' | 'settings' | 'source'>,
) {
  const toAccount = (name: string, user: CachedUser | undefined): Account | undefined => {
    const administrator = administration.accounts().get(name)
    const account = user?.account && isValid(user.account, clock) ? user.account : undefined
    const found = administrator ? withRoles(administrator, account?.roles ?? []) : account
    const lacksTotp =
      found && found.totp === undefined && needsFactor(found.roles, settings().admin['second-factor-roles'])
    if (!lacksTotp) return found
    return hasPasskeys(found) ? { ...found, needsPasskey: true } : { ...found, mustSetUpFactor: true }
  }
  // administrators are Cardea's own
  const isOutdated = (name: string): boolean => source?.isStale() === true && !administration.accounts().has(name)
  const requireCurrent = (name: string): void => {
    if (isOutdated(name)) throw new Refusal('store_unavailable', { detail: 'the copy of the users is too old' })
  }
  const peekUser = (name: string): CachedUser | undefined =>
    tracker.isStale() || isOutdated(name) ? undefined : cache.peek(name)
  return {
    peekUser,
    toAccount,
    /** Throws while the users are those of another server, and the copy is too old. */
    requireCurrent,
    /**
     * An administrator, with the roles of the user of the same name added; otherwise an active user. Served from the cache
     * if possible: while the cache is fresh, the store is not needed.
     */
    async findAccount(name: string): Promise<Account | undefined> {
      if (tracker.isStale()) await tracker.requireFresh()
      requireCurrent(name)
      const isAdministrator = administration.accounts().has(name)
      const user = cache.peek(name) ?? (await (isAdministrator ? findWithoutFailure(cache, name) : cache.find(name)))
      return toAccount(name, user)
    },
    /** The account if it is in the cache; `undefined`: ask `findAccount`. */
    peekAccount(name: string): Account | undefined {
      const user = peekUser(name)
      return user && toAccount(name, user)
    },
  }
}

export const needsFactor = (roles: readonly string[], required: readonly string[]): boolean =>
  required.length > 0 && roles.some((role) => required.includes(role))

/** Most users have no expiry, and reading the clock takes longer than all else here. */
export const isValid = (user: Pick<Account, 'expiresAt'>, clock: Clock): boolean =>
  user.expiresAt === undefined || !isExpired(user, nowSeconds(clock))

/** Without the store or the record, an administrator can still sign in, but without the roles of the user of the same name. */
async function findWithoutFailure(cache: UserCache, name: string): Promise<CachedUser | undefined> {
  try {
    return await cache.find(name, 'cache unknown')
  } catch (error) {
    if (error instanceof Refusal && UNREADABLE.has(error.code)) return undefined
    throw error
  }
}

const UNREADABLE: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'record_damaged'])

const withRoles = (account: Account, roles: readonly string[]): Account =>
  roles.length === 0 ? account : { ...account, roles: [...account.roles, ...roles] }

/** The cost of verifying the passwords of users and administrators. */
export function createHashWorkList(store: UserStore, administration: Administration) {
  let ofUsers: readonly HashWork[] = []
  const ofAdministrators = () =>
    [...administration.accounts().values()].flatMap(({ password }) => findHashWork(password) ?? [])
  return {
    list: (): readonly HashWork[] => [...ofUsers, ...ofAdministrators()],
    /** Asks the store again after users have changed. */
    async refresh() {
      ofUsers = await store.listHashWork()
    },
  }
}
