/** Opens and ends sessions, and records both: with a cookie, for a JWT of another issuer, or with an issued token. */

import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { findTokenUser, toTokenMark } from '../../directory/access-token.ts'
import { type Account, needsSecondStep } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import {
  type Authenticated,
  type AuthenticatedRequest,
  hasSameRights,
  type Identity,
} from '../../directory/identity.ts'
import type { EndingSession, OpenedCookie, SessionOpening } from '../../directory/sessions/session.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import { type Verified, verifyPasswordOrToken } from '../basic.ts'
import type { DoorSignIn } from '../door-sign-in.ts'
import type { CredentialSource } from '../handler.ts'
import { isExternalJwt } from '../jwt.ts'
import { PASSKEY_HANDLER } from '../passkey-sign-in.ts'
import type { SessionRecorder } from '../record-sign-ins.ts'
import type { AccountSessions } from './account-session.ts'
import { type CookieHeaders, type CookieSessions, findSession } from './session-cookie.ts'

interface OpenerDeps<O extends SessionOpening> {
  /** Makes the cookie or token of a new session. */
  issue(account: Account, opening: O): OpenedCookie
  readonly opened: 'session' | 'token'
  readonly directory: Pick<Directory, 'endSession' | 'makeRoom' | 'replaceSession' | 'toActing'>
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  /** Recorded as the handler of a sign-in. */
  readonly endpoint: string
  /** The session of the cookie that the request carries. Left out where a sign-in sets no cookie. */
  findPresented?(source: CredentialSource): Promise<AuthenticatedRequest | undefined>
}

/** Sessions of accounts, however they are issued. */
export const createSessionOpener = <O extends SessionOpening>(deps: OpenerDeps<O>) => ({
  /** Opens a session for an account that was authenticated before. */
  async openFor(given: Account, source: CredentialSource, opening: O) {
    const { endpoint: handler, events, opened } = deps
    events.requireRecording()
    const before = await deps.findPresented?.(source)
    const account = await deps.directory.makeRoom(given, opening, before?.credential.session?.id)
    const cookie = deps.issue(account, opening)
    const identity = deps.directory.toActing(account, cookie.id)
    if (before) await replace(before, { identity, id: cookie.id, accessToken: opening.accessToken }, deps)
    const way = opening.isPasskey ? PASSKEY_HANDLER : handler
    events.record('sign-in.accepted', { subject: account.name, opened, actor: account.name, handler: way })
    await deps.recorder.onOpened(account, cookie, source, opening.accessToken)
    return { identity: account, cookie }
  },
  async end(session: EndingSession): Promise<void> {
    await deps.directory.endSession(session)
    deps.events.record('sign-out', { subject: session.name })
  },
})

interface Successor {
  readonly identity: Identity
  readonly id: string
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
  /** Whether a token of another issuer opened it. */
  readonly isForeign?: boolean
}

/**
 * A sign-in ends the session whose cookie it carries, because its own cookie takes that place. If the user and the rights
 * are the same, feeds go on under the new session.
 */
async function replace(before: AuthenticatedRequest, after: Successor, deps: ReplaceDeps): Promise<void> {
  const { session } = before.credential
  if (!session?.cookie) return
  const { id, name, foreignToken, accessToken, cookie } = session
  const ending = { id, name, foreignToken, accessToken, expiresAt: cookie.lastExpiry() }
  const isSameWay = accessToken === after.accessToken && (foreignToken !== undefined) === (after.isForeign ?? false)
  if (isSameWay && hasSameRights(after.identity, before.identity)) await deps.directory.replaceSession(ending, after.id)
  else await deps.directory.endSession(ending)
  deps.events.record('sign-out', { subject: name })
}

interface ReplaceDeps extends Pick<SessionServiceDeps, 'events'> {
  readonly directory: Pick<Directory, 'endSession' | 'replaceSession'>
}

export interface SessionServiceDeps extends Omit<OpenerDeps<SessionOpening>, 'issue' | 'opened'> {
  readonly signIn: DoorSignIn
  readonly accounts: AccountSessions
}

export interface SignInCredentials {
  readonly name: string
  readonly password: string
  /** The one-time code; empty: none was sent. */
  readonly code: string
  /** What a passkey signed. The name is empty if it is sent in place of everything else. */
  readonly passkey?: unknown
}

