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

/** How requests prove the session: with a cookie, or with a token. */
export interface Credential {
  /** Sends a request with the proof. */
  send(input: string | URL | Request, init?: RequestInit): Promise<Response>
  signIn(given: SignIn): Promise<Response>
  /** The session that a response to `signIn` has opened. */
  accept(response: Response): Promise<LiveSession>
  /** Renews the session. `null`: there is none, or it has ended. Throws if the server cannot be reached. */
  renew(): Promise<LiveSession | null>
  /** Whether it should be renewed before the next request. */
  isDue(): boolean
  /** Whether no request is accepted without a renewal. */
  hasExpired(): boolean
  signOut(): Promise<void>
  /** A new password ends this session too. */
  readonly endsWithPassword?: true
}

export const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' }
