import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import type { JsonLimits } from '../base/json-body.ts'
import type { Live } from '../base/live.ts'
import { type Authenticated, hasAllRights, isAnonymous } from '../directory/identity.ts'
import type { RequestSpan } from '../observe/tracing.ts'
import { type BodyLimits, type BodySource, hasBody, openBodyStream, readWholeBody } from './body.ts'
import { type ClientCertificate, findClientCertificate } from './client-certificate.ts'
import { findOnlyCookie, listCookieValues, readCookies } from './cookies.ts'
import { checkRequest, type GuardLimits } from './guard.ts'
import { isHttp2 } from './http2-messages.ts'
import type {
  Client,
  Dialect,
  HeaderPair,
  HttpResponse,
  Match,
  Path,
  Place,
  PlaceFinder,
  RequestContext,
} from './request-context.ts'
import { plainAddress, readClient, type TrustRules } from './trust.ts'

export interface IncomingRequestOptions {
  /** The name of the listener. */
  readonly door: string
  readonly dialect: Dialect
  /** Left out for a request to another server, whose path is none of this dialect. */
  readonly findPlace?: PlaceFinder
  readonly limits: Live<BodyLimits & GuardLimits>
  readonly trust: Live<TrustRules>
  /** Replaces the target of the request, which is not meant for this server. */
  readonly target?: string
}

const CLIENT_REQUEST_ID = /^[0-9A-Za-z_-]{1,36}$/

const ID_DIGITS = 10

let randomDigits = ''

/** Random, because a counter would disclose how many requests there were. */
function createId(): string {
  if (randomDigits === '') randomDigits = randomBytes(ID_DIGITS * 200).toString('hex')
  const id = randomDigits.slice(0, ID_DIGITS)
  randomDigits = randomDigits.slice(ID_DIGITS)
  return id
}

/** The reason of an aborted signal. A Refusal, so that work which fails with it is not logged as an internal error. */
const GONE = new Refusal('client_gone')

/** Every request without a query has this one: to create one takes 2 µs (`npm run bench -- session`). */
const EMPTY_QUERY = new URLSearchParams()

/** The RequestContext of a request of `node:http`. Values that need work are computed on first use. */
export class IncomingRequest implements RequestContext {
  readonly id: string
  readonly method: string
  readonly target: string
  readonly rawQuery: string
  authenticated: Authenticated | undefined
  streamEpoch: number | undefined
  isCut = false
  bodyMs = 0
  readonly startedAtMs = performance.now()
  forwardedAtMs: number | undefined
  route: string | undefined
  span: RequestSpan | undefined
  unauthorizedHeaders: HeaderPair[] | undefined
  isBodyForwarded = false
  readonly #request: IncomingMessage
  readonly #response: HttpResponse
  readonly #options: IncomingRequestOptions
  readonly #rawPath: string
  /** Another part of the program has read from the body before this server got the request. */
  readonly #isBodyConsumed: boolean
  #goneListeners: (() => void)[] | undefined
  #broken: AbortController | undefined
  #place: Place | undefined
  #query: URLSearchParams | undefined
  #client: Client | undefined
  #signal: AbortSignal | undefined
  #cookies: ReadonlyMap<string, string> | undefined
  #body: Promise<Buffer | undefined> | undefined

  constructor(request: IncomingMessage, response: HttpResponse, options: IncomingRequestOptions) {
    this.#request = request
    this.#isBodyConsumed = request.readableDidRead
    this.#response = response
    this.#options = options
    this.method = request.method ?? ''
    this.target = options.target ?? request.url ?? ''
    const question = this.target.indexOf('?')
    this.#rawPath = question < 0 ? this.target : this.target.slice(0, question)
    this.rawQuery = question < 0 ? '' : this.target.slice(question + 1)
    const named = this.header(options.dialect.requestIdHeader)
    this.id = named !== undefined && CLIENT_REQUEST_ID.test(named) ? named : createId()
  }

  get path(): Path {
    return this.#findPlace().path
  }

  get match(): Match | undefined {
    return this.#findPlace().match
  }

