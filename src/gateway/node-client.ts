/**
 * Sends requests with trailers, which undici cannot send, with Node's own client. It calls the same handler as undici
 * does and uses connections opened and verified in the same way.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'

interface NodeClientOptions {
  readonly connect: buildConnector.connector
  readonly url: string
  readonly maxConnections: number
  readonly keepAliveMs: number
  readonly maxHeaderBytes: number
}

export interface TrailerRequest {
  readonly method: string
  readonly path: string
  /** All headers, including those that frame the body. */
  readonly headers: readonly string[]
  readonly body: Readable
  /** The trailers. Called when the body has ended. */
  trailers(): [string, string][]
}

export interface NodeClient {
  dispatch(request: TrailerRequest, handler: Dispatcher.DispatchHandler): void
  /** Ends the requests in progress. Idle connections expire by themselves. */
  destroy(): void
}

export function createNodeClient(options: NodeClientOptions): NodeClient {
  const agent = createAgent(options)
  return {
    dispatch: (request, handler) => new NodeExchange(request, handler).open(agent, options.maxHeaderBytes),
    destroy: () => agent.destroy(),
  }
}

function createAgent({ connect, url, maxConnections, keepAliveMs }: NodeClientOptions): Agent {
  const { protocol, host, hostname: rawHostname, port } = new URL(url)
  const hostname = rawHostname.replace(/^\[|\]$/g, '')
  const agent = new Agent({ keepAlive: true, maxSockets: maxConnections, timeout: keepAliveMs })
  // the connector does TLS where the URL needs it, so the agent only ever sees plain HTTP
  agent.createConnection = (_options, done) => {
    connect({ protocol, host, hostname, port }, (error, socket) => {
      // headers are text with one character per byte
      socket?.setDefaultEncoding('latin1')
      // the type does not allow for a missing socket, Node does
      done?.(error, socket as Socket)
    })
    return undefined
  }
  return agent
}

/** One request and its response. */
class NodeExchange implements Dispatcher.DispatchController {
  rawHeaders: string[] | null = null
  rawTrailers: string[] | null = null
  aborted = false
  paused = false
  reason: Error | null = null
  readonly #order: TrailerRequest
  readonly #handler: Dispatcher.DispatchHandler
  #request: ClientRequest | undefined
  #response: IncomingMessage | undefined
  #isOver = false
  #bytesBefore = 0
  #broken: Error | undefined

  constructor(order: TrailerRequest, handler: Dispatcher.DispatchHandler) {
    this.#order = order
    this.#handler = handler
  }

  open(agent: Agent, maxHeaderSize: number): void {
    this.#guard(() => {
      this.#handler.onRequestStart?.(this, null)
      if (!this.#isOver) this.#send(agent, maxHeaderSize)
    })
  }

  #send(agent: Agent, maxHeaderSize: number): void {
    const { method, path, headers, body } = this.#order
    const request = openRequest({ agent, method, path, headers, maxHeaderSize })
    this.#request = request
    // zero: no limit, so that no header is lost silently
    request.maxHeadersCount = 0
    request.on('error', (error) => this.#failAfterResponse(error))
    request.on('response', (response) => this.#guard(() => this.#receive(response)))
    request.once('socket', (socket) => this.#guard(() => this.#onConnected(socket)))
    request.on('upgrade', (_response, socket) => {
      socket.destroy()
      this.#fail(new Error('unexpected upgrade'))
    })
    body.on('error', (error) => this.#fail(error))
    request.flushHeaders()
  }

  /** The body is not read before the connection is established, so that another server can still be tried. */
  #onConnected(socket: Socket): void {
    this.#bytesBefore = socket.bytesRead
    if (!this.#isOver) this.#sendBody()
  }

  #sendBody(): void {
    const { body } = this.#order
    body.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      if (!this.#request?.write(chunk)) body.pause()
      this.#handler.onBodySent?.(chunk)
    })
    this.#request?.on('drain', () => body.resume())
    body.on('end', () => this.#guard(() => this.#endBody()))
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
    // Node does not report 1xx responses here
    if ((response.statusCode ?? 0) < 200) throw new Error('invalid status')
    response.on('error', (error) => this.#fail(error))
    this.rawHeaders = response.rawHeaders
    this.#handler.onResponseStarted?.()
    this.#handler.onResponseStart?.(this, response.statusCode ?? 0, {}, response.statusMessage)
    response.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#guard(() => this.#handler.onResponseData?.(this, chunk))
    })
    response.on('end', () => this.#guard(() => this.#finish(response)))
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

  /** Node emits the error before data it has already received. A response that is complete by then is still valid. */
  #failAfterResponse(error: Error): void {
    if (this.#response === undefined) this.#fail(error)
    else if (!this.#response.complete) {
      // until then Node may report the break as the end of the response
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
    // after an incomplete request the connection cannot be used for another one
    if (this.#request?.writableEnded === false) this.#request.destroy()
  }

  /** An event listener that throws would end the process: an error here fails this request only. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
