import type { Socket } from 'node:net'
import type { Incoming } from './incoming-request.ts'
import { createSocketNote } from './per-socket.ts'

/** What is under way on one connection. */
export interface Connection {
  /** The requests that were begun and whose reply is not out. */
  readonly exchanges: Incoming[]
  /** Pipelined requests that wait until the reply before theirs is out. */
  readonly waiting: (() => void)[]
  /** A request has its turn. */
  isTaken: boolean
  /** What follows is not HTTP. */
  isBroken: boolean
  /** The reply under way is the last. */
  isEnding: boolean
}

/** The exchanges under way on each connection. */
export type Running = ReturnType<typeof createRunning>

/** With so many pipelined requests waiting, nothing more is read from the connection. */
const MAX_WAITING = 32

const DONE = Promise.resolve()

/** Shared by all doors: a library user may send the requests of one connection to different ones. */
const connections = createSocketNote<Connection>()

export function createRunning() {
  return {
    /**
     * Serves the requests of a connection one after the other. Only the reply before tells whether the connection
     * goes on: a request behind a reply that announces its end must not be executed.
     */
    inTurn(socket: Socket, serve: () => Promise<void>): Promise<void> {
      const connection = connectionOf(socket)
      const { waiting } = connection
      if (!connection.isTaken) return takeTurn(socket, connection, serve)
      return new Promise((resolve) => {
        waiting.push(() => resolve(takeTurn(socket, connection, serve)))
        if (waiting.length === MAX_WAITING) socket.pause()
      })
    },
    /** The reply is out, or the client is gone. */
    endTurn(socket: Socket, connection: Connection): void {
      const { waiting } = connection
      connection.isTaken = false
      const hadMany = waiting.length >= MAX_WAITING
      while (!connection.isTaken && waiting.length > 0) waiting.shift()?.()
      if (hadMany && waiting.length < MAX_WAITING) socket.resume()
    },
    add(socket: Socket, context: Incoming): Connection {
      const connection = connectionOf(socket)
      connection.exchanges.push(context)
      return connection
    },
    remove(socket: Socket, { exchanges, isBroken }: Connection, context: Incoming): void {
      const place = exchanges.indexOf(context)
      if (place >= 0) exchanges.splice(place, 1)
      if (isBroken && exchanges.length === 0) socket.end()
    },
    isIdle(socket: Socket): boolean {
      const connection = connections.get(socket)
      return connection === undefined || (connection.exchanges.length === 0 && !connection.isEnding)
    },
    /** What follows is not HTTP. Whoever is still under way is told and answers; `false` where nobody does. */
    breakOff(socket: Socket): boolean {
      const connection = connections.get(socket)
      if (connection?.isEnding) return true // answered already; the connection is about to end
      if (connection === undefined || connection.exchanges.length === 0) return false
      connection.isBroken = true
      for (const context of connection.exchanges) context.breakOff()
      return true
    },
  }
}

function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket)
  if (known) return known
  const made = { exchanges: [], waiting: [], isTaken: false, isBroken: false, isEnding: false }
  connections.set(socket, made)
  return made
}

function takeTurn(socket: Socket, connection: Connection, serve: () => Promise<void>): Promise<void> {
  if (connection.isEnding || connection.isBroken || socket.destroyed) return DONE
  connection.isTaken = true
  return serve()
}
