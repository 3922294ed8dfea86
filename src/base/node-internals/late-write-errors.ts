import type { Socket } from 'node:net'
import { codeOf } from '../errors.ts'
import { isInternalUsable } from './probes.ts'

type Done = (error?: Error | null) => void

const RESET_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/**
 * Reports a failed write only after everything that the server sent has been read. A server may respond to the head of
 * an upload and close the connection without reading the body, as CouchDB does. Then a write fails while the response
 * is still in the receive buffer, and Node would destroy the socket with the response unread
 * (test/scenario/gateway/early-responses.test.ts). Node has no option for this, so `_write` is wrapped.
 */
export function reportWriteErrorsLate(socket: Socket): void {
  if (!isInternalUsable('late-write-errors')) return
  const delay =
    (done: Done): Done =>
    (error) => {
      if (!RESET_CODES.has(codeOf(error)) || socket.readableEnded || socket.destroyed) return done(error)
      const report = () => {
        socket.off('end', report).off('close', report)
        done(error)
      }
      // before the listeners of the HTTP client: a reset is not the regular end of a response
      socket.prependListener('end', report).prependListener('close', report)
    }
  const { _write: write, _writev: writeMany } = socket
  socket._write = (chunk, encoding, done) => write.call(socket, chunk, encoding, delay(done))
  if (writeMany) socket._writev = (chunks, done) => writeMany.call(socket, chunks, delay(done))
}
