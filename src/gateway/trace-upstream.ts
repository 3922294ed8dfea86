import { Refusal } from '../base/errors.ts'
import type { Reply } from '../http/request-context.ts'
import { type RequestSpan, TRACE_HEADERS } from '../observe/tracing.ts'
import type { UpstreamRequest } from './upstream-request.ts'

/**
 * Forwards a traced request. The upstream gets the trace headers of Cardea's span in place of the client's, whose span is
 * an ancestor. The span ends with the response to the client.
 */
export async function sendTraced(
  request: UpstreamRequest,
  parent: RequestSpan,
  send: (request: UpstreamRequest) => Promise<Reply>,
): Promise<Reply> {
  const { context } = request
  const span = parent.startUpstream(context.method)
  const headers = [...withoutTrace(request.headers), ...span.headers]
  try {
    const reply = await send({ ...request, headers, onServer: span.setServer })
    const { status } = reply
    context.onGone(() => span.end(status >= 500 ? { status, error: String(status) } : { status }))
    return reply
  } catch (error) {
    span.end({ error: error instanceof Refusal ? error.code : 'internal' })
    throw error
  }
}

const withoutTrace = (headers: readonly string[]): readonly string[] =>
  headers.filter((_, i) => !TRACE_HEADERS.includes((headers[i - (i % 2)] ?? '').toLowerCase()))
