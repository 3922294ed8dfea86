/** The AuthSession cookie as browsers see it: its name, its settings and the `Set-Cookie` header. */
import type { RenewedSession } from '../../directory/sessions/session.ts'

export const SESSION_COOKIE = 'AuthSession'
/** Browsers accept this name only with `Secure`, with `Path=/` and without `Domain`: no other host can set it. */
const HOST_SESSION_COOKIE = `__Host-${SESSION_COOKIE}` as const

/** Every name that the cookie can have. */
export const SESSION_COOKIES: readonly string[] = [SESSION_COOKIE, HOST_SESSION_COOKIE]

/** One name per scheme: over TLS a cookie without the prefix would be accepted from any host of the domain. */
export const chooseCookieName = (
  { hasHostPrefix }: Pick<SessionSettings, 'hasHostPrefix'>,
  isSecure: boolean,
): string => (hasHostPrefix && isSecure ? HOST_SESSION_COOKIE : SESSION_COOKIE)

/** Everything the options say about the session cookie. */
export interface SessionSettings extends SigningSettings {
  /** Whether browsers keep the cookie when they restart. */
  readonly isPersistent: boolean
  /** Empty: the host that set it. */
  readonly domain: string
  readonly sameSite: '' | 'none' | 'lax' | 'strict'
  /** Whether the name begins with `__Host-` where the client uses TLS. */
  readonly hasHostPrefix: boolean
}

/** How the value of a session cookie is signed and verified. */
export interface SigningSettings {
  /** Seconds since the last request after which a session expires. */
  readonly timeoutSeconds: number
  /** Seconds after the sign-in at which a session ends; 0: never. */
  readonly maxLifetimeSeconds: number
  /** Names of `node:crypto`; the first signs, all verify. Never empty. */
  readonly algorithms: readonly [string, ...string[]]
}

export interface CookieContext {
  readonly settings: Omit<SessionSettings, 'algorithms'>
  /** Whether the client speaks TLS, to this server or to a trusted proxy. */
  readonly isSecure: boolean
  readonly nowMs: number
}

type Header = readonly [name: string, value: string]

const SAME_SITE = { '': '', none: '; SameSite=None', lax: '; SameSite=Lax', strict: '; SameSite=Strict' } as const

/** The attributes come in CouchDB's order. */
export function renderSessionCookie({ value, maxAgeSeconds }: RenewedSession, context: CookieContext): Header {
  const { settings, isSecure, nowMs } = context
  const expiry = `; Expires=${renderExpiry(nowMs + maxAgeSeconds * 1000)}; Max-Age=${maxAgeSeconds}`
  const text = [
    `${chooseCookieName(settings, isSecure)}=${value}; Version=1`,
    settings.isPersistent ? expiry : '',
    isSecure ? '; Secure' : '',
    settings.domain === '' ? '' : `; Domain=${settings.domain}`,
    '; Path=/; HttpOnly',
    SAME_SITE[settings.sameSite],
  ]
  return ['Set-Cookie', text.join('')]
}

// quirk: reference document 2.5: the cookie is emptied, not expired, so it has a lifetime like any other.
export const renderClearingCookie = (context: CookieContext): Header =>
  renderSessionCookie({ value: '', maxAgeSeconds: context.settings.timeoutSeconds }, context)

/** The last moment whose year has four digits, as the date format requires. */
const MAX_EXPIRY_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** `Sun, 24-Mar-2024 10:26:24 GMT` */
const renderExpiry = (ms: number): string =>
  new Date(Math.min(ms, MAX_EXPIRY_MS)).toUTCString().replace(/(\d{2}) (\w{3}) (\d{4})/, '$1-$2-$3')

export const setsSessionCookie = (headers: readonly Header[]): boolean =>
  headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'set-cookie' && SESSION_COOKIES.some((cookie) => value.startsWith(`${cookie}=`)),
  )
