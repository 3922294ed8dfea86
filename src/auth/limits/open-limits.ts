import { SYSTEM_CLOCK } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Store } from '../../directory/store-port/store.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import { createLimits, type LimitSettings } from './limits.ts'
import { createSharedLimits, shareFailures } from './share.ts'

export interface OpenLimitsDeps {
  settings(): LimitSettings
  readonly store: Store
  readonly events: SecurityEvents
  readonly log: Log
}

const REPORT_ENDED_MS = 1000

/** The limits on password checks, shared with other nodes through the store. */
export function openLimits({ settings, store, events, log }: OpenLimitsDeps) {
  const limits = createLimits({
    settings,
    clock: SYSTEM_CLOCK,
    log,
    onReached: ({ limit, name, seconds }) => events.record('limit.started', { limit, subject: name, seconds }),
    onEnded: ({ name, peer }) =>
      events.record('limit.ended', { limit: 'lockout', subject: name, peer: peer || undefined }),
  })
  const timer = setInterval(limits.reportEnded, REPORT_ENDED_MS).unref()
  const sharing = shareFailures({ counters: limits, store, settings, clock: SYSTEM_CLOCK })
  return {
    guesses: limits,
    /** For the administrator. */
    accounts: createSharedLimits(limits, sharing, events),
    async close() {
      clearInterval(timer)
      await sharing.stop()
    },
  }
}
