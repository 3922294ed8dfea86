import { badRequest, Refusal } from '../../base/errors.ts'
import { isJsonObject, type Members } from '../../base/json.ts'
import { type JsonFlaw, readJsonBody } from '../../base/json-body.ts'
import { readVelocyPack, type VelocyPackFlaw } from '../../base/read-velocypack.ts'
import type { RequestBody, RequestHead } from '../../http/request-context.ts'
import { namesVelocyPack } from './reply.ts'

export type BodyReading =
  /** `isExact`: every number in it can be stored without a loss. */
  | { readonly kind: 'object'; readonly members: Members; readonly isExact: boolean }
  /** No body, or an empty one. */
  | { readonly kind: 'none' }
  | { readonly kind: 'not json'; readonly reason: string }
  | { readonly kind: 'not an object' }

/** Reads the body as an object without duplicate members. The caller decides what any other body means. */
export async function readBody(context: RequestHead & RequestBody, maxBytes?: number): Promise<BodyReading> {
  requirePlain(context)
  const bytes = await context.readBody(maxBytes)
  if (bytes === undefined || bytes.length === 0) return { kind: 'none' }
  const reading = isVelocyPack(context)
    ? readVelocyPack(bytes, context.jsonLimits)
    : await readJsonBody(bytes, context.jsonLimits)
  if (reading.kind === 'json') {
    const { value, isExact } = reading
    return isJsonObject(value) ? { kind: 'object', members: value, isExact } : { kind: 'not an object' }
  }
  if (reading.reason === 'too_many_items') throw new Refusal('body_too_large')
  return { kind: 'not json', reason: REASONS[reading.reason] }
}

const REASONS: Readonly<Record<Exclude<JsonFlaw | VelocyPackFlaw, 'too_many_items'>, string>> = {
  not_utf8: 'the body is not UTF-8',
  not_json: 'the body is not JSON',
  not_velocypack: 'the body is not VelocyPack, or has a type that JSON does not have',
  duplicate_name: 'the body names a member twice',
  too_deep: 'the body is nested too deep',
}

/** The members of a body that must be an object. */
export async function readMembers(context: RequestHead & RequestBody): Promise<Members> {
  const body = await readBody(context)
  if (body.kind === 'object' && body.isExact) return body.members
  throw badRequest(explain(body))
}

function explain(body: BodyReading): string {
  if (body.kind === 'object') return 'the body contains a number that cannot be stored exactly'
  return body.kind === 'not json' ? body.reason : 'the body must be a JSON object'
}

function requirePlain(context: RequestHead): void {
  const encoding = (context.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (encoding !== 'identity') throw new Refusal('unsupported_encoding', { value: encoding })
}

/**
 * Any other body is read as JSON whatever its content type, as the real server does: `curl -d` and `fetch` with a string
 * send other types. A form of another site is rejected by its origin, before the body is read.
 */
export const isVelocyPack = (context: RequestHead): boolean => namesVelocyPack(context.header('content-type'))
