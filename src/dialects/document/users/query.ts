/** Reads query parameters. */
import { badRequest, Refusal } from '../../../base/errors.ts'
import { keepsNumbers, readJson } from '../../../base/json.ts'

type Parameters = Pick<URLSearchParams, 'get' | 'has'>

export const invalidQuery = (reason: string): Refusal => new Refusal('query_invalid', { reason })

export function readFlag(query: Parameters, name: string, initial = false): boolean {
  const text = query.get(name)
  if (text === null) return initial
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalidQuery(`Invalid boolean parameter: ${renderText(text)}`)
}

/** As Erlang prints it. */
const renderText = (text: string): string => (text === '' ? '[]' : JSON.stringify(text))

const WHOLE = /^\d{1,15}$/

export function readWhole(query: Parameters, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (WHOLE.test(text)) return Number(text)
  throw invalidQuery(`Invalid value for ${/^-\d+$/.test(text) ? 'positive integer' : 'integer'}: ${renderText(text)}`)
}

/** A parameter whose value is JSON. */
export function readJsonParameter(query: Parameters, name: string): unknown {
  const text = query.get(name)
  if (text === null) return undefined
  const reading = readJson(text)
  if (reading.kind === 'refused' || !isShallow(reading.value) || !keepsNumbers(text))
    throw badRequest('invalid UTF-8 JSON')
  return reading.value
}

/** More than any key needs, and less than would overflow the stack when the value is written again. */
const MAX_DEPTH = 100

/** Uses a list instead of recursion, because the client chooses the depth. */
function isShallow(value: unknown): boolean {
  const waiting: [value: unknown, depth: number][] = [[value, 0]]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [item, depth] = next
    if (depth > MAX_DEPTH) return false
    if (typeof item !== 'object' || item === null) continue
    for (const inner of Object.values(item)) waiting.push([inner, depth + 1])
  }
  return true
}
