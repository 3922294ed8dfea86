import { createHeaderMemo } from '../base/header-memo.ts'
import { CONNECTION_HEADERS } from '../base/header-pairs.ts'
import { normalizeHeaderName } from '../http/guard.ts'
import type { Client } from '../http/request-context.ts'

/** Takes and returns names and values in turn. `keepsAuthorization`: whether the client's own is forwarded. */
export type HeaderFilter = (raw: readonly string[], keepsAuthorization: boolean) => string[]

type HeaderAction = 'pass' | 'drop' | 'authorization' | 'cookie' | 'connection'

/** Hop-by-hop headers (RFC 9110 7.6.1), and headers that the gateway sets itself. */
const HOP_BY_HOP: readonly string[] = [
  ...CONNECTION_HEADERS,
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'http2-settings',
  'expect',
  'content-length',
]

/** Headers that applications read the client's identity, its address or the original path from. */
const IDENTITY: readonly string[] = [
  'forwarded',
  'x-forwarded',
  'x-real-ip',
  'client-ip',
  // read by CGI programs as HTTP_PROXY, the address of a proxy for their own requests
  'proxy',
  // read by CouchDB as the path before a rewrite of its own
  'x-couchdb-vhost-path',
  'x-couchdb-requested-path',
  'x-original-method',
  'x-original-uri',
  'x-original-url',
  'x-rewrite-url',
]

const IDENTITY_PREFIXES: readonly string[] = [
  'x-auth-',
  'x-cardea-',
  'x-forwarded-',
  'remote-',
  'x-remote-',
  'x-authenticated-',
  'x-webauth-',
  'x-authentik-',
  'x-goog-authenticated-',
  'x-ms-client-principal',
  // set by proxies that verify client certificates
  'client-cert',
  'x-client-cert',
  'ssl-client-',
  'x-ssl-client-',
]

/** `X-Client-IP`, `True-Client-IP`, `CF-Connecting-IP`, and the same from other networks. */
const IDENTITY_SUFFIXES: readonly string[] = ['-client-ip', '-connecting-ip']

/**
 * Which headers of a request are forwarded: not Cardea's own cookies, nor identity headers. `identityHeaderNames` are
 * those of this deployment, in addition to the well-known ones.
 */
export function createRequestFilter(
  identityHeaderNames: readonly string[],
  ownCookies: readonly string[],
): HeaderFilter {
  const dropped = new Set([...HOP_BY_HOP, ...IDENTITY, ...identityHeaderNames].map(normalizeHeaderName))
  const findAction = createHeaderMemo((name) => actionOf(name, dropped))
  return (raw, keepsAuthorization) => {
    const kept: string[] = []
    const connection: string[] = []
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] as string
      const value = raw[i + 1] as string
      const action = findAction(name)
      if (action === 'pass' || (action === 'authorization' && keepsAuthorization)) kept.push(name, value)
      else if (action === 'cookie') {
        const others = ownCookies.reduce(withoutCookie, value)
        if (others !== '') kept.push(name, others)
      } else if (action === 'connection') connection.push(value)
    }
    return withoutHopNames(kept, connection)
  }
}

/** The name of a header (RFC 9110 5.6.2). */
export const HEADER_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Whether these values of `Connection` name no header, as in nearly every message. */
export const namesNoHeader = (connection: readonly string[]): boolean =>
  connection.every((value) => value === 'keep-alive' || value === 'close')

/** The headers that these values of `Connection` name: they are for this connection only. */
export function toHopNames(connection: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const value of connection) for (const item of value.split(',')) names.add(item.trim().toLowerCase())
  for (const name of NEVER_HOP_BY_HOP) names.delete(name)
  return names
}

/** Without one of these the next server would read the message differently, or take the request for an anonymous one. */
const NEVER_HOP_BY_HOP: readonly string[] = [
  'host',
  'authorization',
  'content-length',
  'content-type',
  'content-encoding',
]

function withoutHopNames(headers: string[], connection: readonly string[]): string[] {
  if (namesNoHeader(connection)) return headers
  const hopNames = toHopNames(connection)
  return headers.filter((_, i) => !hopNames.has((headers[i - (i % 2)] as string).toLowerCase()))
}

/** The headers that `Connection` names in a list of names and values. */
export const listConnectionNames = (raw: readonly string[]): ReadonlySet<string> =>
  toHopNames(raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'connection'))

function actionOf(name: string, dropped: ReadonlySet<string>): HeaderAction {
  const lower = name.toLowerCase()
  const normal = normalizeHeaderName(name)
  if (lower === 'authorization') return 'authorization'
  if (lower === 'cookie') return 'cookie'
  if (lower === 'connection') return 'connection'
  // `_` for `-`: some servers do not distinguish them
  const isDisguised = normal !== lower && SPECIAL.has(normal)
  if (isDisguised || dropped.has(normal)) return 'drop'
  return isIdentity(normal) ? 'drop' : 'pass'
}

const isIdentity = (normal: string): boolean =>
  IDENTITY_PREFIXES.some((prefix) => normal.startsWith(prefix)) ||
  IDENTITY_SUFFIXES.some((suffix) => normal.endsWith(suffix))

const SPECIAL: ReadonlySet<string> = new Set(['authorization', 'cookie', 'connection', 'host', 'content-type'])

const SEPARATOR = /[;,]/

/** Pairs are separated by `;` or `,`, as in Cardea's own cookie parser. */
function withoutCookie(header: string, cookie: string): string {
  // most clients send it alone
  if (header.startsWith(cookie) && header[cookie.length] === '=' && !SEPARATOR.test(header)) return ''
  if (!header.toLowerCase().includes(cookie.toLowerCase())) return header
  return header
    .split(SEPARATOR)
    .filter((pair) => pair.split('=', 1)[0]?.trim().toLowerCase() !== cookie.toLowerCase())
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .join('; ')
}

/** Adds the client's address, scheme and host, as the door has established them. */
export function pushForwarded(headers: string[], { address, scheme, host }: Client): void {
  const node = address === '' ? 'unknown' : address.includes(':') ? `"[${address}]"` : address
  if (address !== '') headers.push('X-Forwarded-For', address)
  headers.push('X-Forwarded-Proto', scheme)
  if (PLAIN_HOST.test(host))
    headers.push('X-Forwarded-Host', host, 'Forwarded', `for=${node};host="${host}";proto=${scheme}`)
  else headers.push('Forwarded', `for=${node};proto=${scheme}`)
}

/** A trusted proxy may pass on an invalid host of its client, which would break the quoting. */
const PLAIN_HOST = /^[A-Za-z0-9._~%!$&'()*+,;=:[\]-]+$/
