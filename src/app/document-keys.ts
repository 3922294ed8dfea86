// The keys of the document door: the secret of its cookies and proxies, and the keys of tokens others sign.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { type OpenEntry, renderSource } from '../config/settings.ts'
import { type CookieTimeouts, createCookieTimeouts } from '../credentials/cookie-settings.ts'
import { ALGORITHMS } from '../keys/algorithms.ts'
import { type CookieSecrets, createCookieSecrets } from '../keys/cookie-secrets.ts'
import { type JwtKeyEntry, type JwtKeys, readJwtKeys } from '../keys/jwt-keys.ts'
import type { State } from './state.ts'

/** The secret in force. One that was replaced still verifies for one timeout, from the very moment it was. */
export function followSecret(state: State): CookieSecrets {
  const values = () => state.get().settings.values.chttpd_auth
  const secrets = createCookieSecrets({
    secret: values().secret || UNTOLD,
    timeoutSeconds: () => values().timeout,
    clock: SYSTEM_CLOCK,
  })
  state.onChange(({ settings }) => secrets.replace(settings.values.chttpd_auth.secret || UNTOLD))
  return secrets
}

/** The timeout in force, and those that cookies still out there were made under. */
export function followTimeout(state: State): CookieTimeouts {
  const timeouts = createCookieTimeouts(state.get().settings.values.chttpd_auth.timeout, SYSTEM_CLOCK)
  state.onChange(({ settings }) => timeouts.replace(settings.values.chttpd_auth.timeout))
  return timeouts
}

/** Where environment or a flag says that there is no secret, cookies live as long as this process. */
const UNTOLD = randomBytes(32).toString('hex')

/** The keys of `[jwt_keys]`. Files of key sets are read anew whenever the configuration is. */
export function followKeys(state: State, log: Log): Live<JwtKeys> {
  const settings = deriveLive(state, (inForce) => inForce.settings)
  return deriveLive(settings, ({ open }) => {
    const keys = readJwtKeys(open.jwt_keys.flatMap((entry) => loadEntry(entry, log)))
    for (const { name, reason } of keys.problems) log.warn('a key for tokens cannot be used', { name, reason })
    return keys
  })
}

function loadEntry(entry: OpenEntry, log: Log): readonly JwtKeyEntry[] {
  if (!entry.key.startsWith('jwks:')) return [entry]
  try {
    return [{ key: entry.key, text: readFileSync(entry.text, 'utf8') }]
  } catch (error) {
    log.error('a set of keys cannot be read', { name: entry.key, place: renderSource(entry.source), error })
    return []
  }
}

/** The version of the key in force for an algorithm and a `kid`. */
export function findKeyVersion(keys: JwtKeys, name: string, kid: string | undefined): string | undefined {
  const algorithm = ALGORITHMS.get(name)
  const found = algorithm && keys.find(algorithm, { algorithm, typ: undefined, kid })
  return found?.kind === 'keys' ? found.keys[0]?.version : undefined
}
