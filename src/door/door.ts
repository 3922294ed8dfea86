import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Authenticated } from '../identity/identity.ts'
import { type BodyLimits, hasBody } from './body.ts'
import type { Dialect, Exchange, Handler, Reply } from './exchange.ts'
import { meetPeer, type TrustRules } from './forwarded.ts'
import { checkRequest, type GuardLimits, hasLargeTrailers } from './guard.ts'
import { identify } from './identify.ts'
import { Incoming } from './incoming.ts'
import { refuse, toParserRefusal } from './refuse.ts'
import { writeRawReply, writeReply } from './reply.ts'
import { createRouter, type Router } from './router.ts'
import { type Connection, createRunning } from './running.ts'
import { createStallWatch } from './stalled.ts'

export interface DoorLimits extends GuardLimits, BodyLimits {
  readonly maxConnections: number
  /** Longest time a client may take nothing of what waits for it. */
  readonly writeTimeoutMs: number
}

/** Requests whose path begins with this segment, spelled plainly, speak another dialect from beginning to end. */
export interface Mount {
  readonly segment: string
  readonly dialect: Dialect
  /** A method that is the door's own to answer, there as everywhere. */
  readonly leaves?: string
}

export interface DoorOptions {
  readonly dialect: Dialect
  readonly mounts?: readonly Mount[]
  readonly limits: Live<DoorLimits>
  readonly trust: Live<TrustRules>
  readonly log: Log
}

/** Answers requests in one dialect, whatever listener they come from. */
export interface Door {
  readonly dialect: Dialect
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Who a request to another server comes from, as this door would tell; `undefined`: nobody. */
  identify(request: IncomingMessage): Promise<Authenticated | undefined>
  /** What a listener's parser could not read. */
  handleBroken(error: { readonly code?: string }, socket: Socket): void
  admit(socket: Socket): void
  /** From now on every reply ends its connection, and new requests are refused. */
  stop(): void
}

export function createDoor(options: DoorOptions): Door {
  const { dialect, limits, trust, log } = options
  const chooseSpeaker = createSpeakers(dialect, options.mounts ?? [])
  const running = createRunning()
  const surplus = new WeakSet<Socket>()
  const open = new Set<Socket>()
  const stalled = createStallWatch(open, () => limits.get().writeTimeoutMs)
  let isStopping = false

  const check = (request: IncomingMessage) => {
    if (isStopping) throw new Refusal('stopping', { retryAfterSeconds: 5 })
    if (surplus.has(request.socket)) throw new Refusal('too_many_connections', { retryAfterSeconds: 1 })
    checkRequest(request, limits.get())
  }

  /** Not even a refusal could be spelled. One request is lost; the process must not be. */
  const giveUp = (error: unknown, response: ServerResponse) => {
    log.error('a request could not be answered', { error })
    response.destroy()
  }

  const checkTrailers = (request: IncomingMessage, connection: Connection, exchange: Incoming) => {
    if (!hasLargeTrailers(request, limits.get())) return
    connection.isBroken = true
    exchange.breakOff()
  }

  const leave = (socket: Socket, connection: Connection, exchange: Incoming) => {
    running.remove(socket, connection, exchange)
    // its head was out before anybody said that it would be the last
    if (isStopping && running.isIdle(socket)) socket.destroySoon()
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    // A body that breaks off is told to whoever reads it, and to nobody else.
    if (hasBody(request)) request.on('error', ignore)
    const { socket } = request
    const speaker = chooseSpeaker(request.url ?? '', request.method)
    const { dialect } = speaker
    const exchange = new Incoming(request, response, { dialect, limits: limits.get(), trust })
    const connection = running.add(socket, exchange)
    response.on('close', () => {
      exchange.leave()
      leave(socket, connection, exchange)
    })
    let isLast = false
    let reply: Reply
    try {
      check(request)
      // only what comes in chunks has trailers, and whoever reads it hears of its end after us
      if (request.headers['transfer-encoding'] !== undefined)
        request.once('end', () => checkTrailers(request, connection, exchange))
      reply = await answer(exchange, speaker)
    } catch (error) {
      isLast = error instanceof Refusal && ENDS_CONNECTION.has(error.code)
      reply = refuse(error, dialect, exchange, log)
    }
    // what follows an upgrade nobody agreed to may be anything
    const { isBroken } = connection
    isLast ||= isStopping || isBroken || request.headers.upgrade !== undefined
    const delivered = writeReply(request, response, {
      dialect,
      exchange,
      reply,
      isLast,
      isBroken,
      bodyTimeoutMs: limits.get().bodyTimeoutMs,
    })
    if (delivered.isLast) connection.isEnding = true
    // A reply is under way until its last byte is out; a feed may never end, and does not keep a door from closing.
    if (delivered.isFeed) leave(socket, connection, exchange)
  }

  return {
    dialect,
    handle: (request, response) => serve(request, response).catch((error) => giveUp(error, response)),
    identify: (request) => identify(request, { dialect, limits: limits.get(), trust }),
    handleBroken(error, socket) {
      if (running.breakOff(socket)) return
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else writeRawReply(socket, dialect, refuse(toParserRefusal(error), dialect, undefined, log))
    },
    admit(socket) {
      open.add(socket)
      stalled.begin()
      meetPeer(socket, trust.get())
      if (open.size > limits.get().maxConnections) surplus.add(socket)
      socket.once('close', () => open.delete(socket))
    },
    stop() {
      isStopping = true
      for (const socket of open) if (running.isIdle(socket)) socket.destroy()
    },
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
  'stopping',
])

