// The CouchDB-compatible dialect: its steps, routes, headers and errors.
import { Refusal } from '../../base/errors.ts'
import type { Dialect, HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'
import { forwardGuarded } from './config-filter.ts'
import { corsHeaders } from './cors.ts'
import type { DocumentDialectOptions } from './deps.ts'
import { toDocumentWords } from './errors.ts'
import { readDocumentPath } from './path.ts'
import { documentRoutes } from './routes.ts'
import { renewingHeaders } from './session.ts'
import type { DocumentSettings } from './settings.ts'
import { documentSteps } from './steps.ts'
import { toJsonReply } from './wire.ts'

export function createDocumentDialect(options: DocumentDialectOptions): Dialect {
  const { name, version, product, settings, upstream, isElsewhere = () => false } = options
  const challengeHeader = `x-${name.toLowerCase()}-www-authenticate`
  const serverWithVersions = `${name}/${version} (${product.name}/${product.version})`
  const bodyTimeHeader = `X-${name}-Body-Time`
  const ownHeaders = (context: RequestContext | undefined): readonly HeaderPair[] => [
    ['Server', settings().showsVersions ? serverWithVersions : name],
    NO_SNIFFING,
    ...(context ? [[REQUEST_ID, context.id] as const, [bodyTimeHeader, String(context.bodyMs)] as const] : []),
  ]

  const routes = documentRoutes(options)

  return {
    name: 'document',
    requestIdHeader: REQUEST_ID,
    readPath: readDocumentPath,
    steps: documentSteps(options, routes),
    routes,
    hasUpstream: () => upstream?.isSet() ?? false,
    fallback: (context) => {
      const [first] = context.path.segments
      // what stands below a path that is Cardea's is Cardea's too
      if (first === '_session') throw new Refusal('not_found')
      if (upstream?.isSet()) {
        if (isElsewhere(context.path.segments)) throw new Refusal('invalid_target')
        if (!settings().forwardsRewrites || context.authenticated?.identity.isAdmin)
          refuseRewrite(context.path.segments)
        return forwardGuarded(context, upstream, options.node.isOwnSetting)
      }
      throw new Refusal(first?.startsWith('_') ? 'not_found' : 'database_not_found')
    },
    renderError: (refusal, context) => {
      const { status, ...body } = toDocumentWords(refusal)
      return toJsonReply(status, body, [
        ...(status === 401 ? challenge(settings(), context?.header(challengeHeader)) : []),
        ...(refusal.code === 'method_not_allowed' ? [['Allow', refusal.about ?? ''] as const] : []),
      ])
    },
    defaultHeaders: (context, reply) => {
      if (context === undefined) return ownHeaders(context)
      const others = [corsHeaders(context, reply, settings().cors), renewingHeaders(context, reply, options)]
      if (!reply.isForwarded) return [...ownHeaders(context), ...others.flat()]
      return hasHeader(reply, NO_SNIFFING[0]) ? others.flat() : [NO_SNIFFING, ...others.flat()]
    },
  }
}

const REQUEST_ID = 'X-Couch-Request-ID'

/**
 * On forwarded responses too: attachments are files of users on the origin of the session cookie, and a browser that
 * guesses their type may run one as a page or a script.
 */
const NO_SNIFFING: HeaderPair = ['X-Content-Type-Options', 'nosniff']

const hasHeader = ({ headers }: Reply, wanted: string): boolean =>
  headers.some(([name]) => name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase())

/**
 * The rules of a `_rewrite` are in a design document: where the request leads is not known here. CouchDB authorises the
 * rewritten request as the same user, and for an administrator every path of the server would be open: also those that
 * Cardea guards.
 */
function refuseRewrite(segments: readonly string[]): void {
  // `_design%2Fname` is one segment here and two in the database
  if (segments.slice(1).join('/').split('/').includes('_rewrite'))
    throw new Refusal('forbidden', { about: 'This request to _rewrite is not forwarded.' })
}

/** A client may choose the challenge (browsers would pop up a dialogue); an option may; else only a closed server challenges. */
function challenge(settings: DocumentSettings, asked: string | undefined): readonly HeaderPair[] {
  if (asked !== undefined) return [['WWW-Authenticate', asked]]
  if (settings.wwwAuthenticate !== '') return [['WWW-Authenticate', settings.wwwAuthenticate]]
  return settings.requireValidUser ? [['WWW-Authenticate', 'Basic realm="server"']] : []
}
