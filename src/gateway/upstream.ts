/**
 * The upstream of a door: forwards authenticated requests and returns the responses as streams. The path is forwarded
 * byte for byte as it was checked, and the headers that identify the client come from Cardea alone.
 */

import { Writable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { ANONYMOUS, type Identity } from '../directory/identity.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply, RequestContext, RequestHead, ResponseStream, Sink } from '../http/request-context.ts'
import { type RequestSpan, TRACE_HEADERS } from '../observe/tracing.ts'
import {
  type Balancer,
  type ConnectionSettings,
  createLiveConnections,
  type ServerFigures,
  toFigures,
  type UpstreamServer,
} from './connections.ts'

import type { ToIdentityHeaders } from './identity-headers.ts'
import { ask, createIdentityCheck, type OwnRequest } from './identity-probe.ts'
import { createRequestFilter, type HeaderFilter, pushForwarded } from './request-headers.ts'
import { requireNarrowWorker } from './response-headers.ts'
import {
  checkHealth,
  checkUpstreamServer,
  type UpstreamCheckDeps,
  type UpstreamFinding,
  type UpstreamHealth,
} from './upstream-check.ts'
import { isUnconnected, toUpstreamRefusal } from './upstream-errors.ts'
import {
  isSandboxed,
  type SendDeps,
  sendWithFailover,
  type UpstreamRequest,
  type UpstreamSettings,
} from './upstream-request.ts'

export interface UpstreamDeps extends SendDeps {
  /** Identity headers with names of this deployment; only Cardea may set them. The same list until the names change. */
  identityHeaderNames(): readonly string[]
  readonly requestIdHeader: string
  readonly toIdentityHeaders: ToIdentityHeaders
  /** How the server is inspected. Left out: it is not, and does not show whether it accepts Cardea's identities. */
  readonly inspection?: UpstreamCheckDeps
}

export type Upstream = ReturnType<typeof createUpstream>

export function createUpstream(deps: UpstreamDeps) {
  const connections = createLiveConnections(deps.settings)
  const { send, sendSpooled } = createSenders(connections.get, deps)
  return {
    /** Whether an upstream is configured. */
    isSet: (): boolean => deps.settings().urls.length > 0,
    /** `target` replaces that of the request. */
    forward(context: RequestContext, target?: string): Promise<Reply> {
      requireForwardable(context, deps)
      context.forwardedAtMs ??= performance.now()
      const { spool } = deps.settings()
      const isSpooled = spool !== undefined && context.header('transfer-encoding') !== undefined
      return isSpooled ? sendSpooled(context, spool, target) : send(context, { target })
    },
    /**
     * Forwards with the whole response in memory, without a content coding. A response that is larger, or breaks off,
     * is `upstream_failed`. `wholeBody` replaces the body of the request.
     */
    async forwardWhole(context: RequestContext, maxBytes: number, wholeBody?: Buffer): Promise<Reply> {
      requireForwardable(context, deps)
      context.forwardedAtMs ??= performance.now()
      return readWholeResponse(await send(context, { wholeBody, isSelectionDropped: true }), maxBytes)
    },
    /** The health of the best server, from its response to this path. */
    checkHealth: (path: string): Promise<UpstreamHealth> => checkHealth(connections.get(), path),
    /** Sends a request of Cardea's own with this identity. */
    askAs: (identity: Identity, request: OwnRequest) =>
      askFirst(connections.get(), request, deps.toIdentityHeaders({ identity, credential: undefined }).headers),
    /** What keeps its servers from being used; empty: nothing. Only reads. */
    async inspect(): Promise<readonly UpstreamFinding[]> {
      return deps.inspection ? inspectServers(connections.get(), deps.inspection) : []
    },
    /** The figures of its servers now. */
    listServers: (): readonly ServerFigures[] => connections.get().servers.map(toFigures),
    close: connections.close,
  }
}

/** Asks the first server that can be connected. */
async function askFirst(balancer: Balancer, request: OwnRequest, headers: readonly string[]) {
  const tried: UpstreamServer[] = []
  for (let server = balancer.choose(tried); server; server = balancer.choose(tried)) {
    tried.push(server)
    const outcome = await ask(server, request, headers).catch((error: Error) => error)
    if (!(outcome instanceof Error)) return outcome
    if (!isUnconnected(outcome)) throw toUpstreamRefusal(outcome, balancer)
  }
  throw balancer.createRefusal()
}

const inspectServers = async ({ servers }: Balancer, deps: UpstreamCheckDeps) =>
  (await Promise.all(servers.map((server) => checkUpstreamServer(server, deps)))).flat()

/** Servers that no requests are forwarded to. */
export function openAsked(settings: ConnectionSettings, toIdentityHeaders: ToIdentityHeaders) {
  const connections = createLiveConnections(() => settings)
  return {
    askAs: (identity: Identity, request: OwnRequest) =>
      askFirst(connections.get(), request, toIdentityHeaders({ identity, credential: undefined }).headers),
    close: connections.close,
  }
}

/** Inspects servers that no requests are forwarded to. */
export async function inspectOnce(
  settings: ConnectionSettings,
  deps: UpstreamCheckDeps,
): Promise<readonly UpstreamFinding[]> {
  const connections = createLiveConnections(() => settings)
  try {
    return await inspectServers(connections.get(), deps)
  } finally {
    await connections.close()
  }
}

/** Send a request with its body as it arrives, or after the whole body was read. */
function createSenders(getBalancer: () => Balancer, deps: UpstreamDeps) {
  const filters = deriveLive({ get: deps.identityHeaderNames }, (names) =>
    createRequestFilter([...names, deps.requestIdHeader], deps.ownCookies),
  )
  const checkIdentity = deps.inspection && createIdentityCheck(deps.inspection.probe)
  const send = (context: RequestContext, options: SendOptions = {}) => {
    const request = createRequest(context, options, filters.get(), deps)
    const sendNow = (sent: UpstreamRequest) => sendWithFailover(sent, getBalancer(), deps, checkIdentity)
    return context.span ? sendTraced(request, context.span, sendNow) : sendNow(request)
  }
  /** The size of all spooled bodies: slow clients must not fill the memory. */
  let spooledBytes = 0
  const sendSpooled = async (context: RequestContext, { bodyBytes, totalBytes }: SpoolLimits, target?: string) => {
    let ownBytes = 0
    const reserve = (bytes: number) => {
      if (spooledBytes + bytes > totalBytes) throw new Refusal('spool_full', { retryAfterSeconds: 1 })
      spooledBytes += bytes
      ownBytes += bytes
    }
    try {
      const wholeBody = await context.gatherBody(Math.min(bodyBytes, totalBytes), reserve)
      return await send(context, { target, wholeBody: wholeBody ?? Buffer.alloc(0) })
    } finally {
      spooledBytes -= ownBytes
    }
  }
  return { send, sendSpooled }
}

type SpoolLimits = NonNullable<UpstreamSettings['spool']>

/**
 * Forwards a traced request. The upstream gets the trace headers of Cardea's span in place of the client's, whose span is
 * an ancestor. The span ends with the response to the client.
 */
async function sendTraced(
  request: UpstreamRequest,
  parent: RequestSpan,
  send: (request: UpstreamRequest) => Promise<Reply>,
): Promise<Reply> {
  const { context } = request
  const span = parent.startUpstream(context.method)
  const headers = [...withoutHeaders(request.headers, TRACE), ...span.headers]
  try {
    const reply = await send({ ...request, headers, onServer: span.setServer })
    const { status } = reply
    context.onGone(() => span.end(status >= 500 ? { status, error: String(status) } : { status }))
    return reply
  } catch (error) {
    span.end({ error: error instanceof Refusal ? error.code : 'internal' })
    throw error
  }
}

const TRACE = new RegExp(`^(?:${TRACE_HEADERS.join('|')})$`, 'i')

function requireForwardable(context: RequestHead, { settings }: UpstreamDeps): void {
  if (!context.target.startsWith('/')) throw new Refusal('invalid_target')
  if (isSandboxed(context, settings())) requireNarrowWorker(context)
}

interface SendOptions {
  readonly target?: string | undefined
  readonly wholeBody?: Buffer | undefined
  /** Whether headers that ask for a coding, a range or a condition are removed. */
  readonly isSelectionDropped?: boolean
}

function createRequest(
  context: RequestContext,
  options: SendOptions,
  filter: HeaderFilter,
  deps: UpstreamDeps,
): UpstreamRequest {
  const { target = context.target, wholeBody, isSelectionDropped = false } = options
  const identity = deps.toIdentityHeaders(context.authenticated ?? ANONYMOUS)
  const kept = filter(context.rawHeaders, identity.keepsAuthorization)
  const headers = isSelectionDropped ? withoutHeaders(kept, SELECTION) : kept
  pushForwarded(headers, context.client)
  headers.push(deps.requestIdHeader, context.id, ...identity.headers)
  const isSigned = identity.headers.length > 0 && !identity.keepsAuthorization
  return { context, target, headers, isFeed: isFeed(context), isSigned, wholeBody }
}

/** Headers that ask for a coding, a range, a condition or (ArangoDB's asynchronous jobs) a later response. */
const SELECTION = /^(?:accept-encoding|range|te|x-arango-async|if-.*)$/i

/** `headers`: names and values in turn. */
const withoutHeaders = (headers: readonly string[], names: RegExp): string[] =>
  headers.filter((_, i) => !names.test(headers[i - (i % 2)] as string))

const FEEDS: ReadonlySet<string | null> = new Set(['continuous', 'eventsource', 'longpoll'])

/** Whether the response may be endless, or silent for any time. */
function isFeed(context: RequestHead): boolean {
  if (context.rawQuery.includes('feed=') && FEEDS.has(context.query.get('feed'))) return true
  return context.header('accept')?.includes('text/event-stream') ?? false
}

/** The reply with its whole body in memory. A body larger than `maxBytes`, or broken off, is `upstream_failed`. */
async function readWholeResponse(reply: Reply, maxBytes: number): Promise<Reply> {
  const { body } = reply
  if (!isResponseStream(body)) return reply
  const whole = await readWholeBody(body, maxBytes)
  return { ...reply, headers: reply.headers.filter(([name]) => !DESCRIBES_BODY.has(name.toLowerCase())), body: whole }
}

/** Headers that describe the body as it was sent. */
const DESCRIBES_BODY: ReadonlySet<string> = new Set(['content-length', 'etag', 'trailer', 'content-md5', 'digest'])

function readWholeBody(body: ResponseStream, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const fail = (detail: string) => reject(new Refusal('upstream_failed', { detail }))
  const chunks: Uint8Array[] = []
  let bytes = 0
  const keep = (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes <= maxBytes) return void chunks.push(chunk)
    body.discard()
    fail('a response that must be read whole is too large')
  }
  const end = (last?: Uint8Array) => {
    if (last) keep(last)
    resolve(Buffer.concat(chunks))
  }
  body.pipeTo(createSink(keep), end, () => fail('the response broke off'))
  return promise
}

/** Takes the place of the client. */
function createSink(keep: (chunk: Uint8Array) => void): Sink {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      keep(chunk)
      done()
    },
  })
  return Object.assign(sink, { req: { httpVersion: '1.1' }, socket: null, flushHeaders() {}, addTrailers() {} })
}
