/**
 * The control API: what a command line or console asks of a running Cardea. What enters: JSON requests of
 * administrators. What leaves: JSON. Nobody else gets past its steps, and no answer holds a password; its hash is in none
 * but those of `exchange`.
 */

import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { Dialect, HeaderPair, Reply, RequestContext, Step } from '../../http/request-context.ts'
import { isFromBrowser, renderAdminCookie } from './browser.ts'
import { CONTROL_ERRORS, toControlWords } from './errors.ts'
import { type PageOptions, pageRoutes } from './page.ts'
import { readControlPath } from './path.ts'
import { type ApiDeps, controlRoutes } from './routes.ts'
import { ADMIN_SESSION, type SessionRouteOptions, sessionRoute } from './session.ts'
import { controlSteps, INTENT_HEADER } from './steps.ts'
import { toJsonReply } from './wire.ts'

export interface ControlDialectOptions extends ApiDeps {
  /** The identity of a program, by what it sends itself: never by a cookie of the doors. */
  authenticate(context: RequestContext): MaybePromise<Authenticated>
  /** Throws where the rules of a door close even what is open here. */
  readonly requireEntry?: Step['run']
  /** What a browser needs; left out where none can come. */
  readonly console?: ConsoleOptions
}

export interface ConsoleOptions extends PageOptions, SessionRouteOptions {}

export function createControlDialect(options: ControlDialectOptions): Dialect {
  const { console: pages, authenticate, requireEntry } = options
  return {
    name: 'control',
    requestIdHeader: REQUEST_ID,
    readPath: readControlPath,
    steps: controlSteps({ authenticate, requireEntry, sessions: pages?.sessions, events: options.events }),
    routes: [...controlRoutes(options), ...(pages ? [sessionRoute(pages), ...pageRoutes(pages)] : [])],
    fallback: () => {
      throw new Refusal('not_found')
    },
    renderError: (refusal, context) => {
      const { status } = CONTROL_ERRORS[refusal.code]
      return toJsonReply(status, toControlWords(refusal), [
        ...(status === 401 && isChallenged(context) ? [CHALLENGE] : []),
        ...(refusal.code === 'method_not_allowed' ? [['Allow', refusal.about ?? ''] as const] : []),
      ])
    },
    defaultHeaders: (context, reply) => [
      ...STANDING,
      ...(reply.headers.some(([name]) => name === POLICY) ? [] : [NO_CONTENT]),
      ...(context ? [[REQUEST_ID, context.id] as const, ...renewingHeaders(context, reply)] : []),
    ],
  }
}

const REQUEST_ID = 'X-Request-Id'

const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** Programs that ask for it, and browsers, which would remember the password, are not challenged. */
const isChallenged = (context: RequestContext | undefined): boolean =>
  context === undefined || (context.header(INTENT_HEADER) === undefined && !isFromBrowser(context))

const POLICY = 'Content-Security-Policy'
const NO_CONTENT: HeaderPair = [POLICY, "default-src 'none'; frame-ancestors 'none'"]

/** Nothing of these paths is kept, guessed, framed, or held on to by a page that opened it. */
const STANDING: readonly HeaderPair[] = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'same-origin'],
]

/** A session in use is carried on. */
function renewingHeaders(context: RequestContext, reply: Reply): readonly HeaderPair[] {
  const { authenticated } = context
  if (authenticated?.by !== ADMIN_SESSION || reply.headers.some(([name]) => name === 'Set-Cookie')) return []
  const renewed = authenticated.session?.renew?.()
  return renewed ? [renderAdminCookie(renewed.value, context)] : []
}
