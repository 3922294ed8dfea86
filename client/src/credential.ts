import type { Session } from './results.ts'

export interface LiveSession {
  readonly session: Session
  /** Until when it is valid without a renewal, in milliseconds. */
  readonly expiresAt: number
  /** Until when it can be renewed. Left out: until `expiresAt`. */
  readonly endsAt?: number
  /** Every request renews it for this time. */
  readonly slidingMs?: number
}

export interface SignIn {
  readonly name: string
  readonly password: string
  /** A one-time code, or a recovery code. */
  readonly code?: string
}

/** What signs in: the password, a passkey, or both. */
export interface GivenCredentials {
  readonly name?: string | undefined
  readonly password?: string | undefined
  readonly code?: string | undefined
  /** What it has signed, as JSON. */
  readonly passkey?: object
}

/** How requests prove the session: with a cookie, or with a token. */
export interface Credential {
  /** Sends a request with the proof. */
  send(input: string | URL | Request, init?: RequestInit): Promise<Response>
  signIn(given: GivenCredentials): Promise<Response>
  /** The session that a response to `signIn` has opened. */
  accept(response: Response): Promise<LiveSession>
  /** Renews the session. `null`: there is none, or it has ended. Throws if the server cannot be reached. */
  renew(): Promise<LiveSession | null>
  /** Whether it should be renewed before the next request. */
  isDue(): boolean | Promise<boolean>
  /** Whether no request is accepted without a renewal. */
  hasExpired(): boolean | Promise<boolean>
  signOut(): Promise<void>
  /** Who was signed in when the server was last asked, without a request. */
  findCached(): Promise<Session | null>
  /** Keeps the session for `findCached`. Left out where it is kept with the token. */
  keepCached?(session: Session | null): void
  /** The token of the `Authorization` header, if there is a session. Left out without tokens. */
  findToken?(): Promise<string | null>
  /** A new password ends this session too. */
  readonly endsWithPassword?: true
}

export const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' }

/** A request with a body of JSON; without `body`, one that accepts JSON. */
export const toJson = (method: string, body?: object): RequestInit => ({
  method,
  headers: JSON_HEADERS,
  body: JSON.stringify(body),
})
