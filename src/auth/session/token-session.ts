/**
 * Sessions opened with a JWT. Its subject need not be in the directory, so the cookie itself holds the name and roles of
 * the token: `name ":" T "~:" id JSON MAC`. The mark after T keeps this form apart from those of users. The session ends
 * with the token at the latest, and when the key that verified the token is replaced.
 */

import { nowSeconds } from '../../base/clock.ts'
import { readUtf8, toBase64Url } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { readJson } from '../../base/json.ts'
import type { Directory } from '../../directory/directory.ts'
import type { CredentialKind, TokenOrigin } from '../../directory/identity.ts'
import {
  createPlainId,
  type OpenedCookie,
  type RenewedSession,
  toForeignMark,
} from '../../directory/sessions/session.ts'
import { type AcceptedCredential, accept, toExternalIdentity } from '../handler.ts'
import { type AccountSessionDeps, COOKIE_HANDLER } from './account-session.ts'
import {
  type CookieKey,
  digestBytesOf,
  isMacOf,
  isRenewalDue,
  isTimeCurrent,
  macOf,
  type ReadCookie,
  renderTime,
  SESSION_ID_BYTES,
  type SignatureRules,
  type SigningSettings,
} from './cookie-value.ts'
import { lastExpiry } from './secrets.ts'

export const TOKEN_SESSION: CredentialKind = { name: 'session of an external token', sentByBrowser: 'header' }

export interface TokenSessionDeps extends Pick<AccountSessionDeps, 'secrets' | 'settings' | 'timeouts' | 'clock'> {
  readonly directory: Pick<Directory, 'isForeignTokenLive' | 'isSessionEnded'>
  /** The version of the current key for this algorithm and `kid`, and of the rules for claims; `undefined`: none is accepted. */
  findOriginVersion(algorithm: string, kid: string | undefined): string | undefined
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
  async find(cookie: ReadCookie, isRunning = false): Promise<AcceptedCredential | undefined> {
    const session = verify(cookie, deps)
    if (!session || isExpired(session, deps) || (await isRevoked(session, isRunning, deps))) return undefined
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
const findEnd = ({ openedAt, issuedAt }: TokenSession, { maxLifetimeSeconds }: SigningSettings): number =>
  maxLifetimeSeconds === 0 ? Number.POSITIVE_INFINITY : (openedAt ?? issuedAt) + maxLifetimeSeconds

async function isRevoked(session: TokenSession, isRunning: boolean, deps: TokenSessionDeps): Promise<boolean> {
  const { directory, findOriginVersion } = deps
  const { name, origin } = session
  if (findOriginVersion(origin.algorithm, origin.kid) !== origin.version) return true
  const token = { name, issuedAt: origin.issuedAt, id: idOf(session), mark: markOf(session), isRunning }
  return !(await directory.isForeignTokenLive(token))
}

const TOO_MANY_ENDED = 'Too many sessions of this token were ended. Use another token.'

function markOf({ name, origin }: TokenSubject): string {
  const { issuedAt, expiresAt, algorithm, kid, version } = origin
  return toForeignMark(name, [issuedAt, expiresAt, algorithm, kid, version])
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
  const isOpen = !deps.directory.isSessionEnded(idOf(session))
  return isDue && isLimited && isOpen && deps.secrets.current() ? issue(session, session, deps) : undefined
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

export interface TokenSession {
  readonly id: Uint8Array
  readonly name: string
  readonly roles: readonly string[]
  /** When this cookie was made, in seconds. */
  readonly issuedAt: number
  /** How long this cookie is valid. */
  readonly timeoutSeconds: number
  readonly origin: TokenOrigin
  /** When the session was opened, in seconds; `undefined` in cookies of earlier versions. */
  readonly openedAt: number | undefined
}

const TOKEN_MARK = '~'
const SALT = ':token session'

export const isTokenCookie = ({ time }: ReadCookie): boolean => time.endsWith(TOKEN_MARK)

export function mintTokenCookie(session: TokenSession, key: Omit<CookieKey, 'salt'>): string {
  const { name, issuedAt, id } = session
  const head = `${name}:${renderTime(issuedAt)}${TOKEN_MARK}:`
  const signed = Buffer.concat([Buffer.from(head), id, Buffer.from(renderContent(session))])
  return toBase64Url(Buffer.concat([signed, macOf(signed, { ...key, salt: SALT })]))
}

const renderContent = ({ roles, timeoutSeconds, origin, openedAt }: TokenSession): string => {
  const { issuedAt = null, expiresAt = null, algorithm, kid = null, version } = origin
  return JSON.stringify([timeoutSeconds, issuedAt, expiresAt, algorithm, kid, version, roles, openedAt ?? null])
}

/** The session of a cookie with a right signature. Does not check whether it has expired. */
export function verifyTokenCookie(
  cookie: ReadCookie,
  { secrets, algorithms }: Pick<SignatureRules, 'secrets' | 'algorithms'>,
): TokenSession | undefined {
  const whole = Buffer.concat([cookie.head, Buffer.from(':'), cookie.tail])
  for (const algorithm of algorithms) {
    const macBytes = digestBytesOf(algorithm) ?? Number.POSITIVE_INFINITY
    if (cookie.tail.length <= SESSION_ID_BYTES + macBytes) continue
    const [signed, mac] = [whole.subarray(0, -macBytes), whole.subarray(-macBytes)]
    if (isMacOf(mac, signed, algorithm, { secrets, salt: SALT }))
      return readSigned(cookie, cookie.tail.subarray(0, -macBytes))
  }
  return undefined
}

function readSigned({ name, time }: ReadCookie, tail: Buffer): TokenSession | undefined {
  const reading = readJson(readUtf8(tail.subarray(SESSION_ID_BYTES)) ?? '')
  if (reading.kind === 'refused') return undefined
  // the signature was right, so this is the text of renderContent
  const [timeoutSeconds, issuedAt, expiresAt, algorithm, kid, version, roles, openedAt] = reading.value as Content
  return {
    id: tail.subarray(0, SESSION_ID_BYTES),
    name,
    roles,
    issuedAt: Number.parseInt(time, 16),
    timeoutSeconds,
    origin: {
      issuedAt: issuedAt ?? undefined,
      expiresAt: expiresAt ?? undefined,
      algorithm,
      kid: kid ?? undefined,
      version,
    },
    openedAt: openedAt ?? undefined,
  }
}

type Content = readonly [
  number,
  number | null,
  number | null,
  string,
  string | null,
  string,
  readonly string[],
  (number | null)?,
]
