import { chmodSync, lstatSync, rmSync } from 'node:fs'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createConnection, type Socket } from 'node:net'
import type { Door } from './door.ts'

/** Where a door listens. */
export type Endpoint =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls?: TlsFiles }
  /** `mode`: who may connect, as of a file; the owner and its group unless given. */
  | { readonly kind: 'unix'; readonly path: string; readonly mode?: number }

/** PEM texts, read at start. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface ListenerLimits {
  readonly maxHeaderBytes: number
  readonly maxConnections: number
  readonly headerTimeoutMs: number
  readonly keepAliveTimeoutMs: number
}

export interface Listener {
  readonly url: string
  /** Stops accepting; resolves when the last connection is gone, at the latest after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** The parser's own limit stands far above ours, so that what is a little too large gets the right answer. */
const PARSER_HEADER_BYTES = 262_144

export async function listen(door: Door, endpoint: Endpoint, limits: ListenerLimits): Promise<Listener> {
  const server = createServer(door, endpoint, limits)
  await bind(server, endpoint)
  return { url: urlOf(server, endpoint), close: (graceMs) => close(server, door, graceMs) }
}

function createServer(door: Door, endpoint: Endpoint, limits: ListenerLimits): Server {
  const options: ServerOptions = {
    maxHeaderSize: Math.max(PARSER_HEADER_BYTES, limits.maxHeaderBytes * 2),
    headersTimeout: limits.headerTimeoutMs,
    // A body's time is the body reader's business: an upload through the gateway may take hours.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, Math.ceil(limits.headerTimeoutMs / 4)),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // Checked by the guard, which answers in the dialect's words.
    requireHostHeader: false,
    noDelay: true,
  }
  const tls = endpoint.kind === 'tcp' ? endpoint.tls : undefined
  const server: Server = tls
    ? createHttpsServer({ ...options, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: limits.headerTimeoutMs })
    : createHttpServer(options)
  // Zero: no header may vanish silently (Node drops what is past its count); the guard counts instead.
  server.maxHeadersCount = 0
  // Past the door's own limit a connection still gets an answer; past twice that it gets none.
  server.maxConnections = limits.maxConnections * 2
  const handle = (request: IncomingMessage, response: ServerResponse) => void door.handle(request, response)
  server.on('request', handle).on('checkContinue', handle).on('checkExpectation', handle)
  server.on(tls ? 'secureConnection' : 'connection', (socket) => door.admit(socket))
  // The sockets of an HTTP server are always net.Socket; its types say Duplex.
  const broken = (error: Error, socket: unknown) => door.handleBroken(error as NodeJS.ErrnoException, socket as Socket)
  server.on('clientError', broken)
  // A handshake that fails or takes too long: Node tells of it and leaves the connection open.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
  server.on('connect', (_request, socket) => broken(new Error('CONNECT'), socket))
  return server
}

async function bind(server: Server, endpoint: Endpoint): Promise<void> {
  try {
    await bindOnce(server, endpoint)
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    if (endpoint.kind !== 'unix' || !isTaken) throw error
    requireSocket(endpoint.path)
    if (await isAlive(endpoint.path)) throw error
    rmSync(endpoint.path) // left behind by a process that was killed
    await bindOnce(server, endpoint)
  }
  if (endpoint.kind === 'unix') chmodSync(endpoint.path, modeOf(endpoint))
}

/** Only a socket may be taken away: whatever else stands there is somebody's. */
function requireSocket(path: string): void {
  if (lstatSync(path).isSocket()) return
  throw Object.assign(new Error('not a socket'), { code: 'EEXIST' })
}

const modeOf = ({ mode = 0o660 }: { readonly mode?: number }): number => mode

function bindOnce(server: Server, endpoint: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const ready = () => {
      server.off('error', reject)
      resolve()
    }
    if (endpoint.kind === 'unix') bindPrivately(server, endpoint, ready)
    else server.listen({ host: endpoint.host, port: endpoint.port }, ready)
  })
}

/** Node makes the socket within this call: nobody the mode keeps out can connect before it is set. */
function bindPrivately(server: Server, endpoint: Extract<Endpoint, { kind: 'unix' }>, ready: () => void): void {
  const before = process.umask(0o777 & ~modeOf(endpoint))
  try {
    server.listen({ path: endpoint.path }, ready)
  } finally {
    process.umask(before)
  }
}

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection({ path })
    probe.once('connect', () => resolve(true)).once('error', () => resolve(false))
    probe.once('connect', () => probe.destroy())
  })
}

function urlOf(server: Server, endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`
  const { port } = server.address() as AddressInfo // a bound TCP server has one
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host
  return `${endpoint.tls ? 'https' : 'http'}://${host}:${port}`
}

function close(server: Server, door: Door, graceMs: number): Promise<void> {
  door.stop()
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearTimeout(force)
      resolve()
    })
    server.closeIdleConnections()
  })
}
