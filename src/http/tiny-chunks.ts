import type { IncomingMessage } from 'node:http'

/**
 * Cuts the connection of a client that sends its body in thousands of chunks of a byte or two. Node calls back for each
 * chunk, so that 600 KB of them took 300 ms of everybody's time (scripts/attacks/bodies.mjs --ways tiny). No client
 * frames a body like that; one that sends single bytes slowly has few.
 */
export function limitTinyChunks(request: IncomingMessage): void {
  const push = request.push
  let pieces = 0
  let bytes = 0
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    pieces += 1
    bytes += chunk?.length ?? 0
    if (pieces <= maxPiecesOf(bytes)) return push.call(request, chunk, encoding)
    if (!request.socket.destroyed) request.socket.destroy()
    return false
  }
}

const maxPiecesOf = (bytes: number): number => 1000 + bytes / 3
