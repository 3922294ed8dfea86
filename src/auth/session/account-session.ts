/**
 * Sessions of users and administrators of the directory. The signature of a cookie is bound to the salt of the
 * password, to the session epoch and to the timeout it was made under. So a new password, a raised epoch and a
 * replaced secret revoke cookies without any list; only single sessions that were ended are listed in the directory.
 */
import { createHash } from 'node:crypto'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Credential, CredentialKind } from '../../directory/identity.ts'
import { generationOf } from '../../directory/session-epoch.ts'
import type { OpenedCookie, RenewedSession, SessionOpening } from '../../directory/sessions/session.ts'
import type { AccessTokenOpening } from '../../directory/sessions/sessions.ts'
import { saltOf } from '../../passwords/schemes.ts'
import { toTokenCredential } from '../basic.ts'
import { type AcceptedCredential, accept, isName } from '../handler.ts'
import {
  isRenewalDue,
  isTimeCurrent,
  mintCookie,
  type ReadCookie,
  readCookieTime,
  SESSION_ID_BYTES,
  type SigningSettings,
  type VerifiedCookie,
  verifyCookie,
} from './cookie-value.ts'
import { type CookieSecrets, type CookieTimeouts, lastExpiry } from './secrets.ts'

/** The session of a user of the directory at the document door. */
export const COOKIE_SESSION: CredentialKind = {
  name: 'cookie session',
  sentByBrowser: 'header',
  provesPassword: 'its session',
}

/** One that was opened with an access token, has its limits and ends with it. It proves no password. */
export const ACCESS_TOKEN_SESSION: CredentialKind = { name: 'session of an access token', sentByBrowser: 'header' }

export const COOKIE_HANDLER = 'cookie'

/** Sessions of one use: their credentials, and what is bound into their signature. */
export interface SessionPurpose extends Pick<Credential, 'kind' | 'handler'> {
  /** Makes a cookie valid only where it was issued. */
  readonly purpose: string
}

const DOCUMENT_DOOR = { kind: COOKIE_SESSION, handler: COOKIE_HANDLER } as const

export interface AccountSessionDeps {
  readonly secrets: CookieSecrets
  settings(): SigningSettings
  readonly timeouts: Pick<CookieTimeouts, 'accepted'>
  /** Left out: the document door. */
  readonly use?: SessionPurpose
  readonly directory: Pick<
    Directory,
    | ('findAccount' | 'peekAccount' | 'createSession' | 'findSignInTime' | 'findTokenOpening' | 'toActing')
    | ('isSessionOver' | 'isSessionEnded' | 'isForeignTokenLive')
  >
  readonly clock: Clock
}

export type AccountSessions = ReturnType<typeof createAccountSessions>

export function createAccountSessions(deps: AccountSessionDeps) {
  const { directory, clock } = deps
  const findRemembered = rememberSessions(deps)
  const findLive = (cookie: ReadCookie, account: Account, isRunning: boolean): RememberedSession | undefined => {
    const found = findRemembered(cookie, account)
    if (!found || directory.isSessionOver(found.session.id, account, isRunning)) return undefined
    const { session } = found
    return nowSeconds(clock) < Math.min(session.validUntil, findEnd(account, found, deps)) ? found : undefined
  }
  return {
    open(account: Account, opening: SessionOpening): OpenedCookie {
      const { id } = directory.createSession(account, opening)
      const byToken = opening.accessToken === undefined ? undefined : directory.findTokenOpening(id, account)
      if (opening.accessToken !== undefined && !byToken)
        throw new Refusal('credential_refused', { detail: 'the access token is no longer valid' })
      return { id, ...issue(account, { id, byToken }, deps) }
    },
    /** `undefined`: wrong signature, expired or revoked. `isRunning`: it was accepted before. */
    async find(cookie: ReadCookie, isRunning = false): Promise<AcceptedCredential | undefined> {
      const account = isName(cookie.name) ? await directory.findAccount(cookie.name) : undefined
      const found = account && findLive(cookie, account, isRunning)
      if (!found) return undefined
      const { accepted, session } = found
      // a cookie in CouchDB's form is not bound to the session epoch: its time is compared
      const { name } = account
      const isAfterEpoch =
        !session.isClassic || (await directory.isForeignTokenLive({ name, issuedAt: session.issuedAt }))
      return isAfterEpoch ? accepted : undefined
    },
    /** What `find` resolves to, if the account is in the cache; `undefined`: ask `find`. */
    peek(cookie: ReadCookie, isRunning = false): AcceptedCredential | undefined {
      const account = directory.peekAccount(cookie.name)
      const found = account && findLive(cookie, account, isRunning)
      return found && !found.session.isClassic ? found.accepted : undefined
    },
    /** Whether the signature of a cookie that was not found is wrong. An expired or revoked cookie is not forged. */
    async isForged(cookie: ReadCookie): Promise<boolean> {
      const account = isName(cookie.name) ? await directory.findAccount(cookie.name) : undefined
      return account !== undefined && isCurrentFor(cookie, account, deps) && !isSigned(cookie, account, deps)
    },
  }
}

