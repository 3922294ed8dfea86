/**
 * What enters: one HTTP request. What leaves: one reply, as data. Nothing here knows a dialect's words, and nothing
 * but the door writes to a socket.
 */
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { Refusal } from '../base/errors.ts'
import type { JsonLimits } from '../base/json-shape.ts'
import type { Authenticated } from '../directory/identity.ts'

/** The far end of a request after the trust decision: everything later asks here, never a header. */
export interface Client {
  /** Address of the client; of the nearest peer where nobody trusted speaks for another. Empty on a Unix socket. */
  readonly address: string
  /** Address of the nearest peer, whoever it speaks for. Empty on a Unix socket. */
  readonly directAddress: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly isUnixSocket: boolean
  /** Whether the peer itself is one of the trusted proxies. */
  readonly isTrusted: boolean
}

/** A request path as its dialect reads it. */
export interface Path {
  /** The bytes between the start of the target and `?`, as they came. */
  readonly raw: string
  /** What stands between slashes, each decoded once; a trailing slash adds nothing. */
  readonly segments: readonly string[]
  /** What the dialect took off the front of the path: the database addressed. */
  readonly scope?: string
  /** Those bytes themselves, for the same purpose. Empty: the path is `segments` from the beginning. */
  readonly prefix?: string
}

export interface RequestContext {
  readonly id: string
  readonly method: string
  /** The request target, byte for byte. */
  readonly target: string
  /** Read on first use by the dialect's rule; throws a Refusal where the path has no one meaning. */
  readonly path: Path
  /** The query without `?`, as it came. */
  readonly rawQuery: string
  readonly query: URLSearchParams
  readonly client: Client
  /** Has the client looked at again on next use, by the rules of that time: whom they trust may have changed. */
  forgetClient(): void
  /** Aborted when the client goes away. Making one costs something: whoever need only be called uses `onGone`. */
  readonly signal: AbortSignal
  /** Called when the client goes away, and when the reply is out. */
  onGone(listener: () => void): void
  readonly isGone: boolean
  /** Set by the authenticating step; anonymous until then. */
  authenticated: Authenticated | undefined
  /** How much had ended when it was first looked who is asking; `undefined`: nobody looked. */
  authenticatedAt: number | undefined
  /** Set where who asks is let in no longer, while the request is under way: nothing more of it is taken. */
  isCut: boolean
  /** Milliseconds spent waiting for the body. */
  readonly bodyMs: number
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  /** What followed the body, as it came; nothing until that is over. */
  readonly rawTrailers: readonly string[]
  header(name: string): string | undefined
  /** Whether a header stands more than once. `header` gives all of them as one text. */
  isRepeated(name: string): boolean
  cookie(name: string): string | undefined
  /** How large a body may be that is read whole: less for anonymous requests and users than for administrators. */
  readonly maxBodyBytes: number
  /** What a JSON body may hold. */
  readonly jsonLimits: JsonLimits
  /** The whole body; `undefined` where the request has none. Refuses what is too large or too slow. */
  readBody(maxBytes?: number): Promise<Buffer | undefined>
  /**
   * The whole body for whoever passes it on: of a length of their own, whatever Cardea itself reads. `take` hears of
   * each piece before it is kept, and throws where there is no room for it.
   */
  gatherBody(maxBytes: number, take: (bytes: number) => void): Promise<Buffer | undefined>
  /**
   * The body as it comes, of any length; `undefined` where the request has none. It fails with a Refusal where the client
   * falls silent or what it sends is not HTTP. Destroying it leaves the connection alone. As long as nothing of it was
   * read it can be asked for again.
   */
  openBody(): Readable | undefined
}

export type HeaderPair = readonly [name: string, value: string]

export interface Reply {
  readonly status: number
  /** What another server says behind the number; without it, what everybody says. */
  readonly reason?: string
  readonly headers: readonly HeaderPair[]
  /** In one piece, or piece by piece as it comes: a feed. A feed is ended with `return` when its client goes away. */
  readonly body?: string | Uint8Array | Feed | ResponseStream
  /** Another server's answer: it says itself what it is, and nothing is added but what is Cardea's alone. */
  readonly isForwarded?: true
}

export type Feed = AsyncIterable<string | Uint8Array>

/** Where a response stream ends: the client. */
export interface Sink extends Writable {
  readonly req: { readonly httpVersion: string }
  readonly socket: Socket | null
  flushHeaders(): void
  addTrailers(trailers: [string, string][]): void
}

/**
 * What another server answers, on its way through. Its headers say how long it is, and stand for themselves: the door
 * adds only what is Cardea's own.
 */
export interface ResponseStream {
  readonly kind: 'response-stream'
  /** Whether it may never end, and does not keep a door from closing. */
  readonly isFeed: boolean
  /** Called once, with the head ready to go. Calls `end`, or `breakOff` where the answer breaks off. */
  pipeTo(sink: Sink, end: (last?: Uint8Array) => void, breakOff: (sink: Sink) => void): void
  /** Instead of `pipeTo`: the response is not wanted. */
  discard(): void
}

export type Answer = Reply | Promise<Reply>
export type Params = Readonly<Record<string, string>>
export type Handler = (context: RequestContext, params: Params) => Answer

/** One ordered check of a request. A step that answers ends the request; one that refuses throws. */
export interface Step {
  readonly name: string
  run(context: RequestContext): Reply | undefined | Promise<Reply | undefined>
}

export interface Route {
  /** Segments between slashes; `{name}` takes one of any text. */
  readonly path: string
  /** By method. `HEAD` is answered by `GET` where it has no handler of its own. */
  readonly methods: Readonly<Record<string, Handler>>
  /** What `Allow` says, where that is not just the methods above. */
  readonly allow?: readonly string[]
  /** The small answer of a door behind which nobody stands. Where somebody does, the request is theirs. */
  readonly isStandIn?: boolean
}

/** The wire form of one door, as data. */
export interface Dialect {
  readonly name: string
  /** The header a client may name its request with, and finds the id in. */
  readonly requestIdHeader: string
  readPath(raw: string): Path
  /** Set where a header that overrides the method is meant for another server, and decides nothing here. */
  readonly ignoresMethodOverride?: true
  readonly steps: readonly Step[]
  readonly routes: readonly Route[]
  /** A path no route knows, or only a stand-in where there is an upstream. */
  fallback(context: RequestContext): Answer
  hasUpstream?(): boolean
  /** An error in this dialect's words. Without an exchange where the request could not be read at all. */
  spell(refusal: Refusal, context: RequestContext | undefined): Reply
  /** The headers every reply of this door carries beside its own. */
  defaultHeaders(context: RequestContext | undefined, reply: Reply): readonly HeaderPair[]
}
