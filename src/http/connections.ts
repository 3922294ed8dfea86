import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isInternalUsable } from '../base/node-internals/probes.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { type NextBytes, RequestBytes } from './pipelining.ts'
import { waitForTurn } from './turns.ts'

/**
 * With more requests waiting, a connection of a server that is not Cardea's is closed: its parser cannot be stopped, so
 * the requests themselves wait. One read of a connection has at most 3600.
 */
const MAX_WAITING = 5000

/** The requests of one connection. They are served one after the other, because pipelined responses keep their order. */
export class Connection {
  /** Whether requests are served side by side: then no reply ends the connection. */
  readonly isMultiplexed: boolean = false
  /** The client sent bytes that are not HTTP after the current request. */
  isBroken = false
  /** The connection ends with the current reply. */
  isEnding = false
  /** The next reply is the last one. */
  endsWithNextReply = false
  readonly #socket: Socket
  #current: IncomingRequest | undefined
  /** The request whose turn it is. */
  #served: IncomingMessage | undefined
  /** Requests that the parser found before the reply to the one before them. */
  readonly #waiting: (() => void)[] = []
  /** `undefined`: its requests wait, not its bytes. So it is with a server that is not Cardea's. */
  #bytes: RequestBytes | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** From now on the bytes of a pipelined request wait until the one before it is answered. */
  holdBytes(): void {
    if (isInternalUsable('parser-input')) this.#bytes = new RequestBytes(this.#socket, () => this.#nextBytes())
  }

  #nextBytes(): NextBytes {
    if (this.#served?.complete === false) return 'parse'
    if (this.#served || this.#waiting.length > 0) return 'wait'
    return this.#isOver ? 'drop' : 'parse'
  }

  get #isOver(): boolean {
    return this.isEnding || this.isBroken || !this.#socket.writable
  }

  /**
   * Serves a request after the reply to the one before it is sent. A request behind a reply that ends the connection is
   * never executed. Node too decides to end connections, for example after `Expect` without `100 Continue`: it ends the
   * socket before the turn is passed on.
   */
  serveInTurn(request: IncomingMessage, serve: () => Promise<void>): Promise<void> {
    this.#bytes?.onRequest(request)
    if (this.#served === undefined) return this.#serve(request, serve)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    if (this.#waiting.length > MAX_WAITING) this.#socket.destroy()
    return promise.then(() => this.#serve(request, serve))
  }

  #serve(request: IncomingMessage, serve: () => Promise<void>): Promise<void> {
    this.#served = request
    if (!this.#isOver) return serve()
    this.endTurn()
    return Promise.resolve()
  }

  /** Called when the reply is sent or the client has disconnected. Passes the turn to the next request. */
  endTurn(): void {
    const next = this.#waiting.shift()
    if (next) waitForTurn(next)
    else {
      this.#served = undefined
      this.#bytes?.continue()
    }
  }

  add(request: IncomingRequest): void {
    this.#current = request
  }

  remove(request: IncomingRequest): void {
    if (this.#current === request) this.#current = undefined
    if (this.isBroken && this.#current === undefined) this.#socket.end()
  }

  get isIdle(): boolean {
    return this.#current === undefined && !this.isEnding
  }

  /** Lets the client use another connection after the next reply. */
  retire(): void {
    this.endsWithNextReply = true
  }

  /** Ends it: now if it is idle, otherwise with the current reply. */
  end(): void {
    this.retire()
    if (this.isIdle) this.#socket.destroy()
  }

  /** To be called after a reply if the door is stopping: the head may have been sent without `Connection: close`. */
  endIfIdle(): void {
    if (this.isIdle) this.#socket.destroySoon()
  }

  /**
   * The client sent bytes that are not HTTP. The request that is being served fails if it still waits for its body.
   * Returns `false` if there is none, so that the caller has to respond.
   */
  breakOff(): boolean {
    if (this.isEnding) return true
    if (this.#current === undefined) return false
    this.isBroken = true
    this.#current.breakOff()
    return true
  }
}

/** Shared by all doors: with the library, requests of one connection can go to different doors. */
const connections = new WeakMap<Socket, Connection>()

export function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket)
  if (known) return known
  const connection = new Connection(socket)
  connections.set(socket, connection)
  return connection
}

export const rememberConnection = (socket: Socket, connection: Connection): void =>
  void connections.set(socket, connection)
