import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { RequestObserver } from '../observe/request-metrics.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { AccessLog } from './access-log.ts'
import type { BodyLimits } from './body.ts'
import { connectionOf } from './connections.ts'
import { createDialectChooser, type Mount } from './dispatch.ts'
import { type ConnectionLimits, DoorConnections } from './door-connections.ts'
import type { GuardLimits } from './guard.ts'
import { handleRequest } from './handle-request.ts'
import { type Identified, identify, runForRequest } from './identify.ts'
import { toErrorReply, toParserRefusal, writeRawReply } from './reply.ts'
import type { Dialect, RequestContext } from './request-context.ts'
import { withTracedSteps } from './trace-steps.ts'
import type { TrustRules } from './trust.ts'

export type DoorLimits = GuardLimits & BodyLimits & ConnectionLimits

export interface DoorOptions {
  readonly dialect: Dialect
  readonly mounts?: readonly Mount[]
  readonly limits: Live<DoorLimits>
  readonly trust: Live<TrustRules>
  /** The header `Strict-Transport-Security` for clients that use TLS; empty: none. */
  readonly hsts?: Live<string>
  readonly log: Log
  readonly observer?: RequestObserver
  readonly accessLog?: AccessLog
  readonly tracing?: Tracing | undefined
}

/** Serves requests in one dialect, from any listener. */
export interface Door {
  readonly dialect: Dialect
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** The identity that this door would give to a request to another server; `undefined` if it is anonymous. */
  identify(request: IncomingMessage, origins: readonly string[]): Promise<Identified | undefined>
  /** Runs `work` on behalf of a request to another server, for its client and for security events. */
  runFor<T>(request: IncomingMessage, work: (context: RequestContext) => Promise<T>): Promise<T>
  /** To be called with an error of the listener's parser. */
  handleBroken(error: { readonly code?: string }, socket: Socket): void
  /** Open connections of its listeners. */
  countConnections(): number
  /** Connections and requests that were refused because too many are open. */
  countRefused(): number
  /** To be called for each new connection. */
  admit(socket: Socket): void
  /** Ends these connections: idle ones now, the others with their current reply. */
  endConnections(isChosen: (socket: Socket) => boolean): void
  /** From now on every reply ends its connection, and new requests are rejected. */
  stop(): void
}

export function createDoor(options: DoorOptions): Door {
  const { limits, trust, log } = options
  const { dialect, mounts = [] } = options.tracing ? withTracing(options) : options
  const connections = new DoorConnections({ limits, trust, log, door: dialect.name })
  const deps = {
    ...options,
    door: dialect.name,
    chooseDialect: createDialectChooser(dialect, mounts),
    admit: (context: RequestContext, socket: Socket) => connections.requireAdmitted(context, socket),
    isStopping: () => connections.isStopping,
  }
  const toIdentifyOptions = () => ({ dialect, limits: limits.get(), trust, door: dialect.name })

  return {
    dialect,
    handle(request, response) {
      const connection = connectionOf(request.socket)
      return connection.serveInTurn(request, () => handleRequest({ request, response, connection }, deps))
    },
    identify: (request, origins) => identify(request, toIdentifyOptions(), origins),
    runFor: (request, work) => runForRequest(request, toIdentifyOptions(), work),
    handleBroken(error, socket) {
      // Bytes after a request that ends the connection. They are ignored, and the request is served.
      if (error.code === 'HPE_CLOSED_CONNECTION') return
      if (connectionOf(socket).breakOff()) return
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else {
        const reply = toErrorReply(toParserRefusal(error), { dialect, log })
        writeRawReply(socket, { dialect, reply, hsts: options.hsts?.get() ?? '' })
      }
    },
    countConnections: () => connections.size,
    countRefused: () => connections.refused,
    admit: (socket) => connections.add(socket),
    endConnections: (isChosen) => connections.end(isChosen),
    stop: () => connections.stop(),
  }
}

const withTracing = ({ dialect, mounts = [] }: DoorOptions): Pick<DoorOptions, 'dialect' | 'mounts'> => ({
  dialect: withTracedSteps(dialect),
  mounts: mounts.map((mount) => ({ ...mount, dialect: withTracedSteps(mount.dialect) })),
})
