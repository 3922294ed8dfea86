import { Refusal } from '../../base/errors.ts'
import { readJsonBody as readJson } from '../../base/json-body.ts'
import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'

const JSON_HEADERS: readonly HeaderPair[] = [['Content-Type', 'application/json']]

export const toJsonReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [...JSON_HEADERS, ...headers],
  body: `${JSON.stringify(value)}\n`,
})

const JSON_TYPE = /^application\/json(?:;|$)/i

/** The body as JSON; `undefined` where there is none. */
export async function readJsonBody(context: RequestContext, maxBytes?: number): Promise<unknown> {
  const bytes = await context.readBody(maxBytes)
  if (bytes === undefined || bytes.length === 0) return undefined
  // A form of a foreign page cannot send this type without asking first.
  if (!JSON_TYPE.test(context.header('content-type') ?? '')) {
    throw new Refusal('unsupported_media_type', { about: 'application/json' })
  }
  const reading = await readJson(bytes, context.jsonLimits)
  if (reading.kind === 'json') return reading.value
  throw new Refusal(reading.reason === 'too_many_items' ? 'body_too_large' : 'invalid_json')
}
