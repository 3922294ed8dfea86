import { readUtf8 } from './encoding.ts'
import { keepsNumbers, readJson } from './json.ts'
import { type JsonLimits, measureJson } from './json-shape.ts'
import { createPace, type Pace } from './pace.ts'

export type JsonBodyReading =
  /** `isExact`: every number is still the same number when it is written again. */
  | { readonly kind: 'json'; readonly value: unknown; readonly isExact: boolean }
  | { readonly kind: 'refused'; readonly reason: JsonFlaw }

export type JsonFlaw = 'not_utf8' | 'not_json' | 'duplicate_name' | 'too_deep' | 'too_many_items'

/** Text up to this length is parsed at once: it takes about a millisecond. */
const PIECE_LENGTH = 65_536

/**
 * Reads JSON that came from a client. Depth and number of items are bounded before anything is parsed. A large body is
 * parsed piece by piece, and other requests have their turn in between. An object that names a member twice is refused.
 */
export async function readJsonBody(bytes: Uint8Array, limits: JsonLimits): Promise<JsonBodyReading> {
  const text = readUtf8(bytes)
  if (text === undefined) return { kind: 'refused', reason: 'not_utf8' }
  const pace = createPace()
  const shape = await measureJson(text, limits, { pieceLength: PIECE_LENGTH, pace })
  if (shape.kind === 'refused') return shape
  const reader = new PieceReader(text, shape.ends, pace)
  try {
    return { kind: 'json', value: await reader.read(), isExact: reader.isExact }
  } catch (error) {
    if (error instanceof Flaw) return { kind: 'refused', reason: error.reason }
    throw error
  }
}

class Flaw extends Error {
  readonly reason: JsonFlaw

  constructor(reason: JsonFlaw) {
    super(reason)
    this.reason = reason
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
/** How brackets change the depth. */
const DEPTHS: ReadonlyMap<number, number> = new Map([
  [0x5b, 1],
  [0x7b, 1],
  [0x5d, -1],
  [0x7d, -1],
])
const BLANK = /^[\t\n\r ]*$/
const FIRST_SIGN = /[^\t\n\r ]/

type Container = unknown[] | Record<string, unknown>

/** Parses large containers item by item, and everything else with `JSON.parse`, in pieces of bounded length. */
class PieceReader {
  isExact = true
  readonly #text: string
  readonly #ends: ReadonlyMap<number, number>
  readonly #pace: Pace

  constructor(text: string, ends: ReadonlyMap<number, number>, pace: Pace) {
    this.#text = text
    this.#ends = ends
    this.#pace = pace
  }

  async read(): Promise<unknown> {
    const start = this.#text.search(FIRST_SIGN)
    const end = this.#ends.get(start)
    if (end === undefined) return this.#parse(this.#text)
    this.#requireBlank(end + 1, this.#text.length)
    return this.#readContainer(start, end)
  }

  async #readContainer(start: number, end: number): Promise<Container> {
    const container: Container = this.#text[start] === '{' ? {} : []
    /** Where the items begin that are not parsed yet, and where the last of them begins. */
    let from = start + 1
    let item = from
    for (let at = from; at < end; at += 1) {
      const close = this.#ends.get(at)
      if (close !== undefined) {
        if (item > from) await this.#addPiece(container, from, item - 1)
        await this.#addLarge(container, item, { start: at, end: close })
        at = this.#requireSeparator(close + 1, end)
        if (at === end) return container
        from = item = at + 1
      } else if (this.#text.charCodeAt(at) === COMMA) {
        if (at - from >= PIECE_LENGTH) {
          await this.#addPiece(container, from, at)
          from = at + 1
        }
        item = at + 1
      } else at = this.#skipSmall(at)
    }
    const isEmpty = from === start + 1 && BLANK.test(this.#text.slice(from, end))
    if (!isEmpty) await this.#addPiece(container, from, end)
    return container
  }

  /** The comma behind an item, or the end of its container. */
  #requireSeparator(from: number, end: number): number {
    let at = from
    while (BLANK.test(this.#text.charAt(at)) && at < end) at += 1
    if (at < end && this.#text.charCodeAt(at) !== COMMA) throw new Flaw('not_json')
    return at
  }

  /** The last character of a string or of a small container: their commas are not of this level. */
  #skipSmall(start: number): number {
    let depth = 0
    let at = start
    for (;;) {
      const code = this.#text.charCodeAt(at)
      if (code === QUOTE) at = this.#findQuote(at)
      else depth += DEPTHS.get(code) ?? 0
      if (depth <= 0 || at >= this.#text.length) return at
      at += 1
    }
  }

  #findQuote(opening: number): number {
    let at = opening + 1
    while (at < this.#text.length && this.#text.charCodeAt(at) !== QUOTE)
      at += this.#text.charCodeAt(at) === BACKSLASH ? 2 : 1
    return at
  }

  #requireBlank(from: number, to: number): void {
    if (!BLANK.test(this.#text.slice(from, to))) throw new Flaw('not_json')
  }

  /** Some items one after the other, none of them large. */
  async #addPiece(container: Container, from: number, to: number): Promise<void> {
    const items = this.#text.slice(from, to)
    if (BLANK.test(items)) throw new Flaw('not_json')
    if (Array.isArray(container)) {
      // the piece is an array, for it was written between brackets
      for (const item of this.#parse(`[${items}]`) as unknown[]) container.push(item)
    } else {
      for (const [name, value] of Object.entries(this.#parse(`{${items}}`) as object)) addMember(container, name, value)
    }
    if (this.#pace.isDue()) await this.#pace.rest()
  }

  /** One item that is a large container, or a member whose value is one. */
  async #addLarge(container: Container, item: number, value: { start: number; end: number }): Promise<void> {
    const before = this.#text.slice(item, value.start)
    if (Array.isArray(container)) {
      if (!BLANK.test(before)) throw new Flaw('not_json')
      container.push(await this.#readContainer(value.start, value.end))
      return
    }
    const [name, ...others] = Object.keys(this.#parse(`{${before}null}`) as object)
    if (name === undefined || others.length > 0) throw new Flaw('not_json')
    addMember(container, name, await this.#readContainer(value.start, value.end))
  }

  #parse(text: string): unknown {
    const reading = readJson(text, { noDuplicates: true })
    if (reading.kind === 'refused') throw new Flaw(reading.reason)
    if (!keepsNumbers(text)) this.isExact = false
    return reading.value
  }
}

/** As `JSON.parse` does it: `__proto__` is a member like any other. */
function addMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (Object.hasOwn(object, name)) throw new Flaw('duplicate_name')
  Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
}
