// Sign-in at the multi-model door: with a password or an access token, for one request or for a token.
import { type Verified, verifyPasswordOrToken } from '../../auth/access-token.ts'
import type { PasswordCheck } from '../../auth/basic.ts'
import type { DoorAttempt, DoorSignIn } from '../../auth/door-sign-in.ts'
import type { CredentialSource } from '../../auth/handler.ts'
import { type IssuedToken, toIssuedClaims, type UserToken } from '../../auth/issued-token.ts'
import type { SessionRecorder } from '../../auth/record-sessions.ts'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { toTokenMark } from '../../directory/access-token.ts'
import type { AccountDirectory } from '../../directory/account-directory.ts'
import type { Credential } from '../../directory/identity.ts'
import { type PresentedSession, type Session, toForeignMark } from '../../directory/sessions/session.ts'
import type { SessionDirectory, SessionList } from '../../directory/sessions/session-directory.ts'
import { type KeyRing, signWithRing } from '../../keys/ring.ts'
import type { OriginFields } from '../../observe/security-event-table.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import { MULTI_MODEL_BASIC } from './authenticate.ts'
import type { MultiModelSettings } from './settings.ts'

export interface Credentials {
  readonly name: string
  readonly password: string
  /** A code of the second factor; empty: none was sent. */
  readonly code: string
}

export interface SignInDeps {
  readonly directory: AccountDirectory & SessionDirectory & Pick<SessionList, 'makeRoom'>
  readonly signIn: DoorSignIn
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  ring(): KeyRing
  readonly issuer: string
  settings(): MultiModelSettings
  /** How long a verified Basic password is accepted without another check; `undefined`: until it changes. */
  basicAgeMs(): number | undefined
  readonly clock: Clock
}

export type SignInService = ReturnType<typeof createSignInService>

export const createSignInService = (deps: SignInDeps) => ({
  /** Checks the Basic credential of one request. */
  async check(name: string, password: string, source: CredentialSource): ReturnType<PasswordCheck> {
    const maxAgeMs = deps.basicAgeMs()
    const age = maxAgeMs === undefined ? {} : { maxAgeMs }
    return verify(deps, { name, password, source, handler: MULTI_MODEL_BASIC.name, ...age })
  },
  /** Whether this is the password of that user, even if a second factor is needed to sign in. */
  isPassword: async (name: string, password: string, source: CredentialSource): Promise<boolean> =>
    (await verify(deps, { name, password, source, handler: CHECK_ENDPOINT, isWithoutCode: true })) !== undefined,
  /** Opens a session and returns its token; `undefined`: wrong name, password or code. */
  async open(credentials: Credentials, lifetimeSeconds: number, source: CredentialSource) {
    const verified = await verify(deps, { ...credentials, source, handler: SIGN_IN_ENDPOINT })
    if (!verified) return undefined
    deps.events.requireRecording()
    const account = await deps.directory.makeRoom(verified.account, { hasPassword: verified.token === undefined })
    return openSession(deps, { ...verified, account }, lifetimeSeconds, source)
  },
  /** A new token for the same session. */
  async renew(name: string, token: UserToken, lifetimeSeconds: number): Promise<string> {
    if (!token.session) deps.events.requireRecording()
    // a token that another program has signed has no session yet
    const session = token.session ?? (await createForeignSession(deps, name, token))
    const { accessToken, allowedPaths } = token
    const renewableUntil = limitRenewal(deps, token.renewableUntil, session.issuedAt)
    const jwt = issueToken(deps, { session, lifetimeSeconds, renewableUntil, accessToken, allowedPaths })
    if (!token.session) recordToken(deps, name)
    return jwt
  },
  /** Ends the session: all its tokens are rejected. */
  async end(credential: Credential, session: PresentedSession): Promise<void> {
    await endSession(deps, credential, session)
    deps.events.record('sign-out', { subject: session.name })
  },
})

