import type { Clock } from '../../base/clock.ts'
import { type Account, toVersion } from '../account.ts'
import { createLiveCache } from '../live-cache.ts'
import type { Hasher } from '../password/hasher.ts'
import { isOutdated } from '../password/password-strength.ts'
import { reviseUser } from '../user.ts'
import type { DirectorySettings } from './needs.ts'
import type { UserWriter } from './user-writer.ts'

export interface UpgradeNeeds {
  readonly hasher: Hasher
  readonly writer: UserWriter
  readonly clock: Clock
  settings(): DirectorySettings
}

export interface Upgrade {
  /** Begins, where there is something to do and nobody does it already. */
  begin(account: Account, password: string): void
  /** Answers when nothing is under way. */
  settled(): Promise<void>
}

const MS_BETWEEN_ATTEMPTS = 5000

export function createUpgrade(needs: UpgradeNeeds): Upgrade {
  const { settings, clock } = needs
  const running = new Map<string, Promise<void>>()
  const attempts = createLiveCache<{ readonly atMs: number }>(() => Math.max(settings().cacheSize, 1))

  const isTooSoon = (name: string) =>
    clock.nowMs() - (attempts.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_ATTEMPTS

  return {
    begin(account, password) {
      const { name } = account
      if (account.isAdmin || !settings().upgradesHashes || !isOutdated(account.password, settings().parameters)) return
      if (running.has(name) || isTooSoon(name)) return
      attempts.set(name, { atMs: clock.nowMs() })
      const work = hashAnew(needs, account, password)
        // too much work, or no store: the next sign-in is the next occasion
        .catch(() => {})
        .finally(() => running.delete(name))
      running.set(name, work)
    },
    settled: async () => void (await Promise.all(running.values())),
  }
}

async function hashAnew({ hasher, writer, settings }: UpgradeNeeds, account: Account, password: string): Promise<void> {
  if (account.password.scheme === 'unusable') return
  const { salt } = account.password
  const hashed = await hasher.hash(password, { ...settings().parameters, salt })
  await writer.write(account.name, (stored) => {
    const user = stored?.record
    const isSame = user?.kind === 'user' && toVersion(user.password) === account.version
    return isSame ? reviseUser(user, { ...user, password: hashed }) : undefined
  })
}
