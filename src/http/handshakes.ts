/** Connections with TLS whose handshake is not complete. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { hasEnded } from '../base/node-internals/session-start.ts'
import type { Door } from './door.ts'
import { waitForHandshake } from './turns.ts'

/** From its first bytes on, a connection waits with its handshake until it is the turn of its client. */
export function holdHandshakes(server: Server, door: Door, timeoutMs: number): void {
  const handlers = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    // the handlers add theirs when it is their turn
    socket.on('error', () => {})
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    socket.once('close', () => clearTimeout(timer))
    const begin = () => {
      if (hasEnded(socket)) socket.destroy()
      if (socket.destroyed) return false
      for (const handler of handlers) handler.call(server, socket)
      return true
    }
    socket.once('readable', () => {
      clearTimeout(timer)
      waitForHandshake(door.connections.clientOf(socket), begin)
    })
  })
}

/** The connections whose handshake is not complete, by peer. */
export type Handshakes = Iterable<readonly [peer: string, Socket]>

export function followHandshakes(server: Server): Handshakes {
  const handshakes = new Map<string, Socket>()
  server.on('connection', (socket) => {
    const peer = peerOf(socket)
    handshakes.set(peer, socket)
    socket.once('close', () => handshakes.delete(peer))
  })
  server.on('secureConnection', (socket: TLSSocket) => handshakes.delete(peerOf(socket)))
  return handshakes
}

/** Unique among the open connections of a listener. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
