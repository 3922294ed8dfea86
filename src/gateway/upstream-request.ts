import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Refusal } from '../base/errors.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { Reply, RequestContext } from '../http/request-context.ts'
import type { Member } from './balancer.ts'
import { isolate } from './isolate.ts'
import { findDirectOrder } from './node-client-order.ts'
import type { OpenStream } from './open-streams.ts'
import type { Pools } from './pools.ts'
import type { HeaderFilter } from './request-headers.ts'
import { filterResponseHeaders, type RawHeaders, type ReadHeaders } from './response-headers.ts'
import { type PipeOwner, ResponsePipe } from './response-pipe.ts'
import { Upload } from './upload.ts'
import type { UpstreamDeps } from './upstream.ts'

/** A request as it is sent, to one server after another if need be. */
export interface Order {
  readonly context: RequestContext
  readonly headers: readonly string[]
  readonly isFeed: boolean
  /** Whether Cardea signed who is asking. */
  readonly isSigned: boolean
  /** A body put together. Without it the body is passed on as it comes. */
  readonly spooled: Buffer | undefined
  /** What of it goes on: its trailers are still to come. */
  readonly filter: HeaderFilter
}

export interface Failed {
  readonly error: Error
  /** Whether a byte of an answer was seen. */
  readonly hasBegun: boolean
  /** Whether something of a body that cannot be had again was taken. */
  readonly hasSent: boolean
}

/** Whoever is told what became of it. */
export interface AttemptOwner {
  onReply(member: Member<Pools>, reply: Reply): void
  onFailed(member: Member<Pools>, failed: Failed): void
}

/** One request on its way to one server: what becomes of it, and what cuts it while it is under way. */
export class Attempt implements PipeOwner, OpenStream {
  place = -1
  readonly authenticated: Authenticated
  readonly since: number | undefined
  readonly isFeed: boolean
  readonly idleMs: number
  readonly firstByteMs: number
  readonly #order: Order
  readonly #member: Member<Pools>
  readonly #deps: UpstreamDeps
  readonly #answer: ResponsePipe
  readonly #body: Readable | undefined
  readonly #owner: AttemptOwner

  constructor(order: Order, member: Member<Pools>, deps: UpstreamDeps, owner: AttemptOwner) {
    const { context } = order
    this.#order = order
    this.#member = member
    this.#deps = deps
    this.#owner = owner
    this.authenticated = context.authenticated ?? ANONYMOUS
    this.since = context.authenticatedAt
    this.isFeed = order.isFeed
    const { idleTimeoutMs, limits } = deps.settings()
    this.idleMs = idleTimeoutMs
    this.firstByteMs = limits.firstByteTimeoutMs
    this.#body = order.spooled === undefined ? context.openBody() : undefined
    this.#answer = this.#createAnswer()
  }

  send(): void {
    const { context } = this.#order
    this.#member.open += 1
    this.#deps.streams.add(this)
    context.onGone(() => this.#answer.discard())
    this.#dispatch()
  }

  #createAnswer(): ResponsePipe {
    return this.#body === undefined ? new ResponsePipe(this) : new Upload(this, this.#body)
  }

  #dispatch(): void {
    const { context, headers, spooled } = this.#order
    const { pool } = this.#member
    const body = this.#body
    const direct = body === undefined ? undefined : findDirectOrder(this.#order, body)
    if (direct) {
      const chosen = this.isFeed ? pool.directFeeds : pool.directRequests
      chosen.dispatch(direct, this.#answer)
      return
    }
    const length = body === undefined ? undefined : context.header('content-length')
    const options = {
      // undici takes any token; its type lists the common ones
      method: context.method as Dispatcher.HttpMethod,
      path: context.target,
      // undici reads the list and leaves it as it is; its type does not say so
      headers: length === undefined ? (headers as string[]) : [...headers, 'Content-Length', length],
      body: spooled ?? body ?? null,
      // the time to answer begins when all is sent, for which undici has no clock
      headersTimeout: body === undefined ? null : 0,
      // not in its types: without it the name of the certificate would be the client's Host
      servername: pool.servername,
      // else undici would close the connection; after a body where none is due it is right to. Its type knows no null
      reset: (context.method === 'HEAD' && body === undefined && spooled === undefined ? false : null) as boolean,
    }
    const chosen = this.isFeed ? pool.feeds : pool.requests
    chosen.dispatch(options, this.#answer)
  }

  onHead(status: number, reason: string, raw: RawHeaders, read: ReadHeaders): void {
    const { settings, ownCookies } = this.#deps
    const kept = filterResponseHeaders(raw, read, status, { ownsCors: settings().ownsCors, ownCookies })
    if (kept === undefined) {
      this.#answer.discard()
      this.onFailure(new Refusal('upstream_failed', { detail: 'transfer coding' }))
      return
    }
    const headers = this.#deps.isolates(this.#order.context) ? isolate(kept, status) : kept
    this.#owner.onReply(this.#member, { status, reason, headers, body: this.#answer, isForwarded: true })
  }

  onFailure(error: Error): void {
    const told = this.#order.context.isCut ? new Refusal('authentication_required') : error
    const hasSent = this.#body?.readableDidRead ?? false
    this.#owner.onFailed(this.#member, { error: told, hasBegun: this.#answer.hasBegun, hasSent })
  }

  onBroken(error: Error): void {
    this.#deps.watch.onFailed(this.#member.url, error)
  }

  onClose(): void {
    this.#member.open -= 1
    this.#deps.streams.remove(this)
  }

  revalidate(): Promise<boolean> {
    return this.#deps.revalidate(this.#order.context)
  }

  cut(): void {
    this.#order.context.isCut = true
    this.#answer.cut()
  }
}
