import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { connectionOf } from './connections.ts'
import { createDialectChooser } from './dispatch.ts'
import { DoorConnections } from './door-connections.ts'
import { type DoorOptions, handleRequest } from './handle-request.ts'
import { identify, runForRequest } from './identify.ts'
import { toErrorReply, toParserRefusal, writeRawReply } from './reply.ts'
import type { HttpResponse, RequestContext } from './request-context.ts'
import { withTracedSteps } from './trace-steps.ts'

export type DoorLimits = ReturnType<DoorOptions['limits']['get']>

export type Door = ReturnType<typeof createDoor>

/** Serves requests in one dialect, from any listener. */
export function createDoor(options: DoorOptions) {
  const { limits, trust, log } = options
  const { dialect, mounts = [] } = options.tracing ? withTracing(options) : options
  const connections = new DoorConnections({ limits, trust, log, door: dialect.name })
  const deps = {
    ...options,
    door: dialect.name,
    chooseDialect: createDialectChooser(dialect, mounts, { limits, trust }),
    admit: (context: RequestContext, socket: Socket) => connections.requireAdmitted(context, socket),
    isStopping: () => connections.isStopping,
  }
  const logFailure = (error: unknown) => log.error('a request could not be answered', { error })
  const identifyOptions = { dialect, limits, trust, door: dialect.name }

  return {
    dialect,
    connections,
    /** Never rejects. */
    async handle(request: IncomingMessage, response: HttpResponse): Promise<void> {
      try {
        const connection = connectionOf(request.socket)
        await connection.serveInTurn(request, () => handleRequest(request, response, connection, deps))
      } catch (error) {
        // not even an error reply could be written
        logFailure(error)
        response.destroy()
      }
    },
    logFailure,
    /** The identity that this door would give to a request to another server; `undefined` if it is anonymous. */
    identify: (request: IncomingMessage, origins: readonly string[]) => identify(request, identifyOptions, origins),
    /** Runs `work` on behalf of a request to another server, for its client and for security events. */
    runFor: <T>(request: IncomingMessage, work: (context: RequestContext) => Promise<T>): Promise<T> =>
      runForRequest(request, identifyOptions, work),
    /** To be called with an error of the listener's parser. */
    handleBroken(error: { readonly code?: string }, socket: Socket): void {
      // Bytes after a request that ends the connection. They are ignored, and the request is served.
      if (error.code === 'HPE_CLOSED_CONNECTION') return
      if (connectionOf(socket).breakOff()) return
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else {
        const reply = toErrorReply(toParserRefusal(error), dialect, log)
        writeRawReply(socket, reply, dialect, options.hsts?.get() ?? '')
      }
    },
    limits: () => limits.get(),
  }
}

const withTracing = ({ dialect, mounts = [] }: DoorOptions): Pick<DoorOptions, 'dialect' | 'mounts'> => ({
  dialect: withTracedSteps(dialect),
  mounts: mounts.map((mount) => ({ ...mount, dialect: withTracedSteps(mount.dialect) })),
})
