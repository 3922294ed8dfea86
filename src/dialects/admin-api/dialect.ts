/**
 * The admin API: JSON requests from the command line and the console, of administrators, user administrators, and users
 * for their own account. No reply contains a password, and only `users/transfer.ts` returns password hashes.
 */
import { explainMissing } from '../../auth/door-sign-in.ts'
import { CONSOLE_SESSION } from '../../auth/session/console-session.ts'
import { ADMIN_COOKIE } from '../../auth/session/own-cookie.ts'
import { decodePercent } from '../../base/encoding.ts'
import { ERRORS, Refusal } from '../../base/errors.ts'
import { hasAllRights } from '../../directory/identity.ts'
import { REQUEST_ID_HEADER } from '../../http/reply.ts'
import type {
  ConfirmCredential,
  Dialect,
  HeaderPair,
  Path,
  Reply,
  RequestContext,
  RequestIdentity,
} from '../../http/request-context.ts'
import { isFromBrowser } from './browser.ts'
import { toApiErrorBody, toApiReply } from './json.ts'
import { openApiRoute } from './openapi.ts'
import { type OperationRoutesDeps, operationRoutes } from './operations.ts'
import { type PageOptions, pageRoutes } from './page.ts'
import { createReopen, type SessionRouteOptions, sessionRoute } from './session.ts'
import { adminApiSteps, INTENT_HEADER, type StepsDeps } from './steps.ts'
import { type EventsDeps, eventsRoute } from './system/live-events.ts'
import { type MetricsDeps, metricsRoute, type ProbeDeps, probeRoutes } from './system/probes.ts'

export interface AdminApiOptions
  extends OperationRoutesDeps,
    Omit<StepsDeps, 'sessions'>,
    ProbeDeps,
    MetricsDeps,
    EventsDeps {
  /** For browsers; left out where none can connect. */
  readonly console?: PageOptions & SessionRouteOptions
  /** Left out where the credential cannot be revoked. */
  readonly confirmCredential?: ConfirmCredential
}

export function createAdminApiDialect(options: AdminApiOptions): Dialect {
  const { console: pages, confirmCredential } = options
  return {
    ...ADMIN_API_BASE,
    name: 'control',
    confirmCredential,
    steps: adminApiSteps({ ...options, sessions: pages?.sessions }),
    routes: [
      ...operationRoutes(pages ? { ...options, reopen: createReopen(pages.sessions) } : options),
      openApiRoute(options.operations),
      eventsRoute(options),
      ...probeRoutes(options),
      metricsRoute(options),
      ...(pages ? [sessionRoute(pages), ...pageRoutes(pages)] : []),
    ],
    defaultHeaders: (context, reply) => [
      ...ADMIN_API_BASE.defaultHeaders(context, reply),
      ...(context ? renewingHeaders(context, reply) : []),
    ],
  }
}

/** Decodes each segment once: a name may contain `/`, written `%2F`. */
function readAdminApiPath(raw: string): Path {
  const parts = raw.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  return { raw, segments: parts.map(readSegment) }
}

function readSegment(part: string): string {
  const text = decodePercent(part)
  if (text === undefined) throw new Refusal('invalid_url_encoding')
  // encoded dots are a name: this path is never forwarded
  if (text === '' || part === '.' || part === '..') throw new Refusal('invalid_target')
  // quirk: browsers remove encoded dots from a path, so they write them after a sign; `%3D` is part of a name
  return /^=\.\.?$/.test(part) ? text.slice(1) : text
}

const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

/** No challenge for a browser, which would remember the password, nor for a program that sends the intent header. */
const isChallenged = (context: RequestContext | undefined): boolean =>
  context === undefined || (context.header(INTENT_HEADER) === undefined && !isFromBrowser(context))

/** What the dialects below `/_cardea` share. */
export const ADMIN_API_BASE: Omit<Dialect, 'name' | 'steps' | 'routes'> = {
  requestIdHeader: REQUEST_ID_HEADER.toLowerCase(),
  readPath: readAdminApiPath,
  fallback: () => {
    throw new Refusal('not_found')
  },
  renderError: (refusal, context) => {
    const { status } = ERRORS[refusal.code]
    const { authenticated } = context ?? {}
    const isForAdministrator = authenticated !== undefined && hasAllRights(authenticated.identity)
    const missing = status === 401 ? explainMissing(context) : undefined
    return toApiReply(status, { ...toApiErrorBody(refusal, { isForAdministrator }), ...missing }, [
      ...(status === 401 && isChallenged(context) ? [CHALLENGE] : []),
      ...(refusal.code === 'method_not_allowed' ? [['Allow', refusal.value ?? ''] as const] : []),
    ])
  },
  defaultHeaders: (context, reply) => [
    ...SECURITY_HEADERS.filter(([name]) => !reply.headers.some(([own]) => own === name)),
    ...(context ? [[REQUEST_ID_HEADER, context.id] as const] : []),
  ],
}

/** Each is added unless the reply sets it. */
const SECURITY_HEADERS: readonly HeaderPair[] = [
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'same-origin'],
]

/** Renews the cookie of a session that is in use. */
function renewingHeaders(context: RequestIdentity, reply: Reply): readonly HeaderPair[] {
  const credential = context.authenticated?.credential
  if (credential?.kind !== CONSOLE_SESSION || reply.headers.some(([name]) => name === 'Set-Cookie')) return []
  const renewed = credential.session?.cookie?.renew()
  return renewed ? [ADMIN_COOKIE.render(renewed.value, context)] : []
}
