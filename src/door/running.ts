import type { Socket } from 'node:net'
import type { Incoming } from './incoming.ts'
import { createSocketNote } from './socket-note.ts'

/** What is under way on one connection. */
export interface Connection {
  /** Several, where a client pipelines. */
  readonly exchanges: Incoming[]
  /** What follows is not HTTP. */
  isBroken: boolean
  /** The reply under way is the last. */
  isEnding: boolean
}

/** The exchanges under way on each connection. */
export type Running = ReturnType<typeof createRunning>

export function createRunning() {
  const connections = createSocketNote<Connection>()
  return {
    add(socket: Socket, exchange: Incoming): Connection {
      let connection = connections.get(socket)
      if (connection === undefined) {
        connection = { exchanges: [], isBroken: false, isEnding: false }
        connections.set(socket, connection)
      }
      connection.exchanges.push(exchange)
      return connection
    },
    remove(socket: Socket, { exchanges, isBroken }: Connection, exchange: Incoming): void {
      const place = exchanges.indexOf(exchange)
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
      for (const exchange of connection.exchanges) exchange.breakOff()
      return true
    },
  }
}
