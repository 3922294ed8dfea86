import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { codeOf, Refusal } from '../base/errors.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply, RequestContext, RequestHead, RequestIdentity } from '../http/request-context.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { type Balancer, type ConnectionSettings, toPublicUrl, type UpstreamServer } from './connections.ts'
import type { UpstreamHints } from './hints.ts'
import type { CheckIdentity } from './identity-probe.ts'
import type { OpenStream, OpenStreams } from './open-streams.ts'
import { filterResponseHeaders, isolate, varyByWorker } from './response-headers.ts'
import { type ResponseHead, ResponsePipe } from './response-pipe.ts'
import {
  describeError,
  isDisconnected,
  isNotHttp,
  isTimeout,
  isUnconnected,
  toUpstreamRefusal,
} from './upstream-errors.ts'

/**
 * Sends the request to one server after another, as long as repeating it is safe. `checkIdentity` is left out for
 * servers that do not show whether they accept the identities that Cardea signs.
 */
export async function sendWithFailover(
  request: UpstreamRequest,
  balancer: Balancer,
  deps: SendDeps,
  checkIdentity?: CheckIdentity,
): Promise<Reply> {
  const { context, isSigned } = request
  const tried: UpstreamServer[] = []
  let failures: readonly ServerFailure[] = []
  for (let attempt = 0; ; attempt += 1) {
    const server = balancer.choose(tried)
    if (server === undefined) throw createRefusal(failures, balancer, deps.watch)
    request.onServer?.(server.url)
    const sent = sendRequest(request, server, deps)
    const outcome = toOutcome(await sent.pipe.head, sent, context, deps)
    if (outcome.kind === 'reply') {
      balancer.markUp(server)
      deps.watch.onResponded(server.url)
      const { reply } = outcome
      const checking = isSigned ? checkIdentity?.(server, reply.status) : undefined
      const rejection = checking && (await checking)
      if (rejection !== undefined) throw rejectIdentity(reply, rejection, server.url, deps.watch)
      return reply
    }
    // the server is not at fault, and the request is no server error
    if (context.isGone) throw new Refusal('client_gone')
    penalize(server, outcome, balancer, deps.watch)
    // of a server that was asked twice, only the last failure counts
    failures = [...failures.filter((failure) => failure.server !== server), { server, error: outcome.error }]
    if (!canRepeat(context.method, outcome)) throw createRefusal(failures, balancer, deps.watch)
    server.retries += 1
    // if an idle connection of the only server was just closed, a new one to the same server may work
    const isWorthRepeating = isDisconnected(outcome.error) && attempt === 0 && balancer.servers.length === 1
    if (!isWorthRepeating) tried.push(server)
  }
}

interface ServerFailure {
  readonly server: UpstreamServer
  readonly error: Error
}

/**
 * The refusal for the client: a server that accepted the request and failed decides it (502), before those that could
 * not be reached (503). Records the failures; `penalize` has recorded the servers that could not be reached.
 */
function createRefusal(failures: readonly ServerFailure[], balancer: Balancer, watch: UpstreamWatch): Refusal {
  const reached = failures.filter(({ error }) => !isUnconnected(error))
  for (const { server, error } of reached) if (isUpstreamFault(error)) watch.onFailed(server.url, error)
  const decisive = reached.at(-1) ?? failures.at(-1)
  return decisive ? toUpstreamRefusal(decisive.error, balancer) : balancer.createRefusal()
}

/** The server sent this reply because it rejects Cardea's signature. */
function rejectIdentity({ body }: Reply, reason: string, url: string, watch: UpstreamWatch): Refusal {
  if (isResponseStream(body)) body.discard()
  watch.onRejected(url, reason)
  return new Refusal('upstream_rejects_identity', { detail: reason })
}

function penalize(server: UpstreamServer, failure: Failure, balancer: Balancer, watch: UpstreamWatch): void {
  const { error } = failure
  if (isUnconnected(error)) {
    balancer.markDown(server)
    watch.onUnconnected(server.url, error)
  } else if (isTimeout(error)) balancer.deprioritize(server)
  else if (hasBroken(failure)) balancer.suspect(server)
}

/** Not `PUT`, although HTTP defines it as idempotent: ArangoDB returns the next batch of a cursor for it, and goes on. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

function canRepeat(method: string, failure: Failure): boolean {
  const { error, hasBegun, hasSent } = failure
  if (isUnconnected(error) || isHandshakeFailure(failure)) return true
  return isDisconnected(error) && REPEATABLE.has(method) && !hasBegun && !hasSent
}

/** The TLS handshake failed, so nothing was sent. The codes of undici are for other errors. */
function isHandshakeFailure({ error, wasStarted }: Failure): boolean {
  const code = codeOf(error)
  return !wasStarted && code !== '' && !code.startsWith('UND_ERR_') && !(error instanceof Refusal)
}

