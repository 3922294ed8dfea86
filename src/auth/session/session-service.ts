import { type Clock, nowSeconds } from '../../base/clock.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated, Identity } from '../../directory/identity.ts'
import type { OpenedCookie, PresentedSession, RenewedSession } from '../../directory/session.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { CredentialSource } from '../handler.ts'
import type { SessionRecorder } from '../record-sessions.ts'
import type { DoorSignIn } from '../sign-in.ts'
import type { AccountSessions } from './account-session.ts'
import type { TokenSessions } from './token-session.ts'

export interface SessionServiceDeps {
  readonly signIn: DoorSignIn
  readonly accounts: AccountSessions
  readonly directory: Pick<Directory, 'endSession'>
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

/** Opens and ends sessions, and records both. */
export interface SessionService {
  /** `undefined`: wrong name, password or code. */
  open(credentials: SignInCredentials, source: CredentialSource): Promise<OpenedSession | undefined>
  end(session: PresentedSession): Promise<void>
}

export const createSessionService = (deps: SessionServiceDeps): SessionService => ({
  async open(credentials, source) {
    const { endpoint: handler, events } = deps
    const account = await deps.signIn({ ...credentials, source, handler })
    if (!account) return undefined
    const cookie = deps.accounts.open(account)
    noteOpened({ identity: account, cookie }, source, deps)
    const subject = account.name
    events.record('sign-in.accepted', { subject, opened: 'session', actor: subject, handler })
    return { identity: account, cookie }
  },
  async end({ id, name, expiresAt, foreignToken }) {
    await deps.directory.endSession({ id, name, expiresAt, foreignToken })
    deps.events.record('sign-out', { subject: name })
  },
})

interface TokenSessionServiceDeps extends Pick<SessionServiceDeps, 'events' | 'recorder' | 'clock'> {
  readonly tokens: TokenSessions
}

/** Opens a session for a JWT that was accepted. */
export function openTokenSession(
  { identity, origin }: Authenticated,
  source: CredentialSource,
  deps: TokenSessionServiceDeps,
): OpenedSession {
  if (identity.name === null || origin === undefined) throw new TypeError('the request has no token')
  const cookie = deps.tokens.open({ name: identity.name, roles: identity.roles, origin })
  noteOpened({ identity, cookie }, source, deps)
  deps.events.record('sign-in.accepted', { subject: identity.name, opened: 'session' })
  return { identity, cookie }
}

const noteOpened = (
  { identity, cookie }: { readonly identity: Identity; readonly cookie: OpenedCookie },
  source: CredentialSource,
  { recorder, clock }: Pick<SessionServiceDeps, 'recorder' | 'clock'>,
): void => recorder.onOpened({ id: cookie.id, identity, expiresAt: nowSeconds(clock) + cookie.maxAgeSeconds }, source)
