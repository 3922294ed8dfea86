import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Refusal } from '../base/errors.ts'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { BodyLimits } from './body.ts'
import { createRunning } from './connections.ts'
import { createSpeakers, type Mount } from './dispatch.ts'
import type { GuardLimits } from './guard.ts'
import { Visit, type VisitDeps } from './handle-request.ts'
import { identify } from './identify.ts'
import { createSocketNote } from './per-socket.ts'
import { refuse, toParserRefusal } from './refuse.ts'
import { writeRawReply } from './reply.ts'
import type { Dialect } from './request-context.ts'
import { createStallWatch } from './stalled.ts'
import { meetPeer, type TrustRules } from './trust.ts'

export interface DoorLimits extends GuardLimits, BodyLimits {
  readonly maxConnections: number
  /** Longest time a client may take nothing of what waits for it. */
  readonly writeTimeoutMs: number
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
  const surplus = createSocketNote<true>()
  const open = new Set<Socket>()
  const stalled = createStallWatch(open, () => limits.get().writeTimeoutMs)
  let isStopping = false
  const deps: VisitDeps = {
    limits,
    trust,
    log,
    door: dialect.name,
    running,
    admit(socket) {
      if (isStopping) throw new Refusal('shutting_down', { retryAfterSeconds: 5 })
      if (surplus.get(socket)) throw new Refusal('too_many_connections', { retryAfterSeconds: 1 })
    },
    isStopping: () => isStopping,
  }

  return {
    dialect,
    handle(request, response) {
      const speaker = chooseSpeaker(request.url ?? '', request.method)
      return running.inTurn(request.socket, () => new Visit(request, response, speaker, deps).serve())
    },
    identify: (request) => identify(request, { dialect, limits: limits.get(), trust, door: dialect.name }),
    handleBroken(error, socket) {
      if (running.breakOff(socket)) return
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else writeRawReply(socket, dialect, refuse(toParserRefusal(error), dialect, undefined, log))
    },
    admit(socket) {
      open.add(socket)
      stalled.begin()
      meetPeer(socket, trust.get())
      if (open.size > limits.get().maxConnections) surplus.set(socket, true)
      socket.once('close', () => open.delete(socket))
    },
    stop() {
      isStopping = true
      for (const socket of open) if (running.isIdle(socket)) socket.destroy()
    },
  }
}
