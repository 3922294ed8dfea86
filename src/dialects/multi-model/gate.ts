import { Refusal } from '../../base/errors.ts'
import type { Exchange } from '../../door/exchange.ts'
import { ANONYMOUS } from '../../identity/identity.ts'
import { SYSTEM_DATABASE } from './path.ts'

export interface GateSettings {
  /** Off: nothing asks for a credential. */
  readonly authentication: boolean
  /** Only what begins with `/_` asks for one; application paths are open. */
  readonly systemOnly: boolean
  /** Off: who comes over a Unix socket needs none. */
  readonly unixSockets: boolean
}

/** Whether a path asks for a credential, decided once, on its normal form. */
export function needsCredential(segments: readonly string[], settings: GateSettings): boolean {
  if (!settings.authentication) return false
  const [first] = segments
  if (first === '_open' && segments.length > 1) return false
  if (segments.length === 3 && segments.join('/') === '_admin/server/availability') return false
  return first?.startsWith('_') ? true : !settings.systemOnly
}

export function passGate(exchange: Exchange, settings: GateSettings): void {
  const { identity, by } = exchange.authenticated ?? ANONYMOUS
  const isExempt = !settings.unixSockets && exchange.client.isUnixSocket
  const { segments, scope } = exchange.path
  const mayEnter = by !== null && identity.isAdmin
  const isKnown = scope === SYSTEM_DATABASE
  if (mayEnter || isExempt || !settings.authentication) {
    if (!isKnown) throw new Refusal('database_not_found')
    return
  }
  // A name that does not exist looks like one the caller may not enter, so that names cannot be probed.
  if (!isKnown || needsCredential(segments, settings)) throw new Refusal('authentication_required')
}
