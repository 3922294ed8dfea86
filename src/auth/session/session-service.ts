/** Opens and ends sessions, and records both: with a cookie, for a JWT of another issuer, or with an issued token. */

import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { findTokenUser, toTokenMark } from '../../directory/access-token.ts'
import type { Account } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { EndingSession, OpenedCookie, PresentedSession, SessionOpening } from '../../directory/sessions/session.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import { type Verified, verifyPasswordOrToken } from '../basic.ts'
import type { DoorSignIn } from '../door-sign-in.ts'
import type { CredentialSource } from '../handler.ts'
import { isExternalJwt } from '../jwt.ts'
import type { SessionRecorder } from '../record-sign-ins.ts'
import type { AccountSessions } from './account-session.ts'
import { type CookieHeaders, type CookieSessions, findSession } from './session-cookie.ts'

interface OpenerDeps<O extends SessionOpening> {
  /** Makes the cookie or token of a new session. */
  issue(account: Account, opening: O): OpenedCookie
  readonly opened: 'session' | 'token'
  readonly directory: Pick<Directory, 'endSession' | 'makeRoom'>
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  /** Recorded as the handler of a sign-in. */
  readonly endpoint: string
}

/** Sessions of accounts, however they are issued. */
export const createSessionOpener = <O extends SessionOpening>(deps: OpenerDeps<O>) => ({
  /** Opens a session for an account that was authenticated before. */
  async openFor(given: Account, source: CredentialSource, opening: O) {
    const { endpoint: handler, events, opened } = deps
    events.requireRecording()
    const account = await deps.directory.makeRoom(given, opening)
    const cookie = deps.issue(account, opening)
    deps.recorder.onOpened(account, cookie, source, opening.accessToken)
    events.record('sign-in.accepted', { subject: account.name, opened, actor: account.name, handler })
    return { identity: account, cookie }
  },
  async end(session: EndingSession): Promise<void> {
    await deps.directory.endSession(session)
    deps.events.record('sign-out', { subject: session.name })
  },
})

export interface SessionServiceDeps extends Omit<OpenerDeps<SessionOpening>, 'issue' | 'opened'> {
  readonly signIn: DoorSignIn
  readonly accounts: AccountSessions
}

export interface SignInCredentials {
  readonly name: string
  readonly password: string
  /** The one-time code; empty: none was sent. */
  readonly code: string
}

/** Sessions of accounts with a cookie. */
export function createSessionService(deps: SessionServiceDeps) {
  const { openFor, end } = createSessionOpener({ ...deps, issue: deps.accounts.open, opened: 'session' })
  return {
    /** `undefined`: wrong name, password or code. */
    async open(credentials: SignInCredentials, source: CredentialSource) {
      const account = await deps.signIn({ ...credentials, source, handler: deps.endpoint })
      return account && openFor(account, source, toOpening(account))
    },
    openFor,
    async end({ id, name, foreignToken, accessToken, cookie }: PresentedSession): Promise<void> {
      if (cookie) await end({ id, name, foreignToken, accessToken, expiresAt: cookie.lastExpiry() })
    },
  }
}

export interface DocumentSessionDeps extends SessionServiceDeps, CookieSessions {
  readonly directory: Pick<Directory, 'findAccount' | 'endSession' | 'makeRoom' | 'makeRoomForToken'>
  readonly clock: Clock
}

export type DocumentSessions = ReturnType<typeof createDocumentSessions>

/** The sessions of the document door: of accounts, and of JWTs of other issuers. */
export function createDocumentSessions(deps: DocumentSessionDeps) {
  const service = createSessionService(deps)
  return {
    ...service,
    /**
     * With the password, or with an access token in its place: programs that sign in first, such as CouchDB's replicator,
     * know nothing of tokens. `undefined`: wrong name, password or code.
     */
    async open(credentials: SignInCredentials, source: CredentialSource) {
      if (findTokenUser(credentials.password) !== credentials.name) return service.open(credentials, source)
      const attempt = { ...credentials, source, handler: deps.endpoint }
      const verified = await verifyPasswordOrToken({ ...deps, ignoresCode: true }, attempt)
      return verified && service.openFor(verified.account, source, toVerifiedOpening(verified))
    },
    /** Opens a session for a JWT that was accepted. */
    openForToken: (authenticated: Authenticated, source: CredentialSource) =>
      openTokenSession(authenticated, source, deps),
    /** The session of the cookie, even if another credential decided the identity of the request. */
    findPresented: async (source: CredentialSource): Promise<PresentedSession | undefined> =>
      (await findSession(source, deps))?.credential.session,
  }
}

async function openTokenSession(who: Authenticated, source: CredentialSource, deps: DocumentSessionDeps) {
  const { identity, credential } = who
  if (identity.name === null || !isExternalJwt(credential)) throw new TypeError('the request has no token')
  deps.events.requireRecording()
  await deps.directory.makeRoomForToken(identity.name)
  const cookie = deps.tokens.open({ name: identity.name, roles: identity.roles, origin: credential.origin })
  deps.recorder.onOpened(identity, cookie, source)
  deps.events.record('sign-in.accepted', { subject: identity.name, opened: 'session' })
  return { identity, cookie }
}

/** The name, the password or the code is wrong; or only the code is missing. */
type SignInProblem = 'credential_refused' | 'code_required'

export type ApplicationSignIn = ReturnType<typeof createApplicationSignIn>

/**
 * Sign-in for applications, which send the cookie of the document door themselves. `endpoint` is what security events
 * name. The requests may be those to another server.
 */
export function createApplicationSignIn(
  deps: SessionServiceDeps & { readonly cookieHeaders: CookieHeaders; readonly clock: Clock },
) {
  const service = createSessionService(deps)
  const check = async (credentials: SignInCredentials, source: CredentialSource): Promise<Account | SignInProblem> => {
    let problem: SignInProblem = 'credential_refused'
    const onCodeMissing = () => {
      problem = 'code_required'
    }
    return (await deps.signIn({ ...credentials, source, handler: deps.endpoint, onCodeMissing })) ?? problem
  }
  return {
    check,
    /** Throws the problem. */
    async require(credentials: SignInCredentials, source: CredentialSource): Promise<Account> {
      const account = await check(credentials, source)
      if (typeof account === 'string') throw new Refusal(account)
      return account
    },
    /** A session of the document door, and the header that sets its cookie. Every use postpones its expiry. */
    async open(account: Account, request: CredentialSource, opening = toOpening(account)) {
      const { cookie } = await service.openFor(account, request, opening)
      const header = deps.cookieHeaders.render(cookie, request)
      return { id: cookie.id, expiresAt: nowSeconds(deps.clock) + cookie.maxAgeSeconds, header }
    },
    end: service.end,
    timeoutHeader: deps.cookieHeaders.renderTimeout,
    /** The header that removes the cookie. */
    clear: deps.cookieHeaders.renderCleared,
  }
}

const toVerifiedOpening = ({ account, token }: Verified): SessionOpening =>
  token ? { hasPassword: false, hasFactor: false, accessToken: toTokenMark(token) } : toOpening(account)

/** The code was checked too, where the account needs one. */
export const toOpening = ({ totp }: Account): SessionOpening => ({ hasPassword: true, hasFactor: totp !== undefined })
