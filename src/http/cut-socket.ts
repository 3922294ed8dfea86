import type { Socket } from 'node:net'

/** Ends a connection at once, with a reset where its kind knows one: what is not sent yet never will be. */
export function cutSocket(socket: Socket): void {
  // TLS tells a cut from an end by itself, and a Unix socket has no reset; Node would throw at both
  if (socket.remoteAddress === undefined || 'encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}
