import type { Socket } from 'node:net'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { toPeerKey } from '../base/peer-key.ts'
import { connectionOf } from './connections.ts'
import { isRelayed } from './relay.ts'
import type { RequestContext } from './request-context.ts'
import { SlowClientWatch } from './slow-clients.ts'
import { rememberPeer, type TrustRules } from './trust.ts'
import { WastedWork } from './wasted-work.ts'

export interface ConnectionLimits {
  readonly maxConnections: number
  /** Open connections of one client, its requests over HTTP/2, and requests of trusted proxies for it. */
  readonly maxConnectionsPerClient: number
  /** Longest time in which a client may take none of the data that waits for it. */
  readonly writeTimeoutMs: number
}

interface DoorConnectionsDeps {
  readonly limits: Live<ConnectionLimits>
  readonly trust: Live<TrustRules>
  readonly log: Log
  /** Name of the door. */
  readonly door: string
}

const MS_BETWEEN_WARNINGS = 60_000

/** The open connections of one door. */
export class DoorConnections {
  isStopping = false
  /** Connections and requests that were refused because too many are open. */
  refused = 0
  /** Connections that were closed because they did not begin with a valid header of the PROXY protocol. */
  refusedProxyHeaders = 0
  readonly #deps: DoorConnectionsDeps
  readonly #open = new Set<Socket>()
  /** Connections that worker threads serve. */
  #lent = 0
  #isRetiring = false
  /** Connections above a limit. */
  readonly #surplus = new WeakSet<Socket>()
  /** Open connections of each client, its requests over HTTP/2, and requests of trusted proxies for it. */
  readonly #clients = new Map<string, number>()
  /** Requests on connections of HTTP/2. Each takes as much memory as a connection of HTTP/1.1. */
  #streams = 0
  readonly #slowClients: SlowClientWatch
  readonly #warnedAtMs = new Map<string, number>()
  readonly #wasted = new WastedWork()

  constructor(deps: DoorConnectionsDeps) {
    this.#deps = deps
    this.#slowClients = new SlowClientWatch(this.#open, () => deps.limits.get().writeTimeoutMs)
  }

  get size(): number {
    return this.#open.size + this.#lent
  }