type Deps = AccountSessionDeps

/** Earlier cookies may have been signed with an earlier salt, generation or secret: a wrong signature says nothing. */
function isCurrentFor({ time }: ReadCookie, { sessionEpoch }: Account, { settings, clock }: Deps): boolean {
  const { timeoutSeconds } = settings()
  return (
    isTimeCurrent(time, { nowSeconds: nowSeconds(clock), timeoutSeconds }) &&
    (readCookieTime(time) ?? 0) > sessionEpoch.seconds
  )
}

function isSigned(cookie: ReadCookie, account: Account, deps: Deps): boolean {
  const id = idOf(cookie)
  const bindings = deps.timeouts
    .accepted()
    .flatMap((seconds) => WAYS.map((isByToken) => toBinding(account, { id, isByToken }, seconds, deps)))
  return [...bindings, saltOf(account)].some(
    (salt) => check(cookie, salt, Number.POSITIVE_INFINITY, deps) !== undefined,
  )
}

/** Whether an access token opened the session. Part of the signature: without its token it is never another session. */
const WAYS = [false, true] as const

function verifyOwn(cookie: ReadCookie, account: Account, deps: Deps): FoundSession | undefined {
  const id = idOf(cookie)
  // the id says which of both it is: trying both would double what a forged cookie costs
  const isByToken = deps.directory.findTokenOpening(id, account) !== undefined
  for (const timeout of deps.timeouts.accepted()) {
    // a lowered timeout counts for earlier cookies too
    const timeoutSeconds = Math.min(timeout, deps.settings().timeoutSeconds)
    const own = check(cookie, toBinding(account, { id, isByToken }, timeout, deps), timeoutSeconds, deps)
    if (own?.id) return { ...toFound(own, id, timeoutSeconds), isByToken }
  }
  return undefined
}

function verifyClassic(cookie: ReadCookie, account: Account, deps: Deps): FoundSession | undefined {
  const salt = saltOf(account)
  // without a salt the key would be the bare secret, and a proxy token could pass for a cookie
  if (deps.use !== undefined || salt === '') return undefined
  const { timeoutSeconds } = deps.settings()
  const classic = check(cookie, salt, timeoutSeconds, deps)
  return classic && !classic.id ? toFound(classic, toClassicId(cookie), timeoutSeconds) : undefined
}

const toFound = (cookie: VerifiedCookie, id: string, timeoutSeconds: number): FoundSession => ({
  id,
  issuedAt: cookie.issuedAt,
  validUntil: cookie.issuedAt + timeoutSeconds,
  isClassic: cookie.id === undefined,
  isByToken: false,
})

/** The session id of a cookie of Cardea's form. It is not verified. */
const idOf = ({ tail }: ReadCookie): string => tail.toString('base64url', 0, SESSION_ID_BYTES)

function check(cookie: ReadCookie, salt: string, timeoutSeconds: number, { secrets, settings, clock }: Deps) {
  const rules = { salt, timeoutSeconds, secrets: secrets.accepted(), nowSeconds: nowSeconds(clock) }
  const verdict = verifyCookie(cookie, { ...rules, algorithms: settings().algorithms })
  return verdict.kind === 'verified' ? verdict : undefined
}

/** What the signature of a cookie with this session id is bound to. */
function toBinding(
  account: Account,
  { id, isByToken }: Pick<FoundSession, 'id' | 'isByToken'>,
  timeoutSeconds: number,
  { use }: Deps,
): string {
  const parts = [saltOf(account), generationOf(account.sessionEpoch, id), timeoutSeconds]
  return [...parts, ...(use ? [use.purpose] : []), ...(isByToken ? ['access token'] : [])].join(':')
}

/** CouchDB's form has no session id: a digest of the cookie is used, so that the session can be ended and renewed. */
const toClassicId = ({ head, tail }: ReadCookie): string =>
  createHash('sha256').update(head).update(tail).digest().subarray(0, SESSION_ID_BYTES).toString('base64url')

/** When the session ends, however often it is used. */
function findEnd(account: Account, { session: { id, issuedAt }, byToken }: OpenedSession, deps: Deps): number {
  const { maxLifetimeSeconds } = deps.settings()
  const tokenEnd = byToken?.token.validUntil ?? Number.POSITIVE_INFINITY
  if (maxLifetimeSeconds === 0) return tokenEnd
  const openedAt = byToken?.openedAt ?? deps.directory.findSignInTime(id, account) ?? issuedAt
  return Math.min(tokenEnd, openedAt + maxLifetimeSeconds)
}

