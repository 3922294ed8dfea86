// Replies of the databases behind the doors to what modules ask them.
import { Refusal } from '../base/errors.ts'
import { isJsonObject } from '../base/json.ts'
import type { AskedDatabase } from './module.ts'

export type ServerReply = Awaited<ReturnType<AskedDatabase['askAs']>>

/** Throws unless the reply has one of these statuses. */
export function requireStatus(server: string, what: string, reply: ServerReply, ...expected: number[]): ServerReply {
  if (expected.includes(reply.status)) return reply
  throw new Refusal('upstream_failed', { detail: `${server}: ${what}: ${describeReply(reply)}` })
}

/** In words for the operator. */
export function describeReply({ status, body }: ServerReply): string {
  const reason = [findTextMember(body, 'reason'), findTextMember(body, 'errorMessage')].find(Boolean)
  return `status ${status}${reason === undefined ? '' : `, ${reason.slice(0, MAX_REASON)}`}`
}

const MAX_REASON = 200

export const findTextMember = (body: unknown, name: string): string | undefined => {
  const value = isJsonObject(body) ? body[name] : undefined
  return typeof value === 'string' ? value : undefined
}
