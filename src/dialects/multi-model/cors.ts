import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'
import { toEmptyReply } from './wire.ts'

/** The option that decides from which origins a browser's credentials are accepted. */
export interface OriginSettings {
  readonly trustedOrigins: readonly string[]
}

const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
const EXPOSED = 'etag, content-encoding, content-length, location, server, x-arango-errors, x-arango-async-id'

/**
 * The same for any URL and any caller, so that preflights work; it says nothing about anybody. Headers that are reserved
 * show that a request is none of another origin's page, so no page is given leave to send them.
 */
export function answerOptions(context: RequestContext, reserved: readonly string[]): Reply {
  const headers: HeaderPair[] = [['Allow', METHODS]]
  if (context.header('origin') !== undefined) {
    headers.push(['Access-Control-Allow-Methods', METHODS], ['Access-Control-Max-Age', '1800'])
    const asked = context.header('access-control-request-headers')?.trim() ?? ''
    const isReserved = asked.split(',').some((name) => reserved.includes(name.trim().toLowerCase()))
    if (asked !== '' && !isReserved) headers.push(['Access-Control-Allow-Headers', asked])
  }
  return toEmptyReply(200, headers)
}

/**
 * What a browser asks before it lets a page send a request to another origin: never with a body or cookies. It is passed
 * on for nobody in particular, so what looks different is none.
 */
export const isPreflight = (context: RequestContext): boolean =>
  context.method === 'OPTIONS' &&
  ORIGIN.test(context.header('origin') ?? '') &&
  METHOD.test(context.header('access-control-request-method') ?? '') &&
  context.header('cookie') === undefined &&
  context.header('transfer-encoding') === undefined &&
  Number(context.header('content-length') ?? 0) === 0

const ORIGIN = /^(?:null|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+)$/i
const METHOD = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

/** Every origin is echoed; being trusted decides only whether credentials may be sent. */
export function corsHeaders(context: RequestContext, trustedOrigins: readonly string[]): readonly HeaderPair[] {
  const origin = context.header('origin')
  if (origin === undefined) return []
  return [
    ['Access-Control-Allow-Origin', origin],
    ['Access-Control-Allow-Credentials', String(isTrusted(origin, trustedOrigins))],
    ['Access-Control-Expose-Headers', EXPOSED],
    ['Vary', 'Origin'],
  ]
}

/** A trusted origin may be written with a slash at its end, which an `Origin` never has. */
export const withoutSlash = (text: string): string => (text.endsWith('/') ? text.slice(0, -1) : text)

export const trustsEveryOrigin = (trusted: readonly string[]): boolean =>
  trusted.includes('*') || trusted.includes('all')

const isTrusted = (origin: string, trusted: readonly string[]): boolean =>
  trustsEveryOrigin(trusted) || trusted.some((entry) => withoutSlash(entry) === withoutSlash(origin))
