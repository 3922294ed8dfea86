import { readUtf8 } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { isJsonObject, keepsNumbers, readJson } from '../../base/json.ts'
import type { Exchange } from '../../door/exchange.ts'

export type Members = Readonly<Record<string, unknown>>

export type BodyReading =
  /** `isExact`: every number in it can be kept as it is. */
  | { readonly kind: 'object'; readonly members: Members; readonly isExact: boolean }
  /** There is no body, or an empty one. */
  | { readonly kind: 'none' }
  | { readonly kind: 'not json'; readonly reason: string }
  | { readonly kind: 'not an object' }

/** The body as an object that names no member twice. Whoever reads it decides what else means. */
export async function readBody(exchange: Exchange): Promise<BodyReading> {
  requireReadable(exchange)
  const bytes = await exchange.readBody()
  if (bytes === undefined || bytes.length === 0) return { kind: 'none' }
  const text = readUtf8(bytes)
  if (text === undefined) return { kind: 'not json', reason: 'the body is not UTF-8' }
  const reading = readJson(text, { noDuplicates: true })
  if (reading.kind === 'refused') return { kind: 'not json', reason: REASONS[reading.reason] }
  if (isDeep(reading.value)) return { kind: 'not json', reason: `the body is nested deeper than ${MOST_DEPTH}` }
  if (!isJsonObject(reading.value)) return { kind: 'not an object' }
  return { kind: 'object', members: reading.value, isExact: keepsNumbers(text) }
}

const MOST_DEPTH = 100

/** Whoever writes it out again works member by member, each inside the other: there must be an end. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_DEPTH) return true
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return false
}

const REASONS = {
  not_json: 'the body is not JSON',
  duplicate_name: 'the body names a member twice',
}

/** The members of the body, where nothing but an object will do. */
export async function readMembers(exchange: Exchange): Promise<Members> {
  const body = await readBody(exchange)
  if (body.kind === 'object' && body.isExact) return body.members
  throw new Refusal('bad_request', { about: explain(body) })
}

function explain(body: BodyReading): string {
  if (body.kind === 'object') return 'the body holds a number that cannot be kept exactly as it is'
  return body.kind === 'not json' ? body.reason : 'the body must be a JSON object'
}

const VELOCYPACK = 'application/x-velocypack'

/**
 * A body is read as JSON whatever its content type, as the real server does: `curl -d` and `fetch` with a string send
 * other types. Forms of other sites are refused by where they come from, before the body is read.
 */
function requireReadable(exchange: Exchange): void {
  const encoding = (exchange.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (encoding !== 'identity') throw new Refusal('unsupported_encoding', { about: encoding })
  const [type = ''] = (exchange.header('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== VELOCYPACK) return
  throw new Refusal('unsupported_media_type', { about: 'application/json' })
}
