/**
 * A new session of HTTP/2 reads what waits in its socket at once: 64 KiB of requests that are reset take 20 ms, or 50 ms
 * in a server that has just started (test/long/attacks/http2.ts). And Node does not notice that the session has ended
 * meanwhile: that exception would end the process, and a client can cause it (a flood of CONTINUATION frames). So the
 * session gets these bytes here, one piece at a time, and none after its end.
 */
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { findSymbol, isInternalUsable } from './probes.ts'

/** About thirty requests. A piece that takes less than a millisecond is followed by one of twice the size. */
const FIRST_PIECE_BYTES = 2048

/** What the types of Node leave out: the session reads from the handle of its socket without JavaScript. */
type WithHandle = Socket & { readonly _handle: { readStart(): void; readStop(): void } }

/**
 * Whether the client has ended a connection that is not read: Node emits 'end' only after all is read. A session for it
 * would be in vain, and clients that reconnect 2000 times in a second leave hundreds of such connections.
 */
export const hasEnded = (socket: Socket): boolean =>
  isInternalUsable('ended-connections') && Reflect.get(socket, '_readableState').ended

/**
 * To be called with a new session, and only if 'session-start' is usable. `waitForTurn` is called before each further piece. Returns a function that returns
 * how many bytes the session has not got.
 */
export function readInPieces(
  session: ServerHttp2Session,
  socket: Socket,
  waitForTurn: (readPiece: () => void) => void,
): () => number {
  const chunks: Buffer[] = []
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk)
  if (chunks.length === 0) return () => 0
  let waiting = Buffer.concat(chunks)
  const { _handle: source } = socket as WithHandle
  const key = findSymbol(session, 'kHandle')
  const target: { receive(bytes: Buffer): void } = Reflect.get(session, key as symbol)
  source.readStop()
  let bytes = FIRST_PIECE_BYTES
  const readPiece = () => {
    if (session.destroyed) return
    const startMs = performance.now()
    target.receive(waiting.subarray(0, bytes))
    waiting = waiting.subarray(bytes)
    if (performance.now() - startMs < 1) bytes *= 2
    if (waiting.length > 0) waitForTurn(readPiece)
    else if (!session.destroyed) source.readStart()
  }
  // in the next tick, as Node does: until then listeners are added
  process.nextTick(readPiece)
  return () => waiting.length
}

/** Destroys the socket of the session when `wait` calls the function that it gets. Node has no event before that. */
export function destroyInTurn(socket: Socket, wait: (destroy: () => void) => void): void {
  if (!isInternalUsable('ends-in-turn')) return
  const destroy = socket._destroy.bind(socket)
  socket._destroy = (error, done) => wait(() => destroy(error, done))
}
