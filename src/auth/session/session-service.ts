import type { Directory } from '../../directory/directory.ts'
import type { Authenticated, Identity } from '../../directory/identity.ts'
import type { PresentedSession, RenewedSession } from '../../directory/session.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { CredentialSource } from '../handler.ts'
import type { DoorSignIn } from '../sign-in.ts'
import type { AccountSessions } from './account-session.ts'
import type { TokenSessions } from './token-session.ts'

export interface SessionServiceDeps {
  readonly signIn: DoorSignIn
  readonly accounts: AccountSessions
  readonly directory: Pick<Directory, 'endSession'>
  readonly events: SecurityEvents
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
    const subject = account.name
    events.record('sign-in.accepted', { subject, opened: 'session', actor: subject, handler })
    return { identity: account, cookie }
  },
  async end({ id, name, expiresAt }) {
    await deps.directory.endSession({ id, name, expiresAt })
    deps.events.record('sign-out', { subject: name })
  },
})

/** Opens a session for a JWT that was accepted. */
export function openTokenSession(
  { identity, origin }: Authenticated,
  { tokens, events }: { readonly tokens: TokenSessions; readonly events: SecurityEvents },
): OpenedSession {
  if (identity.name === null || origin === undefined) throw new TypeError('the request has no token')
  const cookie = tokens.open({ name: identity.name, roles: identity.roles, origin })
  events.record('sign-in.accepted', { subject: identity.name, opened: 'session' })
  return { identity, cookie }
}
