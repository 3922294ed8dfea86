/**
 * A new session of HTTP/2 reads what waits in its socket one tick later, piece by piece, and Node does not notice that
 * the session has ended meanwhile: that exception would end the process, and a client can cause it (a flood of
 * CONTINUATION frames). From now on an ended session reads nothing.
 */
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'

export function stopReadingAtEnd(session: ServerHttp2Session, socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size?: number) => (session.destroyed ? null : read(size))
}
