import { isIP, isIPv4, isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { type Codec, commaListOf, itemsOf, matching, refuseValue, same, textThat } from './codecs.ts'

/** A port, `0` for any free one, or `none`: do not listen. */
export const port: Codec<number | 'none'> = {
  expects: 'a port from 0 to 65535, or none',
  parse: (value) => (value === 'none' ? 'none' : readPort(value, port.expects)),
  print: String,
}

function readPort(value: string, expects: string): number {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  return number <= 65535 ? number : refuseValue(expects)
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i
const ALL_DIGITS = /^[\d.]+$/

/** A host name or address in normal form: no brackets, and nothing that only looks like an IPv4 address. */
function readHost(value: string, expects: string): string {
  const inner = /^\[(.*)\]$/.exec(value)?.[1]
  if (inner !== undefined) return isIPv6(inner) ? inner.toLowerCase() : refuseValue(expects)
  if (isIP(value)) return value.toLowerCase()
  return HOST_NAME.test(value) && !ALL_DIGITS.test(value) ? value.toLowerCase() : refuseValue(expects)
}

/** Where a door listens. Other host names are rejected: one that does not resolve would prevent the next start. */
export const bindAddress: Codec<string> = {
  expects: 'an IP address, localhost, or any',
  parse: (value) => {
    const host = readHost(value, bindAddress.expects)
    return isIP(host) || host === 'localhost' || host === 'any' ? host : refuseValue(bindAddress.expects)
  },
  print: (value) => value,
}

export type EndpointOption =
  | { readonly kind: 'tcp' | 'ssl'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

const SCHEMES: ReadonlyMap<string, EndpointOption['kind']> = new Map([
  ['tcp', 'tcp'],
  ['http', 'tcp'],
  ['ssl', 'ssl'],
  ['https', 'ssl'],
  ['unix', 'unix'],
])
const ENDPOINT = /^(?:http\+)?([a-z]+):\/\/(.*)$/i
const HOST_PORT = /^(\[[^\]]*\]|[^:[\]]+)(?::(\d*))?$/
const ENDPOINTS = 'tcp://host:port, ssl://host:port or unix:///path, several separated by commas, or none'
const DEFAULT_PORT = '8529'

function readEndpoint(item: string): EndpointOption {
  const [, scheme = '', rest = ''] = ENDPOINT.exec(item) ?? []
  const kind = SCHEMES.get(scheme.toLowerCase())
  if (kind === undefined) return refuseValue(ENDPOINTS)
  if (kind === 'unix')
    return rest.startsWith('/') && rest.length > 1 ? Object.freeze({ kind, path: rest }) : refuseValue(ENDPOINTS)
  const [, host = '', portText] = HOST_PORT.exec(rest.replace(/\/$/, '')) ?? refuseValue(ENDPOINTS)
  const name = readHost(host, ENDPOINTS)
  return Object.freeze({
    kind,
    host: name === 'localhost' ? '127.0.0.1' : name,
    port: readPort(portText ?? DEFAULT_PORT, ENDPOINTS),
  })
}

function printEndpoint(endpoint: EndpointOption): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`
  return `${endpoint.kind}://${endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host}:${endpoint.port}`
}

/** Where the multi-model door listens. The list is empty when the text is `none`. */
export const endpoints: Codec<readonly EndpointOption[]> = {
  expects: ENDPOINTS,
  parse: (value) => {
    const items = itemsOf(value)
    if (items.length === 0) return refuseValue(ENDPOINTS)
    return Object.freeze(isNone(items) ? [] : items.map(readEndpoint))
  },
  print: (list) => (list.length === 0 ? 'none' : list.map(printEndpoint).join(', ')),
  isList: true,
}

const isNone = (items: readonly string[]): boolean => items.length === 1 && items[0] === 'none'

const PEERS = 'addresses or CIDR ranges separated by commas, loopback, or none'
const LOOPBACK = ['127.0.0.0/8', '::1/128']

function readPeer(item: string): string {
  if (item === 'loopback') return item
  const [address = '', prefix, ...more] = item.split('/')
  const bits = isIPv4(address) ? 32 : 128
  if (isIP(address) === 0 || address.includes('%') || more.length > 0) return refuseValue(PEERS)
  if (prefix === undefined) return `${address.toLowerCase()}/${bits}`
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
    ? `${address.toLowerCase()}/${Number(prefix)}`
    : refuseValue(PEERS)
}

/** Trusted peers as configured; `expandPeers` converts them to ranges. */
export const peers: Codec<readonly string[]> = {
  expects: PEERS,
  parse: (value) => Object.freeze(isNone(itemsOf(value)) ? [] : itemsOf(value).map(readPeer)),
  print: (list) => (list.length === 0 ? 'none' : list.join(', ')),
  isList: true,
  warn: (list) => (list.some((item) => item.endsWith('/0')) ? 'this trusts every address' : undefined),
}

/** The address ranges of a list of peers, and whether peers on a Unix socket are trusted: `loopback` includes them. */
export function expandPeers(list: readonly string[]) {
  const ranges = list
    .flatMap((item) => (item === 'loopback' ? LOOPBACK : [item]))
    .map((item) => {
      const [address = '', prefix = ''] = item.split('/')
      return { family: isIPv4(address) ? ('ipv4' as const) : ('ipv6' as const), address, prefix: Number(prefix) }
    })
  return { ranges, hasUnix: list.includes('loopback') }
}

const URLS = 'http or https URLs without path, user or query, separated by commas'

/** `scheme://host:port` of upstream servers. A path or query would be ignored, so it is rejected. */
export const serverUrls: Codec<readonly string[]> = commaListOf(URLS, (item) => {
  const url = URL.canParse(item) ? new URL(item) : undefined
  const isPlain =
    url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href && !/[?#@]/.test(item)
  return isPlain ? url.origin : refuseValue(URLS)
})

const ORIGINS = 'origins (scheme://host:port) separated by commas, or *'
const ORIGIN = /^(?:\*|null|[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#@\\,]+)$/

export const origins: Codec<readonly string[]> = commaListOf(ORIGINS, (item) =>
  ORIGIN.test(item) ? item : refuseValue(ORIGINS),
)

/** As ArangoDB reads them: one trailing slash is removed, `all` means `*`, `none` alone means no origin. */
export const trustedOrigins: Codec<readonly string[]> = {
  expects: `${ORIGINS}, all, or none`,
  parse: (value) => {
    const items = itemsOf(value)
    return isNone(items)
      ? Object.freeze([])
      : origins.parse(items.map((item) => (item === 'all' ? '*' : item.replace(/\/$/, ''))).join(','))
  },
  print: origins.print,
  isList: true,
}

/** Domain of a cookie. No character that could begin another attribute. */
export const cookieDomain = matching('a domain name, or nothing', /^(?:\.?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)?$/)

const STORE = 'sqlite:path, sqlite::memory: or postgres://…'
const SQLITE = /^sqlite:(.+)$/s
const POSTGRES = /^postgres(?:ql)?:\/\/\S+$/

/** Whether the store is in the memory of one process. */
export const isStoreInMemory = (url: string): boolean => SQLITE.exec(url)?.[1] === ':memory:'

export const storeUrl: Codec<string> = {
  ...textThat(STORE, (value) => SQLITE.test(value) || POSTGRES.test(value)),
  resolve: (value, folder) => {
    const [, file] = SQLITE.exec(value) ?? []
    return file === undefined || file === ':memory:' ? value : `sqlite:${resolve(folder, file)}`
  },
  carriesSecret: (value) => !SQLITE.test(value),
}

/** Another way to the server of the store. */
export const listenUrl: Codec<string> = {
  ...textThat('postgres://…, or nothing', (value) => value === '' || POSTGRES.test(value)),
  carriesSecret: (value) => value !== '',
}

const DESTINATIONS = 'stdout, file:PATH, syslog+tcp://HOST:PORT, http://… or https://…, separated by commas'
const FILE = /^file:(.+)$/s
const WEBHOOK_WITH_PATH = /^https?:\/\/[^/?]+(?:\/.|\?)/i

function readDestination(item: string): string {
  if (item === 'stdout' || FILE.test(item)) return item
  const url = URL.canParse(item) ? new URL(item) : undefined
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '' || url.hash !== '')
    return refuseValue(DESTINATIONS)
  if (/^https?:$/.test(url.protocol)) return url.href
  const isSyslog = url.protocol === 'syslog+tcp:' && /^\/?$/.test(url.pathname) && url.search === ''
  return isSyslog ? item.replace(/\/$/, '') : refuseValue(DESTINATIONS)
}

/** Where audit records are copied to. The path or query of a webhook may hold a token. */
export const auditDestinations: Codec<readonly string[]> = {
  ...commaListOf(DESTINATIONS, readDestination),
  resolve: (value, folder) =>
    itemsOf(value)
      .map((item) => item.replace(FILE, (_, file: string) => `file:${resolve(folder, file)}`))
      .join(', '),
  carriesSecret: (value) => itemsOf(value).some((item) => WEBHOOK_WITH_PATH.test(item)),
}

const PUBLIC_URL = 'an http or https URL without a user, a query or a fragment'

/** The URL at which browsers reach this server, without a slash at its end: paths follow it. Empty: not configured. */
export const publicUrl: Codec<string> = {
  expects: PUBLIC_URL,
  parse: (value) => (value === '' || isPublicUrl(value) ? value.replace(/\/+$/, '') : refuseValue(PUBLIC_URL)),
  print: same,
}

const isPublicUrl = (value: string): boolean => /^https?:\/\/[^\s@?#\\]+$/i.test(value) && URL.canParse(value)
