/** The header of the PROXY protocol, versions 1 and 2: a proxy sends it before anything else, and it names the client. */
import { isIP, type Server, type Socket, SocketAddress } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { DoorConnections } from './door-connections.ts'
import { announcePeer } from './trust.ts'

export type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid' }
  /** `address`: of the client; `undefined`: the proxy does not know it, or speaks for itself. */
  | { readonly kind: 'header'; readonly length: number; readonly address: string | undefined }

const INCOMPLETE: ProxyHeader = { kind: 'incomplete' }
const INVALID: ProxyHeader = { kind: 'invalid' }

const TEXT_START = Buffer.from('PROXY ')
const MAX_TEXT_BYTES = 107
const TEXT = /^PROXY (?:UNKNOWN(?: [\x21-\x7e ]*)?|TCP([46]) ([\da-fA-F:.]+) ([\da-fA-F:.]+) (\d{1,5}) (\d{1,5}))$/

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const FIXED_BYTES = 16
/** The longest addresses and further fields. HAProxy sends about a hundred bytes. */
const MAX_FURTHER_BYTES = 4096
const [LOCAL, PROXY] = [0x20, 0x21]
/** The bytes of an address, by the family of a header of version 2, for TCP. */
const ADDRESS_BYTES = new Map([
  [0x11, 4],
  [0x21, 16],
])
/** The families of a client without an address: unknown, and Unix sockets. */
const NO_ADDRESS: ReadonlySet<number> = new Set([0x00, 0x31])

function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsAlike(bytes, TEXT_START)) return readText(bytes)
  return startsAlike(bytes, SIGNATURE) ? readBinary(bytes) : INVALID
}

const startsAlike = (bytes: Buffer, start: Buffer): boolean => {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}

function readText(bytes: Buffer): ProxyHeader {
  const head = bytes.subarray(0, MAX_TEXT_BYTES).toString('latin1')
  const end = head.indexOf('\r\n')
  if (end === -1) return bytes.length < MAX_TEXT_BYTES ? INCOMPLETE : INVALID
  const match = TEXT.exec(head.slice(0, end))
  if (!match) return INVALID
  const [, family, source, destination = '', ...ports] = match
  const length = end + 2
  if (source === undefined) return { kind: 'header', length, address: undefined }
  const isValid = [source, destination].every((text) => isIP(text) === Number(family))
  if (!isValid || ports.some((port) => Number(port) > 65_535)) return INVALID
  return { kind: 'header', length, address: toCanonical(source) }
}

function readBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < FIXED_BYTES) return INCOMPLETE
  const [command, family = 0] = bytes.subarray(12, 14)
  const further = bytes.readUInt16BE(14)
  const isKnown = command === LOCAL || command === PROXY
  if (!isKnown || further > MAX_FURTHER_BYTES) return INVALID
  const length = FIXED_BYTES + further
  if (bytes.length < length) return INCOMPLETE
  if (command === LOCAL || NO_ADDRESS.has(family)) return { kind: 'header', length, address: undefined }
  const width = ADDRESS_BYTES.get(family)
  // two addresses, two ports
  if (width === undefined || further < 2 * width + 4) return INVALID
  return { kind: 'header', length, address: toAddress(bytes.subarray(FIXED_BYTES, FIXED_BYTES + width)) }
}

function toAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.')
  return toCanonical(bytes.toString('hex').replace(/(.{4})(?!$)/g, '$1:'))
}

/** An address of version 6 has many spellings; limits and logs need one. */
const toCanonical = (address: string): string =>
  isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address

/**
 * From now on every connection of the server must begin with the header; then the server gets the connection. Returns a
 * function that closes the connections whose header has not arrived.
 */
export function requireProxyHeader(server: Server, connections: DoorConnections, timeoutMs: number): () => void {
  const waiting = new Set<Socket>()
  const announced = new Map<string, string | undefined>()
  const handlers = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', async (socket: Socket) => {
    waiting.add(socket)
    const outcome = await receiveHeader(socket, connections.isTrustedPeer(socket), timeoutMs)
    waiting.delete(socket)
    if (socket.destroyed) return
    if ('reason' in outcome) {
      connections.refuseProxyHeader(socket, outcome.reason)
      socket.destroy()
      return
    }
    const key = keyOf(socket)
    announced.set(key, outcome.address)
    socket.once('close', () => announced.delete(key))
    announcePeer(socket, outcome.address)
    for (const handler of handlers) handler.call(server, socket)
    // a TLS server reads what waits by itself
    if (socket.listenerCount('data') > 0) socket.resume()
  })
  // the socket of a TLS connection is another object than that of the connection below
  server.prependListener('secureConnection', (socket: TLSSocket) => announcePeer(socket, announced.get(keyOf(socket))))
  return () => {
    for (const socket of waiting) socket.destroy()
  }
}

/** Unique among the open TCP connections of a listener. */
const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`

type ProxyHeaderOutcome = { readonly reason: string } | { readonly address: string | undefined }

/** Reads the header. What the client sent after it stays in the socket, which is paused. */
function receiveHeader(socket: Socket, isTrusted: boolean, timeoutMs: number): Promise<ProxyHeaderOutcome> {
  const { promise, resolve } = Promise.withResolvers<ProxyHeaderOutcome>()
  if (!isTrusted) return Promise.resolve({ reason: 'the peer is not a trusted proxy' })
  let bytes = Buffer.alloc(0)
  const timer = setTimeout(() => finish({ reason: 'the header did not arrive in time' }), timeoutMs)
  const finish = (outcome: ProxyHeaderOutcome): void => {
    clearTimeout(timer)
    socket.off('data', take).off('end', end).off('close', end)
    socket.pause()
    resolve(outcome)
  }
  const end = (): void => finish({ reason: 'the connection ended before the header' })
  const take = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk])
    const header = readProxyHeader(bytes)
    if (header.kind === 'incomplete') return
    finish(header.kind === 'invalid' ? { reason: 'the header is missing or invalid' } : { address: header.address })
    if (header.kind === 'header') socket.unshift(bytes.subarray(header.length))
  }
  // a reset also emits 'close'
  socket
    .on('error', () => {})
    .on('data', take)
    .on('end', end)
    .on('close', end)
  return promise
}
