/** The AuthSession cookie: its name, its settings, the `Set-Cookie` header, and the session of a cookie that is sent. */
import { createLruCache } from '../../base/caches.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { RenewedSession } from '../../directory/sessions/session.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  isRunning,
  reject,
  type Verdict,
} from '../handler.ts'
import { ACCESS_TOKEN_SESSION, type AccountSessions, COOKIE_HANDLER, COOKIE_SESSION } from './account-session.ts'
import { type ReadCookie, readCookie } from './cookie-value.ts'
import { HOST_PREFIX } from './own-cookie.ts'
import { isTokenCookie, TOKEN_SESSION, type TokenSessions } from './token-session.ts'

const SESSION_COOKIE = 'AuthSession'
const HOST_SESSION_COOKIE = `${HOST_PREFIX}${SESSION_COOKIE}`

/** Every name that the cookie can have. */
export const SESSION_COOKIES: readonly string[] = [SESSION_COOKIE, HOST_SESSION_COOKIE]

/** One name per scheme: over TLS a cookie without the prefix would be accepted from any host of the domain. */
const chooseCookieName = ({ cookie_host_prefix }: NameSettings, isSecure: boolean): string =>
  cookie_host_prefix && isSecure ? HOST_SESSION_COOKIE : SESSION_COOKIE

/** The options about the cookie, from `[chttpd_auth]`, under their own names. */
export interface CookieSettings {
  /** Seconds since the last request after which a session expires. */
  readonly timeout: number
  /** Whether browsers keep the cookie when they restart. */
  readonly allow_persistent_cookies: boolean
  /** Empty: the host that set it. */
  readonly cookie_domain: string
  readonly same_site: '' | 'none' | 'lax' | 'strict'
  /** Whether the name begins with `__Host-` where the client uses TLS. */
  readonly cookie_host_prefix: boolean
  /** Whether browsers keep one cookie for each site whose pages use it. */
  readonly cookie_partitioned: boolean
}

type Header = readonly [name: string, value: string]

type Source = Pick<CredentialSource, 'client'>

type NameSettings = Pick<CookieSettings, 'cookie_host_prefix'>

export type CookieHeaders = ReturnType<typeof createCookieHeaders>

/** The `Set-Cookie` headers of the session cookie, for clients with and without TLS. */
export function createCookieHeaders(settings: () => CookieSettings, clock: Clock) {
  const render = (session: RenewedSession, { client }: Source): Header => {
    const isSecure = client.scheme === 'https'
    return ['Set-Cookie', renderCookie(session, settings(), isSecure, clock.nowMs())]
  }
  return {
    render,
    // quirk: reference document 2.5: the cookie is emptied, not expired, so it has a lifetime like any other.
    renderCleared: (source: Source): Header => render({ value: '', maxAgeSeconds: settings().timeout }, source),
    renderTimeout: (): Header => renderTimeout(settings()),
    /** Renews the session of a request. The header is added to every reply, errors included. */
    renewalHeaders(request: AuthenticatedSource, reply: { readonly headers: readonly Header[] }): readonly Header[] {
      const renewed = request.authenticated?.credential?.session?.cookie?.renew()
      return renewed && !setsSessionCookie(reply.headers) ? [render(renewed, request)] : NO_HEADERS
    },
  }
}

/** Tells a client how long the cookie is valid after a request: no script of a page can read the cookie. */
export const renderTimeout = ({ timeout }: Pick<CookieSettings, 'timeout'>): Header => [
  'X-Cardea-Session-Timeout',
  String(timeout),
]

export interface AuthenticatedSource extends Source {
  readonly authenticated: Authenticated | undefined
}

const NO_HEADERS: readonly Header[] = Object.freeze([])

const SAME_SITE = { '': '', none: '; SameSite=None', lax: '; SameSite=Lax', strict: '; SameSite=Strict' } as const

/** The attributes come in CouchDB's order. */
function renderCookie(
  { value, maxAgeSeconds }: RenewedSession,
  settings: CookieSettings,
  isSecure: boolean,
  nowMs: number,
): string {
  const expiry = `; Expires=${renderExpiry(nowMs + maxAgeSeconds * 1000)}; Max-Age=${maxAgeSeconds}`
  return [
    `${chooseCookieName(settings, isSecure)}=${value}; Version=1`,
    settings.allow_persistent_cookies ? expiry : '',
    isSecure ? '; Secure' : '',
    settings.cookie_domain === '' ? '' : `; Domain=${settings.cookie_domain}`,
    '; Path=/; HttpOnly',
    SAME_SITE[settings.same_site],
    // browsers reject it without `Secure`
    settings.cookie_partitioned && isSecure ? '; Partitioned' : '',
  ].join('')
}

