import type { IncomingMessage } from 'node:http'
import { Refusal } from '../base/errors.ts'
import { METHOD_OVERRIDES, normalizeHeaderName } from '../base/header-name.ts'
import { createNameMemo } from '../base/name-memo.ts'

export interface GuardLimits {
  readonly maxUriBytes: number
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
}

/**
 * What Node's parser lets through and must not pass: headers that stand twice (one reader would take the first, another
 * the last), targets that are not a plain path, a Host that is none.
 */
export function checkRequest(request: IncomingMessage, limits: GuardLimits): void {
  // Node reads a line without a version as HTTP/0.9, and what follows it as nothing
  if (!VERSIONS.has(request.httpVersion)) throw new Refusal('malformed_request', { detail: 'version' })
  checkMethod(request.method ?? '')
  checkTarget(request.url ?? '', request.method ?? '', limits.maxUriBytes)
  checkHeaders(request.rawHeaders, limits)
  checkHost(request)
  if (request.httpVersion === '1.0') checkOld(request)
  const { expect, 'transfer-encoding': coding } = request.headers
  // another coding may frame the message differently for whoever stands behind this door
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new Refusal('malformed_request')
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new Refusal('expectation_failed')
}

/** What came with HTTP/1.1 means nothing before it, or something else to whoever stands in between. */
function checkOld({ headers }: IncomingMessage): void {
  if (headers['transfer-encoding'] !== undefined) throw new Refusal('malformed_request')
  // to be ignored, and by everybody who asks later (RFC 9110 10.1.1)
  delete headers.expect
}

/** Trailers come when the request was let in long ago; they may be no larger than what stands before the body. */
export function hasLargeTrailers(
  { rawTrailers }: IncomingMessage,
  { maxHeaders, maxHeaderBytes }: GuardLimits,
): boolean {
  if (rawTrailers.length / 2 > maxHeaders) return true
  let bytes = 0
  for (const part of rawTrailers) bytes += part.length + 2
  return bytes > maxHeaderBytes
}

const VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1'])

/** TRACE would hand a credential back to whoever reads the answer; CONNECT asks for a tunnel. */
const NEVER_ALLOWED = new Set(['TRACE', 'CONNECT'])
const ALLOWED = 'DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT'

function checkMethod(method: string): void {
  if (NEVER_ALLOWED.has(method)) throw new Refusal('method_not_allowed', { about: ALLOWED })
}

// Not in a path or query as it is (RFC 3986): a fragment never travels, and some servers read `\` as `/`.
const FOREIGN_IN_TARGET = /[#\\\x00-\x20\x7f]/

function checkTarget(target: string, method: string, maxBytes: number): void {
  if (target.length > maxBytes) throw new Refusal('uri_too_long')
  if (target === '*' && method === 'OPTIONS') return
  if (!target.startsWith('/') || FOREIGN_IN_TARGET.test(target)) throw new Refusal('invalid_target')
}

/** Headers of which a second one changes the meaning for whoever reads the other. */
const SINGLE: readonly string[] = [
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
]

/** A bit for each of them; zero for any other. */
const toBit = createNameMemo((name) => {
  const place = SINGLE.indexOf(name.toLowerCase())
  return place < 0 ? 0 : 1 << place
})

function checkHeaders(raw: readonly string[], { maxHeaders, maxHeaderBytes }: GuardLimits): void {
  if (raw.length / 2 > maxHeaders) throw new Refusal('headers_too_large')
  let bytes = 0
  let seen = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    bytes += name.length + (raw[i + 1] as string).length + 4
    const bit = toBit(name)
    if ((seen & bit) !== 0) throw new Refusal('ambiguous_header', { about: name })
    seen |= bit
  }
  if (bytes > maxHeaderBytes) throw new Refusal('headers_too_large')
}

/**
 * CouchDB and ArangoDB run the method such a header names. Without the header they would run another operation than the
 * client asked for, so it is not dropped but refused.
 */
export function checkMethodOverride({ rawHeaders }: IncomingMessage): void {
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (isMethodOverride(rawHeaders[i] as string)) throw new Refusal('method_override')
}

const isMethodOverride = createNameMemo((name) => METHOD_OVERRIDES.includes(normalizeHeaderName(name)))

// A registered name or an address, and a port: no user, no path, nothing a URL reader could take for another host.
const HOST = /^(?:[A-Za-z0-9._~%!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])?(?::\d{0,5})?$/

function checkHost(request: IncomingMessage): void {
  const host = request.headers.host
  if (host === undefined && request.httpVersion === '1.0') return
  if (host === undefined || !HOST.test(host)) throw new Refusal('invalid_host')
}
