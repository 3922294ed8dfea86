// The administrators as the directory needs them: they are part of the configuration.
import { Refusal } from '../base/errors.ts'
import { type AdministratorAccount, findChange } from '../directory/administrators.ts'
import type { Administration } from '../directory/deps.ts'
import type { KeptSession } from '../directory/session-epoch.ts'
import { losesPasskey } from '../directory/users/user.ts'
import { upgradeAdministrator } from './hash-administrators.ts'
import type { LiveConfig } from './live-config.ts'

export const createAdministration = (liveConfig: LiveConfig): Administration => ({
  accounts: () => liveConfig.get().administrators,
  changedAt: (name) => findChange(liveConfig.get().administratorChanges, name)?.seconds,
  position: () => liveConfig.get().position,
  async replaceHash(name, from, to) {
    const { runtime, kernel } = liveConfig
    // the position of a snapshot that was read long ago is no longer marked in the store
    await liveConfig.refresh()
    await upgradeAdministrator(liveConfig.get(), { name, from, to }, { runtime, ...kernel })
    await liveConfig.refresh()
  },
  endSessions: async (name, session) => {
    const kept = toKept(liveConfig.get().administrators.get(name), session)
    await liveConfig.runtime.administrators.endAdministratorSessions(name, kept)
    await liveConfig.refresh()
  },
  async setTotp(name, totp) {
    await liveConfig.runtime.administrators.setTotp(name, totp === undefined ? undefined : JSON.stringify(totp))
    await liveConfig.refresh()
  },
  setPasskeys: (name, change, ending) => setPasskeys(liveConfig, name, change, ending),
  refresh: async () => {
    await liveConfig.refresh()
  },
})

const toKept = (account: AdministratorAccount | undefined, session: KeptSession | undefined) =>
  session && account && { ...session, version: account.version }

const MAX_ATTEMPTS = 100

/** Begins again if another request has changed passkeys or ended sessions of an administrator meanwhile. */
const setPasskeys = async (
  { refresh, get, runtime }: LiveConfig,
  ...[name, change, ending]: Parameters<Administration['setPasskeys']>
): Promise<boolean> => {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    await refresh()
    const { administrators, position: unchangedSince } = get()
    const account = administrators.get(name)
    if (!account) throw new Refusal('not_found')
    const list = change(account.passkeys ?? [])
    const isEnding = ending !== undefined || losesPasskey(account, { passkeys: list })
    const ends = isEnding && { ending: { kept: toKept(account, ending?.kept) } }
    const isWritten = await runtime.administrators.setPasskeys(account, list, { unchangedSince, ...ends })
    await refresh()
    if (isWritten) return isEnding
  }
  throw new Refusal('conflict')
}