/** The last moment whose year has four digits, as the date format requires. */
const MAX_EXPIRY_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** `Sun, 24-Mar-2024 10:26:24 GMT` */
const renderExpiry = (ms: number): string =>
  new Date(Math.min(ms, MAX_EXPIRY_MS)).toUTCString().replace(/(\d{2}) (\w{3}) (\d{4})/, '$1-$2-$3')

const setsSessionCookie = (headers: readonly Header[]): boolean =>
  headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'set-cookie' && SESSION_COOKIES.some((cookie) => value.startsWith(`${cookie}=`)),
  )

export interface CookieSessions {
  readonly accounts: AccountSessions
  readonly tokens: TokenSessions
  cookieSettings(): NameSettings
}

/** At most 4096 characters each. */
const MAX_REMEMBERED = 16_384

/**
 * Browsers send the cookie with every request, so one that does not verify, has expired or was revoked is ignored. A
 * value that is no session cookie at all is rejected, so that the client clears it.
 *
 * Accepted cookies are kept decoded, and with them what was verified (account-session.ts).
 */
export function createCookieHandler(sessions: CookieSessions): CredentialHandler {
  const accepted = createLruCache<ReadCookie>(MAX_REMEMBERED)
  const check = async (value: string, isAgain: boolean): Promise<Verdict> => {
    const cookie = accepted.get(value) ?? readCookie(value)
    if (!cookie) return reject(new Refusal('credential_malformed', { reason: MALFORMED }))
    const credential = await find(cookie, sessions, isAgain)
    if (!credential) return (await isForged(cookie, sessions)) ? FORGED : ABSENT
    accepted.set(value, cookie)
    return credential
  }
  return {
    name: COOKIE_HANDLER,
    kinds: [COOKIE_SESSION, ACCESS_TOKEN_SESSION, TOKEN_SESSION],
    read(source) {
      const value = findValue(source, sessions)
      if (value === undefined || value === '') return ABSENT
      const known = accepted.get(value)
      const isAgain = isRunning(source)
      return (known && peek(known, sessions, isAgain)) ?? (() => check(value, isAgain))
    },
  }
}

/** Ignored like an expired cookie, but recorded. */
const FORGED: Verdict = Object.freeze({ kind: 'absent', note: 'session cookie ignored: its signature is wrong' })

const MALFORMED = `Malformed ${SESSION_COOKIE} cookie. Please clear your cookies.`

function findValue(source: CookieSource, { cookieSettings }: CookieSessions): string | undefined {
  const name = chooseCookieName(cookieSettings(), source.client.scheme === 'https')
  return name === HOST_SESSION_COOKIE ? source.cookieValues(name)[0] : source.cookie(name)
}

type CookieSource = Pick<CredentialSource, 'client' | 'cookie' | 'cookieValues' | 'authenticated'>

/** The session of a request's cookie, even if another credential decided the identity of the request. */
export async function findSession(
  source: CookieSource,
  sessions: CookieSessions,
): Promise<AcceptedCredential | undefined> {
  const cookie = readCookie(findValue(source, sessions) ?? '')
  return cookie && find(cookie, sessions, isRunning(source))
}

const find = (
  cookie: ReadCookie,
  { accounts, tokens }: CookieSessions,
  isAgain: boolean,
): Promise<AcceptedCredential | undefined> => (isTokenCookie(cookie) ? tokens : accounts).find(cookie, isAgain)

/** A session opened with a token is always looked up. */
const peek = (cookie: ReadCookie, { accounts }: CookieSessions, isAgain: boolean): AcceptedCredential | undefined =>
  isTokenCookie(cookie) ? undefined : accounts.peek(cookie, isAgain)

const isForged = async (cookie: ReadCookie, { accounts, tokens }: CookieSessions): Promise<boolean> =>
  isTokenCookie(cookie) ? tokens.isForged(cookie) : accounts.isForged(cookie)
