import { randomFillSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { Refusal } from '../base/errors.ts'
import type { JsonLimits } from '../base/json-shape.ts'
import type { Live } from '../base/live.ts'
import { type Authenticated, isAnonymous } from '../directory/identity.ts'
import { type BodyLimits, hasBody, readWholeBody } from './body.ts'
import { openBodyStream } from './body-stream.ts'
import type { Client, Dialect, Path, RequestContext } from './request-context.ts'
import { readClient, type TrustRules } from './trust.ts'

export interface IncomingOptions {
  readonly dialect: Dialect
  readonly limits: BodyLimits
  readonly trust: Live<TrustRules>
  /** In place of the request's own, where that is another server's business. */
  readonly target?: string
}

const CLIENT_REQUEST_ID = /^[0-9A-Za-z_-]{1,36}$/
/**
 * A refusal, so that work which ends with the signal is no error of Cardea's. Made once: the reason Node would make up
 * costs more than all the rest, and every reply ends with a close.
 */
const GONE = new Refusal('client_gone')

/** Not a count: an id must not tell how many requests there were. It names a request in a log, and guards nothing. */
function createId(): string {
  if (nextId === ids.length) {
    ids = randomFillSync(drawn).toString('hex')
    nextId = 0
  }
  nextId += ID_DIGITS
  return ids.slice(nextId - ID_DIGITS, nextId)
}

const ID_DIGITS = 10
/** Many at once: one by one they would be a call of the system each. */
const drawn = Buffer.alloc((ID_DIGITS / 2) * 1024)
let ids = ''
let nextId = 0

/** One request on its way through the door. What costs something is worked out on first use, once. */
export class Incoming implements RequestContext {
  readonly id: string
  readonly method: string
  readonly target: string
  readonly rawQuery: string
  authenticated: Authenticated | undefined
  authenticatedAt: number | undefined
  isCut = false
  bodyMs = 0
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #options: IncomingOptions
  readonly #rawPath: string
  readonly #leaving: (() => void)[] = []
  #broken: AbortController | undefined
  #path: Path | undefined
  #query: URLSearchParams | undefined
  #client: Client | undefined
  #signal: AbortSignal | undefined
  #cookies: ReadonlyMap<string, string> | undefined
  #body: Promise<Buffer | undefined> | undefined

  constructor(request: IncomingMessage, response: ServerResponse, options: IncomingOptions) {
    this.#request = request
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
    this.#path ??= this.#options.dialect.readPath(this.#rawPath)
    return this.#path
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.rawQuery)
    return this.#query
  }

  get client(): Client {
    this.#client ??= readClient(this.#request, this.#options.trust.get())
    return this.#client
  }

  forgetClient(): void {
    this.#client = undefined
  }

  onGone(listener: () => void): void {
    this.#leaving.push(listener)
  }

  /** The client is gone, or the reply is out: whoever asked for it is told. */
  leave(): void {
    for (const listener of this.#leaving) listener()
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

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders
  }

  get rawTrailers(): readonly string[] {
    return this.#request.rawTrailers
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
    if (cookie[name.length] === '=' && cookie.startsWith(name) && ALONE.test(cookie))
      return cookie.slice(name.length + 1)
    this.#cookies ??= readCookies(cookie)
    return this.#cookies.get(name)
  }

  get maxBodyBytes(): number {
    return Math.min(this.#options.limits.maxBodyBytes, maxBytesOf(this.authenticated))
  }

  get jsonLimits(): JsonLimits {
    return { maxDepth: MAX_JSON_DEPTH, maxItems: this.#options.limits.maxJsonItems }
  }

  readBody(maxBytes: number = this.maxBodyBytes): Promise<Buffer | undefined> {
    const most = Math.min(maxBytes, this.maxBodyBytes)
    this.#body ??= this.#readOnce({ ...this.#options.limits, maxBodyBytes: most })
    return this.#body
  }

  gatherBody(maxBodyBytes: number, take: (bytes: number) => void): Promise<Buffer | undefined> {
    this.#body ??= this.#readOnce({ ...this.#options.limits, maxBodyBytes, take })
    return this.#body
  }

  async #readOnce(limits: BodyLimits): Promise<Buffer | undefined> {
    if (!hasBody(this.#request)) return this.header('content-length') === undefined ? undefined : Buffer.alloc(0)
    const start = performance.now()
    try {
      return await readWholeBody(this.#request, this.#response, limits, this.#breaker().signal)
    } finally {
      this.bodyMs = Math.round(performance.now() - start)
    }
  }

  openBody(): Readable | undefined {
    if (!hasBody(this.#request)) return undefined
    const { bodyTimeoutMs: silenceMs, maxPassedBytes: maxBytes = Number.POSITIVE_INFINITY } = this.#options.limits
    if (Number(this.header('content-length') ?? 0) > maxBytes) throw new Refusal('body_too_large')
    return openBodyStream(this.#request, this.#response, { silenceMs, maxBytes }, this.#breaker().signal)
  }

  /** What follows on this connection is not HTTP: whoever waits for the body is told. */
  breakOff(): void {
    this.#breaker().abort()
  }

  #breaker(): AbortController {
    this.#broken ??= new AbortController()
    return this.#broken
  }
}

/** Deeper than any document is, and less deep than the stack allows. */
const MAX_JSON_DEPTH = 100

/** Bodies of anonymous requests and of users are small: a user document of theirs has at most 64 KiB. */
const MAX_ANONYMOUS_BYTES = 131_072
const MAX_USER_BYTES = 1_048_576

function maxBytesOf(authenticated: Authenticated | undefined): number {
  if (isAnonymous(authenticated)) return MAX_ANONYMOUS_BYTES
  const { isAdmin, isSuperuser } = authenticated.identity
  return isAdmin || isSuperuser ? Number.POSITIVE_INFINITY : MAX_USER_BYTES
}

// Pairs by `;` or `,`; a value may be quoted with backslash escapes; names that begin with `$` are attributes of
// RFC 2965, not cookies; of two with one name the first counts. What is no pair is passed over.
const COOKIE_PAIR = /\s*([^=;,\s]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;,]*))\s*(?:[;,]|$)/y
/** One pair and nothing else, as most clients of a database send it. */
const ALONE = /^[\w-]+=[\w.~+/=-]*$/
const NO_PAIR = /[^;,]*[;,]?/y

function readCookies(header: string): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>()
  let at = 0
  while (at < header.length) {
    const pair = matchAt(COOKIE_PAIR, header, at)
    at += (pair ?? matchAt(NO_PAIR, header, at))?.[0].length ?? header.length
    const [, name, quoted, plain = ''] = pair ?? []
    if (name === undefined || name.startsWith('$') || cookies.has(name)) continue
    cookies.set(name, quoted === undefined ? plain.trim() : quoted.replace(/\\(.)/g, '$1'))
  }
  return cookies
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
