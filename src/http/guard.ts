import { type IncomingMessage, METHODS } from 'node:http'
import { Refusal } from '../base/errors.ts'
import { createHeaderMemo } from '../base/header-memo.ts'
import { isHttp2 } from './http2-messages.ts'
import type { Dialect } from './request-context.ts'

export interface GuardLimits {
  readonly 'max-uri-bytes': number
  readonly 'max-header-bytes': number
  readonly 'max-headers': number
}

/**
 * Rejects what Node's parser accepts and Cardea must not: headers that are present twice (one reader would use the
 * first, another the last), targets that are not a plain path, invalid hosts, and a header that names another method,
 * unless the dialect ignores it.
 */
export function checkRequest(
  request: IncomingMessage,
  limits: GuardLimits,
  { ignoresMethodOverride, methods }: Dialect,
): void {
  // Node reads a request line without a version as HTTP/0.9 and ignores the headers. It accepts 2.0, too.
  if (!isHttp2(request) && !HTTP1_VERSIONS.has(request.httpVersion))
    throw new Refusal('malformed_request', { detail: 'version' })
  checkMethod(request.method ?? '', methods)
  checkTarget(request.url ?? '', request.method ?? '', limits['max-uri-bytes'])
  const hasMethodOverride = checkHeaders(request.rawHeaders, limits)
  checkHost(request)
  if (request.httpVersion === '1.0') checkHttp10(request)
  const { expect, 'transfer-encoding': coding } = request.headers
  // The upstream might read the length of the message differently with another coding.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new Refusal('malformed_request')
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new Refusal('expectation_failed')
  // CouchDB and ArangoDB execute the method that such a header names. Removing the header would execute another
  // operation than the client asked for.
  if (hasMethodOverride && !ignoresMethodOverride) throw new Refusal('method_override')
}

/** HTTP/1.0 has neither chunks nor `Expect`; a proxy in between may read them differently. */
function checkHttp10({ headers }: IncomingMessage): void {
  if (headers['transfer-encoding'] !== undefined) throw new Refusal('malformed_request')
  // RFC 9110 10.1.1: ignore it. Removed, so that all later code ignores it.
  delete headers.expect
}

/** Trailers arrive after the request was accepted. They have the same limits as headers. */
export function hasLargeTrailers(
  { rawTrailers }: IncomingMessage,
  { 'max-headers': maxHeaders, 'max-header-bytes': maxBytes }: GuardLimits,
): boolean {
  if (rawTrailers.length / 2 > maxHeaders) return true
  let bytes = 0
  for (const part of rawTrailers) bytes += part.length + 2
  return bytes > maxBytes
}

const HTTP1_VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1'])

/** Those of the parser of HTTP/1.1; over HTTP/2 a method may be any word. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)

/** TRACE would return the credential in the response body; CONNECT asks for a tunnel. */
const NEVER_ALLOWED = new Set(['TRACE', 'CONNECT'])
const ALLOWED = 'DELETE,GET,HEAD,OPTIONS,POST,PUT'

function checkMethod(method: string, methods = ALLOWED): void {
  if (!KNOWN_METHODS.has(method)) throw new Refusal('malformed_request', { detail: 'method' })
  if (NEVER_ALLOWED.has(method)) throw new Refusal('method_not_allowed', { value: methods })
}

// Not allowed unencoded in a path or query (RFC 3986). Some servers read `\` as `/`. Over HTTP/1.1 the parser rejects
// what is not ASCII.
const INVALID_IN_TARGET = /[#\\\x00-\x20\x7f-\uffff]/

function checkTarget(target: string, method: string, maxBytes: number): void {
  if (target.length > maxBytes) throw new Refusal('uri_too_long')
  if (target === '*' && method === 'OPTIONS') return
  if (!target.startsWith('/') || INVALID_IN_TARGET.test(target)) throw new Refusal('invalid_target')
}

/** Headers that may be present once: readers that use the first and readers that use the last would disagree. */
const SINGLE: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'forwarded',
  'host',
  'origin',
  'proxy-authorization',
  'transfer-encoding',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-ssl',
])

/** Those of which equal copies are merged: they decide neither who the client is nor where the body ends. */
const MERGED: ReadonlySet<string> = new Set(['content-type'])

const ruleOf = createHeaderMemo((name) => {
  const lower = name.toLowerCase()
  return {
    /** The name in lower case, if the header may be present only once; else empty. */
    single: SINGLE.has(lower) ? lower : '',
    isMerged: MERGED.has(lower),
    isMethodOverride: METHOD_OVERRIDES.includes(normalizeHeaderName(name)),
  }
})

/**
 * Throws if there are too many headers, or one of them twice. Removes equal copies of those that are merged. Returns
 * whether a header names another method.
 */
function checkHeaders(
  raw: string[],
  { 'max-headers': maxHeaders, 'max-header-bytes': maxBytes }: GuardLimits,
): boolean {
  if (raw.length / 2 > maxHeaders) throw new Refusal('headers_too_large')
  const seen: string[] = []
  let bytes = 0
  let hasMethodOverride = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    bytes += name.length + (raw[i + 1] as string).length + 4
    const { single, isMerged, isMethodOverride } = ruleOf(name)
    hasMethodOverride ||= isMethodOverride
    if (single === '') continue
    if (!seen.includes(single)) seen.push(single)
    else if (isMerged && findValue(raw, single) === raw[i + 1]) {
      raw.splice(i, 2)
      i -= 2
    } else throw new Refusal('ambiguous_header', { value: name })
  }
  if (bytes > maxBytes) throw new Refusal('headers_too_large')
  return hasMethodOverride
}

/** The value of the first header with this name. */
const findValue = (raw: readonly string[], lower: string): string | undefined =>
  raw.find((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === lower)

/** Headers in which a client asks for another method than that of the request line, normalised. */
const METHOD_OVERRIDES: readonly string[] = ['x-http-method-override', 'x-http-method', 'x-method-override']

/** Lower case, with `-` for everything that is not a letter or digit: some servers treat such names as the same. */
export const normalizeHeaderName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

// A registered name or an address, and a port. No user, path or other part that a URL parser could read as another host.
const HOST = /^(?:[A-Za-z0-9._~%!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])?(?::\d{0,5})?$/

function checkHost(request: IncomingMessage): void {
  const host = request.headers.host
  if (host === undefined && request.httpVersion === '1.0') return
  if (host === undefined || !HOST.test(host)) throw new Refusal('invalid_host')
}
