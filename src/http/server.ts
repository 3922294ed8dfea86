import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import {
  createServer as createHttpsServer,
  type ServerOptions as HttpsOptions,
  Server as HttpsServer,
} from 'node:https'
import { type AddressInfo, createConnection, Server as NetServer, type Socket } from 'node:net'
import type { SecureVersion, TLSSocket } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { codeOf } from '../base/errors.ts'
import { isInternalUsable } from '../base/node-internals/probes.ts'
import { chooseVersion, type Versions } from './choose-version.ts'
import { type ClientTrust, hasOutdatedCertificate, rememberClientCertificate } from './client-certificate.ts'
import { connectionOf } from './connections.ts'
import type { Door } from './door.ts'
import { followHandshakes, type Handshakes, holdHandshakes } from './handshakes.ts'
import { requireProxyHeader } from './proxy-protocol.ts'
import { serveHttp2 } from './serve-http2.ts'
import { followTicketKeys } from './session-tickets.ts'
import { noteAccepted } from './turns.ts'

/** Where a door listens. */
export type Endpoint =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls?: TlsSettings }
  /** `mode`: the permissions of the socket; by default the owner and its group may connect. */
  | { readonly kind: 'unix'; readonly path: string; readonly mode?: number }

/** PEM texts. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface TlsSettings extends TlsFiles {
  readonly minVersion?: SecureVersion
  /** A list in the format of OpenSSL. */
  readonly ciphers?: string
  /** Clients are asked for a certificate, and those signed by one of these authorities are accepted. */
  readonly clients?: ClientAuthorities
}

/** PEM texts with one certificate or revocation list each. */
export interface ClientAuthorities {
  readonly certificates: readonly string[]
  /** Empty: no certificate is revoked. Otherwise every authority needs one. */
  readonly revocations: readonly string[]
}

export interface ListenerLimits {
  readonly 'max-header-bytes': number
  readonly 'max-connections': number
  /** Milliseconds. */
  readonly 'header-timeout': number
  /** Milliseconds. */
  readonly 'keep-alive-timeout': number
  /** Whether connections must begin with a header of the PROXY protocol, from a trusted peer. */
  readonly usesProxyProtocol?: boolean
  /** Whether clients may speak HTTP/2. */
  readonly usesHttp2?: boolean
  /** Listeners with the same resume each other's TLS sessions. */
  readonly ticketSeed?: Uint8Array
}

/** The limit of Node's parser is far above ours, so that slightly too large headers get an error of the dialect. */
const PARSER_HEADER_BYTES = 262_144

const OLDEST_VERSION = { minVersion: 'TLSv1.2' } as const

export type Listener = Awaited<ReturnType<typeof listen>>

export async function listen(door: Door, endpoint: Endpoint, limits: ListenerLimits) {
  const server = createServer(door, endpoint, limits)
  let tls = endpoint.kind === 'tcp' ? endpoint.tls : undefined
  const dropWaiting = limits.usesProxyProtocol && requireProxyHeader(server, door.connections, limits['header-timeout'])
  const handshakes = tls ? followHandshakes(server) : []
  const replaceTrust = tls?.clients && followClientCertificates(server, door, handshakes)
  let stopTickets = followTicketKeys(server, limits.ticketSeed, tls)
  await bind(server, endpoint)
  return {
    server,
    url: urlOf(server, endpoint),
    /** When its certificate expires, in milliseconds since the epoch; `undefined`: it has none. */
    get certificateEndsAtMs(): number | undefined {
      return tls && new X509Certificate(tls.cert).validToDate.getTime()
    },
    /** For new connections; open ones keep their certificate. Only for a listener with TLS. */
    replaceTls(next: TlsSettings): void {
      if (!(server instanceof HttpsServer)) throw new TypeError('the listener has no TLS')
      const isSameTrust = isDeepStrictEqual(next.clients, tls?.clients)
      server.setSecureContext(toSecureContext(next))
      tls = next
      stopTickets()
      stopTickets = followTicketKeys(server, limits.ticketSeed, tls)
      if (!isSameTrust) replaceTrust?.()
    },
    /** Stops accepting connections. Those that are open stay so, idle ones too. Resolves when the last one is closed. */
    retire: (): Promise<void> => new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve())),
    /** Stops accepting connections. Resolves when the last one is closed, at the latest after `graceMs`. */
    close(graceMs: number): Promise<void> {
      if (dropWaiting) dropWaiting()
      stopTickets()
      for (const [, socket] of handshakes) socket.destroy()
      return close(server, door, graceMs)
    },
  }
}

