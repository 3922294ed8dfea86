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
import type { Authenticator } from './authenticate.ts'
import type { CredentialSource } from './handler.ts'

/** A request that was authenticated and whose response is still being sent. */
export interface RunningRequest extends CredentialSource {
  readonly authenticated: Authenticated | undefined
  /** `undefined`: the request was never authenticated. */
  readonly streamEpoch: number | undefined
  /** Determines the client again on next use: the trusted proxies may have changed. */
  forgetClient(): void
  /** Throws where the identity may not make this request. */
  checkRights(): Promise<void>
}

export interface RevalidateDeps {
  readonly directory: Pick<Directory, 'findAccount' | 'catchUp'>
  iterationLimits(): IterationLimits
}

/** How the credential of a running request is checked again. One of `authenticators` has accepted it. */
export function createRevalidation<R extends RunningRequest>(
  authenticators: readonly Authenticator<R>[],
  deps: RevalidateDeps,
) {
  return {
    /**
     * Whether a running request would still be accepted, with the same rights. Throws where the door would now reject
     * it. Called while a response is streamed, after users, sessions or the configuration changed.
     */
    async revalidate(request: R): Promise<boolean> {
      const before = request.authenticated
      // a preflight is accepted from every client
      if (before === undefined || request.streamEpoch === undefined) return true
      if (!isAnonymous(before) && !(await isStillAccepted(request, before, authenticators, deps))) return false
      await request.checkRights()
      return true
    },
    /**
     * Confirms the credential of a request that is about to change something: first everything that other nodes have
     * stored until now is read. Anonymous requests have nothing to confirm.
     */
    async confirmCredential(request: R): Promise<Authenticated | undefined> {
      const before = request.authenticated
      if (isAnonymous(before)) return undefined
      await deps.directory.catchUp()
      if (!(await isStillAccepted(request, before, authenticators, deps)))
        throw new Refusal('authentication_required', { detail: 'the credential was revoked meanwhile' })
      await request.checkRights()
      return before
    },
  }
}

async function isStillAccepted<R extends RunningRequest>(
  request: R,
  { identity, credential }: AuthenticatedRequest,
  authenticators: readonly Authenticator<R>[],
  deps: RevalidateDeps,
): Promise<boolean> {
  const { kind, handler } = credential
  const authenticator = authenticators.find((each) => each.asks(request, handler))
  if (!authenticator) return false
  if (kind.isStillAccepted && isAccount(identity)) return isSameAccount(identity, credential, deps)
  request.forgetClient()
  const now = await authenticator.authenticateAgain(request, handler)
  return !isAnonymous(now) && hasSameRights(now.identity, identity)
}

/** Whether the account is the same, and still accepts the credential. */
async function isSameAccount(before: Account, credential: Credential, deps: RevalidateDeps): Promise<boolean> {
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
  now.mustSetUpFactor === before.mustSetUpFactor &&
  isDeepStrictEqual(now.roles, before.roles) &&
  isDeepStrictEqual(now.grants, before.grants)
