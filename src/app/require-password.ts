// The rule for changes of one's own password, second factor and access tokens, as both doors apply it.
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { type BasicForm, readBasic } from '../credentials/basic.ts'
import type { Exchange } from '../door/exchange.ts'
import { ANONYMOUS } from '../identity/identity.ts'
import { requirePassword } from '../identity/password-proof.ts'
import type { DoorParts } from './doors.ts'

type Parts = Pick<DoorParts, 'state' | 'directory' | 'signIn'>

/**
 * With a form of Basic the current password may be sent as Basic beside a session cookie. At a door where a request has
 * one credential only, Basic takes the place of the session.
 */
export function createRequirePassword(parts: Parts, form?: BasicForm): (exchange: Exchange) => Promise<void> {
  const needs = {
    directory: parts.directory,
    maxAgeSeconds: () => parts.state.get().settings.values.auth['reauthenticate-after'],
    clock: SYSTEM_CLOCK,
  }
  return (exchange) =>
    requirePassword(exchange.authenticated ?? ANONYMOUS, needs, async () =>
      form === undefined ? false : isCurrentPassword(exchange, form, parts),
    )
}

/** Whether Basic on this request has the user's own password. A wrong one counts for the lockout. */
async function isCurrentPassword(exchange: Exchange, form: BasicForm, { signIn }: Parts): Promise<boolean> {
  const given = readBasic(exchange.header('authorization') ?? '', form)
  if (typeof given !== 'object' || given.name !== exchange.authenticated?.identity.name) return false
  const { name, password } = given
  // the session has shown the code of the second factor already
  const attempt = { name, password, peer: exchange.client.address, waiting: exchange, isWithoutCode: true }
  return (await signIn(attempt)) !== undefined
}
