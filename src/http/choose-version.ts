/** Decides for each new connection whether its client speaks HTTP/2. */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** A client that knows that the server speaks HTTP/2 begins with this. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Serves a connection by its version. */
export interface Versions {
  http1(socket: Socket): void
  http2(socket: Socket): void
  /** The first bytes did not arrive in time. */
  timeOut(socket: Socket): void
}

/** With TLS the client chooses in the handshake, without it by its first bytes. */
export function chooseVersion(socket: Socket | TLSSocket, versions: Versions, timeoutMs: number): void {
  if (!('alpnProtocol' in socket)) waitForBytes(socket, versions, timeoutMs)
  else if (socket.alpnProtocol !== 'h2') versions.http1(socket)
  else waitForBytes(socket, { ...versions, http1: versions.http2, timeOut: close }, timeoutMs)
}

const close = (socket: Socket): void => void socket.destroy()

/** The first bytes of HTTP/2 are waited for in any case: before its session reads them, they can be given in pieces. */
function waitForBytes(socket: Socket, { http1, http2, timeOut }: Versions, timeoutMs: number): void {
  let bytes: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => finish(timeOut), timeoutMs)
  const finish = (serve: (socket: Socket) => void): void => {
    clearTimeout(timer)
    socket.off('data', take).off('end', end).off('close', stop).pause()
    if (bytes.length > 0) socket.unshift(bytes)
    serve(socket)
    // HTTP/2 reads what waits by itself
    if (socket.listenerCount('data') > 0) socket.resume()
  }
  const take = (chunk: Buffer): void => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    const length = Math.min(bytes.length, PREFACE.length)
    if (!bytes.subarray(0, length).equals(PREFACE.subarray(0, length))) finish(http1)
    else if (length === PREFACE.length) finish(http2)
  }
  // without a request there is nothing to reply to
  const end = (): void => finish(close)
  const stop = (): void => clearTimeout(timer)
  const ignore = (): void => {}
  socket.on('data', take).once('end', end).once('close', stop).on('error', ignore)
}
