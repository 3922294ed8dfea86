import type { Log } from '../base/log.ts'
import { toSafeText } from '../observe/security-record.ts'
import { describeOrigin } from './describe-origin.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { HttpResponse } from './request-context.ts'

export type AccessLog = ReturnType<typeof createAccessLog>

/** One log line per request, written when the response is complete or its client has disconnected. */
export const createAccessLog = (log: Log, isOn: () => boolean) => ({
  isOn,
  /** `bytes` were sent, the head included. */
  write(context: IncomingRequest, response: HttpResponse, bytes: number): void {
    const { actor: user, ...origin } = describeOrigin(context)
    log.info('request', {
      method: toSafeText(context.method),
      // without the query, which may hold a token
      path: toSafeText(context.target.split('?', 1)[0] ?? ''),
      status: response.statusCode,
      bytes,
      milliseconds: Math.round((performance.now() - context.startedAtMs) * 10) / 10,
      user,
      ...origin,
      ...(!response.writableFinished && { isAborted: true }),
    })
  },
})
