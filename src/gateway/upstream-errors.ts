import { Refusal } from '../base/errors.ts'

type Kind = 'refused' | 'connect-timeout' | 'timeout' | 'broken'

/** What went wrong, by the codes of undici and of the system. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['ECONNREFUSED', 'refused'],
  ['ENOTFOUND', 'refused'],
  ['EAI_AGAIN', 'refused'],
  ['EHOSTUNREACH', 'refused'],
  ['ENETUNREACH', 'refused'],
  ['EADDRNOTAVAIL', 'refused'],
  ['EHOSTDOWN', 'refused'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ERR_UPSTREAM_CONNECT_TIMEOUT', 'connect-timeout'],
  ['ETIMEDOUT', 'connect-timeout'],
  ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['ERR_UPSTREAM_SILENT', 'timeout'],
])

/** The connection did not stand in time. */
export const createConnectTimeout = (): Error =>
  Object.assign(new Error('the upstream took too long to connect to'), { code: 'ERR_UPSTREAM_CONNECT_TIMEOUT' })

/** It takes nothing, or says nothing, for too long. */
export const createSilence = (): Error =>
  Object.assign(new Error('the upstream took too long'), { code: 'ERR_UPSTREAM_SILENT' })

export const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '')

const kindOf = (error: Error): Kind => KINDS.get(codeOf(error)) ?? 'broken'

/** Nothing was sent: no connection came about. */
export const isUnconnected = (error: Error): boolean => {
  const kind = kindOf(error)
  return kind === 'refused' || kind === 'connect-timeout'
}

/** It was asked, and took too long. */
export const isUnanswered = (error: Error): boolean => kindOf(error) === 'timeout'

/** The connection ended; as far as it tells, nothing was done. */
export const isDisconnected = (error: Error): boolean => DISCONNECTED.has(codeOf(error))

const DISCONNECTED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** What the client is told of it. The code alone: messages may hold addresses nobody outside should know. */
export function toUpstreamRefusal(error: Error, unavailable: () => Refusal): Refusal {
  if (error instanceof Refusal) return error
  const kind = kindOf(error)
  if (kind === 'refused') return unavailable()
  const code = kind === 'broken' ? 'upstream_failed' : 'upstream_timeout'
  return new Refusal(code, { detail: codeOf(error) || error.name, cause: error })
}
