import type { HeaderPair } from '../door/exchange.ts'
import { listConnectionNames } from './header-names.ts'

export interface ResponseHeaderRules {
  /** Whether what the upstream says of other origins is taken off: Cardea says it. */
  readonly ownsCors: boolean
  /** The cookie that is Cardea's: nobody else sets it. */
  readonly sessionCookie: string
}

const HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'te',
  'transfer-encoding',
  'upgrade',
])

const CORS_PREFIX = 'access-control-'

/** What of an answer goes on to the client. `undefined`: its body is coded in a way that ends here, so it cannot. */
export function filterAnswerHeaders(
  raw: readonly string[],
  status: number,
  rules: ResponseHeaderRules,
): HeaderPair[] | undefined {
  const named = listConnectionNames(raw)
  const kept: HeaderPair[] = []
  let length: HeaderPair | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const lower = name.toLowerCase()
    if (lower === 'transfer-encoding' && value.toLowerCase() !== 'chunked') return undefined
    if (HOP.has(lower) || named?.has(lower)) continue
    if (rules.ownsCors && lower.startsWith(CORS_PREFIX)) continue
    if (lower === 'set-cookie' && isCookie(value, rules.sessionCookie)) continue
    if (lower === 'content-length') length = [name, value]
    else kept.push([name, value])
  }
  // An answer of 204 has no body, whatever it says. Last: Node reads a Content-Disposition behind it as UTF-8, and
  // breaks what it cannot write back.
  if (length !== undefined && status !== 204) kept.push(length)
  return kept
}

/** Read before the body or not at all (RFC 9110, 6.5.1): behind it they could only mislead. */
const NEVER_TRAILERS: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'cache-control',
  'cookie',
  'expires',
  'forwarded',
  'host',
  'location',
  'pragma',
  'retry-after',
  'set-cookie',
  'trailer',
  'vary',
  'www-authenticate',
])

const NEVER_TRAILER_PREFIXES: readonly string[] = [CORS_PREFIX, 'content-', 'proxy-', 'x-forwarded-']

/** What came behind the body, and goes on to the client. */
export function filterAnswerTrailers(raw: readonly string[]): [string, string][] {
  const named = listConnectionNames(raw)
  const kept: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const lower = (raw[i] as string).toLowerCase()
    if (HOP.has(lower) || named?.has(lower) || NEVER_TRAILERS.has(lower)) continue
    if (NEVER_TRAILER_PREFIXES.some((prefix) => lower.startsWith(prefix))) continue
    kept.push([raw[i] as string, raw[i + 1] as string])
  }
  return kept
}

/**
 * Whether it would come back under this name. A cookie without a name comes back as its value alone, which may look like
 * another cookie's; and a comma within a value divides cookies when they are read.
 */
function isCookie(text: string, cookie: string): boolean {
  const lower = text.toLowerCase()
  const name = cookie.toLowerCase()
  if (!lower.includes(name)) return false
  const [pair = ''] = lower.split(';', 1)
  return pair.split(',').some((part) => part.replace(NAMELESS, '').split('=', 1)[0]?.trim() === name)
}

const NAMELESS = /^[\s=]+/
