import type { Pace } from './pace.ts'

export interface JsonLimits {
  /** How deep objects and arrays are nested. */
  readonly maxDepth: number
  /** Members of objects and elements of arrays, all of them together. */
  readonly maxItems: number
}

export type JsonShape =
  /** `closings`: for each container of more than `pieceLength` characters, its closing bracket by its opening one. */
  | { readonly kind: 'accepted'; readonly closings: ReadonlyMap<number, number> }
  | { readonly kind: 'refused'; readonly reason: 'not_json' | 'too_deep' | 'too_many_items' }

const NOT_JSON: JsonShape = Object.freeze({ kind: 'refused', reason: 'not_json' })
const TOO_DEEP: JsonShape = Object.freeze({ kind: 'refused', reason: 'too_deep' })
const TOO_MANY_ITEMS: JsonShape = Object.freeze({ kind: 'refused', reason: 'too_many_items' })

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const [OPENS_ARRAY, CLOSES_ARRAY, OPENS_OBJECT, CLOSES_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** The code of a closing bracket is that of the opening one plus two, for `[]` and `{}` alike. */
const CLOSING_DISTANCE = 2

/** The time is checked once in this many characters. */
const STRIDE = 65_536

/**
 * Measures JSON text before it is parsed, because parsing deep or wide text takes far more time and memory than scanning
 * it. The scan requires only that brackets and quotes match; the parser checks the rest.
 */
export async function measureJson(
  text: string,
  limits: JsonLimits,
  { pieceLength, pace }: { readonly pieceLength: number; readonly pace: Pace },
): Promise<JsonShape> {
  const closings = new Map<number, number>()
  const open: number[] = []
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
      if (open.push(at) > limits.maxDepth) return TOO_DEEP
    } else if (code === CLOSES_ARRAY || code === CLOSES_OBJECT) {
      const start = open.pop()
      if (start === undefined || text.charCodeAt(start) + CLOSING_DISTANCE !== code) return NOT_JSON
      if (at - start > pieceLength) closings.set(start, at)
    }
    if (items > limits.maxItems) return TOO_MANY_ITEMS
  }
  return open.length > 0 || isInString ? NOT_JSON : { kind: 'accepted', closings }
}