  /** A connection above a limit gets an error response. With twice as many of one client, it is closed at once. */
  add(socket: Socket): void {
    const { maxConnections, maxConnectionsPerClient } = this.#deps.limits.get()
    const { address, isTrusted, isUnixSocket } = rememberPeer(socket, this.#deps.trust.get())
    this.#open.add(socket)
    this.#slowClients.start()
    socket.once('close', () => this.#open.delete(socket))
    const count = isTrusted || isUnixSocket ? 0 : this.#count(address, (release) => socket.once('close', release))
    if (this.size <= maxConnections && count <= maxConnectionsPerClient) return
    this.#surplus.add(socket)
    this.#refuse(address)
    if (count > maxConnectionsPerClient * 2) socket.destroy()
  }

  /**
   * Counts a connection that a worker thread serves, until the function it returns is called. `undefined`: it is above a
   * limit, and to be added here.
   */
  lend(socket: Socket): (() => void) | undefined {
    const { maxConnections, maxConnectionsPerClient } = this.#deps.limits.get()
    const { address, isTrusted } = rememberPeer(socket, this.#deps.trust.get())
    const key = isTrusted ? undefined : toPeerKey(address)
    const isFull = key !== undefined && (this.#clients.get(key) ?? 0) >= maxConnectionsPerClient
    if (isFull || this.size >= maxConnections || this.isStopping) return undefined
    let release = () => {}
    if (key !== undefined) this.#count(address, (end) => (release = end))
    this.#lent += 1
    return () => {
      this.#lent -= 1
      release()
    }
  }

  /** Throws if requests on this connection or for this client are not accepted now. */
  requireAdmitted(context: RequestContext, socket: Socket): void {
    // a worker thread that is stopping finishes its requests
    if (this.isStopping && !isRelayed(socket)) throw new Refusal('shutting_down', { retryAfterSeconds: 5 })
    const connection = connectionOf(socket)
    if (this.#isRetiring) connection.retire()
    if (this.#surplus.has(socket)) {
      connection.end()
      throw tooManyConnections()
    }
    const { maxConnections, maxConnectionsPerClient } = this.#deps.limits.get()
    const { address, directAddress, isTrusted } = context.client
    if (connection.isMultiplexed) this.#countStream(context)
    const counts = isTrusted ? address !== directAddress : connection.isMultiplexed
    const count = counts ? this.#count(address, (release) => context.onGone(release)) : 0
    if (count <= maxConnectionsPerClient && this.#open.size + this.#streams <= maxConnections) return
    this.#refuse(address)
    throw tooManyConnections()
  }

  #countStream(context: RequestContext): void {
    this.#streams += 1
    context.onGone(() => {
      this.#streams -= 1
    })
  }

  /** Counts one more for a client, until the function that is given to `onEnd` is called. */
  #count(address: string, onEnd: (release: () => void) => void): number {
    const key = toPeerKey(address)
    if (key === undefined) return 0
    const count = (this.#clients.get(key) ?? 0) + 1
    this.#clients.set(key, count)
    onEnd(() => {
      const left = (this.#clients.get(key) ?? 1) - 1
      if (left === 0) this.#clients.delete(key)
      else this.#clients.set(key, left)
    })
    return count
  }

  #refuse(client: string): void {
    this.refused += 1
    this.#warn('too many connections are open; further ones are refused', { client, refused: this.refused })
  }

  /** The server worked in vain for the client of this connection. A proxy is not its clients. */
  addWaste(socket: Socket, ms: number): void {
    const key = this.#findClient(socket)
    if (key !== undefined) this.#wasted.add(key, ms)
  }

  /** How long a new connection of HTTP/2 has to wait. */
  delayMs(socket: Socket): number {
    const key = this.#findClient(socket)
    return key === undefined ? 0 : this.#wasted.delayMs(key)
  }

  /** The key under which the connections of a client take turns. Those of a proxy do so one by one. */
  clientOf(socket: Socket): string {
    return this.#findClient(socket) ?? `${socket.remoteAddress} ${socket.remotePort}`
  }

  #findClient(socket: Socket): string | undefined {
    const { address, isTrusted, isUnixSocket } = rememberPeer(socket, this.#deps.trust.get())
    return isTrusted || isUnixSocket ? undefined : toPeerKey(address)
  }

  isTrustedPeer(socket: Socket): boolean {
    return rememberPeer(socket, this.#deps.trust.get()).isTrusted
  }

  refuseProxyHeader(socket: Socket, reason: string): void {
    this.refusedProxyHeaders += 1
    const { address: peer } = rememberPeer(socket, this.#deps.trust.get())
    const refused = this.refusedProxyHeaders
    this.#warn('connections without a valid PROXY protocol header are closed', { peer, reason, refused })
  }

  /** Warns once a minute. */
  #warn(message: string, fields: Readonly<Record<string, unknown>>): void {
    const nowMs = performance.now()
    if (nowMs - (this.#warnedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < MS_BETWEEN_WARNINGS) return
    this.#warnedAtMs.set(message, nowMs)
    const { door, log } = this.#deps
    log.warn(message, { door, ...fields })
  }

  /** Ends these connections: idle ones now, the others with their current reply. */
  end(isChosen: (socket: Socket) => boolean): void {
    for (const socket of [...this.#open].filter(isChosen)) connectionOf(socket).end()
  }

  /** From now on no connection gets a further request after the next reply. */
  retire(): void {
    this.#isRetiring = true
    for (const socket of this.#open) connectionOf(socket).retire()
  }

  stop(): void {
    this.isStopping = true
    this.end(() => true)
  }

  /** Closes all connections now. */
  drop(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

const tooManyConnections = () => new Refusal('too_many_connections', { retryAfterSeconds: 1 })
