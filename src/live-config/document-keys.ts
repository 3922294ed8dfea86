// The secret of cookies and proxies at the document door, and how long what it signed counts.
import { randomBytes } from 'node:crypto'
import { type CookieSecrets, createCookieSecrets } from '../auth/session/cookie-secrets.ts'
import { type CookieTimeouts, createCookieTimeouts } from '../auth/session/cookie-settings.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { ALGORITHMS } from '../keys/algorithms.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import type { LiveConfig } from './live-config.ts'
import { USES } from './shared-secrets.ts'

/** The current secret, and replaced ones for their grace. A change that says so, made on any node, ends the grace at once. */
export function followSecret(liveConfig: LiveConfig): CookieSecrets {
  const values = () => liveConfig.get().settings.values.chttpd_auth
  const secrets = createCookieSecrets({
    secret: values().secret || UNTOLD,
    timeoutSeconds: () => values().timeout,
    clock: SYSTEM_CLOCK,
  })
  liveConfig.onChange(({ settings, dropsEarlierSecrets }) =>
    secrets.replace(settings.values.chttpd_auth.secret || UNTOLD, { dropsEarlier: dropsEarlierSecrets }),
  )
  liveConfig.secrets.register(USES.cookies, secrets.living)
  return secrets
}

/** The timeout in force, and those that cookies still out there were made under. */
export function followTimeout(liveConfig: LiveConfig): CookieTimeouts {
  const timeouts = createCookieTimeouts(liveConfig.get().settings.values.chttpd_auth.timeout, SYSTEM_CLOCK)
  liveConfig.onChange(({ settings }) => timeouts.replace(settings.values.chttpd_auth.timeout))
  return timeouts
}

/** Where environment or a flag says that there is no secret, cookies live as long as this process. */
const UNTOLD = randomBytes(32).toString('hex')

/** The version of the key in force for an algorithm and a `kid`. */
export function findKeyVersion(keys: JwtKeys, name: string, kid: string | undefined): string | undefined {
  const algorithm = ALGORITHMS.get(name)
  const found = algorithm && keys.find(algorithm, { algorithm, typ: undefined, kid })
  return found?.kind === 'keys' ? found.keys[0]?.version : undefined
}
