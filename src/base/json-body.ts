import { readUtf8 } from './encoding.ts'
import { findClosingQuote, keepsNumbers, readJson } from './json.ts'
import { type JsonLimits, measureJson } from './json-shape.ts'
import { createPace, type Pace } from './pace.ts'

export type JsonBodyReading =
  /** `isExact`: every number stays the same when it is written again. */
  | { readonly kind: 'json'; readonly value: unknown; readonly isExact: boolean }
  | { readonly kind: 'refused'; readonly reason: JsonFlaw }

export type JsonFlaw = 'not_utf8' | 'not_json' | 'duplicate_name' | 'too_deep' | 'too_many_items'

/** Text up to this length is parsed at once, which takes a few milliseconds for an object with very many members. */
const PIECE_LENGTH = 16_384

/**
 * Reads JSON from a client. Depth and number of items are checked before anything is parsed. A large body is parsed in
 * pieces, so that other requests are served in between. An object with two members of the same name is refused.
 */
export async function readJsonBody(bytes: Uint8Array, limits: JsonLimits): Promise<JsonBodyReading> {
  const text = readUtf8(bytes)
  if (text === undefined) return { kind: 'refused', reason: 'not_utf8' }
  const pace = createPace()
  const shape = await measureJson(text, limits, { pieceLength: PIECE_LENGTH, pace })
  if (shape.kind === 'refused') return shape
  const reader = new PieceReader(text, shape.closings, pace)
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
/** How brackets change the depth. */
const DEPTH_CHANGES: ReadonlyMap<number, number> = new Map([
  [0x5b, 1],
  [0x7b, 1],
  [0x5d, -1],
  [0x7d, -1],
])
const BLANK = /^[\t\n\r ]*$/
const NOT_BLANK = /[^\t\n\r ]/

type Container = unknown[] | Record<string, unknown>

/** A part of the text, from the character at `start` up to but without the one at `end`. */
interface Span {
  readonly start: number
  readonly end: number
}

/** An element of an array or a member of an object. `large`: the brackets of its value, if that is a large container. */
interface Item extends Span {
  readonly large?: Brackets | undefined
}

/** The positions of two matching brackets. */
interface Brackets {
  readonly opening: number
  readonly closing: number
}

/**
 * Parses large containers item by item, and everything else with `JSON.parse`, in pieces of bounded length. `closings`
 * has the position of the closing bracket of each large container, by its opening one.
 */
class PieceReader {
  isExact = true
  readonly #text: string
  readonly #closings: ReadonlyMap<number, number>
  readonly #pace: Pace

  constructor(text: string, closings: ReadonlyMap<number, number>, pace: Pace) {
    this.#text = text
    this.#closings = closings
    this.#pace = pace
  }

  async read(): Promise<unknown> {
    const opening = this.#text.search(NOT_BLANK)
    const closing = this.#closings.get(opening)
    if (closing === undefined) return this.#parse(this.#text)
    this.#requireBlank({ start: closing + 1, end: this.#text.length })
    return this.#readContainer({ opening, closing })
  }

  async #readContainer({ opening, closing }: Brackets): Promise<Container> {
    const container: Container = this.#text[opening] === '{' ? {} : []
    /** Where the items begin that are not parsed yet. */
    let start = opening + 1
    if (this.#isBlank({ start, end: closing })) return container
    for (const item of this.#splitItems({ start, end: closing })) {
      if (item.large) {
        if (item.start > start) await this.#addPiece(container, { start, end: item.start - 1 })
        await this.#addLarge(container, item, item.large)
      } else if (item.end - start >= PIECE_LENGTH) await this.#addPiece(container, { start, end: item.end })
      else continue
      start = item.end + 1
    }
    if (start <= closing) await this.#addPiece(container, { start, end: closing })
    return container
  }

  /** The items between two brackets. */
  *#splitItems({ start, end }: Span): Generator<Item> {
    let itemStart = start
    let large: Brackets | undefined
    for (let at = start; at < end; at += 1) {
      const closing = this.#closings.get(at)
      if (closing !== undefined) {
        if (large) throw new Flaw('not_json')
        large = { opening: at, closing }
        at = closing
      } else if (this.#text.charCodeAt(at) === COMMA) {
        yield { start: itemStart, end: at, large }
        itemStart = at + 1
        large = undefined
      } else at = this.#skipSmall(at)
    }
    yield { start: itemStart, end, large }
  }

  /** The position of the last character of a string or a small container. Commas inside do not separate items. */
  #skipSmall(start: number): number {
    let depth = 0
    let at = start
    for (;;) {
      const code = this.#text.charCodeAt(at)
      if (code === QUOTE) at = findClosingQuote(this.#text, at)
      else depth += DEPTH_CHANGES.get(code) ?? 0
      if (depth <= 0 || at >= this.#text.length) return at
      at += 1
    }
  }

  #isBlank({ start, end }: Span): boolean {
    return BLANK.test(this.#text.slice(start, end))
  }

  #requireBlank(span: Span): void {
    if (!this.#isBlank(span)) throw new Flaw('not_json')
  }

  /** Adds small items, parsed together. */
  async #addPiece(container: Container, span: Span): Promise<void> {
    if (this.#isBlank(span)) throw new Flaw('not_json')
    const items = this.#text.slice(span.start, span.end)
    if (Array.isArray(container)) {
      // An array, because the text has the brackets of one.
      for (const item of this.#parse(`[${items}]`) as unknown[]) container.push(item)
    } else {
      for (const [name, value] of Object.entries(this.#parse(`{${items}}`) as object)) addMember(container, name, value)
    }
    if (this.#pace.isDue()) await this.#pace.rest()
  }

  /** Adds an item whose value is a large container. */
  async #addLarge(container: Container, item: Item, large: Brackets): Promise<void> {
    const before: Span = { start: item.start, end: large.opening }
    this.#requireBlank({ start: large.closing + 1, end: item.end })
    if (Array.isArray(container)) {
      this.#requireBlank(before)
      container.push(await this.#readContainer(large))
    } else {
      const name = this.#readMemberName(before)
      addMember(container, name, await this.#readContainer(large))
    }
  }

  /** Reads `"name":`. */
  #readMemberName({ start, end }: Span): string {
    const [name, ...others] = Object.keys(this.#parse(`{${this.#text.slice(start, end)}null}`) as object)
    if (name === undefined || others.length > 0) throw new Flaw('not_json')
    return name
  }

  #parse(text: string): unknown {
    const reading = readJson(text, { noDuplicates: true })
    if (reading.kind === 'refused') throw new Flaw(reading.reason)
    if (!keepsNumbers(text)) this.isExact = false
    return reading.value
  }
}

/** Like `JSON.parse`: `__proto__` is an ordinary member. */
function addMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (Object.hasOwn(object, name)) throw new Flaw('duplicate_name')
  Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
}
