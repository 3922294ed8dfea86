/**
 * Sessions opened with a JWT. The cookie holds what the token said. The session ends with the token at the latest, and
 * when the key that verified the token is replaced.
 */
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Directory } from '../../directory/directory.ts'
import type { CredentialKind } from '../../directory/identity.ts'
import {
  createPlainId,
  type OpenedCookie,
  type RenewedSession,
  toForeignMark,
} from '../../directory/sessions/session.ts'
import { type AcceptedCredential, accept, toExternalIdentity } from '../handler.ts'
import { COOKIE_HANDLER } from './account-session.ts'
import { isRenewalDue, isTimeCurrent, type ReadCookie, type SigningSettings } from './cookie-value.ts'
import { type CookieSecrets, type CookieTimeouts, lastExpiry } from './secrets.ts'
import { mintTokenCookie, TOKEN_MARK, type TokenSession, verifyTokenCookie } from './token-cookie.ts'

export const TOKEN_SESSION: CredentialKind = { name: 'session of an external token', sentByBrowser: 'header' }

export interface TokenSessionDeps {
  readonly secrets: CookieSecrets
  settings(): SigningSettings
  readonly timeouts: Pick<CookieTimeouts, 'accepted'>
  readonly directory: Pick<Directory, 'isForeignTokenLive' | 'isSessionEnded'>
  /** The version of the current key for this algorithm and `kid`. */
  findKeyVersion(algorithm: string, kid: string | undefined): string | undefined
  readonly clock: Clock
}

type TokenSubject = Pick<TokenSession, 'name' | 'roles' | 'origin'>

export type TokenSessions = ReturnType<typeof createTokenSessions>

export const createTokenSessions = (deps: TokenSessionDeps) => ({
  open(subject: TokenSubject): OpenedCookie {
    if (deps.directory.isSessionEnded(markOf(subject))) throw new Refusal('token_refused', { reason: TOO_MANY_ENDED })
    const id = createPlainId(deps.clock.nowMs())
    return { id, ...issue(subject, { id: Buffer.from(id, 'base64url'), openedAt: nowSeconds(deps.clock) }, deps) }
  },
  /** `undefined`: wrong signature, expired or revoked. */
  async find(cookie: ReadCookie): Promise<AcceptedCredential | undefined> {
    const session = verify(cookie, deps)
    if (!session || isExpired(session, deps) || (await isRevoked(session, deps))) return undefined
    return toCredential(session, deps)
  },
  /** As for the session of an account. */
  isForged(cookie: ReadCookie): boolean {
    const { timeoutSeconds } = deps.settings()
    const time = cookie.time.slice(0, -TOKEN_MARK.length)
    return isTimeCurrent(time, { nowSeconds: nowSeconds(deps.clock), timeoutSeconds }) && !verify(cookie, deps)
  },
})

const verify = (cookie: ReadCookie, { secrets, settings }: TokenSessionDeps): TokenSession | undefined =>
  verifyTokenCookie(cookie, { secrets: secrets.accepted(), algorithms: settings().algorithms })

function isExpired(session: TokenSession, { settings, clock }: TokenSessionDeps): boolean {
  const { issuedAt, timeoutSeconds, origin } = session
  const end = issuedAt + Math.min(timeoutSeconds, settings().timeoutSeconds)
  return nowSeconds(clock) >= Math.min(end, findEnd(session, settings()), origin.expiresAt ?? Number.POSITIVE_INFINITY)
}

/** When the session ends, however often it is used. */
const findEnd = (
  { openedAt, issuedAt }: Pick<TokenSession, 'openedAt' | 'issuedAt'>,
  { maxLifetimeSeconds }: SigningSettings,
): number => (maxLifetimeSeconds === 0 ? Number.POSITIVE_INFINITY : (openedAt ?? issuedAt) + maxLifetimeSeconds)

async function isRevoked(session: TokenSession, { directory, findKeyVersion }: TokenSessionDeps): Promise<boolean> {
  const { name, origin } = session
  if (findKeyVersion(origin.algorithm, origin.kid) !== origin.keyVersion) return true
  const token = { name, issuedAt: origin.issuedAt, id: idOf(session), mark: markOf(session) }
  return !(await directory.isForeignTokenLive(token))
}

const TOO_MANY_ENDED = 'Too many sessions of this token were ended. Use another token.'

function markOf({ name, origin }: TokenSubject): string {
  const { issuedAt, expiresAt, algorithm, kid, keyVersion } = origin
  return toForeignMark(name, [issuedAt, expiresAt, algorithm, kid, keyVersion])
}

const idOf = ({ id }: TokenSession): string => Buffer.from(id).toString('base64url')

function toCredential(session: TokenSession, deps: TokenSessionDeps): AcceptedCredential {
  const { name, roles, issuedAt, timeoutSeconds, origin } = session
  const cookie = {
    lastExpiry: () => lastExpiry(issuedAt, nowSeconds(deps.clock), [timeoutSeconds, ...deps.timeouts.accepted()]),
    renew: () => renew(session, deps),
  }
  const presented = { id: idOf(session), name, foreignToken: markOf(session), cookie }
  const credential = { kind: TOKEN_SESSION, handler: COOKIE_HANDLER, session: presented, expiresAt: origin.expiresAt }
  return accept(toExternalIdentity(name, roles), credential)
}

function renew(session: TokenSession, deps: TokenSessionDeps): RenewedSession | undefined {
  const isDue = isRenewalDue(session.issuedAt, nowSeconds(deps.clock), deps.settings().timeoutSeconds)
  // without the time of the opening every renewal would prolong the session
  const isLimited = deps.settings().maxLifetimeSeconds === 0 || session.openedAt !== undefined
  return isDue && isLimited && deps.secrets.current() ? issue(session, session, deps) : undefined
}

/** Browsers drop cookies longer than 4096 bytes, name and attributes included. */
const MAX_CHARACTERS = 3600

function issue(
  { name, roles, origin }: TokenSubject,
  { id, openedAt }: Pick<TokenSession, 'id' | 'openedAt'>,
  deps: TokenSessionDeps,
): RenewedSession {
  const secret = deps.secrets.current()
  if (!secret) throw new Refusal('internal', { detail: 'there is no secret to sign a session cookie with' })
  const { timeoutSeconds, algorithms } = deps.settings()
  const issuedAt = nowSeconds(deps.clock)
  const session = { id, name, roles, issuedAt, timeoutSeconds, origin, openedAt }
  const value = mintTokenCookie(session, { secret, algorithm: algorithms[0] })
  if (value.length > MAX_CHARACTERS) throw new Refusal('bad_request', { reason: 'The token has too many roles.' })
  const end = Math.min(origin.expiresAt ?? Number.POSITIVE_INFINITY, findEnd(session, deps.settings()))
  const secondsLeft = Math.floor(end - issuedAt)
  return { value, maxAgeSeconds: Math.min(timeoutSeconds, secondsLeft) }
}
