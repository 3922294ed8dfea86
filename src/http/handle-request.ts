import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { isAnonymous } from '../directory/identity.ts'
import { runForOrigin } from '../observe/origin.ts'
import type { RequestObserver } from '../observe/request-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { AccessLog } from './access-log.ts'
import { type BodyLimits, hasBody } from './body.ts'
import type { Connection } from './connections.ts'
import {
  type ChooseDialect,
  dispatch,
  dispatchOrRelay,
  type Mount,
  type RelayRules,
  type RoutedDialect,
} from './dispatch.ts'
import type { ConnectionLimits } from './door-connections.ts'
import { checkRequest, type GuardLimits, hasLargeTrailers } from './guard.ts'
import { describeOrigin, IncomingRequest } from './incoming-request.ts'
import { isRelayed } from './relay.ts'
import { toErrorReply, writeReply } from './reply.ts'
import type { Dialect, HttpResponse, PendingReply, Reply, RequestContext } from './request-context.ts'
import { limitTinyChunks } from './tiny-chunks.ts'
import { handlerOf } from './trace-steps.ts'
import type { TrustRules } from './trust.ts'

export interface DoorOptions {
  readonly dialect: Dialect
  readonly mounts?: readonly Mount[]
  readonly limits: Live<GuardLimits & BodyLimits & ConnectionLimits>
  readonly trust: Live<TrustRules>
  /** The header `Strict-Transport-Security` for clients that use TLS; empty: none. */
  readonly hsts?: Live<string>
  readonly log: Log
  readonly observer?: RequestObserver
  readonly accessLog?: AccessLog
  /** Left out where requests are not traced. */
  readonly tracing?: Tracing | undefined
  /** Set in a worker thread. */
  readonly relay?: RelayRules | undefined
}

export interface HandleRequestDeps extends DoorOptions {
  /** Name of the door, for security events. */
  readonly door: string
  readonly chooseDialect: ChooseDialect
  /** Throws if requests on this connection or for this client are not accepted now. */
  admit(context: RequestContext, socket: Socket): void
  isStopping(): boolean
}

/** One request while it is handled. */
interface ActiveRequest {
  readonly request: IncomingMessage
  readonly response: HttpResponse
  readonly connection: Connection
  readonly routed: RoutedDialect
  readonly context: IncomingRequest
  /** Bytes sent on the connection before; `undefined`: the request is not logged. */
  readonly bytesBefore: number | undefined
  readonly deps: HandleRequestDeps
  isRelayed: boolean
}

/** Handles a request whose turn on its connection has come: checks it, dispatches it, writes the reply. */
export function handleRequest(
  request: IncomingMessage,
  response: HttpResponse,
  connection: Connection,
  deps: HandleRequestDeps,
): Promise<void> {
  const routed = deps.chooseDialect(request.url ?? '', request.method)
  const context = new IncomingRequest(request, response, routed)
  const bytesBefore = deps.accessLog?.isOn() ? request.socket.bytesWritten : undefined
  const active: ActiveRequest = { request, response, routed, context, connection, bytesBefore, deps, isRelayed: false }
  connection.add(context)
  // The reader of the body handles its errors. Without this listener, an error before it is read would end the process.
  if (hasBody(request)) request.on('error', () => {})
  response.on('close', () => onClose(active))
  const work = () =>
    runForOrigin(
      () => describeOrigin(context, deps.door),
      () => respond(active),
    )
  return deps.tracing ? runTraced(active, deps.tracing, work) : work()
}

function runTraced({ context, deps }: ActiveRequest, tracing: Tracing, work: () => Promise<void>): Promise<void> {
  const { id, method, client } = context
  const header = (name: string) => context.header(name)
  context.span = tracing.startRequest({ id, method, scheme: client.scheme, door: deps.door, header })
  return context.span.run(work)
}

async function respond(active: ActiveRequest): Promise<void> {
  try {
    // Awaited, so that a parse error in a pipelined request is seen before the reply is written.
    write(active, { reply: await checkAndDispatch(active), endsConnection: false })
  } catch (error) {
    if (active.response.headersSent) throw error
    write(active, await findErrorReply(error, active))
  }
}

interface FoundReply {
  readonly reply: Reply
  readonly endsConnection: boolean
}

async function findErrorReply(error: unknown, { request, routed, context, deps }: ActiveRequest): Promise<FoundReply> {
  // If a chunked body arrived together with the head, it is complete in the next turn and the connection can be kept.
  if (isChunked(request) && !request.complete) await nextTurn()
  const reply = toErrorReply(error, routed.dialect, deps.log, context)
  return { reply, endsConnection: error instanceof Refusal && ENDS_CONNECTION.has(error.code) }
}

