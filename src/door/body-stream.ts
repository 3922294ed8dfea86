import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { Refusal } from '../base/errors.ts'

export interface StreamLimits {
  /** Longest silence between two pieces. */
  readonly silenceMs: number
  readonly maxBytes: number
}

/**
 * A body piece by piece, for whoever passes it on. The request itself is not given away: who destroys a stream would
 * destroy the connection with it, and the answer could not be sent. `Expect: 100-continue` is honoured when the first
 * piece is wanted. Only the client's silence counts: while the reader takes its time the clock stands still.
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
  const isWaiting = request.headers.expect !== undefined
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
    // who sends unasked does not wait for it
    if (isWaiting && request.readableLength === 0 && !request.complete) response.writeContinue()
    request.on('data', onData).on('end', onEnd).on('close', onBroken)
    if (!isWaiting) broken.addEventListener('abort', onBroken)
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
  // this one may wait long for its first piece to be wanted, and nobody may listen when it breaks
  if (isWaiting) {
    body.on('error', ignore)
    broken.addEventListener('abort', onBroken)
  }
  return body
}

const ignore = () => {}
