// The limits on password checks, wired: with the options in force, and shared with other nodes through the store.

import { createLimits, type PasswordLimits } from '../auth/limits/limits.ts'
import { shareFailures } from '../auth/limits/share.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { toLimitSettings } from './options.ts'

export interface Limits {
  readonly guesses: PasswordLimits
  close(): Promise<void>
}

export function openLimits(liveConfig: LiveConfig, log: Log): Limits {
  const settings = deriveLive(liveConfig, (snapshot) => toLimitSettings(snapshot.settings.values))
  const limits = createLimits({
    settings: settings.get,
    clock: SYSTEM_CLOCK,
    log,
    onReached: ({ limit, name, seconds }) =>
      liveConfig.events.record('limit.started', { limit, subject: name, seconds }),
  })
  const sharing = shareFailures({
    counters: limits,
    store: liveConfig.store,
    settings: settings.get,
    clock: SYSTEM_CLOCK,
  })
  return { guesses: limits, close: sharing.stop }
}
