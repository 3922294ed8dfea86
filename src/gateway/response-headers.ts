import { createNameMemo } from '../base/name-memo.ts'
import type { HeaderPair } from '../http/request-context.ts'
import { addConnectionNames, listConnectionNames } from './header-names.ts'

export interface ResponseHeaderRules {
  /** Whether what the upstream says of other origins is taken off: Cardea says it. */
  readonly ownsCors: boolean
  /** The cookies that are Cardea's: no other server sets them. */
  readonly ownCookies: readonly string[]
}

/** Names and values in turn: bytes, or text with one character a byte. */
export type RawHeaders = readonly (Buffer | string)[]

/** Values by names in lower case, as far as somebody has read them already. */
export type ReadHeaders = Readonly<Record<string, unknown>>

type Fate = 'pass' | 'drop' | 'connection' | 'coding' | 'cors' | 'cookie' | 'length'

const FATES: ReadonlyMap<string, Fate> = new Map([
  ['connection', 'connection'],
  ['keep-alive', 'drop'],
  ['proxy-connection', 'drop'],
  ['proxy-authenticate', 'drop'],
  ['te', 'drop'],
  ['upgrade', 'drop'],
  ['transfer-encoding', 'coding'],
  ['set-cookie', 'cookie'],
  ['content-length', 'length'],
])

const CORS_PREFIX = 'access-control-'

const readName = createNameMemo((name) => {
  const lower = name.toLowerCase()
  const fate = FATES.get(lower) ?? (lower.startsWith(CORS_PREFIX) ? 'cors' : 'pass')
  return { lower, fate }
})

/** What of an answer goes on to the client. `undefined`: its body is coded in a way that ends here, so it cannot. */
export function filterResponseHeaders(
  raw: RawHeaders,
  read: ReadHeaders,
  status: number,
  rules: ResponseHeaderRules,
): readonly HeaderPair[] | undefined {
  const kept: HeaderPair[] = []
  let named: Set<string> | undefined
  let length: HeaderPair | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = toText(raw[i] as Buffer | string)
    const { lower, fate } = readName(name)
    if (fate === 'drop') continue
    const known = read[lower]
    // several of one name are read as a list
    const value = typeof known === 'string' ? known : toText(raw[i + 1] as Buffer | string)
    if (fate === 'connection') named = addConnectionNames(named, value)
    else if (fate === 'length') length = [name, value]
    else if (fate === 'coding') {
      if (value.toLowerCase() !== 'chunked') return undefined
    } else if (fate === 'pass' || !isOurs(fate, value, rules)) kept.push([name, value])
  }
  // An answer of 204 has no body, whatever it says. Last: Node reads a Content-Disposition behind it as UTF-8, and
  // breaks what it cannot write back.
  if (length !== undefined && status !== 204) kept.push(length)
  return named ? kept.filter(([name]) => !named.has(readName(name).lower)) : kept
}

/** Whether Cardea says it, and nobody else. */
const isOurs = (fate: 'cors' | 'cookie', value: string, { ownsCors, ownCookies }: ResponseHeaderRules): boolean =>
  fate === 'cors' ? ownsCors : ownCookies.some((cookie) => isCookie(value, cookie))

const toText = (part: Buffer | string): string => (typeof part === 'string' ? part : part.toString('latin1'))

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
  'trailer',
  'vary',
  'www-authenticate',
])

const NEVER_TRAILER_PREFIXES: readonly string[] = ['content-', 'proxy-', 'x-forwarded-']

/** What came behind the body, and goes on to the client. */
export function filterResponseTrailers(raw: RawHeaders): [string, string][] {
  const texts = raw.map(toText)
  const named = listConnectionNames(texts)
  const kept: [string, string][] = []
  for (let i = 0; i + 1 < texts.length; i += 2) {
    const [name = '', value = ''] = [texts[i], texts[i + 1]]
    if (!named?.has(readName(name).lower) && canTrail(name)) kept.push([name, value])
  }
  return kept
}

function canTrail(name: string): boolean {
  const { lower, fate } = readName(name)
  if (fate !== 'pass' || NEVER_TRAILERS.has(lower)) return false
  return !NEVER_TRAILER_PREFIXES.some((prefix) => lower.startsWith(prefix))
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
