import { Refusal } from '../../base/errors.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  type Verdict,
} from '../handler.ts'
import type { AccountSessions } from './account-session.ts'
import { type ReadCookie, readCookie } from './cookie-value.ts'
import { SESSION_COOKIE } from './set-cookie.ts'
import { isTokenCookie } from './token-cookie.ts'
import type { TokenSessions } from './token-session.ts'

export const COOKIE_HANDLER = 'cookie'

export interface CookieSessions {
  readonly accounts: AccountSessions
  readonly tokens: TokenSessions
}

/**
 * Browsers send the cookie with every request, so one that does not verify, has expired or was revoked is ignored. A
 * value that is no session cookie at all is rejected, so that the client clears it.
 */
export function createCookieHandler(sessions: CookieSessions): CredentialHandler {
  return {
    name: COOKIE_HANDLER,
    read(source) {
      const value = source.cookie(SESSION_COOKIE)
      if (value === undefined || value === '') return ABSENT
      const cookie = readCookie(value)
      if (!cookie) return { kind: 'refused', error: new Refusal('credential_malformed', { about: MALFORMED }) }
      return checkCredential(cookie, sessions)
    },
  }
}

const checkCredential = async (cookie: ReadCookie, sessions: CookieSessions): Promise<Verdict> =>
  (await find(cookie, sessions)) ?? ((await isForged(cookie, sessions)) ? FORGED : ABSENT)

/** Ignored like an expired cookie, but recorded. */
const FORGED: Verdict = Object.freeze({ kind: 'absent', note: 'session cookie ignored: its signature is wrong' })

const MALFORMED = `Malformed ${SESSION_COOKIE} cookie. Please clear your cookies.`

/** The session of a request's cookie, even if another credential decided the identity of the request. */
export async function findSession(
  source: Pick<CredentialSource, 'cookie'>,
  sessions: CookieSessions,
): Promise<AcceptedCredential | undefined> {
  const cookie = readCookie(source.cookie(SESSION_COOKIE) ?? '')
  return cookie && find(cookie, sessions)
}

const find = (cookie: ReadCookie, { accounts, tokens }: CookieSessions): Promise<AcceptedCredential | undefined> =>
  isTokenCookie(cookie) ? tokens.find(cookie) : accounts.find(cookie)

const isForged = async (cookie: ReadCookie, { accounts, tokens }: CookieSessions): Promise<boolean> =>
  isTokenCookie(cookie) ? tokens.isForged(cookie) : accounts.isForged(cookie)