function toCredential(account: Account, { session: found, byToken }: OpenedSession, deps: Deps): AcceptedCredential {
  const { id, issuedAt } = found
  const cookie = {
    lastExpiry: () => lastExpiry(issuedAt, nowSeconds(deps.clock), deps.timeouts.accepted()),
    renew: () => renew(account, { session: found, byToken }, deps),
  }
  const session = { id, name: account.name, cookie }
  const acting = deps.directory.toActing(account, id)
  const { kind, handler } = deps.use ?? DOCUMENT_DOOR
  if (!byToken) return accept(acting, { kind, handler, session })
  const limits = toTokenCredential(byToken.token, COOKIE_HANDLER)
  const { accessToken } = limits
  return accept(acting, { ...limits, kind: ACCESS_TOKEN_SESSION, session: { ...session, accessToken } })
}

function renew(account: Account, { session, byToken }: OpenedSession, deps: Deps): RenewedSession | undefined {
  const { id, issuedAt } = session
  const { timeoutSeconds, maxLifetimeSeconds } = deps.settings()
  if (!isRenewalDue(issuedAt, nowSeconds(deps.clock), timeoutSeconds) || !deps.secrets.current()) return undefined
  // it would replace the cookie of the session that has taken its place
  if (deps.directory.isSessionEnded(id)) return undefined
  // without the time of the sign-in every renewal would prolong the session
  const openedAt = byToken?.openedAt ?? deps.directory.findSignInTime(id, account)
  return maxLifetimeSeconds === 0 || openedAt !== undefined ? issue(account, { id, byToken }, deps) : undefined
}

function issue(account: Account, { id, byToken }: IssuedSession, deps: Deps): RenewedSession {
  const secret = deps.secrets.current()
  if (!secret) throw new Refusal('internal', { detail: 'there is no secret to sign a session cookie with' })
  const { timeoutSeconds, algorithms } = deps.settings()
  const issuedAt = nowSeconds(deps.clock)
  const cookie = { name: account.name, issuedAt, id: Buffer.from(id, 'base64url') }
  const salt = toBinding(account, { id, isByToken: byToken !== undefined }, timeoutSeconds, deps)
  const end = findEnd(account, { session: { id, issuedAt }, byToken }, deps)
  const value = mintCookie(cookie, { secret, salt, algorithm: algorithms[0] })
  return { value, maxAgeSeconds: Math.min(timeoutSeconds, end - issuedAt) }
}

interface IssuedSession {
  readonly id: string
  /** Left out: no access token opened it. */
  readonly byToken?: AccessTokenOpening | undefined
}

/** A session, and the access token that opened it. */
interface OpenedSession extends Omit<IssuedSession, 'id'> {
  readonly session: Pick<FoundSession, 'id' | 'issuedAt'>
}

/** The session of a cookie with a right signature. */
interface FoundSession {
  readonly id: string
  readonly issuedAt: number
  /** Seconds since the epoch: from then on the cookie is not accepted. */
  readonly validUntil: number
  /** Whether the cookie has CouchDB's form. */
  readonly isClassic: boolean
  readonly isByToken: boolean
}

/** The session of a verified cookie, and what its signature was checked with. */
interface RememberedSession extends OpenedSession {
  readonly session: FoundSession
  readonly account: Account
  readonly accepted: AcceptedCredential
  readonly salt: string
  readonly generation: number
  readonly secrets: readonly Uint8Array[]
  readonly timeouts: readonly number[]
  readonly settings: SigningSettings
}

/**
 * Remembers the sessions of verified cookies: browsers send the same cookie with every request. A cookie is verified
 * again if the account has another password or session epoch, or if secrets, timeouts or settings were replaced.
 * Expiry and revocation are not remembered: the caller checks them each time. The cookie handler holds the cookies, so
 * an entry is dropped together with its cookie. `undefined`: the signature is wrong, or the cookie has expired.
 */
function rememberSessions(deps: Deps): (cookie: ReadCookie, account: Account) => RememberedSession | undefined {
  const known = new WeakMap<ReadCookie, RememberedSession>()
  return (cookie, account) => {
    const secrets = deps.secrets.accepted()
    const timeouts = deps.timeouts.accepted()
    const settings = deps.settings()
    const salt = saltOf(account)
    const { generation } = account.sessionEpoch
    const before = known.get(cookie)
    const isSameAccount = before?.salt === salt && before.generation === generation
    const isSameState = before?.secrets === secrets && before.timeouts === timeouts && before.settings === settings
    const isVerified = isSameAccount && isSameState
    if (isVerified && before.account === account) return before
    const verify = () => verifyOwn(cookie, account, deps) ?? verifyClassic(cookie, account, deps)
    const session = isVerified ? before.session : verify()
    const byToken = session?.isByToken ? deps.directory.findTokenOpening(session.id, account) : undefined
    if (!session || (session.isByToken && !byToken)) return undefined
    const accepted = toCredential(account, { session, byToken }, deps)
    const found = { session, byToken, account, accepted, salt, generation, secrets, timeouts, settings }
    known.set(cookie, found)
    return found
  }
}
