// What session cookies are made with, followed through changes of the configuration.
import { randomBytes } from 'node:crypto'
import {
  type CookieSecrets,
  type CookieTimeouts,
  createCookieSecrets,
  createCookieTimeouts,
} from '../auth/session/secrets.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { LiveConfig } from './live-config.ts'
import { USES } from './shared-secrets.ts'

/** Follows `chttpd_auth.secret`. A change marked as such, on any node, rejects cookies of earlier secrets at once. */
export function followCookieSecret(liveConfig: LiveConfig, timeoutSeconds: () => number): CookieSecrets {
  const secret = () => liveConfig.get().settings.values.chttpd_auth.secret || PROCESS_SECRET
  const secrets = createCookieSecrets({ secret: secret(), timeoutSeconds, clock: SYSTEM_CLOCK })
  liveConfig.onChange(({ dropsEarlierSecrets }) => secrets.replace(secret(), { dropsEarlier: dropsEarlierSecrets }))
  liveConfig.secrets.register(USES.cookies, secrets.accepted)
  return secrets
}

/** Follows the timeout of one kind of session cookie. */
export function followCookieTimeout(liveConfig: LiveConfig, timeoutSeconds: () => number): CookieTimeouts {
  const timeouts = createCookieTimeouts(timeoutSeconds(), SYSTEM_CLOCK)
  liveConfig.onChange(() => timeouts.replace(timeoutSeconds()))
  return timeouts
}

/** Used where the environment or a flag sets an empty secret: then cookies are valid as long as this process runs. */
const PROCESS_SECRET = randomBytes(32).toString('hex')
