import { type Clock, nowSeconds } from '../../base/clock.ts'
import type { Account } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated, Identity } from '../../directory/identity.ts'
import type { OpenedCookie, PresentedSession, RenewedSession } from '../../directory/sessions/session.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { DoorSignIn } from '../door-sign-in.ts'
import type { CredentialSource } from '../handler.ts'
import { isExternalJwt } from '../jwt.ts'
import type { SessionRecorder } from '../record-sessions.ts'
import type { AccountSessions } from './account-session.ts'
import type { TokenSessions } from './token-session.ts'

export interface SessionServiceDeps {
  readonly signIn: DoorSignIn
  readonly accounts: AccountSessions
  readonly directory: Pick<Directory, 'endSession' | 'makeRoom'>
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  readonly clock: Clock
  /** Recorded as the handler of a sign-in. */
  readonly endpoint: string
}

export interface SignInCredentials {
  readonly name: string
  readonly password: string
  /** The one-time code; empty: none was sent. */
  readonly code: string
}

export interface OpenedSession {
  readonly identity: Identity
  readonly cookie: RenewedSession
}

/** A session of an account, and the cookie of it. */
export interface OpenedAccountSession extends OpenedSession {
  readonly cookie: OpenedCookie
}

/** Opens and ends sessions, and records both. */
export interface SessionService {
  /** `undefined`: wrong name, password or code. */
  open(credentials: SignInCredentials, source: CredentialSource): Promise<OpenedSession | undefined>
  /** Opens a session for an account that was authenticated before. */
  openFor(account: Account, source: CredentialSource, opening: SessionOpening): Promise<OpenedAccountSession>
  /** Ends the session of a cookie. */
  end(session: PresentedSession): Promise<void>
}

export const createSessionService = (deps: SessionServiceDeps): SessionService => ({
  async open(credentials, source) {
    const account = await deps.signIn({ ...credentials, source, handler: deps.endpoint })
    // a password without the code that the account needs is not accepted
    return account && openFor(deps, account, { source, hasPassword: true, hasFactor: account.totp !== undefined })
  },
  openFor: (account, source, opening) => openFor(deps, account, { source, ...opening }),
  async end({ id, name, cookie, foreignToken }) {
    if (!cookie) throw new TypeError('the session has no cookie')
    await deps.directory.endSession({ id, name, expiresAt: cookie.lastExpiry(), foreignToken })
    deps.events.record('sign-out', { subject: name })
  },
})

async function openFor(
  deps: SessionServiceDeps,
  given: Account,
  { source, ...opening }: SessionOpening & { readonly source: CredentialSource },
): Promise<OpenedAccountSession> {
  const { endpoint: handler, events } = deps
  events.requireRecording()
  const account = await deps.directory.makeRoom(given, opening)
  const cookie = deps.accounts.open(account, opening)
  noteOpened({ identity: account, cookie }, source, deps)
  const subject = account.name
  events.record('sign-in.accepted', { subject, opened: 'session', actor: subject, handler })
  return { identity: account, cookie }
}

interface TokenSessionServiceDeps extends Pick<SessionServiceDeps, 'events' | 'recorder' | 'clock'> {
  readonly tokens: TokenSessions
  readonly directory: Pick<Directory, 'makeRoomForToken'>
}

/** Opens a session for a JWT that was accepted. */
export async function openTokenSession(
  { identity, credential }: Authenticated,
  source: CredentialSource,
  deps: TokenSessionServiceDeps,
): Promise<OpenedSession> {
  if (identity.name === null || !isExternalJwt(credential)) throw new TypeError('the request has no token')
  deps.events.requireRecording()
  await deps.directory.makeRoomForToken(identity.name)
  const cookie = deps.tokens.open({ name: identity.name, roles: identity.roles, origin: credential.origin })
  noteOpened({ identity, cookie }, source, deps)
  deps.events.record('sign-in.accepted', { subject: identity.name, opened: 'session' })
  return { identity, cookie }
}

const noteOpened = (
  { identity, cookie }: { readonly identity: Identity; readonly cookie: OpenedCookie },
  source: CredentialSource,
  { recorder, clock }: Pick<SessionServiceDeps, 'recorder' | 'clock'>,
): void => recorder.onOpened({ id: cookie.id, identity, expiresAt: nowSeconds(clock) + cookie.maxAgeSeconds }, source)
