import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { isClientError } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import { type Authenticated, isAnonymous } from '../directory/identity.ts'
import { runForOrigin } from '../observe/origin.ts'
import type { BodyLimits } from './body.ts'
import { Incoming } from './incoming-request.ts'
import { describeOrigin } from './origin.ts'
import type { Dialect } from './request-context.ts'
import type { TrustRules } from './trust.ts'

export interface IdentifyOptions {
  readonly dialect: Dialect
  readonly limits: BodyLimits
  readonly trust: Live<TrustRules>
  readonly door: string
}

/**
 * Who a request to another server comes from, as a door would tell; nothing else of it is judged, least of all its
 * path. `undefined`: nobody, or nobody who could show it. What Cardea itself cannot do now is thrown.
 */
export async function identify(request: IncomingMessage, options: IdentifyOptions): Promise<Authenticated | undefined> {
  const context = new Incoming(request, new ServerResponse(request), { ...options, target: '/' })
  if (context.isRepeated('authorization')) return undefined
  const step = options.dialect.steps.find(({ name }) => name === 'authenticate')
  try {
    await runForOrigin(
      () => describeOrigin(context, options.door),
      () => step?.run(context),
    )
  } catch (error) {
    if (isClientError(error)) return undefined
    throw error
  }
  const { authenticated } = context
  return isAnonymous(authenticated) ? undefined : authenticated
}

/**
 * A request that is not Node's own: one of the web platform, of HTTP/2, or made by a framework for its tests. Those with
 * a connection say where they came from.
 */
export interface RequestLike {
  readonly method?: string | undefined
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket?: Socket | undefined
}

/** It as Node has it, with its headers alone. */
export function toIncoming({ method = '', headers, socket = createNowhere() }: RequestLike): IncomingMessage {
  const incoming = new IncomingMessage(socket)
  incoming.method = method
  const given = Object.entries(Symbol.iterator in headers ? Object.fromEntries(headers) : headers)
  const pairs = given.map(([name, value]) => [name.toLowerCase(), [value ?? []].flat()] as const)
  incoming.headers = Object.fromEntries(pairs.map(([name, values]) => [name, values.join(', ')]))
  incoming.headersDistinct = Object.fromEntries(pairs.map(([name, values]) => [name, [...values]]))
  return incoming
}

/** Nobody's address: of a request that came without a connection nothing is known, and no proxy is believed. */
function createNowhere(): Socket {
  return Object.defineProperty(new Socket(), 'remoteAddress', { value: '0.0.0.0' })
}
