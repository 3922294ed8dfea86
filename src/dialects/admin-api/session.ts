// The session of a browser at /_cardea/: shows who is signed in, signs in and signs out.
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import { ANONYMOUS, type Authenticated, type Identity } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { isTrustworthy, renderAdminCookie, renderClearedCookie } from './browser.ts'
import { findText, readJsonBody, readMembers, requireText, toJsonReply } from './json.ts'
import { hasAllRights, showRights } from './rights.ts'

/** The handler name of an identity that comes from the admin cookie. */
export const ADMIN_SESSION = 'admin-session'

export interface Credentials {
  readonly name: string
  readonly password: string
  /** The one-time code; empty: none was sent. */
  readonly code: string
}

export interface AdminSessions {
  /** The identity of the admin cookie; `undefined`: there is no valid cookie. */
  find(context: RequestContext): Promise<Authenticated | undefined>
  /** Opens a session and returns the value of its cookie; `undefined`: wrong name, password or code. */
  open(credentials: Credentials, context: RequestContext): Promise<{ identity: Identity; value: string } | undefined>
  /** Opens another session for an account whose sessions have ended with a new password. */
  reopen(account: Account, context: RequestContext, opening: SessionOpening): Promise<{ value: string }>
  end(authenticated: Authenticated): Promise<void>
  /** The token that a page of this session sends with every request. */
  pageTokenOf(authenticated: Authenticated): string | undefined
}

export interface SessionRouteOptions {
  readonly sessions: AdminSessions
  /** Whether this listener serves nothing but Cardea's own paths: no other page shares its origin. */
  readonly isOwnOrigin: boolean
  readonly product: { readonly name: string; readonly version: string }
  /** The role of user administrators; empty: there are none. */
  userAdminRole(): string
}

const SESSION_PATH = '/_cardea/api/session'

export const sessionRoute = (options: SessionRouteOptions): Route => ({
  path: SESSION_PATH,
  methods: {
    GET: (context) => toJsonReply(200, describe(context.authenticated ?? ANONYMOUS, options)),
    POST: (context) => signIn(context, options),
    DELETE: (context) => signOut(context, options),
  },
})

const describe = (
  { identity }: Pick<Authenticated, 'identity'>,
  { product, userAdminRole }: SessionRouteOptions,
): object => ({
  name: identity.name,
  isAdministrator: hasAllRights(identity),
  ...(identity.name !== null && {
    roles: identity.roles,
    rights: showRights(identity, userAdminRole()),
    ...(identity.mustChangePassword && { mustChangePassword: true }),
    server: `${product.name} ${product.version}`,
  }),
})

const MAX_BODY_BYTES = 16_384

const NEEDS_OWN_LISTENER =
  'A browser signs in here only over TLS or at a loopback address. For plain HTTP set admin.endpoint, a listener of its own.'

async function signIn(context: RequestContext, options: SessionRouteOptions): Promise<Reply> {
  if (isCrossOrigin(context)) throw new Refusal('cross_origin')
  if (!options.isOwnOrigin && !isTrustworthy(context)) throw new Refusal('forbidden', { about: NEEDS_OWN_LISTENER })
  const opened = await options.sessions.open(await readCredentials(context), context)
  if (!opened) throw new Refusal('credential_refused')
  await endPresented(context, options.sessions)
  return toJsonReply(200, describe(opened, options), [renderAdminCookie(opened.value, context)])
}

async function readCredentials(context: RequestContext): Promise<Credentials> {
  const members = readMembers(await readJsonBody(context, MAX_BODY_BYTES), ['name', 'password', 'code'])
  return {
    name: requireText(members, 'name'),
    password: requireText(members, 'password'),
    code: findText(members, 'code') ?? '',
  }
}

/** A new sign-in ends the session that the request was sent with. */
async function endPresented({ authenticated }: RequestContext, sessions: AdminSessions): Promise<void> {
  if (authenticated?.by === ADMIN_SESSION) await sessions.end(authenticated)
}

async function signOut(context: RequestContext, { sessions }: SessionRouteOptions): Promise<Reply> {
  await endPresented(context, sessions)
  return toJsonReply(200, { name: null }, [renderClearedCookie(context)])
}
