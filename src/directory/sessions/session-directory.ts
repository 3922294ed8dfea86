import type { Account } from '../account.ts'
import type { Authenticated } from '../identity.ts'
import type { EndedSession, SessionRecord, SessionRecordRange } from '../store-port/sessions.ts'
import type { Session, SessionOwner } from './session.ts'

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
  /** Whether it was opened with a code of the account's second factor too. */
  readonly hasFactor: boolean
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
}

export interface EndingSession extends EndedSession {
  /** The mark of the access token the session was opened with. */
  readonly accessToken?: string | undefined
  /** The mark of the token of another issuer that the session was opened with. */
  readonly foreignToken?: string | undefined
}

export interface SessionDirectory {
  /** Takes the account that signed in, not its name: if the password has changed since, the session is revoked already. */
  createSession(account: Account, opening?: SessionOpening): Session
  /** When the session was opened with the password, in seconds; `undefined`: it was not. Does not check if it is live. */
  findPasswordTime(id: string, owner: SessionOwner): number | undefined
  /**
   * Whether the id proves that the session was opened here: with the access token of this mark, or without one with the
   * password. A program that knows the secret of the tokens can make up ids, but no proof.
   */
  isOpenedHere(id: string, owner: SessionOwner, accessToken: string | undefined): boolean
  /** Whether the session of the request has proved the second factor that this state of its account has. */
  hasProvedFactor(who: Authenticated, account: Account): boolean
  /** Also for a renewed session. A removed or inactive account has no live session. */
  isSessionLive(session: Session): Promise<boolean>
  /** Whether this node knows that this session, or all sessions of the token with this mark, were ended. */
  isSessionEnded(id: string): boolean
  /** Whether the session epoch of the name allows the token. An unknown name has no epoch and allows all. */
  isForeignTokenLive(token: ForeignToken): Promise<boolean>
  /** Whether the cache shows that it is live; `false`: ask `isForeignTokenLive`. */
  isForeignTokenKnownLive(token: ForeignToken): boolean
  /** `expiresAt`: from then on no copy would be accepted anyway, renewals included. */
  endSession(session: EndingSession): Promise<void>
}

/** A session that a request has opened or used now. */
export type SessionUse = Omit<SessionRecord, 'seenAt'>

export interface SessionPage {
  readonly sessions: readonly SessionRecord[]
  /** To be sent as `after` for the next page; `undefined`: this was the last one. */
  readonly next: SessionRecordRange['after']
}

/** The sessions that are live, for lists. */
export interface SessionList {
  /**
   * Never waits: uses are written in batches, those of one session once a minute. `describe` is called only for a use
   * that is written.
   */
  noteSession(id: string, describe: () => SessionUse): void
  /** The newest first. A page may be shorter than its limit and still not be the last one. */
  listSessions(range: SessionRecordRange): Promise<SessionPage>
  /**
   * Ends the oldest sessions of an account beyond the number it may have, so that another one can be opened. Sessions
   * opened with the password are counted apart from the others. Returns the account to open it for.
   */
  makeRoom(account: Account, opening: Pick<SessionOpening, 'hasPassword'>): Promise<Account>
  /** The same for a name in a token of another issuer. */
  makeRoomForToken(name: string): Promise<void>
  /** Ends a session on every node. `undefined`: no live session, or none of this name, has this id. */
  revokeSession(id: string, name?: string): Promise<SessionRecord | undefined>
}
