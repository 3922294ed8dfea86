import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Client } from './request-context.ts'

/** Which proxies are trusted, and in which headers they describe the client. */
export interface TrustRules {
  readonly trusted: BlockList
  readonly trustsUnixSockets: boolean
  /** Which headers are read: a proxy that sets one family forwards the other as the client sent it. */
  readonly family: 'auto' | 'x-forwarded' | 'forwarded'
  /** Names of headers in lower case. */
  readonly hostHeader: string
  readonly protoHeader: string
  readonly sslHeader: string
  /** A header with only the address of the client. Empty: none. */
  readonly peerHeader: string
}

/**
 * The trust decision. Forwarded headers count only if the peer itself is trusted. In a list of addresses the last one
 * that is not a trusted proxy is the client, because the client could have sent everything before it.
 */
export function readClient(request: IncomingMessage, rules: TrustRules): Client {
  const { address, scheme, isUnixSocket, isTrusted, localPort } = findPeer(request.socket, rules)
  const claims = isTrusted ? readForwarded(request, rules) : NO_CLAIMS
  return {
    address: claims.address ?? address,
    directAddress: address,
    scheme: claims.scheme ?? scheme,
    host: claims.host ?? request.headers.host ?? '',
    localPort,
    isUnixSocket,
    isTrusted,
  }
}

interface Peer extends Pick<Client, 'address' | 'scheme' | 'isUnixSocket' | 'isTrusted' | 'localPort'> {
  /** The rules by which `isTrusted` was decided; `undefined`: it was not. */
  readonly rules: TrustRules | undefined
  /** Set if the peer forwards the bytes of a client whose address it does not name. */
  readonly hidesClient?: boolean
}

const peers = new WeakMap<Socket, Peer>()

/**
 * The peer of a connection does not change: it is read once, and the decision is made again only for new rules. To be
 * called for each new connection: a closed one has no address any more and would look like a Unix socket.
 */
export function findPeer(socket: Socket, rules: TrustRules): Peer {
  const known = peers.get(socket)
  if (known?.rules === rules) return known
  const { hidesClient = false, ...read } = known ?? readPeer(socket)
  const { address, isUnixSocket } = read
  const isAllowed = isUnixSocket ? rules.trustsUnixSockets : isTrustedAddress(address, rules.trusted)
  const peer = { ...read, isTrusted: isAllowed && !hidesClient, rules, hidesClient }
  peers.set(socket, peer)
  return peer
}

const readPeer = (socket: Socket): Omit<Peer, 'isTrusted' | 'rules'> => ({
  address: plainAddress(socket.remoteAddress ?? ''),
  scheme: schemeOf(socket),
  isUnixSocket: socket.remoteAddress === undefined,
  localPort: socket.localPort,
})

/**
 * The client that the proxy of a connection names counts as its peer. Without an address, no forwarded header counts: it
 * may be the client's.
 */
export function announcePeer(socket: Socket, address: string | undefined): void {
  const named = address === undefined ? { hidesClient: true } : { address: plainAddress(address), isUnixSocket: false }
  peers.set(socket, { ...readPeer(socket), ...named, isTrusted: false, rules: undefined })
}

export const schemeOf = (socket: Socket | TLSSocket): 'http' | 'https' => ('encrypted' in socket ? 'https' : 'http')

export const plainAddress = (address: string): string => MAPPED_IPV4.exec(address)?.[1] ?? address

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

function isTrustedAddress(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** What a trusted proxy says about the client. */
type Claims = { address?: string; scheme?: 'http' | 'https'; host?: string }

const NO_CLAIMS: Readonly<Claims> = Object.freeze({})

function readForwarded(request: IncomingMessage, rules: TrustRules): Claims {
  const header: FindHeader = (name) => (name === '' ? undefined : joined(request.headers[name]))
  const usesXForwarded = rules.family === 'x-forwarded' || (rules.family === 'auto' && hasXForwarded(header, rules))
  const claims = usesXForwarded ? readXForwarded(header, rules) : readStandard(header('forwarded'), rules)
  const peer = header(rules.peerHeader)?.trim()
  if (peer !== undefined && isIP(peer) !== 0) claims.address = peer
  return claims
}

type FindHeader = (name: string) => string | undefined

const hasXForwarded = (header: FindHeader, { protoHeader, hostHeader, sslHeader }: TrustRules): boolean =>
  Boolean(header('x-forwarded-for') || header(protoHeader) || header(hostHeader) || header(sslHeader))

const joined = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value)

function readXForwarded(header: FindHeader, rules: TrustRules): Claims {
  const claims: Claims = {}
  const address = findClient(split(header('x-forwarded-for')), rules.trusted)
  if (address !== undefined) claims.address = address
  const proto = split(header(rules.protoHeader)).at(-1)?.toLowerCase()
  if (proto === 'https' || proto === 'http') claims.scheme = proto
  if (header(rules.sslHeader)?.toLowerCase() === 'on') claims.scheme = 'https'
  const host = split(header(rules.hostHeader)).at(-1)
  if (host) claims.host = host
  return claims
}

const split = (list: string | undefined): string[] => (list ? list.split(',').map((item) => item.trim()) : [])

/** From the right, the first address that is not a trusted proxy. The search ends at a text that is not an address. */
function findClient(addresses: readonly string[], trusted: BlockList): string | undefined {
  let client: string | undefined
  for (const text of addresses.toReversed()) {
    const address = plainAddress(withoutPort(text))
    if (isIP(address) === 0) return client
    client = address
    if (!isTrustedAddress(address, trusted)) return client
  }
  return client
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)
  if (bracketed) return bracketed[1] as string
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(':')) : text
}

// RFC 7239: elements by comma, pairs by semicolon, values as tokens or quoted strings.
const FORWARDED_PAIR = /(?:^|[;,])\s*([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+))|(,)/g

function readStandard(text: string | undefined, rules: TrustRules): Claims {
  if (text === undefined) return {}
  const addresses: string[] = []
  const claims: Claims = {}
  for (const [, name, quoted, token] of text.matchAll(FORWARDED_PAIR)) {
    const value = quoted === undefined ? (token ?? '') : quoted.replace(/\\(.)/g, '$1')
    const key = name?.toLowerCase()
    if (key === 'for') addresses.push(value)
    else if (key === 'host') claims.host = value
    else if (key === 'proto' && /^https?$/i.test(value)) claims.scheme = value.toLowerCase() as 'http' | 'https'
  }
  const address = findClient(addresses, rules.trusted)
  if (address !== undefined) claims.address = address
  return claims
}
