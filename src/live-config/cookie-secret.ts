// What session cookies are made with, followed through changes of the configuration.
import {
  type CookieSecrets,
  type CookieTimeouts,
  createCookieSecrets,
  createCookieTimeouts,
  toGraceSeconds,
} from '../auth/session/secrets.ts'
import { nowSeconds } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import { deriveSecret } from '../base/siblings.ts'
import { findTimeout, listRetired, type TimeoutOption } from './kept-timeouts.ts'
import type { LiveConfig } from './live-config.ts'
import { USES } from './shared-secrets.ts'

/** Follows `chttpd_auth.secret`. A change marked as such, on any node, rejects cookies of earlier secrets at once. */
export function followCookieSecret(liveConfig: LiveConfig, timeoutSeconds: () => number): CookieSecrets {
  // the environment or a flag may set an empty secret: then cookies are valid as long as the server runs
  const ownSecret = deriveSecret(liveConfig.kernel.siblings.seed, 'session cookies').toString('hex')
  const secret = deriveLive(liveConfig, ({ settings }) => settings.values.chttpd_auth.secret || ownSecret)
  const secrets = createCookieSecrets({ secret: secret.get(), timeoutSeconds, clock: liveConfig.kernel.clock })
  liveConfig.onChange('keys', ({ dropsEarlierSecrets }) =>
    secrets.replace(secret.get(), { dropsEarlier: dropsEarlierSecrets }),
  )
  liveConfig.secrets.register(USES.cookies, secrets.accepted)
  // a change that is tried replaces nothing, and is to be seen by proxies: only the current secret verifies their tokens
  return { ...secrets, current: deriveLive(secret, (text) => Buffer.from(text)).get }
}

/** Follows the timeout of one kind of session cookie. Those of before the start come from the store. */
export function followCookieTimeout(liveConfig: LiveConfig, option: TimeoutOption): CookieTimeouts {
  const { clock } = liveConfig.kernel
  const current = () => findTimeout(option, liveConfig.get().settings.values)
  const earlier = listRetired(liveConfig.get().timeouts, option, current(), nowSeconds(clock))
  const timeouts = createCookieTimeouts(current(), clock, earlier)
  liveConfig.onChange('keys', () => timeouts.replace(current()))
  return timeouts
}

/** Reports when cookies signed with a replaced secret stop verifying, so that streams opened with them can be ended. */
export function followRetirement(liveConfig: LiveConfig): () => boolean {
  const values = () => liveConfig.get().settings.values.chttpd_auth
  let { secret } = values()
  let ends: number[] = []
  liveConfig.onChange('keys', () => {
    if (values().secret === secret) return
    secret = values().secret
    // one second more: a verification may have read the clock slightly later
    ends.push(nowSeconds(liveConfig.kernel.clock) + toGraceSeconds(values().timeout) + 1)
  })
  return () => {
    if (ends.length === 0) return false
    const now = nowSeconds(liveConfig.kernel.clock)
    const later = ends.filter((end) => end > now)
    const isDue = later.length < ends.length
    ends = later
    return isDue
  }
}
