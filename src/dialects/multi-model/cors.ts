import type { HeaderPair, Reply, RequestHead } from '../../http/request-context.ts'
import { toEmptyReply } from './reply.ts'
import type { MultiModelSettings } from './settings.ts'

const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
/** Headers of Cardea's own, which its clients are to read. */
const OWN_PREFIX = 'x-cardea-'
const EXPOSED = 'etag, content-encoding, content-length, location, server, x-arango-errors, x-arango-async-id'

/** What this door tells pages of other origins, for the dialects that are mounted at it. It answers preflights itself. */
export const createMultiModelCors = (settings: () => MultiModelSettings) => ({
  origins: () => settings().http['trusted-origin'].map(withoutSlash),
  headers: (context: RequestHead, reply: Reply) => toMultiModelCorsHeaders(context, reply, settings()),
})

/**
 * Every URL and client gets the same reply, so that preflights work without a credential. A reserved header proves that a
 * request does not come from a page of another origin, so no page is allowed to send one.
 */
export function answerOptions(context: RequestHead, reserved: readonly string[]): Reply {
  const headers: HeaderPair[] = [['Allow', METHODS]]
  if (context.header('origin') !== undefined) {
    headers.push(['Access-Control-Allow-Methods', METHODS], ['Access-Control-Max-Age', '1800'])
    const asked = context.header('access-control-request-headers')?.trim() ?? ''
    const isReserved = asked.split(',').some((name) => reserved.includes(name.trim().toLowerCase()))
    if (asked !== '' && !isReserved) headers.push(['Access-Control-Allow-Headers', asked])
  }
  return toEmptyReply(200, headers)
}

/** Every origin is echoed. Only a trusted one may send credentials. */
export function toMultiModelCorsHeaders(
  context: RequestHead,
  reply: Reply,
  { http }: MultiModelSettings,
): readonly HeaderPair[] {
  const own = reply.headers.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith(OWN_PREFIX))
  const origin = context.header('origin')
  if (origin === undefined) return []
  return [
    ['Access-Control-Allow-Origin', origin],
    ['Access-Control-Allow-Credentials', String(isTrusted(origin, http['trusted-origin']))],
    ['Access-Control-Expose-Headers', [EXPOSED, ...own].join(', ')],
    ['Vary', 'Origin'],
  ]
}

/** A trusted origin may be written with a slash at its end, which an `Origin` never has. */
export const withoutSlash = (text: string): string => (text.endsWith('/') ? text.slice(0, -1) : text)

export const trustsEveryOrigin = (trusted: readonly string[]): boolean =>
  trusted.includes('*') || trusted.includes('all')

const isTrusted = (origin: string, trusted: readonly string[]): boolean =>
  trustsEveryOrigin(trusted) || trusted.some((entry) => withoutSlash(entry) === withoutSlash(origin))
