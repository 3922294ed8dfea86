// The session of a browser at /_cardea/: shows who is signed in, signs in and signs out.
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import type { Account } from '../../directory/account.ts'
import { ANONYMOUS, type Authenticated, type Identity } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session-directory.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { isTrustworthy, renderAdminCookie, renderClearedCookie } from './browser.ts'
import { readJsonBody, requireValid, toJsonReply } from './json.ts'
import { hasAllRights, showRights } from './rights.ts'
import { SESSION, type Session } from './schemas/account.ts'
import { object, type Schema, type Static, text } from './schemas/schema.ts'

/** The handler name of an identity that comes from the admin cookie. */
export const ADMIN_SESSION = 'admin-session'

const CREDENTIALS = object({ name: text(), password: text(), 'code?': text('A one-time code.') })
export type Credentials = Static<typeof CREDENTIALS>

const SIGNED_OUT: Schema = object({ name: { type: 'null' } })

/** What the OpenAPI document says of these routes. */
export const SESSION_ROWS = [
  { method: 'GET', path: '/session', summary: 'Show who is signed in', reply: SESSION },
  { method: 'POST', path: '/session', summary: 'Sign a browser in', body: CREDENTIALS, reply: SESSION },
  { method: 'DELETE', path: '/session', summary: 'Sign a browser out', reply: SIGNED_OUT },
] as const

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
): Session => ({
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
  const credentials = requireValid(CREDENTIALS, await readJsonBody(context, MAX_BODY_BYTES))
  const opened = await options.sessions.open(credentials, context)
  if (!opened) throw new Refusal('credential_refused')
  await endPresented(context, options.sessions)
  return toJsonReply(200, describe(opened, options), [renderAdminCookie(opened.value, context)])
}

/** A new sign-in ends the session that the request was sent with. */
async function endPresented({ authenticated }: RequestContext, sessions: AdminSessions): Promise<void> {
  if (authenticated?.by === ADMIN_SESSION) await sessions.end(authenticated)
}

async function signOut(context: RequestContext, { sessions }: SessionRouteOptions): Promise<Reply> {
  await endPresented(context, sessions)
  return toJsonReply(200, { name: null }, [renderClearedCookie(context)])
}
