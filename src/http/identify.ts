import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { isClientError } from '../base/errors.ts'
import { type AuthenticatedRequest, isAnonymous } from '../directory/identity.ts'
import { runForOrigin } from '../observe/origin.ts'
import { describeOrigin } from './describe-origin.ts'
import { toHttp1Headers } from './http2-messages.ts'
import { IncomingRequest, type IncomingRequestOptions } from './incoming-request.ts'
import type { Dialect, HeaderPair, RequestContext, Step } from './request-context.ts'

type IdentifyOptions = Omit<IncomingRequestOptions, 'target'>

export interface Identified {
  readonly authenticated: AuthenticatedRequest
  /** To be sent with the response: a session that is due gets a new cookie. */
  readonly headers: readonly HeaderPair[]
}

/**
 * Authenticates a request to another server as a door would, without its other checks and whatever its path. Returns
 * `undefined` if the request is anonymous or its credential is rejected. Throws if Cardea cannot decide now, and
 * `cross_origin` where the door would: pages of `origins` may send what pages of the own origin may.
 */
export const identify = (
  request: IncomingMessage,
  options: IdentifyOptions,
  origins: readonly string[],
): Promise<Identified | undefined> =>
  runForRequest(request, options, async (context) => {
    if (context.isRepeated('authorization') || context.isRepeated('host')) return undefined
    const run = (name: string) => requireStep(options.dialect, name).run(context)
    try {
      await run('authenticate')
    } catch (error) {
      if (isClientError(error)) return undefined
      throw error
    }
    const { authenticated } = context
    if (isAnonymous(authenticated)) return undefined
    // a user who must change the password or set up a second factor can do nothing else
    const { mustChangePassword, mustSetUpFactor } = authenticated.identity
    if (mustChangePassword || mustSetUpFactor) return undefined
    if (!isAllowed(context.header('origin'), origins)) await run('cross origin')
    return { authenticated, headers: options.dialect.renewalHeaders?.(context) ?? [] }
  })

function requireStep({ name, steps }: Dialect, step: string): Step {
  const found = steps.find((candidate) => candidate.name === step)
  if (found === undefined) throw new TypeError(`the dialect ${name} has no step ${step}`)
  return found
}

/**
 * Every page can make a sandboxed frame, whose origin is `null`. `some` throws for a text in place of the list, which a
 * program without types may give: `includes` would allow every part of it.
 */
const isAllowed = (origin: string | undefined, origins: readonly string[]): boolean =>
  origin !== undefined && origin !== 'null' && origins.some((allowed) => allowed === origin)

/** Runs `work` on behalf of a request to another server. Its path there means nothing here. */
export function runForRequest<T>(
  request: IncomingMessage,
  options: IdentifyOptions,
  work: (context: RequestContext) => Promise<T>,
): Promise<T> {
  const context = new IncomingRequest(request, new ServerResponse(request), { ...options, target: '/' })
  return runForOrigin(
    () => describeOrigin(context),
    () => work(context),
  )
}

/** A request that is not of `node:http`: a web `Request`, one of HTTP/2, or one that a framework made for its tests. */
export interface RequestLike {
  /** The whole URL in a web `Request`. */
  readonly url?: string | undefined
  readonly method?: string | undefined
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Those of HTTP/2 have it. Of some repeated headers, `headers` has only the first. */
  readonly rawHeaders?: readonly string[] | undefined
  readonly socket?: Socket | undefined
}

/** Converts the headers of such a request; its body is not needed. `peer`: the address of a client without a socket. */
export function toIncoming(
  { url = '', method = '', headers, rawHeaders = toRaw(headers), socket: open }: RequestLike,
  peer?: string,
): IncomingMessage {
  const socket = open ?? createSocket(peer, url.startsWith('https:'))
  const incoming = new IncomingMessage(socket)
  incoming.method = method
  const distinct = toHttp1Headers(rawHeaders)
  incoming.headersDistinct = distinct
  const pairs = Object.entries(distinct).filter(([, values = []]) => values.length > 0)
  incoming.headers = Object.fromEntries(pairs.map(([name, values = []]) => [name, values.join(', ')]))
  return incoming
}

const toRaw = (headers: RequestLike['headers']): string[] =>
  [...(Symbol.iterator in headers ? headers : Object.entries(headers))].flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((one) => [name, one]),
  )

/** For a request without a connection. No client and no trusted proxy has the address `0.0.0.0`. */
function createSocket(remoteAddress = '0.0.0.0', isSecure: boolean): Socket {
  const members = { remoteAddress: { value: remoteAddress }, ...(isSecure && { encrypted: { value: true } }) }
  return Object.defineProperties(new Socket(), members)
}