function checkAndDispatch(active: ActiveRequest): PendingReply {
  const { request, context, routed, deps } = active
  deps.admit(context, request.socket)
  checkRequest(request, deps.limits.get(), routed.dialect)
  if (hasChunks(request)) {
    limitTinyChunks(
      request,
      () => mayHaveTinyChunks(context),
      () => rejectTinyChunks(active),
    )
    // Only these bodies have trailers. This listener runs before those of the readers of the body.
    request.once('end', () => checkTrailers(active))
  }
  return deps.relay ? dispatchOrRelay(context, routed.dialect, deps.relay) : dispatch(context, routed.dialect)
}

const mayHaveTinyChunks = ({ bodyReader, authenticated }: IncomingRequest): boolean =>
  bodyReader === 'main-thread' || (bodyReader === 'upstream' && !isAnonymous(authenticated))

/** Whether the client decides how many pieces its body arrives in. */
const hasChunks = (request: IncomingMessage): boolean =>
  isChunked(request) || (request.httpVersionMajor === 2 && hasBody(request))

const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined

function checkTrailers(active: ActiveRequest): void {
  if (hasLargeTrailers(active.request, active.deps.limits.get())) breakBody(active)
}

/** The rest of the body is not accepted: reading it fails, and the connection ends with the reply. */
function breakBody({ context, connection }: ActiveRequest): void {
  connection.isBroken = true
  context.breakOff()
}

function rejectTinyChunks(active: ActiveRequest): void {
  breakBody(active)
  if (active.response.headersSent) active.response.destroy()
}

/** A credential handler may have found out what else the client must send. */
const withUnauthorizedHeaders = (reply: Reply, { unauthorizedHeaders }: IncomingRequest): Reply =>
  reply.status === 401 && unauthorizedHeaders
    ? { ...reply, headers: [...reply.headers, ...unauthorizedHeaders] }
    : reply

function write(active: ActiveRequest, { reply, endsConnection }: FoundReply): void {
  const { request, response, routed, context, connection, deps } = active
  const { isBroken, endsWithNextReply } = connection
  // After a request for an upgrade that Cardea ignores, the client may send anything.
  const isOver = isBroken || endsWithNextReply || deps.isStopping()
  const isFinal = endsConnection || isOver || request.headers.upgrade !== undefined || reply.relayed?.isLast === true
  const isLast = !connection.isMultiplexed && isFinal
  const written = writeReply(request, response, {
    dialect: routed.dialect,
    context,
    reply: withUnauthorizedHeaders(reply, context),
    hsts: deps.hsts?.get() ?? '',
    isLast,
    isBroken,
    bodyTimeoutMs: deps.limits.get().bodyTimeoutMs,
  })
  // the main thread counts and logs it
  if (reply.relayed) active.isRelayed = true
  else deps.observer?.onReply(context, reply)
  if (written.isLast && !isRelayed(request.socket)) connection.isEnding = true
  // A feed may never end, so it does not keep the door from closing.
  if (written.isFeed) removeFromConnection(active)
}

/** The reply is sent, or the client has disconnected. */
function onClose(active: ActiveRequest): void {
  active.context.notifyGone()
  removeFromConnection(active)
  active.connection.endTurn()
  logAccess(active)
  endSpan(active)
}

function endSpan({ context, response }: ActiveRequest): void {
  const isAborted = !response.writableFinished
  context.span?.end({ status: response.statusCode, route: context.route, handler: handlerOf(context), isAborted })
}

function logAccess({ request, response, context, bytesBefore, deps, isRelayed }: ActiveRequest): void {
  if (bytesBefore === undefined || isRelayed) return
  const bytes = response.bytesSent ?? request.socket.bytesWritten - bytesBefore
  deps.accessLog?.write(context, response, deps.door, bytes)
}

function removeFromConnection({ request, context, connection, deps }: ActiveRequest): void {
  connection.remove(context)
  // a worker thread may relay further requests until it has stopped too
  if (deps.isStopping() && !isRelayed(request.socket)) connection.endIfIdle()
}

/** After these errors the bytes that follow on the connection cannot be trusted to be a request. */
const ENDS_CONNECTION: ReadonlySet<string> = new Set([
  'malformed_request',
  'ambiguous_header',
  'invalid_host',
  'invalid_target',
  'uri_too_long',
  'headers_too_large',
  'body_too_large',
  'spool_full',
  'request_timeout',
  'too_many_connections',
  'shutting_down',
])
