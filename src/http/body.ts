import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../base/errors.ts'

export interface BodyLimits {
  readonly maxBodyBytes: number
  /** Members and elements of a JSON body, all of them together. */
  readonly maxJsonItems: number
  /** The same of a body that is passed on piece by piece; left out: any. */
  readonly maxPassedBytes?: number
  /** Longest silence between two pieces. */
  readonly bodyTimeoutMs: number
  /** Longest time for the whole. */
  readonly bodyDeadlineMs: number
  /** Hears of each piece before it is kept, and throws a Refusal where there is no room for it. */
  readonly take?: (bytes: number) => void
}

export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0

/** Chunks of a few bytes cost far more time than their bytes. Clients send larger ones, or few. */
const maxPiecesOf = (bytes: number): number => 1000 + bytes / 64

/**
 * Reads a whole body within its limits. `Expect: 100-continue` is honoured here: only a body that is wanted is asked
 * for. `broken` is aborted when the parser finds that what follows is not HTTP.
 */
export function readWholeBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  broken: AbortSignal,
): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > limits.maxBodyBytes) return Promise.reject(new Refusal('body_too_large'))
  if (broken.aborted) return Promise.reject(new Refusal('malformed_request'))
  if (request.headers.expect !== undefined) response.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const late = () => settle(new Refusal('request_timeout'))
    const deadline = setTimeout(late, limits.bodyDeadlineMs)
    const silence = setTimeout(late, limits.bodyTimeoutMs)
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > limits.maxBodyBytes) return settle(new Refusal('body_too_large'))
      if (chunks.length > maxPiecesOf(bytes)) return settle(new Refusal('malformed_request', { detail: 'tiny chunks' }))
      try {
        limits.take?.(chunk.length)
      } catch (error) {
        return settle(error)
      }
      chunks.push(chunk)
      silence.refresh()
    }
    const onEnd = () => settle(undefined)
    const onBroken = () => settle(new Refusal('malformed_request', { detail: 'the body ended early' }))
    const settle = (problem: unknown) => {
      clearTimeout(deadline)
      clearTimeout(silence)
      request.off('data', onData).off('end', onEnd).off('close', onBroken)
      broken.removeEventListener('abort', onBroken)
      request.pause()
      if (problem) reject(problem)
      else resolve(Buffer.concat(chunks, bytes))
    }
    request.on('data', onData).on('end', onEnd).on('close', onBroken)
    broken.addEventListener('abort', onBroken)
  })
}
