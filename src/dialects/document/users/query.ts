import { Refusal } from '../../../base/errors.ts'
import { isJsonObject, keepsNumbers, readJson } from '../../../base/json.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import { readDecodedBody, requireJson } from '../body.ts'

type Parameters = Pick<URLSearchParams, 'get' | 'has'>

const refuse = (about: string): Refusal => new Refusal('query_invalid', { about })

export function readFlag(query: Parameters, name: string, initial = false): boolean {
  const text = query.get(name)
  if (text === null) return initial
  if (text === 'true' || text === 'false') return text === 'true'
  throw refuse(`Invalid boolean parameter: ${JSON.stringify(text)}`)
}

const WHOLE = /^\d{1,15}$/

export function readWhole(query: Parameters, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (WHOLE.test(text)) return Number(text)
  throw refuse(`Invalid value for ${name}: ${JSON.stringify(text)}`)
}

/** A parameter that is spelled in JSON; `undefined` where it is not given. */
export function readJsonParameter(query: Parameters, name: string): unknown {
  const text = query.get(name)
  if (text === null) return undefined
  const reading = readJson(text)
  if (reading.kind === 'refused' || !isStorable(reading.value) || !keepsNumbers(text))
    throw refuse(`Invalid JSON in parameter ${name}`)
  return reading.value
}

/** The body as JSON in which no object names a member twice. */
export async function readJsonBody(context: RequestContext): Promise<unknown> {
  const bytes = await readDecodedBody(context)
  if (bytes === undefined) throw new Refusal('missing_body')
  const { value, isExact } = await requireJson(bytes, context)
  if (isExact) return value
  throw new Refusal('bad_request', { about: 'The body holds a number that cannot be kept exactly as it is.' })
}

export async function readObjectBody(context: RequestContext): Promise<Readonly<Record<string, unknown>>> {
  const value = await readJsonBody(context)
  if (isJsonObject(value)) return value
  throw new Refusal('bad_request', { about: 'Request body must be a JSON object' })
}

/** A form of another site can send other types with the cookies of this one, not this. */
export function requireJsonType(context: RequestContext): void {
  const [type] = (context.header('content-type') ?? '').split(';')
  if (type?.trim() !== 'application/json') {
    throw new Refusal('unsupported_media_type', { about: 'application/json' })
  }
}

/** Deeper than any key is, and less deep than the stack allows. */
const MAX_DEPTH = 100

/** Whether a value can be written out again. A list instead of recursion: depth comes from outside. */
function isStorable(value: unknown): boolean {
  const waiting: [value: unknown, depth: number][] = [[value, 0]]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [item, depth] = next
    if (depth > MAX_DEPTH) return false
    if (typeof item !== 'object' || item === null) continue
    for (const inner of Object.values(item)) waiting.push([inner, depth + 1])
  }
  return true
}
