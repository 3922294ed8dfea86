import { codeOf, Refusal } from '../base/errors.ts'
import type { Balancer } from './connections.ts'

/** The codes of the system, of undici and of the gateway itself, for a connection that was not established. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EHOSTDOWN',
])
const CONNECT_TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_UPSTREAM_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

/** The code of an error that the gateway makes itself: its message names the option, and may be shown to clients. */
export const UPSTREAM_SILENT = 'ERR_UPSTREAM_SILENT'

/** The code only: the message of a library may quote its input. */
export const describeError = (error: Error): string => findMessage(error) ?? (codeOf(error) || error.name)

const findMessage = (error: Error): string | undefined =>
  codeOf(error) === UPSTREAM_SILENT ? error.message : undefined

/** No connection was established, so nothing was sent. */
export const isUnconnected = (error: Error): boolean =>
  UNREACHABLE.has(codeOf(error)) || CONNECT_TIMEOUTS.has(codeOf(error))

/** The request was sent, and the response took too long: also that of a request of Cardea's own, which is aborted. */
export const isTimeout = (error: Error): boolean => codeOf(error) === UPSTREAM_SILENT || error.name === 'TimeoutError'

/** The connection ended; as far as is known, nothing was done. */
export const isDisconnected = (error: Error): boolean => DISCONNECTED.has(codeOf(error))

const DISCONNECTED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** The response is not valid HTTP. */
export const isNotHttp = (error: Error): boolean => error.name === 'HTTPParserError'

/** The refusal for the client. It carries the code only: messages may contain internal addresses. */
export function toUpstreamRefusal(error: Error, balancer: Pick<Balancer, 'createRefusal'>): Refusal {
  if (error instanceof Refusal) return error
  if (UNREACHABLE.has(codeOf(error))) return balancer.createRefusal()
  const code = isUnconnected(error) || isTimeout(error) ? 'upstream_timeout' : 'upstream_failed'
  const reason = findMessage(error)
  return new Refusal(code, { ...(reason && { reason }), detail: describeError(error), cause: error })
}
