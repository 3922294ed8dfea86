import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { Refusal } from '../base/errors.ts'

export interface StreamLimits {
  /** Longest silence between two pieces. */
  readonly silenceMs: number
  readonly maxBytes: number
}

/**
 * A body piece by piece, for the code that forwards it. The request itself is not given away: destroying it would
 * destroy the connection, and the reply could not be sent. A client that expects `100 Continue` gets it when the first
 * piece is wanted: the request is authorised then, and the upstream connected. Only the client's silence counts as
 * silence: while the reader takes its time, the timer is stopped.
 */
export function openBodyStream(
  request: IncomingMessage,
  response: ServerResponse,
  { silenceMs, maxBytes }: StreamLimits,
  broken: AbortSignal,
): Readable {
  let timer: NodeJS.Timeout | undefined
  let isOpen = false
  let left = maxBytes
  const onData = (chunk: Buffer) => {
    timer?.refresh()
    left -= chunk.length
    if (left < 0) return void body.destroy(new Refusal('body_too_large'))
    if (body.push(chunk)) return
    request.pause()
    clearTimeout(timer)
    timer = undefined
  }
  const onEnd = () => body.push(null)
  const onBroken = () => void body.destroy(new Refusal('malformed_request', { detail: 'the body ended early' }))
  const open = () => {
    isOpen = true
    if (broken.aborted) return onBroken()
    // a client that sends its body unasked does not wait for it
    const isWaiting = request.headers.expect !== undefined && request.readableLength === 0 && !request.complete
    if (isWaiting) response.writeContinue()
    request.on('data', onData).on('end', onEnd).on('close', onBroken)
    broken.addEventListener('abort', onBroken)
  }
  const body = new Readable({
    read() {
      if (!isOpen) open()
      // broken off before it was opened: nobody would stop the clock
      if (body.destroyed) return
      timer ??= setTimeout(() => body.destroy(new Refusal('request_timeout')), silenceMs)
      request.resume()
    },
    destroy(error, done) {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onBroken)
      broken.removeEventListener('abort', onBroken)
      if (isOpen && !request.complete) request.pause()
      done(error)
    },
  })
  return body
}
