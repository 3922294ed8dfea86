// The rule for changes of one's own password, second factor and access tokens, as both doors and /_cardea/ apply it.

import { type BasicForm, type BasicPair, readBasic } from '../auth/basic.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { Config } from '../config/options.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import { type PasswordProofNeeds, requirePassword } from '../directory/password-proof.ts'
import type { Exchange } from '../http/request-context.ts'
import type { DoorParts } from './doors.ts'

type Parts = Pick<DoorParts, 'state' | 'directory' | 'signIn'>

/**
 * With a form of Basic the current password may be sent as Basic beside a session cookie. At a door where a request has
 * one credential only, Basic takes the place of the session.
 */
export function createRequirePassword(parts: Parts, form?: BasicForm): (exchange: Exchange) => Promise<void> {
  const needs = createNeeds(parts, ({ auth }) => auth['reauthenticate-after'])
  return (exchange) =>
    requirePassword(exchange.authenticated ?? ANONYMOUS, needs, async () => {
      const given = form && readBasic(exchange.header('authorization') ?? '', form)
      return typeof given === 'object' && isCurrentPassword(exchange, given, parts)
    })
}

/** At /_cardea/ the current password is a member of the body. */
export function createRequireAdminPassword(
  parts: Parts,
): (exchange: Exchange, current: string | undefined) => Promise<void> {
  const needs = createNeeds(parts, ({ admin }) => admin['reauthenticate-after'])
  return (exchange, password) => {
    const who = exchange.authenticated ?? ANONYMOUS
    return requirePassword(who, needs, async () => {
      const { name } = who.identity
      return name !== null && password !== undefined && isCurrentPassword(exchange, { name, password }, parts)
    })
  }
}

const createNeeds = ({ state, directory }: Parts, toSeconds: (config: Config) => number): PasswordProofNeeds => ({
  directory,
  maxAgeSeconds: () => toSeconds(state.get().settings.values),
  clock: SYSTEM_CLOCK,
})

/** Whether this is the user's own password. A wrong one counts for the lockout. */
async function isCurrentPassword(exchange: Exchange, given: BasicPair, { signIn }: Parts): Promise<boolean> {
  const { name, password } = given
  if (name !== exchange.authenticated?.identity.name) return false
  // the session has shown the code of the second factor already
  return (await signIn({ name, password, source: exchange, isWithoutCode: true })) !== undefined
}
