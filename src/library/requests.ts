import { IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { isJsonObject } from '../base/json.ts'
import { isHttp2 } from '../http/http2-messages.ts'
import { type RequestLike, toIncoming } from '../http/identify.ts'
import type { HeaderPair } from '../http/request-context.ts'
import { type Serve, serveInMemory } from './web-request.ts'

/** A response of Node or Express. */
export interface HeaderSink {
  readonly headersSent?: boolean
  appendHeader(name: string, value: string): unknown
}

/** A program without types may give anything, and a framework a request of its own making. */
export function readRequest(request: unknown, caller: string, peer?: string): IncomingMessage {
  if (request instanceof IncomingMessage) return request
  // the program of the caller chose this object: only its headers, the one required member, are checked
  if (isJsonObject(request) && isJsonObject(request['headers']))
    return toIncoming(request as unknown as RequestLike, peer)
  throw new TypeError(`${caller} takes an IncomingMessage of Node or a Request of the web platform`)
}

/** The address of the client, which a web `Request` does not have. Limits on passwords depend on it. */
export function requirePeer(peer: unknown, caller: string): string {
  if (typeof peer === 'string' && isIP(peer) !== 0) return peer
  throw new TypeError(`${caller} needs the address of the client: { peer: '203.0.113.7' }. ${WITHOUT_PEER}`)
}

const WITHOUT_PEER =
  'A web Request does not have it, and without it the failed attempts of one client would lock users out for all'

/** Reads a request whose password is checked. */
export function readGuess(
  request: IncomingMessage | Request,
  caller: string,
  peer: string | undefined,
): IncomingMessage {
  if (request instanceof Request) requirePeer(peer, caller)
  return readRequest(request, caller, peer)
}

/** For work that no request asked for. */
export const createEmptyRequest = (): IncomingMessage => toIncoming({ headers: {} })

/** A framework has its own response in place of that of Node. */
export function requireSink(response: unknown): asserts response is HeaderSink | Headers {
  const isSink =
    isJsonObject(response) && ['appendHeader', 'append'].some((name) => typeof response[name] === 'function')
  if (!isSink) throw new TypeError(`response must be that of Node or Express, or Headers: ${INSTEAD}`)
}

const INSTEAD = 'give reply.raw of Fastify, the headers of a web Response'

/**
 * Serves a request of `node:http`. A program that ignores the promise must not end with its rejection. `findParsed` returns
 * the body where a body parser may run before; `undefined`: none has.
 */
export function serveNode(
  request: IncomingMessage,
  response: ServerResponse,
  { caller, serve, findParsed }: NodeServing,
) {
  const serveChecked = async (): Promise<void> => {
    requireNodePair(request, response, caller)
    // the doors read HTTP/1.1; and the socket of a request that a framework makes for tests can only be read
    const isOwnForm = !isHttp2(request) && 'writable' in request.socket
    await (isOwnForm ? serve(request, response) : serveInMemory(request, response, serve, findParsed?.(request)))
  }
  const done = serveChecked()
  done.catch(() => {})
  return done
}

interface NodeServing {
  readonly caller: string
  readonly serve: Serve
  readonly findParsed?: (request: IncomingMessage) => Buffer | undefined
}

function requireNodePair(request: unknown, response: unknown, caller: string): void {
  if (!isJsonObject(request) || !isJsonObject(request['socket']))
    throw new TypeError(`${caller} takes a request of Node, with its socket. For a web Request call cardea.fetch`)
  if (!isJsonObject(response) || typeof response['writeHead'] !== 'function')
    throw new TypeError(`${caller} takes the response of Node: give reply.raw of Fastify`)
}

export function addHeaders(response: HeaderSink | Headers, headers: readonly HeaderPair[]): void {
  if ('headersSent' in response && response.headersSent) return
  for (const [name, value] of headers) {
    if ('appendHeader' in response) response.appendHeader(name, value)
    else response.append(name, value)
  }
}
