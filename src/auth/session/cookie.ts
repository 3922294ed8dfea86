import { Refusal } from '../../base/errors.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import {
  ABSENT,
  type AcceptedCredential,
  type CredentialHandler,
  type CredentialSource,
  type Verdict,
} from '../handler.ts'
import type { AccountSessions, Finding } from './account-session.ts'
import { type ReadCookie, readCookie } from './signed-cookie.ts'
import { isTokenCookie } from './token-cookie.ts'
import type { TokenSessions } from './token-session.ts'

const NAME = 'AuthSession'

export const COOKIE_HANDLER = 'cookie'

export interface CookieForms {
  readonly accounts: Pick<AccountSessions, 'recall' | 'find'>
  readonly tokens: Pick<TokenSessions, 'find'>
}

/**
 * The cookie of a session. An ambient credential: browsers send it unasked, so one that does not verify, is over or
 * ended says nothing. Only one that is no cookie of ours at all is refused, so that it gets cleared.
 */
export function createCookieHandler(forms: CookieForms): CredentialHandler {
  return {
    name: COOKIE_HANDLER,
    read(source) {
      const value = source.cookie(NAME)
      if (value === undefined || value === '') return ABSENT
      return andThen(forms.accounts.recall(value), (known) => known ?? readAnew(value, forms))
    },
  }
}

function readAnew(value: string, forms: CookieForms): MaybePromise<Verdict> {
  const cookie = readCookie(value)
  if (!cookie) return { kind: 'refused', error: new Refusal('credential_malformed', { about: MALFORMED }) }
  return andThen(find(cookie, forms), (found) => found ?? ABSENT)
}

/** The session of a request's cookie, whoever else vouches for the request. */
export async function findSession(
  source: CredentialSource,
  forms: CookieForms,
): Promise<AcceptedCredential | undefined> {
  const cookie = readCookie(source.cookie(NAME) ?? '')
  return cookie && find(cookie, forms)
}

const find = (cookie: ReadCookie, { accounts, tokens }: CookieForms): Finding =>
  isTokenCookie(cookie) ? tokens.find(cookie) : accounts.find(cookie)

const MALFORMED = 'Malformed AuthSession cookie. Please clear your cookies.'
