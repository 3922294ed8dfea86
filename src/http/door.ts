import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { yieldToOthers } from '../base/pace.ts'
import { isAnonymous } from '../directory/identity.ts'
import { beginForOrigin, runForOrigin } from '../observe/origin.ts'
import type { RequestObserver } from '../observe/request-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { AccessLog } from './access-log.ts'
import { type BodyLimits, hasBody, limitTinyChunks } from './body.ts'
import type { ClientCounts } from './client-counts.ts'
import { type Connection, connectionOf } from './connections.ts'
import { describeOrigin } from './describe-origin.ts'
import { type ChooseDialect, createDialectChooser, dispatch, type Mount, type RoutedDialect } from './dispatch.ts'
import { type ConnectionLimits, DoorConnections } from './door-connections.ts'
import { checkRequest, type GuardLimits, hasLargeTrailers } from './guard.ts'
import { isHttp2 } from './http2-messages.ts'
import { identify, runForRequest } from './identify.ts'
import { IncomingRequest } from './incoming-request.ts'
import { toErrorReply, toParserRefusal, writeRawReply, writeReply } from './reply.ts'
import type { Dialect, HttpResponse, PendingReply, Reply, RequestContext } from './request-context.ts'
import { handlerOf, withTracedSteps } from './trace-steps.ts'
import type { TrustRules } from './trust.ts'

export interface DoorOptions {
  readonly dialect: Dialect
  readonly mounts?: readonly Mount[]
  readonly limits: Live<GuardLimits & BodyLimits & ConnectionLimits>
  readonly clients: ClientCounts
  readonly trust: Live<TrustRules>
  /** The header `Strict-Transport-Security` for clients that use TLS; empty: none. */
  readonly hsts?: Live<string>
  readonly log: Log
  readonly observer?: RequestObserver
  readonly accessLog?: AccessLog
  /** Left out where requests are not traced. */
  readonly tracing?: Tracing | undefined
}

export type DoorLimits = ReturnType<DoorOptions['limits']['get']>

export type Door = ReturnType<typeof createDoor>

/** Serves requests in one dialect, from any listener. */
export function createDoor(options: DoorOptions) {
  const { limits, trust, log, clients } = options
  const { dialect, mounts = [] } = options.tracing ? withTracing(options) : options
  const connections = new DoorConnections({ clients, limits, trust, log, door: dialect.name })
  const rules = { door: dialect.name, limits, trust }
  const chooseDialect = createDialectChooser(dialect, mounts, rules)
  const parts: DoorParts = { ...options, chooseDialect, connections }
  const logFailure = (error: unknown) => log.error('a request could not be answered', { error })
  const identifyOptions = { dialect, ...rules }

  return {
    dialect,
    connections,
    /** Never rejects. */
    async handle(request: IncomingMessage, response: HttpResponse): Promise<void> {
      try {
        const connection = connectionOf(request.socket)
        await connection.serveInTurn(request, () => handleRequest(request, response, connection, parts))
      } catch (error) {
        // not even an error reply could be written
        logFailure(error)
        response.destroy()
      }
    },
    logFailure,
    /** The identity that this door would give to a request to another server; `undefined` if it is anonymous. */
    identify: (request: IncomingMessage, origins: readonly string[]) => identify(request, identifyOptions, origins),
    /** Runs `work` on behalf of a request to another server, for its client and for security events. */
    runFor: <T>(request: IncomingMessage, work: (context: RequestContext) => Promise<T>): Promise<T> =>
      runForRequest(request, identifyOptions, work),
    /** To be called with an error of the listener's parser. */
    handleBroken: (error: { readonly code?: string }, socket: Socket) => handleBroken(error, socket, options),
    limits: () => limits.get(),
  }
}

function handleBroken(error: { readonly code?: string }, socket: Socket, { dialect, log, hsts }: DoorOptions): void {
  // Bytes after a request that ends the connection. They are ignored, and the request is served.
  if (error.code === 'HPE_CLOSED_CONNECTION') return
  if (connectionOf(socket).breakOff()) return
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else writeRawReply(socket, toErrorReply(toParserRefusal(error), dialect, log), dialect, hsts?.get() ?? '')
}

const withTracing = ({ dialect, mounts = [] }: DoorOptions): Pick<DoorOptions, 'dialect' | 'mounts'> => ({
  dialect: withTracedSteps(dialect),
  mounts: mounts.map((mount) => ({ ...mount, dialect: withTracedSteps(mount.dialect) })),
})

