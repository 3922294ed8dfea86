import type { Socket } from 'node:net'
import type { Incoming } from './incoming.ts'

/** The exchanges under way on each connection (several, where a client pipelines). */
export function createRunning() {
  const sockets = new WeakMap<Socket, Set<Incoming>>()
  const broken = new WeakSet<Socket>()
  const ending = new WeakSet<Socket>()
  return {
    add(socket: Socket, exchange: Incoming) {
      const exchanges = sockets.get(socket)
      if (exchanges) exchanges.add(exchange)
      else sockets.set(socket, new Set([exchange]))
    },
    remove(socket: Socket, exchange: Incoming) {
      const exchanges = sockets.get(socket)
      exchanges?.delete(exchange)
      if (exchanges?.size === 0 && broken.has(socket)) socket.end()
    },
    /** The reply under way is the last of this connection. */
    end: (socket: Socket) => void ending.add(socket),
    isBroken: (socket: Socket) => broken.has(socket),
    isIdle: (socket: Socket) => !sockets.get(socket)?.size && !ending.has(socket),
    /** What follows is not HTTP. Whoever is still under way is told and answers; `false` where nobody does. */
    breakOff(socket: Socket): boolean {
      const exchanges = sockets.get(socket)
      if (ending.has(socket)) return true // answered already; the connection is about to end
      if (!exchanges || exchanges.size === 0) return false
      broken.add(socket)
      for (const exchange of exchanges) exchange.breakOff()
      return true
    },
  }
}
