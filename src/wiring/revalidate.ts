import { isDeepStrictEqual } from 'node:util'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { MULTI_MODEL_BASIC } from '../dialects/multi-model/basic.ts'
import { hasToken } from '../directory/access-token.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { Authenticated, Identity } from '../directory/identity.ts'
import type { Dialect, RequestContext } from '../http/request-context.ts'
import { checkIterations, type IterationLimits } from '../passwords/hash-policy.ts'

/** How a door tells who is asking and what they may, for whoever asks again while an answer is under way. */
export interface Judgement {
  identify(context: RequestContext): MaybePromise<Authenticated>
  /** Whether credentials of this handler are looked at now. */
  isAsked(handler: string): boolean
  dialect(): Pick<Dialect, 'steps'>
}

export interface StillHoldsDeps extends Judgement {
  readonly directory: Pick<Directory, 'findAccount'>
  limits(): IterationLimits
}

/** Whether what let a request in would let it in now, with the same rights. Throws where the door would refuse it. */
export function createStillHolds(deps: StillHoldsDeps): (context: RequestContext) => Promise<boolean> {
  return async (context) => {
    const before = context.authenticated
    // a preflight: it was let in whoever asked
    if (before === undefined || context.authenticatedAt === undefined) return true
    if (before.by !== null && !(await isStill(before, before.by, context, deps))) return false
    for (const { name, run } of deps.dialect().steps) if (ABOUT_RIGHTS.has(name)) await run(context)
    return true
  }
}

/** The checks of either door that ask who somebody is. */
const ABOUT_RIGHTS: ReadonlySet<string> = new Set(['valid user', 'authorize', 'gate'])

/**
 * A password is not checked again: it would be hashed, and each stream of somebody who changed it counted as a failure
 * to sign in.
 */
async function isStill(before: Authenticated, by: string, context: RequestContext, deps: StillHoldsDeps) {
  if (!deps.isAsked(by)) return false
  if (isAccount(before.identity) && BY_PASSWORD.has(by)) {
    const account = await deps.directory.findAccount(before.identity.name)
    return account !== undefined && isSameAccount(account, before.identity) && isWelcome(account, before, deps)
  }
  context.forgetClient()
  const now = await deps.identify(context)
  return now.by === by && hasSameRights(now.identity, before.identity)
}

const BY_PASSWORD: ReadonlySet<string> = new Set([DOCUMENT_BASIC.name, MULTI_MODEL_BASIC.name])

const isAccount = (identity: Identity): identity is Account => identity.name !== null && 'sessionEpoch' in identity

const isSameAccount = (now: Account, before: Account): boolean =>
  now.sessionEpoch.generation === before.sessionEpoch.generation && hasSameRights(now, before)

/** Whether the password, or the access token in its place, would do: by itself, because there was nothing else. */
function isWelcome(account: Account, { accessToken }: Authenticated, { limits }: StillHoldsDeps): boolean {
  if (account.totp !== undefined) return false
  if (accessToken !== undefined) return hasToken(account, accessToken.mark)
  return account.isAdmin || checkIterations(account.password, limits()) === undefined
}

const hasSameRights = (now: Identity, before: Identity): boolean =>
  now.name === before.name &&
  now.isAdmin === before.isAdmin &&
  isDeepStrictEqual(now.roles, before.roles) &&
  isDeepStrictEqual(now.grants, before.grants)
