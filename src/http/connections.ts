import type { Socket } from 'node:net'
import type { IncomingRequest } from './incoming-request.ts'

/** With this many pipelined requests waiting, no more data is read from the connection. */
const MAX_WAITING = 32

/** The requests of one connection. They are served one after the other, because pipelined responses keep their order. */
export class Connection {
  /** The client sent bytes that are not HTTP after the current request. */
  isBroken = false
  /** The connection ends with the current reply. */
  isEnding = false
  /** The next reply is the last one. */
  endsWithNextReply = false
  readonly #socket: Socket
  #current: IncomingRequest | undefined
  /** Pipelined requests that wait for the reply before theirs. */
  readonly #waiting: (() => void)[] = []
  #isBusy = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /**
   * Serves a request after the reply to the one before it is sent. A request behind a reply that ends the connection is
   * never executed. Node too decides to end connections, for example after `Expect` without `100 Continue`: it ends the
   * socket before the turn is passed on.
   */
  serveInTurn(serve: () => Promise<void>): Promise<void> {
    return this.#isBusy ? this.#waitForTurn().then(() => this.#serve(serve)) : this.#serve(serve)
  }

  #serve(serve: () => Promise<void>): Promise<void> {
    this.#isBusy = true
    if (!this.isEnding && !this.isBroken && this.#socket.writable) return serve()
    this.endTurn()
    return Promise.resolve()
  }

  #waitForTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === MAX_WAITING) this.#socket.pause()
    })
  }

  /** Called when the reply is sent or the client has disconnected. Passes the turn to the next request. */
  endTurn(): void {
    const next = this.#waiting.shift()
    this.#isBusy = next !== undefined
    next?.()
    if (this.#waiting.length === MAX_WAITING - 1) this.#socket.resume()
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
