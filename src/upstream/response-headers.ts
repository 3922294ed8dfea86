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

/** What of an answer goes on to the client. */
export function filterAnswerHeaders(raw: readonly string[], status: number, rules: ResponseHeaderRules): HeaderPair[] {
  const named = listConnectionNames(raw)
  const kept: HeaderPair[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const lower = name.toLowerCase()
    if (HOP.has(lower) || named?.has(lower)) continue
    if (rules.ownsCors && lower.startsWith(CORS_PREFIX)) continue
    if (lower === 'set-cookie' && isCookie(value, rules.sessionCookie)) continue
    // such an answer has no body, whatever it says
    if (lower === 'content-length' && status === 204) continue
    kept.push([name, value])
  }
  return kept
}

const isCookie = (value: string, cookie: string): boolean =>
  value.split('=', 1)[0]?.trim().toLowerCase() === cookie.toLowerCase()
