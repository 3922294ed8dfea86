// The rule for changes of one's own password, second factor and access tokens, as both doors and /_cardea/ apply it.

import { type BasicForm, type BasicPair, readBasic } from '../auth/basic.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { Config } from '../config/options.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import { type PasswordProofDeps, requirePassword } from '../directory/password-proof.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { DoorParts } from './doors.ts'

type Parts = Pick<DoorParts, 'liveConfig' | 'directory' | 'signIn'>

/**
 * With a form of Basic the current password may be sent as Basic beside a session cookie. At a door where a request has
 * one credential only, Basic takes the place of the session.
 */
export function createRequirePassword(parts: Parts, form?: BasicForm): (context: RequestContext) => Promise<void> {
  const deps = createDeps(parts, ({ auth }) => auth['reauthenticate-after'])
  return (context) =>
    requirePassword(context.authenticated ?? ANONYMOUS, deps, async () => {
      const given = form && readBasic(context.header('authorization') ?? '', form)
      return typeof given === 'object' && isCurrentPassword(context, given, parts)
    })
}

/** At /_cardea/ the current password is a member of the body. */
export function createRequireAdminPassword(
  parts: Parts,
): (context: RequestContext, current: string | undefined) => Promise<void> {
  const deps = createDeps(parts, ({ admin }) => admin['reauthenticate-after'])
  return (context, password) => {
    const who = context.authenticated ?? ANONYMOUS
    return requirePassword(who, deps, async () => {
      const { name } = who.identity
      return name !== null && password !== undefined && isCurrentPassword(context, { name, password }, parts)
    })
  }
}

const createDeps = ({ liveConfig, directory }: Parts, toSeconds: (config: Config) => number): PasswordProofDeps => ({
  directory,
  maxAgeSeconds: () => toSeconds(liveConfig.get().settings.values),
  clock: SYSTEM_CLOCK,
})

/** Whether this is the user's own password. A wrong one counts for the lockout. */
async function isCurrentPassword(context: RequestContext, given: BasicPair, { signIn }: Parts): Promise<boolean> {
  const { name, password } = given
  if (name !== context.authenticated?.identity.name) return false
  // the session has shown the code of the second factor already
  return (await signIn({ name, password, source: context, isWithoutCode: true })) !== undefined
}
