import { IncomingMessage } from 'node:http'
import { isJsonObject } from '../base/json.ts'
import { type RequestLike, toIncoming } from '../http/identify.ts'
import type { HeaderPair } from '../http/request-context.ts'

/** A response of Node or Express. */
export interface HeaderSink {
  readonly headersSent?: boolean
  appendHeader(name: string, value: string): unknown
}

/** A program without types may give anything, and a framework a request of its own making. */
export function readRequest(request: unknown, caller: string): IncomingMessage {
  if (request instanceof IncomingMessage) return request
  // the program of the caller chose this object: only its headers, the one required member, are checked
  if (isJsonObject(request) && isJsonObject(request['headers'])) return toIncoming(request as unknown as RequestLike)
  throw new TypeError(`${caller} takes an IncomingMessage of Node or a Request of the web platform`)
}

/** For work that no request asked for. */
export const createEmptyRequest = (): IncomingMessage => toIncoming({ headers: {} })

export function addHeaders(response: HeaderSink | Headers, headers: readonly HeaderPair[]): void {
  if ('headersSent' in response && response.headersSent) return
  for (const [name, value] of headers) {
    if ('appendHeader' in response) response.appendHeader(name, value)
    else response.append(name, value)
  }
}