interface DoorParts extends DoorOptions {
  readonly chooseDialect: ChooseDialect
  readonly connections: DoorConnections
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
  readonly parts: DoorParts
}

/** Handles a request whose turn on its connection has come: checks it, dispatches it, writes the reply. */
function handleRequest(
  request: IncomingMessage,
  response: HttpResponse,
  connection: Connection,
  parts: DoorParts,
): Promise<void> {
  const routed = parts.chooseDialect(request.url ?? '', request.method)
  const context = new IncomingRequest(request, response, routed)
  const bytesBefore = parts.accessLog?.isOn() ? request.socket.bytesWritten : undefined
  const active: ActiveRequest = { request, response, routed, context, connection, bytesBefore, parts }
  connection.add(context)
  // The reader of the body handles its errors. Without this listener, an error before it is read would end the process.
  if (hasBody(request)) request.on('error', () => {})
  response.on('close', () => onClose(active))
  const run = routed.dialect.keepsOrigin ? beginForOrigin : runForOrigin
  const work = () =>
    run(
      () => describeOrigin(context),
      () => respond(active),
    )
  return parts.tracing ? runTraced(active, parts.tracing, work) : work()
}

function runTraced({ context }: ActiveRequest, tracing: Tracing, work: () => Promise<void>): Promise<void> {
  const { id, method, client, door } = context
  const header = (name: string) => context.header(name)
  context.span = tracing.startRequest({ id, method, scheme: client.scheme, door, header })
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

async function findErrorReply(error: unknown, { request, routed, context, parts }: ActiveRequest): Promise<FoundReply> {
  // If a chunked body arrived together with the head, it is complete in the next turn and the connection can be kept.
  if (isChunked(request) && !request.complete) await yieldToOthers()
  const reply = toErrorReply(error, routed.dialect, parts.log, context)
  return { reply, endsConnection: error instanceof Refusal && ENDS_CONNECTION.has(error.code) }
}

function checkAndDispatch(active: ActiveRequest): PendingReply {
  const { request, context, routed, parts } = active
  parts.connections.requireAdmitted(context, request.socket)
  checkRequest(request, parts.limits.get(), routed.dialect)
  if (hasChunks(request)) {
    limitTinyChunks(
      request,
      () => mayHaveTinyChunks(context),
      () => rejectTinyChunks(active),
    )
    // Only these bodies have trailers. This listener runs before those of the readers of the body.
    request.once('end', () => checkTrailers(active))
  }
  return dispatch(context, routed.dialect)
}

const mayHaveTinyChunks = ({ isBodyForwarded, authenticated }: IncomingRequest): boolean =>
  isBodyForwarded && !isAnonymous(authenticated)

/** Whether the client decides how many pieces its body arrives in. */
const hasChunks = (request: IncomingMessage): boolean => isChunked(request) || (isHttp2(request) && hasBody(request))

const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined

function checkTrailers(active: ActiveRequest): void {
  if (hasLargeTrailers(active.request, active.parts.limits.get())) breakBody(active)
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
  const { request, response, routed, context, connection, parts } = active
  const { isBroken, endsWithNextReply } = connection
  // After a request for an upgrade that Cardea ignores, the client may send anything.
  const isOver = isBroken || endsWithNextReply || parts.connections.isStopping
  const isFinal = endsConnection || isOver || request.headers.upgrade !== undefined
  const isLast = !connection.isMultiplexed && isFinal
  const written = writeReply(request, response, {
    dialect: routed.dialect,
    context,
    reply: withUnauthorizedHeaders(reply, context),
    hsts: parts.hsts?.get() ?? '',
    isLast,
    isBroken,
    bodyTimeoutMs: parts.limits.get()['body-timeout'],
  })
  parts.observer?.onReply(context, reply)
  if (written.isLast) connection.isEnding = true
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

function logAccess({ request, response, context, bytesBefore, parts }: ActiveRequest): void {
  if (bytesBefore === undefined) return
  const bytes = response.bytesSent ?? request.socket.bytesWritten - bytesBefore
  parts.accessLog?.write(context, response, bytes)
}

function removeFromConnection({ context, connection, parts }: ActiveRequest): void {
  connection.remove(context)
  if (parts.connections.isStopping) connection.endIfIdle()
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
