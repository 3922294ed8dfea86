import { nowSeconds } from '../base/clock.ts'
import { createLiveCache } from '../base/live-cache.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { renderAdminPassword } from '../passwords/admin-password.ts'
import { isOutdated } from '../passwords/hash-policy.ts'
import { type Account, toVersion } from './account.ts'
import type { DirectoryDeps } from './deps.ts'
import type { AccountDirectory, UpgradeOptions } from './directory.ts'
import type { Listeners } from './listeners.ts'
import { reviseUser } from './user.ts'
import type { UserWriter } from './user-writer.ts'

export interface UpgradeDeps extends Pick<DirectoryDeps, 'hasher' | 'administration' | 'settings' | 'clock'> {
  readonly writer: UserWriter
  readonly listeners: Listeners
  readonly findAccount: AccountDirectory['findAccount']
}

export interface Upgrade {
  /**
   * Begins, where there is something to do and it is not under way already. Gives the account as it is then. A user's
   * hash is replaced in the background. An administrator's is waited for: it is part of the session epoch, and the
   * session that is about to begin would end with it.
   */
  begin(account: Account, password: string, options?: UpgradeOptions): MaybePromise<Account>
  /** Answers when nothing is under way. */
  settled(): Promise<void>
}

const MS_BETWEEN_ATTEMPTS = 5000

/** How long a stored form that was set at run time stays as it is, unless a session is opened with it. */
const SECONDS_KEPT = 60

export function createUpgrade(deps: UpgradeDeps): Upgrade {
  const { settings, clock } = deps
  const running = new Map<string, Promise<void>>()
  const attempts = createLiveCache<{ readonly atMs: number }>(() => Math.max(settings().cacheSize, 1))

  const isTooSoon = (name: string) =>
    clock.nowMs() - (attempts.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_ATTEMPTS

  const isDue = ({ password }: Account) => settings().upgradesHashes && isOutdated(password, settings().parameters)

  // quirk: recorded case signs-in-with: an administrator's stored form can be read back after a request with it
  const isFresh = ({ isAdmin, sessionEpoch }: Account) =>
    isAdmin && nowSeconds(clock) - sessionEpoch.seconds < SECONDS_KEPT

  const start = (account: Account, password: string): Promise<void> | undefined => {
    const { name } = account
    const underWay = running.get(name)
    if (underWay || isTooSoon(name)) return underWay
    attempts.set(name, { atMs: clock.nowMs() })
    const work = (account.isAdmin ? hashAdministrator : hashUser)(deps, account, password)
      // too much work, or no store: the next sign-in is the next occasion
      .catch(() => {})
      .finally(() => running.delete(name))
    running.set(name, work)
    return work
  }

  return {
    begin(account, password, { opensSession = true } = {}) {
      if (!isDue(account) || (!opensSession && isFresh(account))) return account
      const work = start(account, password)
      return account.isAdmin && work ? work.then(() => findAgain(deps, account)) : account
    },
    settled: async () => void (await Promise.all(running.values())),
  }
}

/** Where another one is found, its sessions are not this one's to begin. */
async function findAgain({ findAccount }: UpgradeDeps, account: Account): Promise<Account> {
  const now = await findAccount(account.name)
  return now?.isAdmin && saltOf(now) === saltOf(account) ? now : account
}

const saltOf = ({ password }: Account): string | undefined => ('salt' in password ? password.salt : undefined)

async function hashUser({ hasher, writer, settings }: UpgradeDeps, account: Account, password: string): Promise<void> {
  const hashed = await hasher.hash(password, { ...settings().parameters, salt: saltOf(account) ?? '' })
  await writer.write(account.name, (stored) => {
    const user = stored?.record
    const isSame = user?.kind === 'user' && toVersion(user.password) === account.version
    return isSame ? reviseUser(user, { ...user, password: hashed }) : undefined
  })
}

async function hashAdministrator(deps: UpgradeDeps, { name, ...account }: Account, password: string): Promise<void> {
  const { hasher, settings, administration, listeners } = deps
  const from = administration.accounts().get(name)
  if (from?.version !== account.version) return
  const hashed = await hasher.hash(password, { ...settings().parameters, salt: saltOf(from) ?? '' })
  await administration.replaceHash(name, from.text, renderAdminPassword(hashed))
  listeners.tell({ kind: 'account', name })
}
