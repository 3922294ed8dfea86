// Sign-in at the multi-model door: with a password or an access token, for one request or for a token.
import { type CheckPassword, MULTI_MODEL_BASIC, type Verified, verifyPasswordOrToken } from '../../auth/basic.ts'
import type { DoorAttempt, DoorSignIn } from '../../auth/door-sign-in.ts'
import type { CredentialSource } from '../../auth/handler.ts'
import { createIssuedTokens, type IssueDeps, type IssuedTokenOpening } from '../../auth/issued-token.ts'
import type { SessionRecorder } from '../../auth/record-sign-ins.ts'
import { createSessionOpener, type SignInCredentials } from '../../auth/session/session-service.ts'
import { nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { toTokenMark } from '../../directory/access-token.ts'
import { type Account, needsSecondStep } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Credential } from '../../directory/identity.ts'
import type { PresentedSession } from '../../directory/sessions/session.ts'
import { READ_ONLY_TOKEN } from './access.ts'
import type { MultiModelSettings } from './settings.ts'

export interface SignInServiceDeps extends Omit<IssueDeps, 'maxLifetimeSeconds'> {
  readonly directory: Directory
  readonly signIn: DoorSignIn
  readonly recorder: SessionRecorder
  settings(): MultiModelSettings
}

export type SignInService = ReturnType<typeof createSignInService>

export function createSignInService(deps: SignInServiceDeps) {
  const { issue, renew } = createIssuedTokens({
    ...deps,
    maxLifetimeSeconds: () => deps.settings().chttpd_auth.max_lifetime,
  })
  const opener = createSessionOpener<IssuedTokenOpening>({
    ...deps,
    issue,
    opened: 'token',
    endpoint: SIGN_IN_ENDPOINT,
  })
  return {
    /** Checks the Basic credential of one request. */
    async check(name: string, password: string, source: CredentialSource): ReturnType<CheckPassword> {
      const maxAgeMs = deps.settings().server['authentication-timeout']
      const age = maxAgeMs === 0 ? {} : { maxAgeMs }
      return verify(deps, { name, password, source, handler: MULTI_MODEL_BASIC.name, ...age })
    },
    /** Whether this is the password of that user, even if a second factor is needed to sign in. */
    isPassword: async (name: string, password: string, source: CredentialSource): Promise<boolean> =>
      (await verify(deps, { name, password, source, handler: CHECK_ENDPOINT, isWithoutCode: true })) !== undefined,
    /** Opens a session and returns its token; `undefined`: wrong name, password or code. */
    async open(credentials: SignInCredentials, lifetimeSeconds: number, source: CredentialSource) {
      const verified = await verify(deps, { ...credentials, source, handler: SIGN_IN_ENDPOINT })
      if (!verified) return undefined
      const { account, token } = verified
      if (token?.access === 'ro') throw READ_ONLY_TOKEN
      const proof = { hasPassword: token === undefined, hasFactor: needsSecondStep(account) }
      const accessToken = { accessToken: token && toTokenMark(token), validUntil: token?.validUntil }
      return (await opener.openFor(account, source, { ...proof, ...accessToken, lifetimeSeconds })).cookie.value
    },
    /**
     * Opens a session for an account that a session of the document door has proved, and returns its token. It proves no
     * password, and ends with the lifetime of that session. A replaced session, whose cookie is still accepted for some
     * seconds, opens none.
     */
    async openFor(account: Account, { id, cookie }: PresentedSession, source: CredentialSource): Promise<string> {
      if (deps.directory.isSessionEnded(id)) throw new Refusal('authentication_required')
      const { server, chttpd_auth } = deps.settings()
      const signedInAt = deps.directory.findSignInTime(id, account)
      // without the time of the sign-in, the session itself cannot be renewed
      const end = signedInAt === undefined ? cookie?.lastExpiry() : signedInAt + chttpd_auth.max_lifetime
      const external = deps.directory.findExternalOpening(id, account)
      const opening = {
        hasPassword: false,
        // where a passkey is the second factor, no session without it is accepted
        hasFactor: external?.hasFactor ?? account.needsPasskey === true,
        isPasskey: deps.directory.isPasskeySession(id, account),
        external,
        validUntil: chttpd_auth.max_lifetime === 0 ? undefined : end,
        lifetimeSeconds: Math.trunc(server['session-timeout']),
      }
      return (await opener.openFor(account, source, opening)).cookie.value
    },
    renew,
    /** Ends the session: all its tokens are rejected, even one that was renewed just now. */
    end({ expiresAt = 0, accessToken }: Credential, { id, name, foreignToken }: PresentedSession): Promise<void> {
      const { server, auth } = deps.settings()
      const renewed = nowSeconds(deps.clock) + Math.max(server['session-timeout'], auth['maximal-jwt-expiry-time'])
      return opener.end({ id, name, expiresAt: Math.ceil(Math.max(expiresAt, renewed)), accessToken, foreignToken })
    },
  }
}

/** Also its name in security events. */
export const SIGN_IN_ENDPOINT = '_open/auth'
const CHECK_ENDPOINT = '_api/user'

async function verify(deps: SignInServiceDeps, attempt: DoorAttempt): Promise<Verified | undefined> {
  try {
    return await verifyPasswordOrToken(deps, attempt)
  } catch (error) {
    if (error instanceof Refusal && LOOKS_WRONG.has(error.code)) return undefined
    throw error
  }
}

/** At this door these look like a wrong password. */
const LOOKS_WRONG: ReadonlySet<string> = new Set(['account_locked', 'iterations_too_low', 'iterations_too_high'])
