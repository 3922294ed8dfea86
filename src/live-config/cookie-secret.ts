// What session cookies are made with, followed through changes of the configuration.
import { randomBytes } from 'node:crypto'
import {
  type CookieSecrets,
  type CookieTimeouts,
  createCookieSecrets,
  createCookieTimeouts,
  toGraceSeconds,
} from '../auth/session/secrets.ts'
import { nowSeconds } from '../base/clock.ts'
import { findTimeout, listRetired, type TimeoutOption } from './kept-timeouts.ts'
import type { LiveConfig } from './live-config.ts'
import { USES } from './shared-secrets.ts'

/** Follows `chttpd_auth.secret`. A change marked as such, on any node, rejects cookies of earlier secrets at once. */
export function followCookieSecret(liveConfig: LiveConfig, timeoutSeconds: () => number): CookieSecrets {
  const secret = () => liveConfig.get().settings.values.chttpd_auth.secret || PROCESS_SECRET
  const secrets = createCookieSecrets({ secret: secret(), timeoutSeconds, clock: liveConfig.kernel.clock })
  liveConfig.onChange(({ dropsEarlierSecrets }) => secrets.replace(secret(), { dropsEarlier: dropsEarlierSecrets }))
  liveConfig.secrets.register(USES.cookies, secrets.accepted)
  return secrets
}

/** Follows the timeout of one kind of session cookie. Those of before the start come from the store. */
export function followCookieTimeout(liveConfig: LiveConfig, option: TimeoutOption): CookieTimeouts {
  const { clock } = liveConfig.kernel
  const current = () => findTimeout(option, liveConfig.get().settings.values)
  const earlier = listRetired(liveConfig.get().timeouts, option, current(), nowSeconds(clock))
  const timeouts = createCookieTimeouts(current(), clock, earlier)
  liveConfig.onChange(() => timeouts.replace(current()))
  return timeouts
}

/** Reports when cookies signed with a replaced secret stop verifying, so that streams opened with them can be ended. */
export function followRetirement(liveConfig: LiveConfig): () => boolean {
  const values = () => liveConfig.get().settings.values.chttpd_auth
  let { secret } = values()
  let ends: number[] = []
  liveConfig.onChange(() => {
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

/** Used where the environment or a flag sets an empty secret: then cookies are valid as long as this process runs. */
const PROCESS_SECRET = randomBytes(32).toString('hex')
