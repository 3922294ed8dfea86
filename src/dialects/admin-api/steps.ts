import { CONSOLE_HANDLER, CONSOLE_SESSION, type ConsoleSessions } from '../../auth/session/console-session.ts'
import { isSameSecret } from '../../base/compare.ts'
import { isCrossOrigin } from '../../base/cross-site.ts'
import { Refusal } from '../../base/errors.ts'
import { API_SEGMENT } from '../../base/own-paths.ts'
import { ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import type { RequestContext, RequestHead, RequestIdentity, Step } from '../../http/request-context.ts'
import { isFromBrowser, PAGE_TOKEN_HEADER } from './browser.ts'
import type { OperationDeps } from './operation.ts'
import { listSegmentRights, type OperationTable } from './operations.ts'
import { ACCESS, type Access, requireRight } from './rights.ts'

/** Proves that a request comes from a program or our page: other origins need a preflight for it, which is rejected. */
export const INTENT_HEADER = 'x-cardea-control'

export interface StepsDeps {
  readonly core: OperationDeps
  readonly operations: OperationTable
  /** Authenticates a program by the credential it sends, never by a cookie of the doors. */
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** Throws where a door requires a credential even on the open paths of this dialect. */
  readonly requireEntry?: Step['run'] | undefined
  /** Left out where no browser can sign in. */
  readonly sessions?: ConsoleSessions | undefined
}

/** The ordered checks of a request. A forged request of a browser is rejected before any password is checked. */
export function adminApiSteps(deps: StepsDeps): readonly Step[] {
  const accessOf = createAccess(deps.operations)
  const isOpen = (context: RequestHead): boolean => accessOf(context).right === 'anonymous'
  return [
    { name: 'path', run: (context) => void context.path },
    { name: 'entry', run: (context) => (isOpen(context) ? deps.requireEntry?.(context) : undefined) },
    {
      name: 'intent',
      run: (context) => (accessOf(context).credentials === 'all' ? requireIntent(context) : undefined),
    },
    {
      name: 'authenticate',
      authenticates: true,
      run: (context) => (accessOf(context).credentials === 'all' ? authenticate(context, deps) : undefined),
    },
    {
      name: 'authenticate program',
      authenticates: true,
      run: (context) => (accessOf(context).credentials === 'program' ? authenticateProgram(context, deps) : undefined),
    },
    { name: 'origin', run: (context) => requireOwnOrigin(context) },
    { name: 'page token', run: (context) => requirePageToken(context, deps, accessOf(context)) },
    {
      name: 'rights',
      run: (context) => (isOpen(context) ? undefined : requireLowest(context, deps, accessOf(context))),
    },
  ]
}

/** How the path is used. Unknown paths of the API need a right too, so that they do not tell which paths exist. */
function createAccess(operations: OperationTable) {
  const rights = listSegmentRights(operations)
  return ({ match, path: { segments } }: RequestHead): Access => {
    // every row of this dialect is an AdminRoute
    const named = match?.route.right as Access | undefined
    if (named) return named
    if (!match && segments[1] !== API_SEGMENT) return ACCESS.open
    return { right: rights.get(segments[2]) ?? 'administrator', credentials: 'all' }
  }
}

function requireIntent(context: RequestHead): undefined {
  if (!isFromBrowser(context) && context.header('cookie') === undefined) return
  if (context.header(INTENT_HEADER) !== undefined) return
  throw new Refusal('forbidden', { reason: 'A request from a browser needs the header X-Cardea-Control.' })
}

const BASIC = /^basic\b/i

/**
 * An `Authorization` header is used instead of the cookie. What a browser adds by itself to the requests of every script
 * of the origin counts for programs only, even if the browser sends an `Authorization` header of an unknown kind.
 */
async function authenticate(context: RequestContext, { authenticate: byProgram, sessions }: StepsDeps) {
  const authorization = context.header('authorization')
  const isBrowser = isFromBrowser(context)
  if (isBrowser && authorization !== undefined && BASIC.test(authorization))
    throw new Refusal('forbidden', { reason: 'Basic is for programs: a browser signs in at /_cardea/.' })
  const session = authorization === undefined ? await sessions?.find(context) : undefined
  const isProgram = !isBrowser || authorization !== undefined
  const program = !session && isProgram ? await byProgram(context) : ANONYMOUS
  const isAmbient = isBrowser && program.credential?.kind.sentByBrowser !== undefined
  context.authenticated = session ?? (isAmbient ? ANONYMOUS : program)
  return undefined
}

/** No cookie is accepted: a script of a page on this origin could use it. */
async function authenticateProgram(context: RequestContext, { authenticate: byProgram }: StepsDeps) {
  context.authenticated = isFromBrowser(context) ? ANONYMOUS : await byProgram(context)
  return undefined
}

/** Rejects changes by the cookie from pages of other origins, even with the right page token. */
function requireOwnOrigin(context: RequestHead & RequestIdentity): undefined {
  if (!hasConsoleSession(context) || context.method === 'GET' || context.method === 'HEAD') return
  if (isCrossOrigin(context)) throw new Refusal('cross_origin')
}

const hasConsoleSession = ({ authenticated }: RequestIdentity): boolean =>
  authenticated?.credential?.kind === CONSOLE_SESSION

/** For every request with the session, except `GET /session` and sign-in, which sends a password. */
function requirePageToken(
  context: RequestHead & RequestIdentity,
  { sessions, core }: StepsDeps,
  access: Access,
): undefined {
  if (!hasConsoleSession(context) || (access.isSession && context.method !== 'DELETE')) return
  const expected = sessions?.pageTokenOf(context.authenticated?.credential?.session)
  const sent = context.header(PAGE_TOKEN_HEADER)
  if (expected !== undefined && sent !== undefined && isSameSecret(sent, expected)) return
  // a missing one is not recorded: the page may have been loaded before the sign-in
  if (sent !== undefined)
    core.events.record('sign-in.refused', { reason: 'wrong page token', handler: CONSOLE_HANDLER })
  throw new Refusal('page_token_required')
}

/** The operation itself may require a higher right, which its handler checks. */
function requireLowest(context: RequestHead & RequestIdentity, { core }: StepsDeps, { right }: Access): undefined {
  requireRight(context, { allowed: right, isBeforeRequiredActions: true }, core.userAdminRole())
}
