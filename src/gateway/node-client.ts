/**
 * What enters: a request with trailers, which undici cannot send. What leaves: the same calls undici would make. Node's
 * own client sends it, over connections made and verified as those of the pools are.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { createConnector, KEEP_ALIVE_MS, MAX_HEADER_BYTES, type PoolLimits } from './pool.ts'

export interface DirectOrder {
  readonly method: string
  readonly path: string
  /** All of them, with those that say how long the body is. */
  readonly headers: readonly string[]
  readonly body: Readable
  /** What follows the body. Called when it is over. */
  trailers(): [string, string][]
}

export interface Direct {
  dispatch(order: DirectOrder, handler: Dispatcher.DispatchHandler): void
  /** Ends what is under way. Connections nobody uses end by themselves. */
  destroy(): void
}

export function createDirect(url: string, limits: PoolLimits): Direct {
  const agent = createAgent(new URL(url), limits)
  return {
    dispatch: (order, handler) => new Conversation(order, handler).open(agent),
    destroy: () => agent.destroy(),
  }
}

function createAgent(url: URL, limits: PoolLimits): Agent {
  const { protocol, host, port } = url
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const connect = createConnector(url, limits)
  const agent = new Agent({ keepAlive: true, maxSockets: limits.maxConnections, timeout: KEEP_ALIVE_MS })
  // The connector speaks TLS where that is due, so that plain HTTP is all that is left for the agent.
  agent.createConnection = (_options, done) => {
    connect({ protocol, host, hostname, port }, (error, socket) => {
      // a head is written as text: one character a byte
      socket?.setDefaultEncoding('latin1')
      // its types know no socket that is missing
      done?.(error, socket as Socket)
    })
    return undefined
  }
  return agent
}

/** One request and its answer. */
class Conversation implements Dispatcher.DispatchController {
  rawHeaders: string[] | null = null
  rawTrailers: string[] | null = null
  aborted = false
  paused = false
  reason: Error | null = null
  readonly #order: DirectOrder
  readonly #handler: Dispatcher.DispatchHandler
  #request: ClientRequest | undefined
  #response: IncomingMessage | undefined
  #isOver = false
  #bytesBefore = 0
  #broken: Error | undefined

  constructor(order: DirectOrder, handler: Dispatcher.DispatchHandler) {
    this.#order = order
    this.#handler = handler
  }

  open(agent: Agent): void {
    this.#try(() => {
      this.#handler.onRequestStart?.(this, null)
      if (!this.#isOver) this.#send(agent)
    })
  }

  #send(agent: Agent): void {
    const { method, path, headers, body } = this.#order
    const request = openRequest({ agent, method, path, headers, maxHeaderSize: MAX_HEADER_BYTES })
    this.#request = request
    // zero: none may vanish
    request.maxHeadersCount = 0
    request.on('error', (error) => this.#failBehind(error))
    request.on('response', (response) => this.#try(() => this.#receive(response)))
    request.once('socket', (socket) => this.#try(() => this.#connected(socket)))
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      this.#fail(new Error('an upgrade nobody asked for'))
    })
    body.on('error', (error) => this.#fail(error))
    request.flushHeaders()
  }

  /** The socket is given away when it is connected: until then nothing of the body is taken, and another may be asked. */
  #connected(socket: Socket): void {
    this.#bytesBefore = socket.bytesRead
    if (!this.#isOver) this.#sendBody()
  }

  #sendBody(): void {
    const { body } = this.#order
    const { onBodySent } = this.#handler
    body.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      if (!this.#request?.write(chunk)) body.pause()
      onBodySent?.call(this.#handler, chunk)
    })
    this.#request?.on('drain', () => body.resume())
    body.on('end', () => this.#try(() => this.#endBody()))
  }

  #endBody(): void {
    if (this.#isOver) return
    const trailers = this.#order.trailers()
    if (trailers.length > 0) this.#request?.addTrailers(trailers)
    this.#request?.end()
    this.#handler.onRequestSent?.()
  }

  #receive(response: IncomingMessage): void {
    this.#response = response
    // Node keeps what comes before an answer to itself
    if ((response.statusCode ?? 0) < 200) throw new Error('a status that is none')
    response.on('error', (error) => this.#fail(error))
    this.rawHeaders = response.rawHeaders
    this.#handler.onResponseStarted?.()
    this.#handler.onResponseStart?.(this, response.statusCode ?? 0, {}, response.statusMessage)
    response.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#try(() => this.#handler.onResponseData?.(this, chunk))
    })
    response.on('end', () => this.#try(() => this.#finish(response)))
  }

  #finish(response: IncomingMessage): void {
    if (this.#broken) this.#fail(this.#broken)
    if (this.#isOver) return
    this.#close()
    this.rawTrailers = response.rawTrailers
    this.#handler.onResponseEnd?.(this, {})
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#fail(reason)
  }

  pause(): void {
    this.paused = true
    this.#response?.pause()
  }

  resume(): void {
    this.paused = false
    this.#response?.resume()
  }

  /** What came before it comes out of Node later. An answer that was whole by then is not spoiled by what follows it. */
  #failBehind(error: Error): void {
    if (this.#response === undefined) this.#fail(error)
    else if (!this.#response.complete) {
      // Node may take the break for the end of it in the meantime
      this.#broken = error
      setImmediate(() => this.#fail(error))
    }
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    const { socket } = this.#request ?? {}
    if (socket && socket.bytesRead > this.#bytesBefore) this.#handler.onResponseStarted?.()
    this.#close()
    this.#request?.destroy()
    this.#handler.onResponseError?.(this, error)
  }

  #close(): void {
    this.#isOver = true
    this.#order.body.destroy()
    // where part of the request is missing, no other can follow on its connection
    if (this.#request?.writableEnded === false) this.#request.destroy()
  }

  /** What goes wrong here goes wrong for this request alone: an event that throws would end the process. */
  #try(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
