// The directory, wired: over the store, with the options and administrators in force.
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { createDirectory } from '../directory/create-directory.ts'
import type { Administration } from '../directory/deps.ts'
import type { Directory } from '../directory/directory.ts'
import { upgradeAdministrator } from '../live-config/administrators.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { toHashParameters } from '../live-config/password-options.ts'
import { followChanges } from '../store/feed.ts'
import { toDirectorySettings } from './options.ts'

export function openDirectory(liveConfig: LiveConfig, log: Log): Promise<Directory> {
  const { store, hasher, events } = liveConfig
  const settings = deriveLive(
    deriveLive(liveConfig, (snapshot) => snapshot.settings.values),
    toDirectorySettings,
  )
  return createDirectory({
    store,
    hasher,
    administration: toAdministration(liveConfig, log),
    settings: settings.get,
    follow: (options) => followChanges(store, { ...options, clock: SYSTEM_CLOCK }),
    clock: SYSTEM_CLOCK,
    ownKey: () => liveConfig.get().ownKey,
    events,
    log,
  })
}

const toAdministration = (liveConfig: LiveConfig, log: Log): Administration => ({
  accounts: () => liveConfig.get().administrators,
  changedAt: (name) => liveConfig.get().administratorChanges.get(name)?.seconds,
  sequence: () => liveConfig.get().sequence,
  async replaceHash(name, from, to) {
    const snapshot = liveConfig.get()
    const { runtime, hasher } = liveConfig
    const parameters = toHashParameters(snapshot.settings.values)
    await upgradeAdministrator(snapshot.settings, snapshot, { name, from, to }, { runtime, hasher, parameters, log })
    await liveConfig.refresh()
  },
  endSessions: async (name) => {
    await liveConfig.runtime.endAdministratorSessions(name)
    await liveConfig.refresh()
  },
  refresh: async () => {
    await liveConfig.refresh()
  },
})