  #findPlace(): Place {
    const { dialect, findPlace } = this.#options
    this.#place ??= findPlace?.(this.#rawPath) ?? { path: dialect.readPath(this.#rawPath), match: undefined }
    return this.#place
  }

  get query(): URLSearchParams {
    this.#query ??= this.rawQuery === '' ? EMPTY_QUERY : new URLSearchParams(this.rawQuery)
    return this.#query
  }

  get client(): Client {
    this.#client ??= readClient(this.#request, this.#options.trust.get())
    return this.#client
  }

  get certificate(): ClientCertificate | undefined {
    return findClientCertificate(this.#request.socket)
  }

  forgetClient(): void {
    this.#client = undefined
  }

  get door(): string {
    return this.#options.door
  }

  get localAddress(): string | undefined {
    const { localAddress } = this.#request.socket
    return localAddress && plainAddress(localAddress)
  }

  get peer(): string | undefined {
    return this.authenticated && hasAllRights(this.authenticated.identity) ? undefined : this.client.address
  }

  async confirm(): Promise<Authenticated | undefined> {
    return this.#options.dialect.confirmCredential?.(this)
  }

  async checkRights(): Promise<void> {
    for (const step of this.#options.dialect.steps)
      if (step.checksRights && (await step.run(this))) throw new Refusal('forbidden')
  }

  async repeat(): Promise<void> {
    const { dialect, limits } = this.#options
    checkRequest(this.#request, limits.get(), dialect)
    const again = new IncomingRequest(this.#request, this.#response, this.#options)
    again.authenticated = this.authenticated
    for (const step of dialect.steps) if (!step.authenticates && (await step.run(again))) throw new Refusal('forbidden')
    await again.confirm()
    if (Number(this.header('content-length') ?? 0) > again.maxBodyBytes) throw new Refusal('body_too_large')
  }

  addToUnauthorized(name: string, value: string): void {
    this.unauthorizedHeaders ??= []
    this.unauthorizedHeaders.push([name, value])
  }

  onGone(listener: () => void): void {
    this.#goneListeners ??= []
    this.#goneListeners.push(listener)
  }

  /** Called when the client has disconnected or the reply is sent. */
  notifyGone(): void {
    for (const listener of this.#goneListeners ?? []) listener()
  }

  get isGone(): boolean {
    return this.#response.destroyed || this.#response.closed
  }

  get signal(): AbortSignal {
    if (this.#signal) return this.#signal
    const controller = new AbortController()
    this.onGone(() => controller.abort(GONE))
    if (this.isGone) controller.abort(GONE)
    this.#signal = controller.signal
    return this.#signal
  }

  /** Aborts reading of the body. Created on first use: most requests have no body. */
  get #breaker(): AbortController {
    this.#broken ??= new AbortController()
    return this.#broken
  }

  get httpVersion(): string {
    return this.#request.httpVersion
  }

  get hasBody(): boolean {
    return hasBody(this.#request)
  }

  get isChunked(): boolean {
    return !isHttp2(this.#request) && this.#request.headers['transfer-encoding'] !== undefined
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : value
  }

  isRepeated(name: string): boolean {
    return (this.#request.headersDistinct[name.toLowerCase()]?.length ?? 0) > 1
  }

  cookie(name: string): string | undefined {
    const { cookie } = this.#request.headers
    if (cookie === undefined) return undefined
    return findOnlyCookie(cookie, name) ?? this.#readCookies(cookie).get(name)
  }

  cookieValues(name: string): readonly string[] {
    return listCookieValues(this.#request.headers.cookie ?? '', name)
  }

  #readCookies(header: string): ReadonlyMap<string, string> {
    this.#cookies ??= readCookies(header)
    return this.#cookies
  }

  get maxBodyBytes(): number {
    return Math.min(this.#options.limits.get()['max-body-bytes'], clientLimits(this.authenticated).maxBytes)
  }

  get jsonLimits(): JsonLimits {
    const maxItems = Math.min(this.#options.limits.get()['max-json-items'], clientLimits(this.authenticated).maxItems)
    return { maxDepth: MAX_JSON_DEPTH, maxItems }
  }

  readBody(maxBytes: number = this.maxBodyBytes): Promise<Buffer | undefined> {
    const limit = Math.min(maxBytes, this.maxBodyBytes)
    this.#body ??= this.#readOnce({ ...this.#options.limits.get(), 'max-body-bytes': limit })
    return this.#body
  }

  gatherBody(maxBytes: number, take: (bytes: number) => void): Promise<Buffer | undefined> {
    this.#body ??= this.#readOnce({ ...this.#options.limits.get(), 'max-body-bytes': maxBytes, take })
    return this.#body
  }

  async #readOnce(limits: BodyLimits): Promise<Buffer | undefined> {
    if (!this.hasBody) return this.header('content-length') === undefined ? undefined : Buffer.alloc(0)
    if (this.#isBodyConsumed) throw new Refusal('body_consumed')
    const start = performance.now()
    try {
      return await readWholeBody(this.#bodySource, limits)
    } finally {
      this.bodyMs = Math.round(performance.now() - start)
    }
  }

  openBody(): Readable | undefined {
    if (!this.hasBody) return undefined
    if (this.#isBodyConsumed) throw new Refusal('body_consumed')
    this.isBodyForwarded = true
    const { 'body-timeout': silenceMs, maxPassedBytes: maxBytes = Number.POSITIVE_INFINITY } =
      this.#options.limits.get()
    return openBodyStream(this.#bodySource, silenceMs, maxBytes)
  }

  get #bodySource(): BodySource {
    return { request: this.#request, response: this.#response, broken: this.#breaker.signal }
  }

  /** The client sent bytes that are not HTTP: reading the body fails. */
  breakOff(): void {
    this.#breaker.abort()
  }
}

/** Deeper than real documents, and shallow enough for the stack. */
const MAX_JSON_DEPTH = 100

interface ClientLimits {
  readonly maxBytes: number
  /** Members and elements: an object with many members takes far longer to parse than other text of its length. */
  readonly maxItems: number
}

/** Anonymous requests and users send small bodies: a user document has at most 64 KiB. */
const ANONYMOUS_LIMITS: ClientLimits = { maxBytes: 131_072, maxItems: 2000 }
const USER_LIMITS: ClientLimits = { maxBytes: 1_048_576, maxItems: 10_000 }
const ADMIN_LIMITS: ClientLimits = { maxBytes: Number.POSITIVE_INFINITY, maxItems: Number.POSITIVE_INFINITY }

function clientLimits(authenticated: Authenticated | undefined): ClientLimits {
  if (isAnonymous(authenticated)) return ANONYMOUS_LIMITS
  return hasAllRights(authenticated.identity) ? ADMIN_LIMITS : USER_LIMITS
}
