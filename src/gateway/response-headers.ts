import { Refusal } from '../base/errors.ts'
import { createBoundedMap, createHeaderMemo } from '../base/header-memo.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'
import { HEADER_TOKEN, listConnectionNames, namesNoHeader, toHopNames } from './request-headers.ts'

interface ResponseHeaderRules {
  /** Whether Cardea sets the CORS headers: those of the upstream are removed. */
  readonly ownsCors: boolean
  /** Cardea's own cookies, which no other server may set. */
  readonly ownCookies: readonly string[]
  /** What was parsed of these headers before. */
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
  const forwarded = names.filter((each) => HEADER_TOKEN.test(each) && canTrail(each.toLowerCase()))
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

const SANDBOX: HeaderPair = ['Content-Security-Policy', 'sandbox']

type Role = 'type' | 'policy' | 'reach' | 'other'

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['content-type', 'type'],
  ['content-security-policy', 'policy'],
  // a service worker could read every page of the origin, including those of /_cardea/
  ['service-worker-allowed', 'reach'],
  // a page with this policy keeps a reference to a page of /_cardea/ that it opens
  ['cross-origin-opener-policy', 'reach'],
])

const roleOf = createHeaderMemo((name): Role => ROLES.get(name.toLowerCase()) ?? 'other')

/**
 * Pages of a database have the same origin as Cardea's own paths. Such a page is sandboxed: its scripts do not run, and
 * it has no origin. Browsers apply every policy of a response, so a policy of the page's own cannot loosen the sandbox.
 * Headers that give a page access beyond its own path are removed.
 */
export function isolate(headers: readonly HeaderPair[], status: number): readonly HeaderPair[] {
  const types: string[] = []
  const policies: string[] = []
  let hasReach = false
  for (const [name, value] of headers) {
    const role = roleOf(name)
    if (role === 'type') types.push(value)
    else if (role === 'policy') policies.push(value)
    else if (role === 'reach') hasReach = true
  }
  const kept = hasReach ? headers.filter(([name]) => roleOf(name) !== 'reach') : headers
  return mayShowPage(status, types, policies) && !policies.some(isSandbox) ? [SANDBOX, ...kept] : kept
}

/** Whether a browser may show a page with these headers, now or with a body that it has cached. */
function mayShowPage(status: number, types: readonly string[], policies: readonly string[]): boolean {
  if (CHANGES_CACHED.has(status) && policies.length > 0) return true
  if (status === 204 || (status === 304 && types.length === 0)) return false
  return isActive(types.join(','))
}

/** The policy of such a response replaces that of a cached page, whatever its own type; without one, the page's stays. */
const CHANGES_CACHED: ReadonlySet<number> = new Set([206, 304])

/** Types that browsers display as a page that can run scripts, alone or in a frame. */
const ACTIVE = /^(?:text\/(?:html|xml|xsl|rdf)|application\/(?:xml|xslt)|[^/]+\/[^/]+\+xml|multipart\/x-mixed-replace)$/
/** Types for which browsers sniff the content, which may be HTML. */
const GUESSED = /^(?:(?:unknown|application)\/unknown|application\/x-unknown-content-type)$/
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

/** Whether any of the types may be displayed as a page. Browsers sniff the content if the type is missing or invalid. */
const isActive = createHeaderMemo((types) =>
  types.split(',').some((type) => {
    const [name = ''] = type.split(';', 1)
    const plain = name.trim().toLowerCase()
    return !MEDIA_TYPE.test(plain) || ACTIVE.test(plain) || GUESSED.test(plain)
  }),
)

/** Whether one of the policies in the value has a sandbox without exceptions. Of several, browsers use the first. */
const isSandbox = (value: string): boolean =>
  value.split(',').some((policy) => {
    const directives = policy.split(';').map((directive) => directive.toLowerCase().match(WORDS) ?? [])
    return directives.find(([name]) => name === 'sandbox')?.length === 1
  })

/** `\s` would also split at characters that belong to a name, such as a no-break space. */
const WORDS = /[^\t\n\f\r ]+/g

type Sent = Pick<RequestContext, 'header' | 'path'>

/**
 * A service worker controls the folder of its script. One whose script is directly below `/` would control the pages of
 * /_cardea/ too, so a database must not deliver it. Throws if a browser asks for such a script.
 */
export function requireNarrowWorker(context: Sent): void {
  if (context.header('service-worker') === undefined || !isBelowRoot(context)) return
  throw new Refusal('forbidden', { reason: 'A service worker for / is not allowed: it would control /_cardea/.' })
}

/** Keeps a browser from using a script that it has cached for a page as that of a service worker. */
export function varyByWorker(
  headers: readonly HeaderPair[],
  status: number,
  context: Pick<Sent, 'path'>,
): readonly HeaderPair[] {
  if (!isBelowRoot(context) || (status !== NOT_MODIFIED && !hasScript(headers))) return headers
  return [...headers, ['Vary', 'Service-Worker']]
}

const isBelowRoot = ({ path }: Pick<Sent, 'path'>): boolean => path.raw.lastIndexOf('/') === 0

/** A 304 has no content type, and its headers replace those of the cached response. */
const NOT_MODIFIED = 304

/** Browsers accept no other types for the script of a worker. */
const SCRIPT = /(?:java|ecma|live|j)script/i

const hasScript = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && SCRIPT.test(value))