function createServer(door: Door, endpoint: Endpoint, limits: ListenerLimits): Server {
  const options = toServerOptions(limits)
  const tls = endpoint.kind === 'tcp' ? endpoint.tls : undefined
  const server: Server = tls
    ? createHttpsServer({
        ...options,
        ...toTlsOptions(tls),
        handshakeTimeout: limits['header-timeout'],
        ALPNProtocols: speaksHttp2(limits) ? ['h2', 'http/1.1'] : ['http/1.1'],
      })
    : createHttpServer(options)
  // Zero: Node would silently drop the headers above this number. guard.ts counts them instead.
  server.maxHeadersCount = 0
  // Connections above the door's limit get an error response; above twice that they are closed.
  server.maxConnections = limits['max-connections'] * 2
  // in one of several processes too: it would give them back to the supervisor, which would offer them again and again
  Object.assign(server, { dropMaxConnection: true })
  if (tls) holdHandshakes(server, door, limits['header-timeout'])
  acceptConnections(server, door, limits)
  connectDoor(server, door)
  return server
}

const speaksHttp2 = ({ usesHttp2 = false }: ListenerLimits): boolean => usesHttp2 && isInternalUsable('session-start')

function acceptConnections(server: Server, door: Door, limits: ListenerLimits): void {
  const event = server instanceof HttpsServer ? 'secureConnection' : 'connection'
  const usesHttp2 = speaksHttp2(limits)
  const handlers = server.listeners(event)
  server.removeAllListeners(event)
  const serveHttp1 = (socket: Socket) => {
    for (const handler of handlers) handler.call(server, socket)
    connectionOf(socket).holdBytes()
  }
  const versions: Versions = {
    http1: serveHttp1,
    http2: (socket) => serveHttp2(socket, door, limits),
    timeOut: (socket) => door.handleBroken({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket),
  }
  server.on('connection', noteAccepted)
  server.on(event, (socket) => {
    door.connections.add(socket)
    if (usesHttp2) chooseVersion(socket, versions, limits['header-timeout'])
    else serveHttp1(socket)
  })
}

/** The handshake accepts every client: a handler decides about the certificate, and other credentials stay possible. */
const toTlsOptions = (tls: TlsSettings): HttpsOptions => ({
  ...toSecureContext(tls),
  ...(tls.clients && { requestCert: true, rejectUnauthorized: false }),
})

const toSecureContext = ({ clients, ...tls }: TlsSettings): HttpsOptions => ({
  ...OLDEST_VERSION,
  // by default it depends on the arguments of the process
  sessionIdContext: 'cardea',
  ...tls,
  ...(clients && { ca: [...clients.certificates] }),
  ...(clients && clients.revocations.length > 0 && { crl: [...clients.revocations] }),
})

/**
 * Keeps the certificates of new connections. Returns a function to be called when the authorities were replaced: it
 * ends the connections that were verified with the old ones, and those whose handshake is not complete.
 */
function followClientCertificates(server: Server, door: Door, handshakes: Handshakes): () => void {
  let trust: ClientTrust = { isCurrent: true }
  server.on('secureConnection', (socket: TLSSocket) => rememberClientCertificate(socket, trust))
  return () => {
    trust.isCurrent = false
    trust = { isCurrent: true }
    for (const [, socket] of handshakes) socket.destroy()
    door.connections.end(hasOutdatedCertificate)
  }
}

const toServerOptions = (limits: ListenerLimits): ServerOptions => ({
  maxHeaderSize: Math.max(PARSER_HEADER_BYTES, limits['max-header-bytes'] * 2),
  headersTimeout: limits['header-timeout'],
  // The reader of the body has its own timeouts: an upload through the gateway may take hours.
  requestTimeout: 0,
  connectionsCheckingInterval: Math.min(1000, Math.ceil(limits['header-timeout'] / 4)),
  keepAliveTimeout: limits['keep-alive-timeout'],
  insecureHTTPParser: false,
  // Checked by guard.ts, so that the error is one of the dialect.
  requireHostHeader: false,
  noDelay: true,
  // A request without a body gets a stream that has already ended: it emits no 'end' or 'close', and is `destroyed`.
  optimizeEmptyRequests: true,
})

function connectDoor(server: Server, door: Door): void {
  const handle = (request: IncomingMessage, response: ServerResponse) => void door.handle(request, response)
  server.on('request', handle).on('checkContinue', handle).on('checkExpectation', handle)
  // The sockets of an HTTP server are always net.Socket; its types say Duplex.
  const broken = (error: Error, socket: unknown) => door.handleBroken(error as NodeJS.ErrnoException, socket as Socket)
  server.on('clientError', broken)
  server.on('connect', (_request, socket) => broken(new Error('CONNECT'), socket))
  // Node leaves the connection open after a handshake that failed or took too long.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
}

async function bind(server: Server, endpoint: Endpoint): Promise<void> {
  try {
    await bindOnce(server, endpoint)
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    if (endpoint.kind !== 'unix' || !isTaken) throw error
    requireSocket(endpoint.path)
    if ((await probeSocket(endpoint.path)) === '') throw error
    rmSync(endpoint.path) // left over from a process that was killed
    await bindOnce(server, endpoint)
  }
  if (endpoint.kind === 'unix') chmodSync(endpoint.path, modeOf(endpoint))
}

/** Why nothing accepts connections at a Unix socket, as a code of the system; empty: something does. */
async function probeSocket(path: string): Promise<string> {
  const probe = createConnection({ path })
  try {
    await once(probe, 'connect')
    return ''
  } catch (error) {
    return codeOf(error)
  } finally {
    probe.destroy()
  }
}

/** Only a leftover socket may be removed, never another file. */
function requireSocket(path: string): void {
  if (lstatSync(path).isSocket()) return
  throw Object.assign(new Error('not a socket'), { code: 'EEXIST' })
}

const modeOf = ({ mode = 0o660 }: { readonly mode?: number }): number => mode

async function bindOnce(server: Server, endpoint: Endpoint): Promise<void> {
  if (endpoint.kind === 'unix') bindPrivately(server, endpoint)
  else server.listen({ host: endpoint.host, port: endpoint.port })
  await once(server, 'listening')
}

/** Node creates the socket within this call, so it never exists with wider permissions than `mode`. */
function bindPrivately(server: Server, endpoint: Extract<Endpoint, { kind: 'unix' }>): void {
  const before = process.umask(0o777 & ~modeOf(endpoint))
  try {
    server.listen({ path: endpoint.path })
  } finally {
    process.umask(before)
  }
}

function urlOf(server: Server, endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`
  const { port } = server.address() as AddressInfo // a bound TCP server has one
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host
  return `${endpoint.tls ? 'https' : 'http'}://${host}:${port}`
}

function close(server: Server, door: Door, graceMs: number): Promise<void> {
  door.connections.stop()
  return new Promise((resolve) => {
    const force = setTimeout(() => door.connections.drop(), graceMs)
    server.close(() => {
      clearTimeout(force)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** Why `listen` failed, for the operator: "cannot listen on ADDRESS: REASON". */
export function describeListenError(error: NodeJS.ErrnoException, endpoint: Endpoint): string {
  const address = endpoint.kind === 'unix' ? endpoint.path : `${endpoint.host}:${endpoint.port}`
  return `cannot listen on ${address}: ${LISTEN_FAILURES.get(error.code ?? '') ?? error.message}`
}

const LISTEN_FAILURES = new Map([
  ['EEXIST', 'a file with this name exists and is not a socket; it was not changed'],
  ['EADDRINUSE', 'the address is in use, perhaps by another Cardea'],
  ['EACCES', 'permission denied'],
  ['EADDRNOTAVAIL', 'this machine does not have that address'],
  ['ENOTFOUND', 'the host name has no address'],
])
