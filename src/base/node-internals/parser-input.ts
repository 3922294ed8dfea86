/** Takes the place of Node between a connection and its HTTP parser. */
import type { Socket } from 'node:net'
import { findSymbol, isInternalUsable } from './probes.ts'

/** Fields of Node that its types leave out. Each may be missing. */
interface NodeSocket {
  readonly parser?: object | null
  readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null
}

/** A parser that its connection has lost may serve another one. */
export const hasParser = (socket: Socket): boolean =>
  !socket.destroyed && ((socket as NodeSocket).parser ?? null) !== null

/**
 * Passes what is read from a connection to `take`, and returns the function that gives bytes to the parser. To be called
 * when Node has connected the two, and only if 'parser-input' is usable. The bytes are valid only during the call of
 * `take`.
 */
export function divert(socket: Socket, take: (bytes: Buffer) => void): (bytes: Buffer) => void {
  const [parse] = socket.listeners('data')
  if (parse === undefined) throw new TypeError('not a connection of an HTTP server')
  socket.off('data', parse as (bytes: Buffer) => void)
  // With a listener of its own, Node no longer lets the parser read from the connection.
  socket.on('data', take)
  readIntoSharedBuffer(socket, take)
  return parse as (bytes: Buffer) => void
}

const shared = Buffer.allocUnsafeSlow(65_536)

/** Views of its first bytes by their number: to create one takes 2 % of a request (`npm run bench -- session`). */
const views: Buffer[] = []
const MAX_KEPT_VIEW = 4096

function viewFirst(length: number): Buffer {
  const view = views[length] ?? shared.subarray(0, length)
  if (length <= MAX_KEPT_VIEW) views[length] = view
  return view
}

/**
 * Reads into one buffer for all connections: Node has this as the option `onread` of connections that a client opens,
 * and for those of a server it allocates 64 KiB for each read. A bare server of `node:http` then takes 5 µs more for a
 * request than one whose parser reads from the connection, with this buffer 2 µs (of 20, on a busy machine;
 * `npm run bench -- gateway-cpu`). Without these fields the listener for 'data' gets the bytes.
 */
function readIntoSharedBuffer(socket: Socket, take: (bytes: Buffer) => void): void {
  if (!isInternalUsable('shared-buffer')) return
  const { _handle: handle } = socket as NodeSocket
  const [buffer, callback] = [findSymbol(socket, 'kBuffer'), findSymbol(socket, 'kBufferCb')]
  if (!handle?.useUserBuffer || !buffer || !callback) return
  Object.assign(socket, {
    [buffer]: shared,
    [callback]: (length: number) => take(viewFirst(length)),
  })
  handle.useUserBuffer(shared)
}