interface Speaker {
  readonly dialect: Dialect
  readonly find: Router
}

type ChooseSpeaker = (target: string, method: string | undefined) => Speaker

/** Decided on the raw target, so that nothing a dialect takes off or decodes can lead past a mount, or into one. */
function createSpeakers(dialect: Dialect, mounts: readonly Mount[]): ChooseSpeaker {
  const toSpeaker = (speaks: Dialect): Speaker => ({ dialect: speaks, find: createRouter(speaks.routes) })
  const own = toSpeaker(dialect)
  const mounted = mounts.map((mount) => ({ ...mount, prefix: `/${mount.segment}`, speaker: toSpeaker(mount.dialect) }))
  const isUnder = (target: string, prefix: string) =>
    target.startsWith(prefix) && ENDS_SEGMENT.has(target.charAt(prefix.length))
  return (target, method) => {
    const mount = mounted.find(({ prefix }) => isUnder(target, prefix))
    return mount && (mount.leaves === undefined || mount.leaves !== method) ? mount.speaker : own
  }
}

const ENDS_SEGMENT: ReadonlySet<string> = new Set(['', '/', '?'])

async function answer(exchange: Exchange, { dialect, find }: Speaker): Promise<Reply> {
  for (const step of dialect.steps) {
    const ran = step.run(exchange)
    // most have nothing to wait for, and every wait lets others go first
    const reply = ran instanceof Promise ? await ran : ran
    if (reply) return reply
  }
  const match = find(exchange.path.segments)
  if (!match || (match.route.isStandIn && dialect.hasUpstream?.())) return dialect.otherwise(exchange)
  const handler = findHandler(match.route.methods, exchange.method)
  if (handler) return handler(exchange, match.params)
  throw new Refusal('method_not_allowed', { about: allowedMethods(match.route).join(',') })
}

const findHandler = (methods: Readonly<Record<string, Handler>>, method: string): Handler | undefined =>
  Object.hasOwn(methods, method) ? methods[method] : method === 'HEAD' ? methods['GET'] : undefined

const allowedMethods = (route: { methods: object; allow?: readonly string[] }): readonly string[] =>
  route.allow ?? Object.keys(route.methods)
