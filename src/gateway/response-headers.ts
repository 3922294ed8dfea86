import { createBoundedMap } from '../base/header-memo.ts'
import type { HeaderPair } from '../http/request-context.ts'
import { listConnectionNames, namesNoHeader, TOKEN, toHopNames } from './request-headers.ts'

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

type HeaderAction = 'pass' | 'drop' | 'connection' | 'coding' | 'cors' | 'cookie' | 'length' | 'sniffing' | 'trailer'

const ACTIONS: ReadonlyMap<string, HeaderAction> = new Map([
  ['connection', 'connection'],
  ['keep-alive', 'drop'],
  ['proxy-connection', 'drop'],
  ['proxy-authenticate', 'drop'],
  ['te', 'drop'],
  ['upgrade', 'drop'],
  // only Cardea's main thread says so to its worker threads
  ['x-cardea-decision', 'drop'],
  // it would delete Cardea's cookies
  ['clear-site-data', 'drop'],
  // they apply to all paths of the origin, including Cardea's own
  ['alt-svc', 'drop'],
  ['nel', 'drop'],
  ['report-to', 'drop'],
  ['reporting-endpoints', 'drop'],
  ['strict-transport-security', 'drop'],
  ['x-content-type-options', 'sniffing'],
  ['transfer-encoding', 'coding'],
  ['set-cookie', 'cookie'],
  ['content-length', 'length'],
  ['trailer', 'trailer'],
])

const CORS_PREFIX = 'access-control-'

const actionOf = (lower: string): HeaderAction =>
  ACTIONS.get(lower) ?? (lower.startsWith(CORS_PREFIX) ? 'cors' : 'pass')

interface HeaderName {
  /** As the server spells it. */
  readonly text: string
  readonly lower: string
  readonly action: HeaderAction
}

/**
 * The headers that are forwarded to the client. `undefined`: the body has a transfer coding that cannot be forwarded.
 * Uses the values of `parsed` where it can, because decoding the bytes is most of the work here.
 */
export function filterResponseHeaders(
  raw: RawHeaders,
  status: number,
  rules: ResponseHeaderRules,
): readonly HeaderPair[] | undefined {
  const { parsed = NO_HEADERS } = rules
  const hints = Object.keys(parsed)
  const kept: HeaderPair[] = []
  const connection: string[] = []
  let length: HeaderPair | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    // the loop ends before the list does, so both exist
    const { text, lower, action } = readName(raw[i] as Buffer | string, hints[i / 2])
    const decoded = parsed[lower]
    // the values of a repeated header are a list
    const value = typeof decoded === 'string' ? decoded : toText(raw[i + 1] as Buffer | string)
    if (action === 'coding' && value.toLowerCase() !== 'chunked') return undefined
    if (action === 'connection') connection.push(value)
    else if (action === 'length') length = [text, value]
    else if (action === 'trailer') pushTrailerHeader(kept, text, value)
    else if (isForwarded(action, value, rules)) kept.push([text, value])
  }
  const forwarded = withoutHopNames(kept, connection)
  // A 204 has no body, whatever its headers say. The length goes last, because Node decodes a Content-Disposition after
  // it as UTF-8, and then cannot write it back.
  if (length !== undefined && status !== 204) forwarded.push(length)
  return forwarded
}

function withoutHopNames(headers: HeaderPair[], connection: readonly string[]): HeaderPair[] {
  if (namesNoHeader(connection)) return headers
  const hopNames = toHopNames(connection)
  return headers.filter(([name]) => !hopNames.has(name.toLowerCase()))
}

/** The last seen spelling of each name, by its lower case. */
const spellings = createBoundedMap<HeaderName & { readonly bytes: Buffer }>()

/**
 * A server usually spells a name the same way each time. Then comparing the bytes is enough, and they are not decoded.
 * `hint` is probably the name in lower case. A forwarded request takes about 1 µs less of CPU time
 * (`npm run bench -- gateway-handler`).
 */
function readName(part: Buffer | string, hint: string | undefined): HeaderName {
  const known = hint === undefined ? undefined : spellings.get(hint)
  if (known && typeof part !== 'string' && hasSameBytes(part, known.bytes)) return known
  const text = toText(part)
  const lower = text.toLowerCase()
  const name = { text, lower, action: actionOf(lower), bytes: Buffer.from(text, 'latin1') }
  spellings.set(lower, name)
  return name
}

function hasSameBytes(one: Buffer, other: Buffer): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i += 1) if (one[i] !== other[i]) return false
  return true
}

function isForwarded(action: HeaderAction, value: string, { ownsCors, ownCookies }: ResponseHeaderRules): boolean {
  if (action === 'cors') return !ownsCors
  // with another value it has no effect, and the dialect would not add the right one
  if (action === 'sniffing') return value.trim().toLowerCase() === 'nosniff'
  if (action === 'cookie') return !ownCookies.some((cookie) => isCookie(value, cookie))
  return action === 'pass'
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

/** Adds the `Trailer` header without the names of trailers that are removed. */
function pushTrailerHeader(kept: HeaderPair[], name: string, announced: string): void {
  const names = announced.split(',').map((each) => each.trim())
  const forwarded = names.filter((each) => TOKEN.test(each) && canTrail(each.toLowerCase()))
  if (forwarded.length > 0) kept.push([name, forwarded.join(', ')])
}

function canTrail(lower: string): boolean {
  if (actionOf(lower) !== 'pass' || NEVER_TRAILERS.has(lower)) return false
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
