import {
  type CookieContent,
  type CookieContext,
  renderClearingCookie,
  renderSessionCookie,
  setsSessionCookie,
} from '../../auth/session/set-cookie.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Authenticated, type Identity } from '../../directory/identity.ts'
import type { HeaderPair, Reply, RequestContext, Route } from '../../http/request-context.ts'
import { toDocumentWords } from './errors.ts'
import { hasBody, readSignInBody } from './session-body.ts'
import { listsHtml, readLocalPath } from './session-redirect.ts'
import { toJsonReply } from './wire.ts'

export interface SessionSettings {
  /** Displayed names of the credential handlers, in their order. */
  readonly handlers: readonly string[]
  /** The database of users, where somebody chose its name. */
  readonly authenticationDb: string | undefined
  /** Where a sign-in leads whoever asks for a page; empty: nowhere. */
  readonly authenticationRedirect: string
  readonly cookie: CookieContext['settings']
}

export interface Credentials {
  readonly name: string
  readonly password: string
  /** The one-time code; empty: none was sent. */
  readonly token: string
}

/** Somebody, and the cookie that lets them in from now on. */
export interface OpenedSession {
  readonly identity: Identity
  readonly cookie: CookieContent
}

export interface SessionService {
  /** Begins a session; `undefined`: these are nobody's credentials. */
  signIn(credentials: Credentials, context: RequestContext): Promise<OpenedSession | undefined>
  /** Begins a session for a token that was accepted. It ends with the token at the latest. */
  openForToken(authenticated: Authenticated, context: RequestContext): OpenedSession
  /** Ends every session the request carries. */
  end(context: RequestContext): Promise<void>
}

export interface SessionOptions {
  settings(): SessionSettings
  readonly sessions: SessionService
  readonly clock: Clock
}

/** `/_session`: who is signed in, signing in, signing out. */
export function sessionRoutes(options: SessionOptions): readonly Route[] {
  return [
    {
      path: '/_session',
      methods: {
        GET: (context) => tell(context, options.settings()),
        POST: (context) => signIn(context, options),
        DELETE: (context) => signOut(context, options),
      },
      allow: ['GET', 'HEAD', 'POST', 'DELETE'],
    },
  ]
}

function tell(context: RequestContext, { handlers, authenticationDb }: SessionSettings): Reply {
  const { identity, by } = context.authenticated ?? ANONYMOUS
  if (identity.name === null && context.query.get('basic') === 'true') throw new Refusal('login_required')
  return toJsonReply(200, {
    ok: true,
    userCtx: { name: identity.name, roles: identity.roles },
    info: {
      authentication_handlers: handlers,
      ...(by === null ? {} : { authenticated: by }),
      ...(authenticationDb === undefined ? {} : { authentication_db: authenticationDb }),
    },
  })
}

async function signIn(context: RequestContext, options: SessionOptions): Promise<Reply> {
  // both are judged before anybody is let in: a sign-in that leads elsewhere is none
  const next = findPath(context, 'next')
  const fail = findPath(context, 'fail')
  const opened = await open(context, options.sessions)
  const cookieContext = cookieContextOf(context, options)
  if (!opened) {
    const { status, ...body } = toDocumentWords(new Refusal('credential_refused'))
    return redirectTo(fail, toJsonReply(status, body, [renderClearingCookie(cookieContext)]))
  }
  const { identity, cookie } = opened
  const body = { ok: true, name: identity.name, roles: identity.roles }
  const page = listsHtml(context.header('accept')) ? options.settings().authenticationRedirect : ''
  return redirectTo(next ?? (page || undefined), toJsonReply(200, body, [renderSessionCookie(cookie, cookieContext)]))
}

async function open(context: RequestContext, sessions: SessionService): Promise<OpenedSession | undefined> {
  const authenticated = context.authenticated ?? ANONYMOUS
  const isByToken = authenticated.origin !== undefined && authenticated.session === undefined
  if (isByToken && !hasBody(context)) return sessions.openForToken(authenticated, context)
  const { name, password, token } = await readSignInBody(context)
  if (name !== undefined) return sessions.signIn({ name, password, token }, context)
  if (isByToken) return sessions.openForToken(authenticated, context)
  throw new Refusal('bad_request', { about: 'request body must contain a username' })
}

async function signOut(context: RequestContext, options: SessionOptions): Promise<Reply> {
  const next = findPath(context, 'next')
  await options.sessions.end(context)
  const cleared = renderClearingCookie(cookieContextOf(context, options))
  return redirectTo(next, toJsonReply(200, { ok: true }, [cleared]))
}

function findPath(context: RequestContext, name: string): string | undefined {
  const path = context.query.get(name)
  return path === null ? undefined : readLocalPath(path)
}

/** The body goes with it all the same: whoever does not follow finds there what became of the request. */
const redirectTo = (path: string | undefined, reply: Reply): Reply =>
  path === undefined ? reply : { ...reply, status: 302, headers: [...reply.headers, ['Location', path]] }

const cookieContextOf = (
  context: RequestContext,
  { settings, clock }: Omit<SessionOptions, 'sessions'>,
): CookieContext => ({
  settings: settings().cookie,
  isSecure: context.client.scheme === 'https',
  nowMs: clock.nowMs(),
})

const NONE: readonly HeaderPair[] = Object.freeze([])

/** On any reply, errors too: a session that has used up some of its time is carried on. */
export function renewingHeaders(
  context: RequestContext,
  reply: Reply,
  options: Omit<SessionOptions, 'sessions'>,
): readonly HeaderPair[] {
  const renew = context.authenticated?.session?.renew
  const renewed = renew === undefined || setsSessionCookie(reply.headers) ? undefined : renew()
  return renewed ? [renderSessionCookie(renewed, cookieContextOf(context, options))] : NONE
}
