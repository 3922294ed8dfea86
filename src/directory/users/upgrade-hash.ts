import { createLiveCache } from '../../base/caches.ts'
import { nowSeconds } from '../../base/clock.ts'
import { createOutdatedCheck } from '../../passwords/hash-policy.ts'
import { renderAdminPassword, saltOf } from '../../passwords/schemes.ts'
import { type Account, toVersion } from '../account.ts'
import type { DirectoryParts } from '../parts.ts'
import { isSameFactor } from '../password-proof.ts'
import { reviseUser } from './revisions.ts'

const MS_BETWEEN_ATTEMPTS = 5000

/** How long a stored form set at run time is kept, unless a session is opened with it. */
const SECONDS_KEPT = 60

export interface UpgradeOptions {
  /** Whether the password opens a session and was not sent with a single request. `true` by default. */
  readonly opensSession?: boolean
}

export function createHashUpgrade(parts: DirectoryParts) {
  const { settings, clock, source } = parts
  const { start, settled } = createUpgradeRuns(parts)
  const isOutdated = createOutdatedCheck(() => settings().parameters)
  const isWritable = (isAdmin: boolean) => isAdmin || source === undefined || source.upgradesHashes()
  const isDue = ({ password, isAdmin }: Account) =>
    settings().chttpd_auth.upgrade_hash_on_auth && isWritable(isAdmin) && isOutdated(password)

  // quirk: recorded case signs-in-with: an administrator's stored form can be read back after a request with it
  const isJustSet = ({ isAdmin, sessionEpoch }: Account) =>
    isAdmin && nowSeconds(clock) - sessionEpoch.seconds < SECONDS_KEPT
  return {
    /**
     * Hashes the password again, with the same salt, if its stored form is weaker than configured. Returns the account
     * after that. A user's hash is replaced in the background and keeps the sessions; a failure is retried at a later
     * sign-in. An administrator's is awaited: the hash is part of the session epoch, so replacing it revokes the earlier
     * sessions and would revoke the one about to begin.
     */
    async upgradeHash(
      account: Account,
      password: string,
      { opensSession = true }: UpgradeOptions = {},
    ): Promise<Account> {
      if (!isDue(account) || (!opensSession && isJustSet(account))) return account
      const work = start(account, password)
      if (!account.isAdmin || !work) return account
      await work
      return findUpgraded(parts, account)
    },
    /** Whether `upgradeHash` may have something to do. */
    isUpgradeDue: isDue,
    settled,
  }
}

/** At most one at a time for each name, and one every five seconds. */
function createUpgradeRuns(parts: DirectoryParts) {
  const { settings, clock } = parts
  const running = new Map<string, Promise<void>>()
  const attempts = createLiveCache<{ readonly atMs: number }>(() => Math.max(settings().chttpd_auth.auth_cache_size, 1))
  const isTooSoon = (name: string) =>
    clock.nowMs() - (attempts.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_ATTEMPTS
  return {
    start(account: Account, password: string): Promise<void> | undefined {
      const { name } = account
      const started = running.get(name)
      if (started || isTooSoon(name)) return started
      attempts.set(name, { atMs: clock.nowMs() })
      const work = (account.isAdmin ? hashAdministrator : hashUser)(parts, account, password)
        // too much hashing, or no store: a later sign-in tries again
        .catch(() => {})
        .finally(() => running.delete(name))
      running.set(name, work)
      return work
    },
    /** Resolves when no upgrade is running. */
    settled: async () => void (await Promise.all(running.values())),
  }
}

/**
 * The account with its new hash. If another password or second factor was set meanwhile, the caller must not get its
 * session epoch.
 */
async function findUpgraded({ findAccount }: DirectoryParts, account: Account): Promise<Account> {
  const now = await findAccount(account.name)
  return now?.isAdmin && saltOf(now) === saltOf(account) && isSameFactor(now, account) ? now : account
}

async function hashUser(
  { hasher, beginUnasked, findHashParameters }: DirectoryParts,
  account: Account,
  password: string,
) {
  const hashed = await hasher.hash(password, { ...(await findHashParameters()), salt: saltOf(account) })
  await beginUnasked('hash upgrade').writeRecord(account.name, (stored) => {
    const user = stored?.record
    const isSame = user?.kind === 'user' && toVersion(user.password) === account.version
    return isSame ? reviseUser(user, { ...user, password: hashed }) : undefined
  })
}

async function hashAdministrator(parts: DirectoryParts, account: Account, password: string): Promise<void> {
  const { hasher, settings, beginUnasked, revocations } = parts
  const { administration } = beginUnasked('hash upgrade')
  const { name, version } = account
  const current = administration.accounts().get(name)
  if (current?.version !== version) return
  const hashed = await hasher.hash(password, { ...settings().parameters, salt: saltOf(current) })
  await administration.replaceHash(name, current.text, renderAdminPassword(hashed))
  revocations.notify({ kind: 'account', name })
}