/** The connection ended without a response, the response is not HTTP, or the handshake failed. */
const hasBroken = (failure: Failure): boolean =>
  isDisconnected(failure.error) || isNotHttp(failure.error) || isHandshakeFailure(failure)

/** Other refusals are about the client: its body broke off, or its session ended meanwhile. */
const isUpstreamFault = (error: Error): boolean => !(error instanceof Refusal) || error.code === 'upstream_failed'

/** A request as it is sent to an upstream server. */
export interface UpstreamRequest {
  readonly context: RequestContext
  readonly target: string
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

interface Failure {
  readonly kind: 'failure'
  readonly error: Error
  /** Whether the request may have been sent. */
  readonly wasStarted: boolean
  /** Whether a byte of the response had arrived. */
  readonly hasBegun: boolean
  /** Whether a part of the body was read, so that the request cannot be repeated. */
  readonly hasSent: boolean
}

type ForwardOutcome = { readonly kind: 'reply'; readonly reply: Reply } | Failure

/** A request that was sent to one server. */
interface SentRequest {
  readonly pipe: ResponsePipe
  /** The body of the request, if it is streamed. */
  readonly requestBody: Readable | undefined
}

/** Sends the request to one server. `pipe.head` resolves when the head of the response arrives. */
function sendRequest(request: UpstreamRequest, server: UpstreamServer, deps: SendDeps): SentRequest {
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
function toOutcome(
  head: ResponseHead | Error,
  { pipe, requestBody }: SentRequest,
  context: RequestHead & RequestIdentity,
  deps: SendDeps,
): ForwardOutcome {
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
  context: RequestHead,
  deps: SendDeps,
): Reply | Refusal {
  const settings = deps.settings()
  const rules = { ownsCors: settings.ownsCors, ownCookies: deps.ownCookies, parsed }
  const kept = filterResponseHeaders(headers, status, rules)
  if (kept === undefined) return new Refusal('upstream_failed', { detail: 'transfer coding' })
  const sent = isSandboxed(context, settings) ? varyByWorker(isolate(kept, status), status, context) : kept
  return { status, reason, headers: sent, body: pipe, isForwarded: true }
}

export const isSandboxed = ({ path }: RequestHead, { sandboxedExcept: open }: UpstreamSettings): boolean =>
  open !== undefined && !open.every((segment, index) => segment === path.segments[index])

function toDispatchOptions(request: UpstreamRequest, requestBody: Readable | undefined, servername: string) {
  const { context, target, headers, wholeBody } = request
  const length = requestBody && context.header('content-length')
  const hasNoBody = requestBody === undefined && wholeBody === undefined
  return {
    // undici accepts any token; its type lists the common methods
    method: context.method as Dispatcher.HttpMethod,
    path: target,
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

type UpstreamWatch = ReturnType<typeof createUpstreamWatch>

/** Records events about the servers behind a door, each identified by its URL. `inspectAgain` inspects the upstreams. */
export function createUpstreamWatch(events: SecurityEvents, hints: () => UpstreamHints, inspectAgain: () => void) {
  const downSinceMs = new Map<string, number>()
  const toFields = (url: string, error: Error, check: string) => ({
    upstream: toPublicUrl(url),
    reason: describeError(error),
    check,
  })
  return {
    /** No connection could be established. */
    onUnconnected(url: string, error: Error): void {
      if (!downSinceMs.has(url)) downSinceMs.set(url, performance.now())
      events.record('upstream.down', toFields(url, error, hints().unreachable))
    },
    /** The server was connected, but did not send a valid response. */
    onFailed: (url: string, error: Error): void =>
      events.record('upstream.failed', toFields(url, error, hints().failed)),
    /** The server rejected a signed identity. */
    onRejected(url: string, reason: string): void {
      const check = hints()['identity rejected']
      events.record('upstream.token-rejected', { upstream: toPublicUrl(url), reason, check })
      inspectAgain()
    },
    onResponded(url: string): void {
      const sinceMs = downSinceMs.get(url)
      if (sinceMs === undefined) return
      downSinceMs.delete(url)
      const seconds = Math.round((performance.now() - sinceMs) / 1000)
      events.record('upstream.up', { upstream: toPublicUrl(url), seconds })
    },
  }
}
