/**
 * The contract between the HTTP server and the dialects: a request comes in as a RequestContext, a reply goes out as
 * data. Nothing here depends on a dialect, and only this folder writes to sockets.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { ErrorCode, Refusal } from '../base/errors.ts'
import type { JsonLimits } from '../base/json-body.ts'
import type { Caller } from '../directory/caller.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { RequestSpan } from '../observe/tracing.ts'
import type { ClientCertificate } from './client-certificate.ts'

/** The client of a request after the trust decision. Code after that uses this and never reads a forwarded header. */
export interface Client {
  /** Address of the client, as the trusted proxies report it. Empty on a Unix socket. */
  readonly address: string
  /** Address of the peer of the connection, which may be a proxy. Empty on a Unix socket. */
  readonly directAddress: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  /** The port of the listener. `undefined` on a Unix socket. */
  readonly localPort: number | undefined
  readonly isUnixSocket: boolean
  /** Whether the peer itself is one of the trusted proxies. */
  readonly isTrusted: boolean
}

/** A request path as its dialect reads it. */
export interface Path {
  /** The target up to `?`, unchanged. */
  readonly raw: string
  /** The text between slashes, decoded once. A trailing slash adds no segment. */
  readonly segments: readonly string[]
  /** The database that the front of the path addresses, if the dialect removed one from the segments. */
  readonly database?: string
  /** The removed front of the path, unchanged. Empty: nothing was removed. */
  readonly prefix?: string
}

/** What came in before the body. It never changes. */
export interface RequestHead {
  /** For logs and the response header. */
  readonly id: string
  readonly method: string
  readonly httpVersion: string
  /** The request target, unchanged. */
  readonly target: string
  /** Read on first use by the rules of the dialect. Throws a Refusal if the path is ambiguous. */
  readonly path: Path
  /** The route of the path, found on first use; `undefined`: no row of the dialect matches. */
  readonly match: Match | undefined
  /** The query without `?`, unchanged. */
  readonly rawQuery: string
  readonly query: URLSearchParams
  /** Names and values in turn, unchanged. */
  readonly rawHeaders: readonly string[]
  /** The value of a header. The values of a repeated one are joined by commas. */
  header(name: string): string | undefined
  /** Whether a header is present more than once. */
  isRepeated(name: string): boolean
  /** As CouchDB reads cookies. */
  cookie(name: string): string | undefined
  /** All values of a cookie, as browsers send them. */
  cookieValues(name: string): readonly string[]
}

/** The body of a request, and how much of it is accepted. */
export interface RequestBody {
  readonly hasBody: boolean
  /** Whether the client sends its body in chunks of HTTP/1.1. HTTP/2 has none: a body of unknown length is not encoded. */
  readonly isChunked: boolean
  /** How large a body may be that is read whole. Higher for administrators than for users and anonymous requests. */
  readonly maxBodyBytes: number
  /** Limits for a JSON body. */
  readonly jsonLimits: JsonLimits
  /** Milliseconds spent waiting for the body. */
  readonly bodyMs: number
  /** The whole body; `undefined` if the request has none. Throws a Refusal if it is too large or too slow. */
  readBody(maxBytes?: number): Promise<Buffer | undefined>
  /**
   * The whole body for the gateway, with a limit of its own instead of `maxBodyBytes`. `take` is called with the length
   * of each chunk before it is kept, and throws if there is no room for it.
   */
  gatherBody(maxBytes: number, take: (bytes: number) => void): Promise<Buffer | undefined>
  /**
   * The body as a stream; `undefined` if the request has none. The stream fails with a Refusal if the client sends
   * nothing for too long or sends bytes that are not HTTP. Destroying it keeps the connection. Until the first read it
   * can be opened again.
   */
  openBody(): Readable | undefined
}

/** Who sent a request, and whether it may still do so. What is written for the request has it as its caller. */
export interface RequestIdentity extends Caller {
  /** Aborted when the client disconnects. If a callback is enough, use `onGone`, which is cheaper. */
  readonly signal: AbortSignal
  readonly client: Client
  /** The certificate that the client connected with; `undefined`: none, or this listener accepts none. */
  readonly certificate: ClientCertificate | undefined
  /** The next use of `client` decides again, by the rules of that time. */
  forgetClient(): void
  /** Set by the authenticating step; until then the request is anonymous. */
  authenticated: Authenticated | undefined
  /** The epoch of gateway/open-streams.ts at the time of authentication; `undefined` before it. */
  streamEpoch: number | undefined
  /** Set if the credential is revoked while the request is handled: no more of its body is accepted. */
  isCut: boolean
  /** Runs the steps of its dialect that check rights again. Throws where one rejects it. */
  checkRights(): Promise<void>
  readonly door: string
  readonly localAddress: string | undefined
  repeat(): Promise<void>
}

/** What becomes of the reply, and how the request is measured. */
export interface ReplyControl {
  /** Called when the client disconnects, and when the reply is sent. */
  onGone(listener: () => void): void
  readonly isGone: boolean
  /** Adds a header to the reply if its status is 401. */
  addToUnauthorized(name: string, value: string): void
  /** What was added so. */
  readonly unauthorizedHeaders: readonly HeaderPair[] | undefined
  /** Milliseconds of `performance.now()`. */
  readonly startedAtMs: number
  /** When it was first forwarded; `undefined`: not yet. */
  forwardedAtMs: number | undefined
  /** The pattern of the route that handles it; `undefined`: none was chosen yet, or there is none. */
  route: string | undefined
  /** Its span; `undefined`: requests are not traced. */
  readonly span: RequestSpan | undefined
}

/** One request. A function names the parts that it uses; one that passes the request on may take all of it. */
export interface RequestContext extends RequestHead, RequestBody, RequestIdentity, ReplyControl {}

