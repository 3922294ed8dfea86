/**
 * Requests that a browser sends for a page of another origin. A page can send a simple request (POST with one of three
 * content types) without a CORS preflight, and the browser adds cookies and remembered passwords to it. So a change
 * made with such a credential must not be accepted from another origin.
 */

/** The parts of a request that the checks use. */
export interface SentRequest {
  readonly method: string
  /** `host` after the trust decision: behind a proxy, the host that the browser used. */
  readonly client: { readonly host: string }
  header(name: string): string | undefined
}

export interface TrustedOrigins {
  /** Compared letter by letter; `*` means every origin. */
  readonly origins: readonly string[]
  /** Whether the request was authenticated by the certificate of its connection, which no header shows. */
  readonly hasCertificate?: boolean
}

/** Whether a page of an origin that is not trusted could have sent this change without a preflight. */
export const isUntrustedSimpleChange = (request: SentRequest, trusted: TrustedOrigins): boolean =>
  isSimpleChange(request) && isCrossOrigin(request) && !isTrusted(request, trusted)

const SIMPLE_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
])

/** Whether a browser sends this without a preflight, and the method changes something. */
const isSimpleChange = (request: Pick<SentRequest, 'method' | 'header'>): boolean =>
  request.method === 'POST' && SIMPLE_TYPES.has(readMediaType(request.header('content-type')))

const readMediaType = (contentType = ''): string => contentType.split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? ''

const SAME_ORIGIN: ReadonlySet<string> = new Set(['same-origin', 'none'])

/**
 * Whether a browser says that the request comes from a page of another origin. Programs send neither header.
 * `Sec-Fetch-Site` decides where it is present: with some referrer policies a page of the same origin sends `Origin: null`.
 */
export function isCrossOrigin(request: Pick<SentRequest, 'client' | 'header'>): boolean {
  const site = request.header('sec-fetch-site')
  if (site !== undefined) return !SAME_ORIGIN.has(site)
  const origin = request.header('origin')
  // The scheme is not compared: a proxy that ends TLS need not say that it did.
  return origin !== undefined && ORIGIN.exec(origin)?.[1]?.toLowerCase() !== request.client.host.toLowerCase()
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/([^/?#@]+)$/i

/**
 * An entry for every origin does not cover requests with a browser's credentials: CORS never allows those either. Any
 * page can make a sandboxed frame, whose origin is `null`.
 */
function isTrusted(request: Pick<SentRequest, 'header'>, { origins, hasCertificate }: TrustedOrigins): boolean {
  const origin = request.header('origin')
  if (origin === undefined) return false
  if (origin !== 'null' && origins.includes(origin)) return true
  const isForEveryOrigin = origins.includes('*') || origins.includes(origin)
  return (
    isForEveryOrigin &&
    !hasCertificate &&
    request.header('cookie') === undefined &&
    request.header('authorization') === undefined
  )
}
