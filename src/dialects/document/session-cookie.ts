import type { HeaderPair } from '../../http/request-context.ts'

export const SESSION_COOKIE = 'AuthSession'

export interface CookieSettings {
  /** Seconds since the last request after which a session is over. */
  readonly timeoutSeconds: number
  /** Whether browsers keep the cookie when they restart. */
  readonly isPersistent: boolean
  /** Empty: the host that set it. */
  readonly domain: string
  readonly sameSite: '' | 'none' | 'lax' | 'strict'
}

export interface CookieContext {
  readonly settings: CookieSettings
  /** Whether the client speaks TLS, to this server or to a trusted proxy. */
  readonly isSecure: boolean
  readonly nowMs: number
}

/** What the cookie says, and how long it may be kept. */
export interface CookieContent {
  readonly value: string
  readonly maxAgeSeconds: number
}

const SAME_SITE = { '': '', none: '; SameSite=None', lax: '; SameSite=Lax', strict: '; SameSite=Strict' } as const

/** The cookie of a session. The order of the attributes is the one clients have always seen. */
export function renderSessionCookie({ value, maxAgeSeconds }: CookieContent, context: CookieContext): HeaderPair {
  const { settings, isSecure, nowMs } = context
  const kept = `; Expires=${renderExpiry(nowMs + maxAgeSeconds * 1000)}; Max-Age=${maxAgeSeconds}`
  const text = [
    `${SESSION_COOKIE}=${value}; Version=1`,
    settings.isPersistent ? kept : '',
    isSecure ? '; Secure' : '',
    settings.domain === '' ? '' : `; Domain=${settings.domain}`,
    '; Path=/; HttpOnly',
    SAME_SITE[settings.sameSite],
  ]
  return ['Set-Cookie', text.join('')]
}

// quirk: reference document 2.5: it is emptied, not expired, so it has a time to live like any other.
export const renderClearingCookie = (context: CookieContext): HeaderPair =>
  renderSessionCookie({ value: '', maxAgeSeconds: context.settings.timeoutSeconds }, context)

/** The last moment with a year of four figures: later ones have no such date. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

/** `Sun, 24-Mar-2024 10:26:24 GMT` */
const renderExpiry = (ms: number): string =>
  new Date(Math.min(ms, LAST_MS)).toUTCString().replace(/(\d{2}) (\w{3}) (\d{4})/, '$1-$2-$3')

export const setsSessionCookie = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'set-cookie' && value.startsWith(`${SESSION_COOKIE}=`))