/** Also its name in security events. */
export const SIGN_IN_ENDPOINT = '_open/auth'
const CHECK_ENDPOINT = '_api/user'

async function verify(deps: SignInDeps, attempt: DoorAttempt): Promise<Verified | undefined> {
  try {
    return await verifyPasswordOrToken(deps, attempt)
  } catch (error) {
    if (error instanceof Refusal && LOOKS_WRONG.has(error.code)) return undefined
    throw error
  }
}

/** At this door these look like a wrong password. */
const LOOKS_WRONG: ReadonlySet<string> = new Set(['account_locked', 'iterations_too_low', 'iterations_too_high'])

function openSession(
  deps: SignInDeps,
  { account, token }: Verified,
  lifetimeSeconds: number,
  source: CredentialSource,
): string {
  const accessToken = token && toTokenMark(token)
  const hasFactor = account.totp !== undefined
  const session = deps.directory.createSession(account, { hasPassword: token === undefined, hasFactor, accessToken })
  const jwt = issueToken(deps, {
    session,
    lifetimeSeconds,
    renewableUntil: limitRenewal(deps, token?.validUntil, session.issuedAt),
    accessToken,
    allowedPaths: undefined,
  })
  const expiresAt = nowSeconds(deps.clock) + lifetimeSeconds
  deps.recorder.onOpened({ id: session.id, identity: account, expiresAt, accessToken }, source)
  recordToken(deps, account.name, { actor: account.name, handler: SIGN_IN_ENDPOINT })
  return jwt
}

/** A session is never renewed beyond its lifetime, which begins with the first token that is known of it. */
function limitRenewal({ settings }: SignInDeps, until: number | undefined, openedAt: number): number | undefined {
  const { maxLifetimeSeconds } = settings()
  if (maxLifetimeSeconds === 0) return until
  return Math.min(until ?? Number.POSITIVE_INFINITY, openedAt + maxLifetimeSeconds)
}

const recordToken = ({ events }: SignInDeps, subject: string, origin: OriginFields = {}): void =>
  events.record('sign-in.accepted', { subject, opened: 'token', ...origin })

interface NewToken extends Omit<IssuedToken, 'issuer' | 'issuedAt' | 'expiresAt'> {
  readonly lifetimeSeconds: number
}

function issueToken(deps: SignInDeps, { lifetimeSeconds, ...token }: NewToken): string {
  const issuedAt = nowSeconds(deps.clock)
  const expiresAt = issuedAt + lifetimeSeconds
  const claims = toIssuedClaims({
    ...token,
    issuer: deps.issuer,
    issuedAt,
    expiresAt: Math.min(expiresAt, token.renewableUntil ?? expiresAt),
  })
  return signWithRing(deps.ring(), claims)
}

/** A session for a token that another program has signed. */
async function createForeignSession({ directory }: SignInDeps, name: string, token: UserToken): Promise<Session> {
  const account = await directory.findAccount(name)
  if (!account) throw new Refusal('user_not_found')
  const foreignToken = toForeignMark(name, [token.issuedAt, token.expiresAt])
  if (directory.isSessionEnded(foreignToken)) throw new Refusal('token_refused', { detail: 'too many sessions ended' })
  return { ...directory.createSession(account), foreignToken }
}

/** The session is revoked until the last of its tokens has expired, even one that was renewed just now. */
async function endSession(
  deps: SignInDeps,
  { expiresAt, accessToken }: Credential,
  { id, name, foreignToken }: PresentedSession,
): Promise<void> {
  const { sessionTimeoutSeconds, maximalExpirySeconds } = deps.settings()
  const renewed = nowSeconds(deps.clock) + Math.max(sessionTimeoutSeconds, maximalExpirySeconds)
  const last = Math.ceil(Math.max(expiresAt ?? 0, renewed))
  await deps.directory.endSession({ id, name, expiresAt: last, accessToken, foreignToken })
}
