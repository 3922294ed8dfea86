export type JsonReading =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly reason: 'not_json' | 'duplicate_name' }

const NOT_JSON: JsonReading = Object.freeze({ kind: 'refused', reason: 'not_json' })
const DUPLICATE_NAME: JsonReading = Object.freeze({ kind: 'refused', reason: 'duplicate_name' })

/**
 * Reads JSON text. With `noDuplicates`, an object with two members of the same name is refused at any depth, because
 * parsers disagree on which of the two counts.
 */
export function readJson(
  text: string,
  { noDuplicates = false }: { readonly noDuplicates?: boolean } = {},
): JsonReading {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return NOT_JSON
  }
  // JSON.parse keeps one member of each name, and knows escapes. So if it has fewer members than the text, a name occurs twice.
  return noDuplicates && countWritten(text) !== countKept(value) ? DUPLICATE_NAME : { kind: 'json', value }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** The number of members in the text: in valid JSON, one for each colon outside a string. */
function countWritten(text: string): number {
  let members = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === COLON) members += 1
    else if (code === QUOTE) at = findClosingQuote(text, at)
  }
  return members
}

/** The position of the quote that ends the string which begins at `opening`. */
function findClosingQuote(text: string, opening: number): number {
  let at = opening + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

/** The number of members in the value. Not recursive, because clients choose the depth. */
function countKept(value: unknown): number {
  let members = 0
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const inside: unknown[] = Array.isArray(next) ? next : Object.values(next)
    if (!Array.isArray(next)) members += inside.length
    for (const item of inside) if (typeof item === 'object' && item !== null) waiting.push(item)
  }
  return members
}

/**
 * Whether every number in valid JSON text stays the same when it is parsed and written again. `1.0` does;
 * `9007199254740993` and `1e999` do not.
 */
export function keepsNumbers(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = findClosingQuote(text, at)
    if (code !== MINUS && !isDigit(code)) continue
    NUMBER.lastIndex = at
    const [written = ''] = NUMBER.exec(text) ?? []
    if (!isKept(written)) return false
    at += written.length
  }
  return true
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const MINUS = 0x2d
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Integers with at most this many digits always stay the same. Most numbers are such. */
const SURE_LENGTH = 15

function isKept(written: string): boolean {
  if (written.length <= SURE_LENGTH && !/[.eE]/.test(written)) return true
  const kept = Number(written)
  return Number.isFinite(kept) && toDecimal(written) === toDecimal(String(kept))
}

/** A canonical form: the digits without zeros at either end, and a power of ten. */
function toDecimal(written: string): string {
  const [mantissa = '', power = '0'] = written.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  const sign = mantissa.startsWith('-') ? '-' : ''
  return `${sign}${digits.slice(0, end)}e${Number(power) - fraction.length + digits.length - end}`
}

/** The members of a JSON object, by name. */
export type Members = Readonly<Record<string, unknown>>

/** The members of the JSON object in a text; `undefined`: the text is something else. */
export function readJsonObject(text: string): Members | undefined {
  const reading = readJson(text)
  return reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : undefined
}

/** Whether a value read from JSON is an object: neither null nor an array. */
export const isJsonObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member of the object itself, not of its prototype (`constructor`, `toString`). */
export const findMember = (object: Members, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined
