// The administrators as the directory needs them: they are part of the configuration.
import { findChange } from '../directory/administrators.ts'
import type { Administration } from '../directory/deps.ts'
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
    const version = liveConfig.get().administrators.get(name)?.version
    const kept = session && version !== undefined ? { ...session, version } : undefined
    await liveConfig.runtime.administrators.endAdministratorSessions(name, kept)
    await liveConfig.refresh()
  },
  async setTotp(name, totp) {
    await liveConfig.runtime.administrators.setTotp(name, totp === undefined ? undefined : JSON.stringify(totp))
    await liveConfig.refresh()
  },
  refresh: async () => {
    await liveConfig.refresh()
  },
})
