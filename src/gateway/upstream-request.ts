import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Refusal } from '../base/errors.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import type { Reply, RequestContext } from '../http/request-context.ts'
import type { ConnectionSettings, UpstreamServer } from './connections.ts'
import type { UpstreamWatch } from './health.ts'
import { isolate, varyByWorker } from './isolate.ts'
import type { OpenStream, OpenStreams } from './open-streams.ts'
import { filterResponseHeaders } from './response-headers.ts'
import { type ResponseHead, ResponsePipe } from './response-pipe.ts'

/** A request as it is sent to an upstream server. */
export interface UpstreamRequest {
  readonly context: RequestContext
  /** Names and values in turn, without those that frame the body. */
  readonly headers: string[]
  readonly isFeed: boolean
  /** Whether Cardea signed the identity. */
  readonly isSigned: boolean
  /** The whole body. `undefined`: the body is streamed as it arrives. */
  readonly wholeBody: Buffer | undefined
  /** Called with the URL of each server it is sent to, if the request is traced. */
  readonly onServer?: (url: string) => void
}

export interface UpstreamSettings extends ConnectionSettings {
  /** Longest silence within a response that is not a feed; 0: any. */
  readonly idleTimeoutMs: number
  /** Whether Cardea sets the CORS headers, instead of the upstream server. */
  readonly ownsCors: boolean
  /** Pages in responses are sandboxed, except those below this path; `undefined`: none are. */
  readonly sandboxedExcept: readonly string[] | undefined
  /**
   * Limits in bytes for a chunked body, which is read whole for a server that does not accept chunks, and for all of
   * them together. `undefined`: the server accepts them.
   */
  readonly spool: { readonly bodyBytes: number; readonly totalBytes: number } | undefined
}

export interface SendDeps {
  settings(): UpstreamSettings
  readonly ownCookies: readonly string[]
  readonly streams: OpenStreams
  /** Whether the credential of the request is still valid, with the same rights. */
  revalidate(context: RequestContext): Promise<boolean>
  readonly watch: UpstreamWatch
}

export interface Failure {
  readonly kind: 'failure'
  readonly error: Error
  /** Whether the request may have been sent. */
  readonly wasStarted: boolean
  /** Whether a byte of the response had arrived. */
  readonly hasBegun: boolean
  /** Whether a part of the body was read, so that the request cannot be repeated. */
  readonly hasSent: boolean
}

type Outcome = { readonly kind: 'reply'; readonly reply: Reply } | Failure

/** A request that was sent to one server. */
interface SentRequest {
  readonly pipe: ResponsePipe
  /** The body of the request, if it is streamed. */
  readonly requestBody: Readable | undefined
}

/** Sends the request to one server. `pipe.head` resolves when the head of the response arrives. */
export function sendRequest(request: UpstreamRequest, server: UpstreamServer, deps: SendDeps): SentRequest {
  const { context, isFeed } = request
  const { idleTimeoutMs: idleMs, limits } = deps.settings()
  const requestBody = request.wholeBody === undefined ? context.openBody() : undefined
  const pipe = new ResponsePipe({ isFeed, requestBody, idleMs, firstByteMs: limits.firstByteTimeoutMs })
  trackUntilClosed(pipe, server, context, deps)
  context.onGone(() => pipe.discard())
  const { feeds, requests, servername } = server.connections
  const pool = isFeed ? feeds : requests
  pool.dispatch(toDispatchOptions(request, requestBody, servername), pipe)
  return { pipe, requestBody }
}

/** Converts the head of the response, or the error in its place, to a reply or a failure. */
export function toOutcome(
  head: ResponseHead | Error,
  { pipe, requestBody }: SentRequest,
  context: RequestContext,
  deps: SendDeps,
): Outcome {
  const reply = head instanceof Error ? head : toReply(head, pipe, context, deps)
  if (!(reply instanceof Error)) return { kind: 'reply', reply }
  pipe.discard()
  const error = context.isCut ? new Refusal('authentication_required') : reply
  const { wasStarted, hasBegun } = pipe
  return { kind: 'failure', error, wasStarted, hasBegun, hasSent: requestBody?.readableDidRead ?? false }
}

/** Counts the request and makes it revocable while it is in progress. */
function trackUntilClosed(pipe: ResponsePipe, server: UpstreamServer, context: RequestContext, deps: SendDeps): void {
  const stream: OpenStream = {
    authenticated: context.authenticated ?? ANONYMOUS,
    streamEpoch: context.streamEpoch,
    revalidate: () => deps.revalidate(context),
    cut() {
      context.isCut = true
      pipe.cut()
    },
    isFeed: pipe.isFeed,
    stop: () => pipe.cut(new Refusal('shutting_down', { retryAfterSeconds: 5 })),
  }
  let remove = () => {}
  // A constant first: V8 creates a function that is assigned to a property where it is written in the old generation,
  // and there it keeps its whole request until a full garbage collection (scavenges of 25 instead of 2 ms).
  const onClosed = (error: Error | undefined) => {
    server.open -= 1
    remove()
    if (error) deps.watch.onFailed(server.url, error)
  }
  server.open += 1
  pipe.onClosed = onClosed
  remove = deps.streams.add(stream)
}

function toReply(
  { status, reason, headers, parsed }: ResponseHead,
  pipe: ResponsePipe,
  context: RequestContext,
  deps: SendDeps,
): Reply | Refusal {
  const settings = deps.settings()
  const rules = { ownsCors: settings.ownsCors, ownCookies: deps.ownCookies, parsed }
  const kept = filterResponseHeaders(headers, status, rules)
  if (kept === undefined) return new Refusal('upstream_failed', { detail: 'transfer coding' })
  const sent = isSandboxed(context, settings) ? varyByWorker(isolate(kept, status), status, context) : kept
  return { status, reason, headers: sent, body: pipe, isForwarded: true }
}

export const isSandboxed = ({ path }: RequestContext, { sandboxedExcept: open }: UpstreamSettings): boolean =>
  open !== undefined && !open.every((segment, index) => segment === path.segments[index])

function toDispatchOptions(request: UpstreamRequest, requestBody: Readable | undefined, servername: string) {
  const { context, headers, wholeBody } = request
  const length = requestBody && context.header('content-length')
  const hasNoBody = requestBody === undefined && wholeBody === undefined
  return {
    // undici accepts any token; its type lists the common methods
    method: context.method as Dispatcher.HttpMethod,
    path: context.target,
    headers: length === undefined ? headers : [...headers, 'Content-Length', length],
    body: wholeBody ?? requestBody ?? null,
    // the response pipe has the timers
    headersTimeout: 0,
    // not in undici's types: without it TLS would ask for the client's `Host`
    servername,
    // by default undici closes the connection after a HEAD, which is needed only if the request has a body
    ...(context.method === 'HEAD' && hasNoBody ? { reset: false } : {}),
  }
}
