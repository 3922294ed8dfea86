import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../base/errors.ts'
import { type Account, isAccount } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import {
  type Authenticated,
  type AuthenticatedRequest,
  type Credential,
  type Identity,
  isAnonymous,
} from '../directory/identity.ts'
import type { IterationLimits } from '../passwords/hash-policy.ts'

/** A request that was authenticated and whose response is still being sent. */
export interface RunningRequest {
  readonly authenticated: Authenticated | undefined
  /** `undefined`: the request was never authenticated. */
  readonly streamEpoch: number | undefined
  /** Determines the client again on next use: the trusted proxies may have changed. */
  forgetClient(): void
}

export interface RevalidateDeps<R extends RunningRequest> {
  /** Authenticates a request again, without recording a sign-in. */
  identify(request: R): Promise<Authenticated> | Authenticated
  /** Whether this credential handler is configured now. */
  isConfigured(handler: string): boolean
  /** Throws where the identity may not make this request. */
  checkRights(request: R): Promise<void>
  readonly directory: Pick<Directory, 'findAccount' | 'catchUp'>
  iterationLimits(): IterationLimits
}

/**
 * Whether a running request would still be accepted, with the same rights. Throws where the door would now reject it.
 * Called while a response is streamed, after users, sessions or the configuration changed.
 */
export function createRevalidate<R extends RunningRequest>(deps: RevalidateDeps<R>): (request: R) => Promise<boolean> {
  return async (request) => {
    const before = request.authenticated
    // a preflight is accepted from every client
    if (before === undefined || request.streamEpoch === undefined) return true
    if (!isAnonymous(before) && !(await isStillAccepted(request, before, deps))) return false
    await deps.checkRights(request)
    return true
  }
}

/**
 * Confirms the credential of a request that is about to change something: first everything that other nodes have stored
 * until now is read. Anonymous requests have nothing to confirm.
 */
export function createConfirmCredential<R extends RunningRequest>(
  deps: RevalidateDeps<R>,
): (request: R) => Promise<Authenticated | undefined> {
  return async (request) => {
    const before = request.authenticated
    if (isAnonymous(before)) return undefined
    await deps.directory.catchUp()
    if (!(await isStillAccepted(request, before, deps)))
      throw new Refusal('authentication_required', { detail: 'the credential was revoked meanwhile' })
    await deps.checkRights(request)
    return before
  }
}

async function isStillAccepted<R extends RunningRequest>(
  request: R,
  { identity, credential }: AuthenticatedRequest,
  deps: RevalidateDeps<R>,
): Promise<boolean> {
  if (!deps.isConfigured(credential.handler)) return false
  if (credential.kind.isStillAccepted && isAccount(identity)) return isSameAccount(identity, credential, deps)
  request.forgetClient()
  const now = await deps.identify(request)
  return now.credential?.handler === credential.handler && hasSameRights(now.identity, identity)
}

/** Whether the account is the same, and still accepts the credential. */
async function isSameAccount(
  before: Account,
  credential: Credential,
  deps: Pick<RevalidateDeps<RunningRequest>, 'directory' | 'iterationLimits'>,
): Promise<boolean> {
  const now = await deps.directory.findAccount(before.name)
  if (!now || now.sessionEpoch.generation !== before.sessionEpoch.generation) return false
  // Basic has no place for a one-time code
  if (!hasSameRights(now, before) || now.totp !== undefined) return false
  return credential.kind.isStillAccepted?.(now, credential, deps.iterationLimits()) ?? false
}

const hasSameRights = (now: Identity, before: Identity): boolean =>
  now.name === before.name &&
  now.isAdmin === before.isAdmin &&
  now.mustChangePassword === before.mustChangePassword &&
  isDeepStrictEqual(now.roles, before.roles) &&
  isDeepStrictEqual(now.grants, before.grants)
