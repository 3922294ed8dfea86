import { METHOD_OVERRIDES, normalizeHeaderName } from '../base/header-name.ts'
import { createNameMemo } from '../base/name-memo.ts'
import type { Client } from '../http/request-context.ts'
import { listConnectionNames } from './header-names.ts'

/** What of a request goes on. */
export interface RequestHeaderRules {
  /** Headers of the deployment's own choosing that tell who somebody is, beside the well-known ones. */
  readonly identityHeaderNames: readonly string[]
  /** The cookie that is Cardea's. */
  readonly ownCookies: readonly string[]
}

export type HeaderFilter = (raw: readonly string[], keepsAuthorization: boolean) => string[]

type Fate = 'pass' | 'drop' | 'authorization' | 'cookie' | 'connection'

/** One connection's business (RFC 9110 7.6.1), or ours to say anew. */
const OWN_HOP: readonly string[] = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'content-length',
]

/** Headers that tell applications who the client is, where it comes from, or which path it asked for. */
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
  // of whoever ended the TLS of a client that showed a certificate
  'client-cert',
  'x-client-cert',
  'ssl-client-',
  'x-ssl-client-',
]

/** `X-Client-IP`, `True-Client-IP`, `CF-Connecting-IP`, and the same from other networks. */
const IDENTITY_SUFFIXES: readonly string[] = ['-client-ip', '-connecting-ip']

/** `keepsAuthorization`: whether the client's own goes along. */
export function createRequestFilter(rules: RequestHeaderRules): HeaderFilter {
  const dropped = new Set(
    // a door refuses an override in the headers; here it is one among the trailers
    [...OWN_HOP, ...METHOD_OVERRIDES, ...IDENTITY, ...rules.identityHeaderNames].map((name) =>
      normalizeHeaderName(name),
    ),
  )
  const judge = createNameMemo((name) => fateOf(name, dropped))
  return (raw, keepsAuthorization) => {
    const named = listConnectionNames(raw)
    const kept: string[] = []
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] as string
      const value = raw[i + 1] as string
      const fate = judge(name)
      if (fate === 'drop' || fate === 'connection') continue
      if (fate === 'authorization') {
        // whatever `Connection` names: who was let in as somebody must not arrive as nobody
        if (keepsAuthorization) kept.push(name, value)
      } else if (named?.has(name.toLowerCase())) continue
      else if (fate === 'pass') kept.push(name, value)
      else if (fate === 'cookie') keepCookies(kept, name, withoutCookies(value, rules.ownCookies))
    }
    return kept
  }
}

/** As with headers; and what must be known before a body is read stands before it, or nowhere (RFC 9110 6.5.1). */
export function keepTrailers(raw: readonly string[], head: readonly string[], filter: HeaderFilter): string[] {
  const named = listConnectionNames(head)
  const kept = filter(raw, false)
  return kept.filter((_, i) => {
    const name = kept[i - (i % 2)] as string
    const normal = normalizeHeaderName(name)
    const isForHead = FOR_HEAD.has(normal) || FOR_HEAD_PREFIXES.some((prefix) => normal.startsWith(prefix))
    return !isForHead && !named?.has(name.toLowerCase())
  })
}

const FOR_HEAD: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'cookie',
  'cookie2',
  'connection',
  'cache-control',
  'max-forwards',
  'pragma',
  'range',
  'origin',
  'referer',
])

const FOR_HEAD_PREFIXES: readonly string[] = ['content-', 'accept', 'if-', 'proxy-', 'access-control-', 'sec-']

function fateOf(name: string, dropped: ReadonlySet<string>): Fate {
  const lower = name.toLowerCase()
  const normal = normalizeHeaderName(name)
  if (lower === 'authorization') return 'authorization'
  if (lower === 'cookie') return 'cookie'
  if (lower === 'connection') return 'connection'
  // `_` for `-`: some servers cannot tell the two apart
  const isDisguised = normal !== lower && SPECIAL.has(normal)
  if (isDisguised || dropped.has(normal)) return 'drop'
  return isIdentity(normal) ? 'drop' : 'pass'
}

const isIdentity = (normal: string): boolean =>
  IDENTITY_PREFIXES.some((prefix) => normal.startsWith(prefix)) ||
  IDENTITY_SUFFIXES.some((suffix) => normal.endsWith(suffix))

const SPECIAL: ReadonlySet<string> = new Set(['authorization', 'cookie', 'connection', 'host', 'content-type'])

function keepCookies(kept: string[], name: string, value: string): void {
  if (value !== '') kept.push(name, value)
}

const withoutCookies = (header: string, cookies: readonly string[]): string => cookies.reduce(withoutCookie, header)

const SEPARATOR = /[;,]/

/** Pairs by `;` or `,`, as the reader of cookies takes them apart. */
function withoutCookie(header: string, cookie: string): string {
  // alone, as most clients send it
  if (header.startsWith(cookie) && header[cookie.length] === '=' && !SEPARATOR.test(header)) return ''
  if (!header.toLowerCase().includes(cookie.toLowerCase())) return header
  return header
    .split(SEPARATOR)
    .filter((pair) => pair.split('=', 1)[0]?.trim().toLowerCase() !== cookie.toLowerCase())
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .join('; ')
}

/** Who asks from where, by the door's one trust decision. */
export function addForwarded(headers: string[], { address, scheme, host }: Client): void {
  const node = address === '' ? 'unknown' : address.includes(':') ? `"[${address}]"` : address
  if (address !== '') headers.push('X-Forwarded-For', address)
  headers.push('X-Forwarded-Proto', scheme)
  if (PLAIN_HOST.test(host))
    headers.push('X-Forwarded-Host', host, 'Forwarded', `for=${node};host="${host}";proto=${scheme}`)
  else headers.push('Forwarded', `for=${node};proto=${scheme}`)
}

/** A trusted proxy may pass on what a client made up. */
const PLAIN_HOST = /^[A-Za-z0-9._~%!$&'()*+,;=:[\]-]+$/
