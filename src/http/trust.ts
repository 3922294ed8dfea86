import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { createSocketNote } from './per-socket.ts'
import type { Client } from './request-context.ts'

/** Who may speak for a client, and in which headers. */
export interface TrustRules {
  readonly trusted: BlockList
  readonly trustsUnixSockets: boolean
  /** Which family is believed: a proxy that sets one passes the other through as the client sent it. */
  readonly family: 'auto' | 'x-forwarded' | 'forwarded'
  /** Names of headers are in lower case. */
  readonly hostHeader: string
  readonly protoHeader: string
  readonly sslHeader: string
  /** A header that names the client's address alone; empty: none. */
  readonly peerHeader: string
}

/**
 * The one trust decision. Forwarded headers count only when the peer itself is trusted; of a list the last entry that
 * is not a trusted proxy is the client, because everything before it is the client's own claim.
 */
export function readClient(request: IncomingMessage, rules: TrustRules): Client {
  const peer = findPeer(request.socket, rules)
  const host = request.headers.host ?? ''
  // most ask for the same host again and again
  if (peer.client?.host !== host) peer.client = toClient(peer, host)
  return peer.isTrusted ? { ...peer.client, ...readForwarded(request, rules) } : peer.client
}

const toClient = ({ address, scheme, isUnixSocket, isTrusted }: Peer, host: string): Client => ({
  address,
  directAddress: address,
  scheme,
  host,
  isUnixSocket,
  isTrusted,
})

interface Peer extends Omit<Client, 'host' | 'directAddress'> {
  /** By which it was judged. */
  readonly rules: TrustRules
  /** As it asked last, where it speaks for itself. */
  client: Client | undefined
}

const peers = createSocketNote<Peer>()

/** Who is at the other end does not change with the requests of a connection: it is judged once, and for new rules. */
function findPeer(socket: Socket, rules: TrustRules): Peer {
  const known = peers.get(socket)
  if (known?.rules === rules) return known
  const peer = judgePeer(known ?? readPeer(socket), rules)
  peers.set(socket, peer)
  return peer
}

const readPeer = (socket: Socket): Omit<Peer, 'isTrusted' | 'rules' | 'client'> => ({
  address: plainAddress(socket.remoteAddress ?? ''),
  scheme: schemeOf(socket),
  isUnixSocket: socket.remoteAddress === undefined,
})

function judgePeer({ address, scheme, isUnixSocket }: ReturnType<typeof readPeer>, rules: TrustRules): Peer {
  const isTrusted = isUnixSocket ? rules.trustsUnixSockets : isTrustedAddress(address, rules.trusted)
  return { address, scheme, isUnixSocket, isTrusted, rules, client: undefined }
}

/** A connection that is gone has no address any more, and would look like a Unix socket: it is looked at as it begins. */
export const meetPeer = (socket: Socket, rules: TrustRules): void => void findPeer(socket, rules)

const schemeOf = (socket: Socket | TLSSocket): 'http' | 'https' => ('encrypted' in socket ? 'https' : 'http')

const plainAddress = (address: string): string => MAPPED_IPV4.exec(address)?.[1] ?? address

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

function isTrustedAddress(address: string, trusted: BlockList): boolean {
  const family = isIP(address)
  return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

type Claims = { address?: string; scheme?: 'http' | 'https'; host?: string }

function readForwarded(request: IncomingMessage, rules: TrustRules): Claims {
  const header: FindHeader = (name) => (name === '' ? undefined : joined(request.headers[name]))
  const usesX = rules.family === 'x-forwarded' || (rules.family === 'auto' && speaksX(header, rules))
  const claims = usesX ? readXForwarded(header, rules) : readStandard(header('forwarded'), rules)
  const peer = header(rules.peerHeader)?.trim()
  if (peer !== undefined && isIP(peer) !== 0) claims.address = peer
  return claims
}

type FindHeader = (name: string) => string | undefined

const speaksX = (header: FindHeader, { protoHeader, hostHeader, sslHeader }: TrustRules): boolean =>
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

/** From the right, the first address that is not a trusted proxy's own; nothing behind a text that is no address. */
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