export type HeaderPair = readonly [name: string, value: string]

export interface Reply {
  readonly status: number
  /** The reason phrase of the upstream. Without it, the standard one is sent. */
  readonly reason?: string
  readonly headers: readonly HeaderPair[]
  /** A feed is sent piece by piece, and ended with `return` when its client disconnects. */
  readonly body?: string | Uint8Array | Feed | ResponseStream
  /** Why the server failed, where the status is 5xx. For the list of failures; not sent. */
  readonly error?: ErrorCode
  /** The response of an upstream. Default headers that describe the content are not added. */
  readonly isForwarded?: true
}

export type Feed = AsyncIterable<string | Uint8Array>

/** The response to the client, as far as a response stream uses it. */
export interface Sink extends Writable {
  readonly req: { readonly httpVersion: string }
  readonly socket: Socket | null
  flushHeaders(): void
  addTrailers(trailers: [string, string][]): void
}

/** The response to the client: one of `node:http`, or on a stream of HTTP/2. */
export interface HttpResponse extends Sink {
  readonly req: IncomingMessage
  statusCode: number
  readonly headersSent: boolean
  /** The bytes of this response alone; `undefined`: those of its connection are counted. */
  readonly bytesSent?: number
  writeHead(status: number, headers: string[]): unknown
  writeHead(status: number, reason: string, headers: string[]): unknown
  writeContinue(): void
}

/** The body of an upstream response, forwarded as it arrives. The headers of the reply describe it. */
export interface ResponseStream {
  readonly kind: 'response-stream'
  /** Whether it may never end. Then it does not keep a door from closing. */
  readonly isFeed: boolean
  /** Called once, after the head is written. Calls `end`, or `breakOff` if the upstream response breaks off. */
  pipeTo(sink: Sink, end: (last?: Uint8Array) => void, breakOff: (sink: Sink) => void): void
  /** Instead of `pipeTo`: the response is not wanted. */
  discard(): void
  /** Calls `onChunk` with each part, the first ones included, and `onClosed` once, also if the response breaks off. */
  observe?(onChunk: (chunk: Uint8Array) => void, onClosed: () => void): void
}

export type PendingReply = Reply | Promise<Reply>
export type Params = Readonly<Record<string, string>>
export type Handler = (context: RequestContext, params: Params) => PendingReply

export type Methods = Readonly<Record<string, Handler>>

/** One check of a request; a dialect has a list of them. A step ends the request with a reply, or throws a Refusal. */
export interface Step {
  readonly name: string
  /** It checks what the identity may do. It runs again for open streams after rights or the configuration changed. */
  readonly checksRights?: true
  /** It reads the credential. For a request that is checked again, `confirmCredential` does that. */
  readonly authenticates?: true
  run(context: RequestContext): Reply | undefined | Promise<Reply | undefined>
}

/** One row of a dialect. It has `methods` or `handle`; with neither, it only names the right for a forwarded path. */
export interface Route<Right = unknown> {
  /**
   * Segments between slashes; `{name}` matches one segment of any text. `{...}` at the end matches any number of
   * segments, also none, if no other row matches the path.
   */
  readonly path: string
  /** What a request needs to be handled, in the terms of the dialect. Left out: the most that a row can need. */
  readonly right?: Right
  /** By method. `HEAD` uses the handler of `GET` if it has none. */
  readonly methods?: Methods
  /** Handles every method. Metrics do not name the row. */
  readonly handle?: Handler
  /** The `Allow` header, if it is not just the methods above. */
  readonly allow?: readonly string[]
  /** Used only without an upstream. If there is one, the request is forwarded to it. */
  readonly isStandIn?: boolean
  /** Requests that read it record no security event. */
  readonly recordsNothing?: true
}

/** A route, and the values of its `{name}` segments. */
export interface Match {
  readonly route: Route
  readonly params: Params
}

export type RouteFinder = (segments: readonly string[]) => Match | undefined

/** A path as its dialect reads it, and the route of it; `undefined`: no row of the dialect matches. */
export interface Place {
  readonly path: Path
  readonly match: Match | undefined
}

export type PlaceFinder = (rawPath: string) => Place

export type ConfirmCredential = (context: RequestContext) => Promise<Authenticated | undefined>

/** The wire protocol of one door, as data. */
export interface Dialect {
  readonly name: string
  /** The header in which a client may send an id for its request, in lower case. */
  readonly requestIdHeader: string
  readPath(raw: string): Path
  /** What `Allow` says for a method that no path of this dialect has. Left out: the usual ones. */
  readonly methods?: string
  /** Set if headers that override the method are meant for another server and are ignored here. */
  readonly ignoresMethodOverride?: true
  /** Set if its steps wait only for what records no event of the request, or runs in `keepOrigin` (observe/origin.ts). */
  readonly keepsOrigin?: true
  readonly steps: readonly Step[]
  readonly routes: readonly Route[]
  /** Handles requests that match no route with a handler, or only a stand-in although there is an upstream. */
  fallback(context: RequestContext): PendingReply
  hasUpstream?(): boolean
  /**
   * Throws if the credential of a request is no longer accepted anywhere, or not with the same rights. Returns what it
   * was authenticated as. Left out where the credential cannot be revoked.
   */
  readonly confirmCredential?: ConfirmCredential | undefined
  /** An error as a reply of this dialect. Without a context if the request could not be parsed. */
  renderError(refusal: Refusal, context: RequestContext | undefined): Reply
  /** The headers that carry on the session of a request to another server. */
  renewalHeaders?(context: RequestContext): readonly HeaderPair[]
  /** The headers that every reply of this door gets in addition to its own. */
  defaultHeaders(context: RequestContext | undefined, reply: Reply): readonly HeaderPair[]
}
