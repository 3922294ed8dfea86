import { createHeaderMemo } from '../base/header-memo.ts'
import type { HeaderPair } from '../http/request-context.ts'
import { listConnectionNames } from './request-headers.ts'

interface ResponseHeaderRules {
  /** Whether Cardea sets the CORS headers: those of the upstream are removed. */
  readonly ownsCors: boolean
  /** Cardea's own cookies, which no other server may set. */
  readonly ownCookies: readonly string[]
  /** The same headers, as far as they were parsed before. */
  readonly parsed?: ParsedHeaders
}

/** Names and values in turn: bytes, or text with one character per byte. */
export type RawHeaders = readonly (Buffer | string)[]

/** Values by name in lower case, with one character per byte. The values of a repeated header are a list. */
export type ParsedHeaders = Readonly<Record<string, unknown>>

type Fate = 'pass' | 'drop' | 'coding' | 'cors' | 'cookie' | 'length' | 'sniffing'

const FATES: ReadonlyMap<string, Fate> = new Map([
  ['connection', 'drop'],
  ['keep-alive', 'drop'],
  ['proxy-connection', 'drop'],
  ['proxy-authenticate', 'drop'],
  ['te', 'drop'],
  ['upgrade', 'drop'],
  // it would delete Cardea's cookies
  ['clear-site-data', 'drop'],
  ['x-content-type-options', 'sniffing'],
  ['transfer-encoding', 'coding'],
  ['set-cookie', 'cookie'],
  ['content-length', 'length'],
])

const CORS_PREFIX = 'access-control-'

const fateOf = (lower: string): Fate => FATES.get(lower) ?? (lower.startsWith(CORS_PREFIX) ? 'cors' : 'pass')

const readName = createHeaderMemo((name) => {
  const lower = name.toLowerCase()
  return { lower, fate: fateOf(lower) }
})

/** The headers that are forwarded to the client. `undefined`: the body has a transfer coding that cannot be forwarded. */
export function filterResponseHeaders(
  raw: RawHeaders,
  status: number,
  rules: ResponseHeaderRules,
): readonly HeaderPair[] | undefined {
  const texts = toTexts(raw, rules.parsed ?? NO_HEADERS)
  const hopNames = listConnectionNames(texts)
  const kept: HeaderPair[] = []
  let length: HeaderPair | undefined
  for (let i = 0; i + 1 < texts.length; i += 2) {
    const name = texts[i] as string
    const value = texts[i + 1] as string
    const { lower, fate } = readName(name)
    if (fate === 'coding' && value.toLowerCase() !== 'chunked') return undefined
    if (fate === 'length') length = [name, value]
    else if (!hopNames.has(lower) && isForwarded(fate, value, rules)) kept.push([name, value])
  }
  // A 204 has no body, whatever its headers say. The length goes last, because Node decodes a Content-Disposition after
  // it as UTF-8, and then cannot write it back.
  if (length !== undefined && status !== 204) kept.push(length)
  return kept
}

function isForwarded(fate: Fate, value: string, { ownsCors, ownCookies }: ResponseHeaderRules): boolean {
  if (fate === 'cors') return !ownsCors
  // with another value it has no effect, and the dialect would not add the right one
  if (fate === 'sniffing') return value.trim().toLowerCase() === 'nosniff'
  if (fate === 'cookie') return !ownCookies.some((cookie) => isCookie(value, cookie))
  return fate === 'pass'
}

/** Takes a value that was decoded before, because decoding the bytes is most of the work here. */
function toTexts(raw: RawHeaders, parsed: ParsedHeaders): readonly string[] {
  const texts: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    // the loop ends before the list does, so both exist
    const name = toText(raw[i] as Buffer | string)
    const value = parsed[readName(name).lower]
    // the values of a repeated header are a list
    texts.push(name, typeof value === 'string' ? value : toText(raw[i + 1] as Buffer | string))
  }
  return texts
}

const NO_HEADERS: ParsedHeaders = Object.freeze({})

const toText = (part: Buffer | string): string => (typeof part === 'string' ? part : part.toString('latin1'))

/** Fields that are needed before the body is read (RFC 9110 6.5.1), so they are not forwarded as trailers. */
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

/** The trailers that are forwarded to the client. */
export function filterResponseTrailers(raw: RawHeaders): [string, string][] {
  if (raw.length === 0) return []
  const texts = raw.map(toText)
  const hopNames = listConnectionNames(texts)
  const kept: [string, string][] = []
  for (let i = 0; i + 1 < texts.length; i += 2) {
    const [name = '', value = ''] = [texts[i], texts[i + 1]]
    const lower = name.toLowerCase()
    if (!hopNames.has(lower) && canTrail(lower)) kept.push([name, value])
  }
  return kept
}

function canTrail(lower: string): boolean {
  if (fateOf(lower) !== 'pass' || NEVER_TRAILERS.has(lower)) return false
  return !NEVER_TRAILER_PREFIXES.some((prefix) => lower.startsWith(prefix))
}

/**
 * Whether the client would send this cookie back under the given name. A cookie without a name is sent back as its value
 * alone, which may look like another cookie, and a comma within a value separates cookies when they are parsed.
 */
function isCookie(text: string, cookie: string): boolean {
  const lower = text.toLowerCase()
  const name = cookie.toLowerCase()
  if (!lower.includes(name)) return false
  const [pair = ''] = lower.split(';', 1)
  return pair.split(',').some((part) => part.replace(NAMELESS, '').split('=', 1)[0]?.trim() === name)
}

const NAMELESS = /^[\s=]+/
