/** `/_session`: who the request acts as (GET), sign in (POST), sign out (DELETE). */
import { PASSWORD_CHANGE_HEADER } from '../../auth/password-change.ts'
import type { OpenedSession, SessionService } from '../../auth/session/session-service.ts'
import {
  type CookieContext,
  renderClearingCookie,
  renderSessionCookie,
  setsSessionCookie,
} from '../../auth/session/set-cookie.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { PresentedSession } from '../../directory/sessions/session.ts'
import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'
import { toJsonReply } from './body.ts'
import { toErrorReply } from './errors.ts'
import { acceptsHtml, findRedirect, hasBody, readSignInBody } from './sign-in-request.ts'

export interface SessionSettings {
  /** Displayed names of the credential handlers, in their order. */
  readonly handlers: readonly string[]
  /** The name of the users database, if it was configured. */
  readonly authenticationDb: string | undefined
  /** Where browsers are redirected after a sign-in. Empty: nowhere. */
  readonly authenticationRedirect: string
  readonly cookie: CookieContext['settings']
}

export interface SessionDeps {
  settings(): SessionSettings
  readonly sessions: Pick<SessionService, 'open' | 'end'>
  /** Opens a session for the JWT of a request. */
  openForToken(authenticated: Authenticated, context: RequestContext): Promise<OpenedSession>
  /** The session of the cookie, even if another credential decided the identity of the request. */
  findCookieSession(context: RequestContext): Promise<PresentedSession | undefined>
  readonly clock: Clock
}

export function getSession(context: RequestContext, { settings }: Pick<SessionDeps, 'settings'>): Reply {
  const { identity, by } = context.authenticated ?? ANONYMOUS
  const { handlers, authenticationDb } = settings()
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

export async function signIn(context: RequestContext, deps: SessionDeps): Promise<Reply> {
  // both are checked first: a request with an invalid redirect opens no session
  const next = findRedirect(context, 'next')
  const fail = findRedirect(context, 'fail')
  const opened = await openSession(context, deps)
  const cookieContext = toCookieContext(context, deps)
  if (!opened) {
    const error = toErrorReply(new Refusal('credential_refused'), [renderClearingCookie(cookieContext)])
    return redirectTo(fail, error)
  }
  const { identity, cookie } = opened
  const body = { ok: true, name: identity.name, roles: identity.roles }
  const page = acceptsHtml(context.header('accept')) ? deps.settings().authenticationRedirect : ''
  const mark = identity.mustChangePassword ? [PASSWORD_CHANGE_HEADER] : []
  const reply = toJsonReply(200, body, [renderSessionCookie(cookie, cookieContext), ...mark])
  return redirectTo(next ?? (page || undefined), reply)
}

/** With name and password, or with the JWT of the request. `undefined`: wrong name, password or code. */
async function openSession(context: RequestContext, deps: SessionDeps): Promise<OpenedSession | undefined> {
  const authenticated = context.authenticated ?? ANONYMOUS
  const hasToken = authenticated.origin !== undefined && authenticated.session === undefined
  if (hasToken && !hasBody(context)) return deps.openForToken(authenticated, context)
  const { name, password, token } = await readSignInBody(context)
  if (name !== undefined) return deps.sessions.open({ name, password, code: token }, context)
  if (hasToken) return deps.openForToken(authenticated, context)
  throw new Refusal('bad_request', { about: 'request body must contain a username' })
}

export async function signOut(context: RequestContext, deps: SessionDeps): Promise<Reply> {
  const next = findRedirect(context, 'next')
  const session = context.authenticated?.session ?? (await deps.findCookieSession(context))
  if (session) await deps.sessions.end(session)
  return redirectTo(next, toJsonReply(200, { ok: true }, [renderClearingCookie(toCookieContext(context, deps))]))
}

/** The body is sent too, for clients that do not follow redirects. */
const redirectTo = (path: string | undefined, reply: Reply): Reply =>
  path === undefined ? reply : { ...reply, status: 302, headers: [...reply.headers, ['Location', path]] }

type CookieDeps = Pick<SessionDeps, 'settings' | 'clock'>

const toCookieContext = (context: RequestContext, { settings, clock }: CookieDeps): CookieContext => ({
  settings: settings().cookie,
  isSecure: context.client.scheme === 'https',
  nowMs: clock.nowMs(),
})

const NO_HEADERS: readonly HeaderPair[] = Object.freeze([])

/** The `Set-Cookie` header that renews the session of a request. It is added to every reply, errors included. */
export function renewingHeaders(context: RequestContext, reply: Reply, deps: CookieDeps): readonly HeaderPair[] {
  const renewed = context.authenticated?.session?.renew?.()
  if (!renewed || setsSessionCookie(reply.headers)) return NO_HEADERS
  return [renderSessionCookie(renewed, toCookieContext(context, deps))]
}
