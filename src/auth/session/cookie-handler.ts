import { createLruCache } from '../../base/caches.ts'
import { Refusal } from '../../base/errors.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  type Verdict,
} from '../handler.ts'
import { type AccountSessions, COOKIE_HANDLER, COOKIE_SESSION } from './account-session.ts'
import { type ReadCookie, readCookie } from './cookie-value.ts'
import { SESSION_COOKIE } from './set-cookie.ts'
import { isTokenCookie } from './token-cookie.ts'
import { TOKEN_SESSION, type TokenSessions } from './token-session.ts'

export interface CookieSessions {
  readonly accounts: AccountSessions
  readonly tokens: TokenSessions
  /** The name of the cookie for clients with or without TLS. */
  cookieName(isSecure: boolean): string
}

/** At most 4096 characters each. */
const MAX_REMEMBERED = 16_384

/**
 * Browsers send the cookie with every request, so one that does not verify, has expired or was revoked is ignored. A
 * value that is no session cookie at all is rejected, so that the client clears it.
 *
 * Accepted cookies are kept decoded, and with them what was verified (session-memory.ts).
 */
export function createCookieHandler(sessions: CookieSessions): CredentialHandler {
  const accepted = createLruCache<ReadCookie>(MAX_REMEMBERED)
  const check = async (value: string): Promise<Verdict> => {
    const cookie = accepted.get(value) ?? readCookie(value)
    if (!cookie) return { kind: 'refused', error: new Refusal('credential_malformed', { reason: MALFORMED }) }
    const credential = await find(cookie, sessions)
    if (!credential) return (await isForged(cookie, sessions)) ? FORGED : ABSENT
    accepted.set(value, cookie)
    return credential
  }
  return {
    name: COOKIE_HANDLER,
    kinds: [COOKIE_SESSION, TOKEN_SESSION],
    read(source) {
      const value = findValue(source, sessions)
      if (value === undefined || value === '') return ABSENT
      const known = accepted.get(value)
      return (known && peek(known, sessions)) ?? check(value)
    },
  }
}

/** Ignored like an expired cookie, but recorded. */
const FORGED: Verdict = Object.freeze({ kind: 'absent', note: 'session cookie ignored: its signature is wrong' })

const MALFORMED = `Malformed ${SESSION_COOKIE} cookie. Please clear your cookies.`

const findValue = (source: CookieSource, { cookieName }: CookieSessions): string | undefined =>
  source.cookie(cookieName(source.client.scheme === 'https'))

type CookieSource = Pick<CredentialSource, 'client' | 'cookie'>

/** The session of a request's cookie, even if another credential decided the identity of the request. */
export async function findSession(
  source: CookieSource,
  sessions: CookieSessions,
): Promise<AcceptedCredential | undefined> {
  const cookie = readCookie(findValue(source, sessions) ?? '')
  return cookie && find(cookie, sessions)
}

const find = (cookie: ReadCookie, { accounts, tokens }: CookieSessions): Promise<AcceptedCredential | undefined> =>
  isTokenCookie(cookie) ? tokens.find(cookie) : accounts.find(cookie)

/** A session opened with a token is always looked up. */
const peek = (cookie: ReadCookie, { accounts }: CookieSessions): AcceptedCredential | undefined =>
  isTokenCookie(cookie) ? undefined : accounts.peek(cookie)

const isForged = async (cookie: ReadCookie, { accounts, tokens }: CookieSessions): Promise<boolean> =>
  isTokenCookie(cookie) ? tokens.isForged(cookie) : accounts.isForged(cookie)
