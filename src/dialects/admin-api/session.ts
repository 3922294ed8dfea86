// The session of a browser at /_cardea/: shows who is signed in, signs in and signs out.
import { MAX_SIGN_IN_BYTES } from '../../auth/door-sign-in.ts'
import { CONSOLE_SESSION, type ConsoleSessions } from '../../auth/session/console-session.ts'
import { ADMIN_COOKIE } from '../../auth/session/own-cookie.ts'
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import { API_PREFIX } from '../../base/own-paths.ts'
import { PRODUCT } from '../../base/product.ts'
import type { Account } from '../../directory/account.ts'
import { ANONYMOUS, type Authenticated, hasAllRights } from '../../directory/identity.ts'
import type { SessionOpening } from '../../directory/sessions/session.ts'
import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'
import { isTrustworthy } from './browser.ts'
import { CREDENTIALS, readApiBody, requireValid, toApiReply, toCredentials } from './json.ts'
import type { OperationDeps } from './operation.ts'
import type { PageOptions } from './page.ts'
import { ACCESS, type AdminRoute, showRights } from './rights.ts'
import { SESSION, type SessionView } from './schemas/account.ts'
import { object, type Schema } from './schemas/schema.ts'

const SIGNED_OUT: Schema = object({ name: { type: 'null' } })

/** What the OpenAPI document says of these routes. */
export const SESSION_ROWS = [
  { method: 'GET', path: '/session', summary: 'Show who is signed in', reply: SESSION },
  { method: 'POST', path: '/session', summary: 'Sign a browser in', body: CREDENTIALS, reply: SESSION },
  { method: 'DELETE', path: '/session', summary: 'Sign a browser out', reply: SIGNED_OUT },
] as const

export type SessionRouteOptions = Pick<PageOptions, 'sessions' | 'isOwnOrigin'> & Pick<OperationDeps, 'userAdminRole'>

export const sessionRoute = (options: SessionRouteOptions): AdminRoute => ({
  path: `${API_PREFIX}/session`,
  right: ACCESS.session,
  methods: {
    GET: (context) => toApiReply(200, describe(context.authenticated ?? ANONYMOUS, options)),
    POST: (context) => signIn(context, options),
    DELETE: (context) => signOut(context, options),
  },
})

const describe = (
  { identity }: Pick<Authenticated, 'identity'>,
  { userAdminRole }: SessionRouteOptions,
): SessionView => ({
  name: identity.name,
  isAdministrator: hasAllRights(identity),
  ...(identity.name !== null && {
    roles: identity.roles,
    rights: showRights(identity, userAdminRole()),
    ...(identity.mustChangePassword && { mustChangePassword: true }),
    ...(identity.mustSetUpFactor && { mustSetUpFactor: true }),
    server: `${PRODUCT.name} ${PRODUCT.version}`,
  }),
})

const NEEDS_OWN_LISTENER =
  'A browser signs in here only over TLS or at a loopback address. For plain HTTP set admin.endpoint, a listener of its own.'

async function signIn(context: RequestContext, options: SessionRouteOptions): Promise<Reply> {
  if (isCrossOrigin(context)) throw new Refusal('cross_origin')
  if (!options.isOwnOrigin && !isTrustworthy(context)) throw new Refusal('forbidden', { reason: NEEDS_OWN_LISTENER })
  const given = toCredentials(requireValid(CREDENTIALS, await readApiBody(context, MAX_SIGN_IN_BYTES)))
  const opened = await options.sessions.open(given, context)
  if (!opened) throw new Refusal('credential_refused')
  // a client that knows the password may have the token: the page goes on without being loaded again
  const session = { ...describe(opened, options), pageToken: options.sessions.pageTokenOf(opened.cookie) }
  return toApiReply(200, session, [ADMIN_COOKIE.render(opened.cookie.value, context)])
}

async function signOut(context: RequestContext, { sessions }: SessionRouteOptions): Promise<Reply> {
  if (context.authenticated?.credential?.kind === CONSOLE_SESSION) await sessions.endCarried(context)
  return toApiReply(200, { name: null }, [ADMIN_COOKIE.render('', context, 0)])
}

/** Opens another session for an account whose sessions have ended. Returns the header that sets its cookie. */
export const createReopen =
  ({ openFor }: ConsoleSessions) =>
  async (context: RequestContext, account: Account, opening: SessionOpening): Promise<readonly HeaderPair[]> => [
    ADMIN_COOKIE.render((await openFor(account, context, opening)).cookie.value, context),
  ]