/** Sessions of accounts with a cookie. */
export function createSessionService(deps: SessionServiceDeps) {
  const { openFor, end } = createSessionOpener({ ...deps, issue: deps.accounts.open, opened: 'session' })
  return {
    /** `undefined`: wrong name, password or code. */
    async open(credentials: SignInCredentials, source: CredentialSource) {
      const account = await deps.signIn({ ...credentials, source, handler: deps.endpoint })
      return account && openFor(account, source, toOpening(account, credentials))
    },
    openFor,
    /** Ends each session that the request carries: of its token, and of its cookie, whichever decided its identity. */
    async endCarried(source: CredentialSource): Promise<void> {
      const accepted = source.authenticated?.credential?.session
      const presented = accepted?.cookie ? undefined : (await deps.findPresented?.(source))?.credential.session
      for (const session of [accepted, presented]) {
        if (!session) continue
        const { id, name, foreignToken, accessToken, cookie } = session
        await end({ id, name, foreignToken, accessToken, expiresAt: cookie?.lastExpiry() })
      }
    },
  }
}

export interface DocumentSessionDeps extends Omit<SessionServiceDeps, 'findPresented'>, CookieSessions {
  readonly directory: SessionServiceDeps['directory'] &
    Pick<Directory, 'findAccount' | 'findSignInName' | 'makeRoomForToken'>
  readonly clock: Clock
}

export type DocumentSessions = ReturnType<typeof createDocumentSessions>

/** The sessions of the document door: of accounts, and of JWTs of other issuers. */
export function createDocumentSessions(deps: DocumentSessionDeps) {
  const findPresented = (source: CredentialSource) => findSession(source, deps)
  const service = createSessionService({ ...deps, findPresented })
  return {
    ...service,
    /**
     * With the password, or with an access token in its place: programs that sign in first, such as CouchDB's replicator,
     * know nothing of tokens. `undefined`: wrong name, password or code.
     */
    async open(credentials: SignInCredentials, source: CredentialSource) {
      const user = findTokenUser(credentials.password)
      const isToken = user !== undefined && (await deps.directory.findSignInName(credentials.name)) === user
      if (!isToken) return service.open(credentials, source)
      const attempt = { ...credentials, source, handler: deps.endpoint }
      const verified = await verifyPasswordOrToken({ ...deps, ignoresCode: true }, attempt)
      return verified && service.openFor(verified.account, source, toVerifiedOpening(verified))
    },
    /** Opens a session for a JWT that was accepted. */
    openForToken: (authenticated: Authenticated, source: CredentialSource) =>
      openTokenSession(authenticated, source, deps),
  }
}

async function openTokenSession(who: Authenticated, source: CredentialSource, deps: DocumentSessionDeps) {
  const { identity, credential } = who
  if (identity.name === null || !isExternalJwt(credential)) throw new TypeError('the request has no token')
  deps.events.requireRecording()
  const before = await findSession(source, deps)
  await deps.directory.makeRoomForToken(identity.name, before?.credential.session?.id)
  const cookie = deps.tokens.open({ name: identity.name, roles: identity.roles, origin: credential.origin })
  if (before) await replace(before, { identity, id: cookie.id, isForeign: true }, deps)
  await deps.recorder.onOpened(identity, cookie, source)
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
  deps: Omit<SessionServiceDeps, 'findPresented'> &
    CookieSessions & { readonly cookieHeaders: CookieHeaders; readonly clock: Clock },
) {
  const service = createSessionService({ ...deps, findPresented: (source) => findSession(source, deps) })
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
    endCarried: service.endCarried,
    timeoutHeader: deps.cookieHeaders.renderTimeout,
    /** The header that removes the cookie. */
    clear: deps.cookieHeaders.renderCleared,
  }
}

const toVerifiedOpening = ({ account, token }: Verified): SessionOpening =>
  token ? { hasPassword: false, hasFactor: false, accessToken: toTokenMark(token) } : toOpening(account)

/** The second step was checked too, where the account needs one. */
export const OPENED_BY_PASSKEY: SessionOpening = { hasPassword: false, hasFactor: true, isPasskey: true }

export const toOpening = (account: Account, { name, passkey }: Partial<SignInCredentials> = {}): SessionOpening =>
  passkey !== undefined && name === '' ? OPENED_BY_PASSKEY : { hasPassword: true, hasFactor: needsSecondStep(account) }
