import type { Socket } from 'node:net'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { toPeerKey } from '../base/peer-key.ts'
import type { ClientCounts } from './client-counts.ts'
import { connectionOf } from './connections.ts'
import type { ReplyControl, RequestIdentity } from './request-context.ts'
import { SlowClientWatch } from './slow-clients.ts'
import { findPeer, type TrustRules } from './trust.ts'
import { WastedWork } from './wasted-work.ts'

export interface ConnectionLimits {
  readonly 'max-connections': number
  /** Open connections of one client, its requests over HTTP/2, and requests of trusted proxies for it. */
  readonly 'max-connections-per-client': number
  /** Longest time in which a client may take none of the data that waits for it, in milliseconds. */
  readonly 'write-timeout': number
}

interface DoorConnectionsDeps {
  readonly clients: ClientCounts
  readonly limits: Live<ConnectionLimits>
  readonly trust: Live<TrustRules>
  readonly log: Log
  /** Name of the door. */
  readonly door: string
}

const MS_BETWEEN_WARNINGS = 60_000
const NOT_COUNTED = { own: 0, all: 0 }

/** The open connections of one door. */
export class DoorConnections {
  isStopping = false
  /** Connections and requests that were refused because too many are open. */
  refused = 0
  /** Connections that were closed because they did not begin with a valid header of the PROXY protocol. */
  refusedProxyHeaders = 0
  readonly #deps: DoorConnectionsDeps
  readonly #open = new Set<Socket>()
  #isRetiring = false
  /** Connections above a limit. */
  readonly #surplus = new WeakSet<Socket>()
  /** The client of a connection, and which of its connections this was. */
  readonly #places = new WeakMap<Socket, { readonly client: string; readonly own: number }>()
  /** Requests on connections of HTTP/2. Each takes as much memory as a connection of HTTP/1.1. */
  #streams = 0
  readonly #slowClients: SlowClientWatch
  readonly #warnedAtMs = new Map<string, number>()
  readonly #wasted = new WastedWork()

  constructor(deps: DoorConnectionsDeps) {
    this.#deps = deps
    this.#slowClients = new SlowClientWatch(this.#open, () => deps.limits.get()['write-timeout'])
  }

  get size(): number {
    return this.#open.size
  }

  /** A connection above a limit gets an error response. With twice as many of one client, it is closed at once. */
  add(socket: Socket): void {
    const { 'max-connections': max, 'max-connections-per-client': maxPerClient } = this.#deps.limits.get()
    const { address, isTrusted, isUnixSocket } = findPeer(socket, this.#deps.trust.get())
    this.#open.add(socket)
    this.#slowClients.start()
    socket.once('close', () => this.#open.delete(socket))
    const client = isTrusted || isUnixSocket ? undefined : toPeerKey(address)
    const { own, all: count } = this.#count(client, (release) => socket.once('close', release))
    if (client !== undefined) this.#places.set(socket, { client, own })
    if (this.size <= max && count <= maxPerClient) return
    this.#surplus.add(socket)
    this.#refuse(address)
    if (count > maxPerClient * 2) socket.destroy()
  }

  /** Throws if requests on this connection or for this client are not accepted now. */
  requireAdmitted(context: RequestIdentity & ReplyControl, socket: Socket): void {
    if (this.isStopping) throw new Refusal('shutting_down', { retryAfterSeconds: 5 })
    const connection = connectionOf(socket)
    if (this.#isRetiring) connection.retire()
    if (this.#isSurplus(socket)) {
      connection.end()
      throw tooManyConnections()
    }
    const { 'max-connections': max, 'max-connections-per-client': maxPerClient } = this.#deps.limits.get()
    const { address, directAddress, isTrusted } = context.client
    if (connection.isMultiplexed) this.#countStream(context)
    const counts = isTrusted ? address !== directAddress : connection.isMultiplexed
    const { all: count } = this.#count(counts ? toPeerKey(address) : undefined, (release) => context.onGone(release))
    if (count <= maxPerClient && this.#open.size + this.#streams <= max) return
    this.#refuse(address)
    throw tooManyConnections()
  }

  #countStream(context: ReplyControl): void {
    this.#streams += 1
    context.onGone(() => {
      this.#streams -= 1
    })
  }

  /** Counts one more for a client, until the function that is given to `onEnd` is called. */
  #count(client: string | undefined, onEnd: (release: () => void) => void): ReturnType<ClientCounts['add']> {
    if (client === undefined) return NOT_COUNTED
    const { clients } = this.#deps
    onEnd(() => clients.release(client))
    return clients.add(client)
  }

  #isSurplus(socket: Socket): boolean {
    const place = this.#places.get(socket)
    return this.#surplus.has(socket) || (place !== undefined && this.#deps.clients.isSurplus(place.client, place.own))
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
    const { address, isTrusted, isUnixSocket } = findPeer(socket, this.#deps.trust.get())
    return isTrusted || isUnixSocket ? undefined : toPeerKey(address)
  }

  isTrustedPeer(socket: Socket): boolean {
    return findPeer(socket, this.#deps.trust.get()).isTrusted
  }

  refuseProxyHeader(socket: Socket, reason: string): void {
    this.refusedProxyHeaders += 1
    const { address: peer } = findPeer(socket, this.#deps.trust.get())
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
