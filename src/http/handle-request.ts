import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { runForOrigin } from '../observe/origin.ts'
import { type BodyLimits, hasBody } from './body.ts'
import type { Connection, Running } from './connections.ts'
import { answer, type Speaker } from './dispatch.ts'
import { checkMethodOverride, checkRequest, type GuardLimits, hasLargeTrailers } from './guard.ts'
import { Incoming } from './incoming-request.ts'
import { describeOrigin } from './origin.ts'
import { refuse } from './refuse.ts'
import { writeReply } from './reply.ts'
import type { Reply } from './request-context.ts'
import { limitTinyChunks } from './tiny-chunks.ts'
import type { TrustRules } from './trust.ts'

export interface VisitDeps {
  readonly limits: Live<GuardLimits & BodyLimits>
  readonly trust: Live<TrustRules>
  readonly log: Log
  /** Name of the door, for records of what happens behind it. */
  readonly door: string
  readonly running: Running
  /** Throws where nobody on this connection is let in now. */
  admit(socket: Socket): void
  isStopping(): boolean
}

/** One request, from its head to the last byte of its reply. */
export class Visit {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #speaker: Speaker
  readonly #deps: VisitDeps
  readonly #context: Incoming
  readonly #connection: Connection

  constructor(request: IncomingMessage, response: ServerResponse, speaker: Speaker, deps: VisitDeps) {
    const { limits, trust, running } = deps
    this.#request = request
    this.#response = response
    this.#speaker = speaker
    this.#deps = deps
    this.#context = new Incoming(request, response, { dialect: speaker.dialect, limits: limits.get(), trust })
    this.#connection = running.add(request.socket, this.#context)
  }

  /** Never fails. */
  serve(): Promise<void> {
    // A body that breaks off is told to whoever reads it, and to nobody else.
    if (hasBody(this.#request)) this.#request.on('error', ignore)
    this.#response.on('close', () => this.#end())
    const describe = () => describeOrigin(this.#context, this.#deps.door)
    return runForOrigin(describe, () =>
      // Always asynchronous: until then the parser may report an error in what follows.
      this.#answer().then(
        (reply) => this.#deliver(reply),
        (error) => this.#refuse(error),
      ),
    )
  }

  #answer(): Promise<Reply> {
    try {
      this.#deps.admit(this.#request.socket)
      checkRequest(this.#request, this.#deps.limits.get())
      if (!this.#speaker.dialect.ignoresMethodOverride) checkMethodOverride(this.#request)
      // only what comes in chunks has trailers, and whoever reads it hears of its end after us
      if (this.#request.headers['transfer-encoding'] !== undefined) {
        limitTinyChunks(this.#request)
        this.#request.once('end', () => this.#checkTrailers())
      }
      return Promise.resolve(answer(this.#context, this.#speaker))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #checkTrailers(): void {
    if (!hasLargeTrailers(this.#request, this.#deps.limits.get())) return
    this.#connection.isBroken = true
    this.#context.breakOff()
  }

  #deliver(reply: Reply): void {
    try {
      this.#write(reply, false)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  async #refuse(error: unknown): Promise<void> {
    // If a chunked body came whole with the head, the connection can go on. Requests behind it wait for this reply.
    if (this.#request.headers['transfer-encoding'] !== undefined && !this.#request.complete) await nextTurn()
    try {
      const reply = refuse(error, this.#speaker.dialect, this.#context, this.#deps.log)
      this.#write(reply, error instanceof Refusal && ENDS_CONNECTION.has(error.code))
    } catch (failure) {
      this.#giveUp(failure)
    }
  }

  /** Not even a refusal could be spelled. One request is lost; the process must not be. */
  #giveUp(error: unknown): void {
    this.#deps.log.error('a request could not be answered', { error })
    this.#response.destroy()
  }

  #write(reply: Reply, isRefused: boolean): void {
    const { limits, isStopping } = this.#deps
    const { isBroken } = this.#connection
    // what follows an upgrade nobody agreed to may be anything
    const isLast = isRefused || isBroken || isStopping() || this.#request.headers.upgrade !== undefined
    const delivered = writeReply(this.#request, this.#response, {
      dialect: this.#speaker.dialect,
      context: this.#context,
      reply,
      isLast,
      isBroken,
      bodyTimeoutMs: limits.get().bodyTimeoutMs,
    })
    if (delivered.isLast) this.#connection.isEnding = true
    // A reply is under way until its last byte is out; a feed may never end, and does not keep a door from closing.
    if (delivered.isFeed) this.#leave()
  }

  #end(): void {
    this.#context.leave()
    this.#leave()
    this.#deps.running.endTurn(this.#request.socket, this.#connection)
  }

  #leave(): void {
    const { running, isStopping } = this.#deps
    const { socket } = this.#request
    running.remove(socket, this.#connection, this.#context)
    // its head was out before anybody said that it would be the last
    if (isStopping() && running.isIdle(socket)) socket.destroySoon()
  }
}

const ignore = () => {}

/** After these nothing that follows on the connection can be trusted to be a request. */
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
