import type { Account } from '../../directory/account.ts'
import type { AcceptedCredential } from '../handler.ts'
import type { ReadCookie, SigningSettings } from './cookie-value.ts'

/** The session of a cookie with a right signature. */
export interface FoundSession {
  readonly id: string
  readonly issuedAt: number
  /** Seconds since the epoch: from then on the cookie is not accepted. */
  readonly validUntil: number
  /** Whether the cookie has CouchDB's form. */
  readonly isClassic: boolean
}

export interface RememberedSession {
  readonly session: FoundSession
  readonly accepted: AcceptedCredential
}

/** `undefined`: the signature is wrong, or the cookie has expired. */
type FindSession<T> = (cookie: ReadCookie, account: Account) => T | undefined

/** What a signature is checked with, apart from the account. */
export interface SigningState {
  readonly secrets: readonly Uint8Array[]
  readonly timeouts: readonly number[]
  readonly settings: SigningSettings
}

interface Remembered extends SigningState, RememberedSession {
  readonly salt: string
  readonly generation: number
}

/**
 * Remembers the sessions of verified cookies: browsers send the same cookie with every request. A cookie is verified
 * again if the account has another password or session epoch, or if secrets, timeouts or settings were replaced.
 * Expiry and revocation are not remembered: the caller checks them each time. The cookie handler holds the cookies, so
 * an entry is dropped together with its cookie.
 */
export function rememberSessions(
  verify: FindSession<FoundSession>,
  accept: (account: Account, session: FoundSession) => AcceptedCredential,
  getState: () => SigningState,
): FindSession<RememberedSession> {
  const known = new WeakMap<ReadCookie, Remembered>()
  return (cookie, account) => {
    const { secrets, timeouts, settings } = getState()
    const salt = saltOf(account)
    const { generation } = account.sessionEpoch
    const before = known.get(cookie)
    const isSameAccount = before?.salt === salt && before.generation === generation
    const isSameState = before?.secrets === secrets && before.timeouts === timeouts && before.settings === settings
    const isVerified = isSameAccount && isSameState
    if (isVerified && before.accepted.identity === account) return before
    const session = isVerified ? before.session : verify(cookie, account)
    if (!session) return undefined
    const found = { session, accepted: accept(account, session), salt, generation, secrets, timeouts, settings }
    known.set(cookie, found)
    return found
  }
}

/** Cookies are bound to the salt of the password. */
export const saltOf = ({ password }: Account): string => ('salt' in password ? password.salt : '')
