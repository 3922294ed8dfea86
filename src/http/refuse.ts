import { type ErrorCode, Refusal } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Dialect, Reply, RequestContext } from './request-context.ts'

/** An error as a reply: the only place where one becomes the other. What is not known to be safe is shown as internal. */
export function refuse(error: unknown, dialect: Dialect, context: RequestContext | undefined, log: Log): Reply {
  const refusal = toRefusal(error)
  if (refusal.code === 'internal') log.error('request failed', { request: context?.id, error: refusal.cause })
  else if (refusal.detail !== undefined)
    log.debug('request refused', { request: context?.id, code: refusal.code, detail: refusal.detail })
  const reply = dialect.spell(refusal, context)
  if (refusal.retryAfterSeconds === undefined) return reply
  return { ...reply, headers: [...reply.headers, ['Retry-After', String(refusal.retryAfterSeconds)]] }
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  // nobody is there to read the answer, and nothing is wrong here
  if (error instanceof Error && error.name === 'AbortError') return new Refusal('client_gone')
  return new Refusal('internal', { cause: error })
}

const PARSER_CODES = new Map<string, ErrorCode>([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'body_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
])

/** What Node's parser reports, as a refusal. */
export const toParserRefusal = (error: { readonly code?: string }): Refusal =>
  new Refusal(PARSER_CODES.get(error.code ?? '') ?? 'malformed_request', { detail: error.code ?? 'unknown' })
