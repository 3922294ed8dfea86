import type { EndedSession, SessionRecord } from '../store-port/sessions.ts'

/** A token that another issuer signed. `issuedAt` is its `iat`; `now` for a source that confirms every request. */
export interface ForeignToken {
  readonly name: string
  /** The id of a session opened with it, and the mark of the token. */
  readonly id?: string
  readonly mark?: string
  readonly issuedAt: number | 'now' | undefined
}

export interface SessionOpening {
  /** Whether the session was opened with the password itself. */
  readonly hasPassword: boolean
  /** Whether it was opened with a code of the account's second factor too, or with one that the provider asked for. */
  readonly hasFactor: boolean
  /** Whether an identity provider has signed the user in. */
  readonly isProvided?: boolean
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
}

export interface EndingSession extends EndedSession {
  /** The mark of the access token the session was opened with. */
  readonly accessToken?: string | undefined
  /** The mark of the token of another issuer that the session was opened with. */
  readonly foreignToken?: string | undefined
}

/** A session that a request has opened or used now. */
export type SessionUse = Omit<SessionRecord, 'seenAt'>
