/** The CouchDB-compatible dialect: its steps, routes, headers and errors. */
import { Refusal } from '../../base/errors.ts'
import { isMounted } from '../../base/own-paths.ts'
import { PRODUCT } from '../../base/product.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import type { Dialect, HeaderPair, PendingReply, Reply, RequestContext } from '../../http/request-context.ts'
import { toServiceRoutes } from '../services.ts'
import { forwardGuarded } from './config-guard.ts'
import { toDocumentCorsHeaders } from './cors.ts'
import type { DocumentDeps, DocumentSettings } from './deps.ts'
import { toDocumentErrorReply } from './errors.ts'
import { nodeRoutes } from './node.ts'
import { type DocumentRoute, documentRightOf, FORWARDED_ROUTES, toServiceRight } from './rights.ts'
import { serverRoutes } from './server.ts'
import { sessionRoutes } from './session.ts'
import { documentSteps, readDocumentPath } from './steps.ts'
import { createDocumentUsersRoutes } from './users/routes.ts'

export function createDocumentDialect(deps: DocumentDeps): Dialect {
  const routes: readonly DocumentRoute[] = [
    ...sessionRoutes(deps),
    ...nodeRoutes(deps.node, deps.upstream),
    ...createDocumentUsersRoutes(deps.users),
    ...serverRoutes(deps),
    ...FORWARDED_ROUTES,
    ...toServiceRoutes(deps.services, toServiceRight),
  ]
  return {
    name: 'document',
    requestIdHeader: REQUEST_ID.toLowerCase(),
    methods: 'COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT',
    readPath: readDocumentPath,
    keepsOrigin: true,
    steps: documentSteps(deps),
    routes,
    hasUpstream: deps.upstream.isSet,
    fallback: (context) => forwardOrReject(context, deps),
    renderError: createErrorRenderer(deps),
    renewalHeaders: (context) => deps.cookieHeaders.renewalHeaders(context, NO_REPLY),
    confirmCredential: deps.confirmCredential,
    defaultHeaders: createDefaultHeaders(deps),
  }
}

/** A request to another server is not replied to here. */
const NO_REPLY: Reply = Object.freeze({ status: 0, headers: [] })

/** For requests that match no route. */
function forwardOrReject(context: RequestContext, deps: DocumentDeps): PendingReply {
  const { upstream, settings } = deps
  const { segments } = context.path
  const { service } = documentRightOf(context)
  if (service) return service.forward(context)
  if (!upstream.isSet()) throw new Refusal(segments[0]?.startsWith('_') ? 'not_found' : 'database_not_found')
  if (isMounted(segments)) throw new Refusal('invalid_target')
  const { identity, credential } = context.authenticated ?? ANONYMOUS
  if (!settings().upstream['document-rewrites'] || identity.isAdmin || credential?.scope) rejectRewrite(segments)
  return forwardGuarded(context, upstream, deps.node.isOwnSetting)
}

/**
 * The target of a `_rewrite` is computed by a design document, so it is not known here. CouchDB authorises the
 * rewritten request as the same user. For an administrator that would open every path of the server, also those that
 * Cardea protects.
 */
function rejectRewrite(segments: readonly string[]): void {
  // `_design%2Fname` is one segment here and two in the database
  const isRewrite = (segment: string) => segment.includes('_rewrite') && segment.split('/').includes('_rewrite')
  if (segments.slice(1).some(isRewrite))
    throw new Refusal('forbidden', { reason: 'This request to _rewrite is not forwarded.' })
}

function createErrorRenderer({ name, settings }: DocumentDeps): Dialect['renderError'] {
  const challengeHeader = `x-${name.toLowerCase()}-www-authenticate`
  return (refusal, context) => {
    const reply = toDocumentErrorReply(refusal)
    const challenge = reply.status === 401 ? findChallenge(settings(), context?.header(challengeHeader)) : undefined
    return {
      ...reply,
      headers: [
        ...reply.headers,
        ...(challenge === undefined ? [] : [['WWW-Authenticate', challenge] as const]),
        ...(refusal.code === 'method_not_allowed' ? [['Allow', refusal.value ?? ''] as const] : []),
      ],
    }
  }
}

/** A client may choose the challenge, for example so that browsers show no password dialogue. */
function findChallenge({ chttpd }: DocumentSettings, requested: string | undefined): string | undefined {
  if (requested !== undefined) return requested
  if (chttpd['WWW-Authenticate'] !== '') return chttpd['WWW-Authenticate']
  return chttpd.require_valid_user ? 'Basic realm="server"' : undefined
}

const REQUEST_ID = 'X-Couch-Request-ID'

function createDefaultHeaders(deps: DocumentDeps): Dialect['defaultHeaders'] {
  const { name, version, settings, cookieHeaders } = deps
  const serverWithVersions = `${name}/${version} (${PRODUCT.name}/${PRODUCT.version})`
  const bodyTimeHeader = `X-${name}-Body-Time`
  const toServerHeaders = (): HeaderPair[] => [
    ['Server', settings().chttpd.server_header_versions ? serverWithVersions : name],
    NO_SNIFFING,
  ]
  return (context, reply) => {
    if (context === undefined) return toServerHeaders()
    const headers = reply.isForwarded ? [] : toServerHeaders()
    if (!reply.isForwarded) headers.push([REQUEST_ID, context.id], [bodyTimeHeader, String(context.bodyMs)])
    else if (!hasHeader(reply, NO_SNIFFING[0])) headers.push(NO_SNIFFING)
    headers.push(...toDocumentCorsHeaders(context, reply, settings()), ...cookieHeaders.renewalHeaders(context, reply))
    return headers
  }
}

/**
 * On forwarded responses too: attachments are files of users on the origin of the session cookie, and a browser that
 * guesses their type may run one as a page or a script.
 */
const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']

const hasHeader = ({ headers }: Reply, wanted: string): boolean =>
  headers.some(([name]) => name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase())
