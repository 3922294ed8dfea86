import { Refusal } from '../base/errors.ts'
import type { UpstreamBalancer } from './connections.ts'

type Kind = 'unreachable' | 'connect-timeout' | 'timeout' | 'broken'

/** Kinds of failure by the error codes of the system, of undici and of the gateway itself. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['ECONNREFUSED', 'unreachable'],
  ['ENOTFOUND', 'unreachable'],
  ['EAI_AGAIN', 'unreachable'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['EADDRNOTAVAIL', 'unreachable'],
  ['EHOSTDOWN', 'unreachable'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ERR_UPSTREAM_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ETIMEDOUT', 'connect-timeout'],
  ['ERR_UPSTREAM_SILENT', 'timeout'],
])

export const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '')

/** The code only: the message of a library may quote its input. */
export const describeError = (error: Error): string => codeOf(error) || error.name

const kindOf = (error: Error): Kind => KINDS.get(codeOf(error)) ?? 'broken'

/** No connection was established, so nothing was sent. */
export function isUnconnected(error: Error): boolean {
  const kind = kindOf(error)
  return kind === 'unreachable' || kind === 'connect-timeout'
}

/** The request was sent, and the response took too long. */
export const isTimeout = (error: Error): boolean => kindOf(error) === 'timeout'

/** The connection ended; as far as is known, nothing was done. */
export const isDisconnected = (error: Error): boolean => DISCONNECTED.has(codeOf(error))

const DISCONNECTED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** The response is not valid HTTP. */
export const isNotHttp = (error: Error): boolean => error.name === 'HTTPParserError'

/** The refusal for the client. It carries the code only: messages may contain internal addresses. */
export function toUpstreamRefusal(error: Error, balancer: Pick<UpstreamBalancer, 'createRefusal'>): Refusal {
  if (error instanceof Refusal) return error
  const kind = kindOf(error)
  if (kind === 'unreachable') return balancer.createRefusal()
  const code = kind === 'broken' ? 'upstream_failed' : 'upstream_timeout'
  return new Refusal(code, { detail: describeError(error), cause: error })
}
