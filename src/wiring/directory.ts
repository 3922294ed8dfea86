// The directory, wired: over the store, with the options and administrators in force.
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { createDirectory } from '../directory/create-directory.ts'
import type { Administration } from '../directory/deps.ts'
import type { Directory } from '../directory/directory.ts'
import { upgradeAdministrator } from '../live-config/administrators.ts'
import type { State } from '../live-config/live-config.ts'
import { toHashParameters } from '../live-config/password-options.ts'
import { followChanges } from '../store/feed.ts'
import { toDirectorySettings } from './options.ts'

export function openDirectory(state: State, log: Log): Promise<Directory> {
  const { store, hasher, events } = state
  const settings = deriveLive(
    deriveLive(state, (inForce) => inForce.settings.values),
    toDirectorySettings,
  )
  return createDirectory({
    store,
    hasher,
    administration: toAdministration(state, log),
    settings: settings.get,
    follow: (options) => followChanges(store, { ...options, clock: SYSTEM_CLOCK }),
    clock: SYSTEM_CLOCK,
    ownKey: () => state.get().ownKey,
    events,
    log,
  })
}

const toAdministration = (state: State, log: Log): Administration => ({
  accounts: () => state.get().administrators,
  changedAt: (name) => state.get().administratorChanges.get(name)?.seconds,
  sequence: () => state.get().sequence,
  async replaceHash(name, from, to) {
    const inForce = state.get()
    const { runtime, hasher } = state
    const parameters = toHashParameters(inForce.settings.values)
    await upgradeAdministrator(inForce.settings, inForce, { name, from, to }, { runtime, hasher, parameters, log })
    await state.refresh()
  },
  endSessions: async (name) => {
    await state.runtime.endAdministratorSessions(name)
    await state.refresh()
  },
  refresh: async () => {
    await state.refresh()
  },
})
