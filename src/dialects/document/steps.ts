import { requireNoPasswordChange } from '../../auth/password-change.ts'
import { isUntrustedSimpleChange } from '../../base/cross-site.ts'
import { isPercentEncodingValid } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { type Authenticated, identityOf, isAnonymous } from '../../directory/identity.ts'
import type { RequestContext, Route, Step } from '../../http/request-context.ts'
import { authorize } from './authorize.ts'
import { answerPreflight } from './cors.ts'
import type { DocumentDeps, DocumentSettings } from './deps.ts'
import type { UsersDeps } from './users/deps.ts'
import { isDeadPath } from './users/routes.ts'

/** The checks of a request, in order. The first five need no credential and reveal nothing about users. */
export function documentSteps(deps: DocumentDeps, routes: readonly Route[]): readonly Step[] {
  const { settings, authenticate, users } = deps
  return [
    { name: 'host', run: (context) => checkHost(context, settings()) },
    { name: 'uri length', run: (context) => checkLength(context.target, settings().maxUriLength) },
    { name: 'url encoding', run: checkEncoding },
    // reading the path throws if it is ambiguous
    { name: 'path', run: (context) => void context.path },
    { name: 'preflight', run: (context) => answerPreflight(context, settings().cors) },
    { name: 'authenticate', run: (context) => setIdentity(context, authenticate(context)) },
    { name: 'token scope', run: requireScope },
    { name: 'cross origin', run: (context) => rejectCrossOrigin(context, settings()) },
    { name: 'password change', run: (context) => rejectBeforePasswordChange(context, users) },
    { name: 'valid user', checksRights: true, run: (context) => requireValidUser(context, settings()) },
    { name: 'authorize', checksRights: true, run: (context) => void authorize(context, settings(), users) },
    { name: 'users database', run: (context) => rejectDeadPath(context, users.database, routes) },
  ]
}

/** Waits only if there is something to wait for. */
function setIdentity(
  context: RequestContext,
  found: Authenticated | Promise<Authenticated>,
): undefined | Promise<undefined> {
  if (found instanceof Promise) return found.then((authenticated) => setIdentity(context, authenticated))
  context.authenticated = found
  return undefined
}

/** Paths without data of a database or a user. */
const UNSCOPED: ReadonlySet<string | undefined> = new Set([undefined, '_session', '_up'])

/** An access token may be valid for some databases only. */
function requireScope({ authenticated, path }: RequestContext): undefined {
  const scope = authenticated?.credential?.scope
  const first = path.segments[0]
  if (scope === undefined || UNSCOPED.has(first) || scope.databases.includes(first ?? '')) return
  throw new Refusal('forbidden', { about: 'This access token is not valid for this path.' })
}

function checkHost(context: RequestContext, { validatesHost, validHosts }: DocumentSettings): undefined {
  if (!validatesHost) return
  // both are forwarded, and the database prefers the one that a trusted proxy reports
  const hosts = [context.header('host') ?? '', context.client.host]
  if (!hosts.every((host) => validHosts.includes(host.replace(/:\d*$/, '')))) throw new Refusal('invalid_host')
}

function checkLength(target: string, max: number | undefined): undefined {
  if (max !== undefined && target.length > max) throw new Refusal('uri_too_long')
}

function checkEncoding(context: RequestContext): undefined {
  if (!isPercentEncodingValid(context.target)) throw new Refusal('invalid_url_encoding')
}

/** A page of another origin must not use the credential of a browser, nor sign the browser in as another user. */
function rejectCrossOrigin(context: RequestContext, { cors }: DocumentSettings): undefined {
  const { segments } = context.path
  const isSignIn = segments.length === 1 && segments[0] === '_session'
  const sent = context.authenticated?.credential?.kind.sentByBrowser
  if (!isSignIn && sent === undefined) return
  const trusted = { origins: cors.isEnabled ? cors.origins : [], hasCertificate: sent === 'connection' }
  if (isUntrustedSimpleChange(context, trusted)) throw new Refusal('cross_origin')
}

const OWN_DOCUMENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT'])

/** The session and the own document stay open: a client reads the document to change the password in it. */
function rejectBeforePasswordChange(context: RequestContext, users: UsersDeps): undefined {
  const identity = identityOf(context)
  if (!identity.mustChangePassword) return
  const { method, path } = context
  const isSession = path.segments.length === 1 && path.segments[0] === '_session'
  const [database, id, ...rest] = path.segments
  const isOwn = database === users.database && id === `${users.prefix}${identity.name}` && rest.length === 0
  if (!isSession && !(isOwn && OWN_DOCUMENT_METHODS.has(method))) requireNoPasswordChange(identity)
}

const isValidUserRequired = (settings: DocumentSettings): boolean =>
  settings.requireValidUser || settings.requireValidUserExceptForUp

function requireValidUser(context: RequestContext, settings: DocumentSettings): undefined {
  if (!isValidUserRequired(settings) || !isAnonymous(context.authenticated)) return
  const [first, ...rest] = context.path.segments
  const isExact = rest.length === 0
  if (isExact && first === '_up' && settings.requireValidUserExceptForUp) return
  if (isExact && first === '_session' && context.method === 'POST') return
  throw new Refusal('authentication_required')
}

function rejectDeadPath({ path }: RequestContext, database: string, routes: readonly Route[]): undefined {
  if (isDeadPath(path.segments, database, routes)) throw new Refusal('not_found')
}

/** If anonymous requests are rejected, they are rejected on the paths of other dialects at this door too. */
export const createRequireEntry =
  (settings: () => DocumentSettings, authenticate: DocumentDeps['authenticate']): Step['run'] =>
  async (context) => {
    if (!isValidUserRequired(settings())) return undefined
    context.authenticated = await authenticate(context)
    if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
    return undefined
  }
