/**
 * VelocyPack, ArangoDB's binary form of JSON. Only what JSON has is read: dates, binary data, tagged values, decimals
 * and types of one application are refused, and so are the infinite numbers.
 */
import { readUtf8 } from './encoding.ts'
import type { JsonBodyReading, JsonFlaw, JsonLimits } from './json-body.ts'

export type VelocyPackFlaw = Exclude<JsonFlaw, 'not_json'> | 'not_velocypack'

type VelocyPackReading =
  | Extract<JsonBodyReading, { readonly kind: 'json' }>
  | { readonly kind: 'refused'; readonly reason: VelocyPackFlaw }

/** Reads one value that fills the bytes. It is inexact if it has a whole number of more than 53 bits. */
export function readVelocyPack(bytes: Buffer, limits: JsonLimits): VelocyPackReading {
  const reader = new Reader(bytes, limits)
  try {
    const value = reader.readAll()
    return { kind: 'json', value, isExact: reader.isExact }
  } catch (error) {
    if (error instanceof Flaw) return { kind: 'refused', reason: error.reason }
    throw error
  }
}

class Flaw extends Error {
  readonly reason: VelocyPackFlaw

  constructor(reason: VelocyPackFlaw) {
    super(reason)
    this.reason = reason
  }
}

function requireThat(condition: boolean, reason: VelocyPackFlaw = 'not_velocypack'): asserts condition {
  if (!condition) throw new Flaw(reason)
}

/** A range of first bytes, and how such a value is read. `nth` counts from the first of the range. */
interface TypeRow {
  readonly first: number
  readonly last: number
  readonly read: (reader: Reader, nth: number) => unknown
}

const TYPES: readonly TypeRow[] = [
  { first: 0x01, last: 0x01, read: () => [] },
  { first: 0x02, last: 0x05, read: (reader, nth) => reader.readArray({ width: 1 << nth, hasTable: false }) },
  { first: 0x06, last: 0x09, read: (reader, nth) => reader.readArray({ width: 1 << nth, hasTable: true }) },
  { first: 0x0a, last: 0x0a, read: () => ({}) },
  { first: 0x0b, last: 0x12, read: (reader, nth) => reader.readObject({ width: 1 << (nth % 4), hasTable: true }) },
  { first: 0x13, last: 0x13, read: (reader) => reader.readArray(COMPACT) },
  { first: 0x14, last: 0x14, read: (reader) => reader.readObject(COMPACT) },
  { first: 0x18, last: 0x1a, read: (_reader, nth) => [null, false, true][nth] },
  { first: 0x1b, last: 0x1b, read: (reader) => reader.readDouble() },
  { first: 0x20, last: 0x27, read: (reader, nth) => reader.readInteger(nth + 1, 'signed') },
  { first: 0x28, last: 0x2f, read: (reader, nth) => reader.readInteger(nth + 1, 'unsigned') },
  { first: 0x30, last: 0x39, read: (_reader, nth) => nth },
  { first: 0x3a, last: 0x3f, read: (_reader, nth) => nth - 6 },
  { first: 0x40, last: 0xbe, read: (reader, nth) => reader.readText(nth) },
  { first: 0xbf, last: 0xbf, read: (reader) => reader.readText(reader.takeUnsigned(8)) },
]

const LAST_CONTAINER = 0x14
/** Short texts have their length in the first byte. */
const [SHORT_TEXT, LONG_TEXT] = [0x40, 0xbf]

/** How an array or object gives its length and number of items. */
type Form = { readonly width: number; readonly hasTable: boolean } | typeof COMPACT

const COMPACT = 'compact'

/** An array or object that is being read: where it begins, its items end, and it ends. */
interface Frame {
  readonly start: number
  readonly itemsEnd: number
  readonly end: number
  /** `undefined`: all items have the same length, and their number follows from it. */
  readonly count: number | undefined
  /** The offsets of the items; `undefined`: it has no such table. */
  readonly table: number[] | undefined
}

/**
 * Items are read one after the other, and the table of an array or object must name just these positions: with a table
 * that names a position twice, a small body could become a huge value.
 */
class Reader {
  isExact = true
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  #at = 0
  /** Where the innermost container ends. */
  #end: number
  #depth = 0
  #items = 0

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes
    this.#limits = limits
    this.#end = bytes.length
  }

  readAll(): unknown {
    const value = this.#read()
    requireThat(this.#at === this.#end)
    return value
  }

  #read(): unknown {
    this.#items += 1
    requireThat(this.#items <= this.#limits.maxItems, 'too_many_items')
    const head = this.takeUnsigned(1)
    const row = TYPES.find(({ first, last }) => first <= head && head <= last)
    requireThat(row !== undefined)
    if (head > LAST_CONTAINER) return row.read(this, head - row.first)
    this.#depth += 1
    requireThat(this.#depth <= this.#limits.maxDepth, 'too_deep')
    const value = row.read(this, head - row.first)
    this.#depth -= 1
    return value
  }

  readArray(form: Form): unknown[] {
    const items: unknown[] = []
    this.#readItems(form, false, () => items.push(this.#read()))
    return items
  }

  readObject(form: Form): object {
    const members = new Map<string, unknown>()
    this.#readItems(form, true, () => {
      const name = this.#readName()
      requireThat(!members.has(name), 'duplicate_name')
      members.set(name, this.#read())
    })
    return Object.fromEntries(members)
  }

  /** Numbers in place of names need a table that both sides know, and are refused. */
  #readName(): string {
    const head = this.takeUnsigned(1)
    requireThat(head >= SHORT_TEXT && head <= LONG_TEXT)
    return this.readText(head === LONG_TEXT ? this.takeUnsigned(8) : head - SHORT_TEXT)
  }

  #readItems(form: Form, isObject: boolean, readItem: () => void): void {
    const outerEnd = this.#end
    const frame = form === COMPACT ? this.#openCompact() : this.#open(form.width, form.hasTable)
    this.#end = frame.itemsEnd
    const offsets: number[] = []
    while (this.#at < frame.itemsEnd) {
      offsets.push(this.#at - frame.start)
      readItem()
    }
    checkItems(frame, offsets, isObject)
    this.#end = outerEnd
    this.#at = frame.end
  }

  #openCompact(): Frame {
    const start = this.#at - 1
    const [length, itemsStart] = this.#readVariable(this.#at, 1)
    const end = this.#toEnd(start, length)
    const [count, beforeCount] = this.#readVariable(end - 1, -1)
    this.#at = itemsStart
    requireThat(itemsStart <= beforeCount)
    return { start, itemsEnd: beforeCount + 1, end, count, table: undefined }
  }

  /** A number of seven bits for each byte, of which all but the last have the high bit set. */
  #readVariable(from: number, step: 1 | -1): readonly [value: number, next: number] {
    let value = 0
    for (let i = 0; i < 8; i += 1) {
      const byte = this.#bytes[from + i * step]
      requireThat(byte !== undefined)
      value += (byte & 0x7f) * 128 ** i
      if (byte < 0x80) return [value, from + (i + 1) * step]
    }
    throw new Flaw('not_velocypack')
  }

  #open(width: number, hasTable: boolean): Frame {
    const start = this.#at - 1
    const end = this.#toEnd(start, this.takeUnsigned(width))
    if (!hasTable) {
      this.#skipPadding(start, width)
      return { start, itemsEnd: end, end, count: undefined, table: undefined }
    }
    // with eight bytes, the number of items is behind the table
    const tableEnd = width === 8 ? end - 8 : end
    const count = width === 8 ? this.#unsignedAt(tableEnd, 8) : this.takeUnsigned(width)
    this.#skipPadding(start, width)
    const itemsEnd = tableEnd - count * width
    requireThat(itemsEnd >= this.#at)
    requireThat(count <= this.#limits.maxItems, 'too_many_items')
    const table = Array.from({ length: count }, (_, i) => this.#unsignedAt(itemsEnd + i * width, width))
    return { start, itemsEnd, end, count, table }
  }

  #toEnd(start: number, length: number): number {
    requireThat(length <= this.#end - start && start + length > this.#at)
    return start + length
  }

  /** A writer that reserved eight bytes for length and number of items leaves zeros, which begin no value. */
  #skipPadding(start: number, width: number): void {
    if (width === 8 || this.#bytes[this.#at] !== 0) return
    while (this.#at < start + 9) requireThat(this.takeUnsigned(1) === 0)
  }

  readText(length: number): string {
    const start = this.#take(length)
    const text = readUtf8(this.#bytes.subarray(start, this.#at))
    requireThat(text !== undefined, 'not_utf8')
    return text
  }

  readDouble(): number {
    const value = this.#bytes.readDoubleLE(this.#take(8))
    requireThat(Number.isFinite(value))
    return value
  }

  readInteger(width: number, sign: 'signed' | 'unsigned'): number {
    const at = this.#take(width)
    const value = sign === 'signed' ? this.#signedAt(at, width) : this.#unsignedAt(at, width)
    if (!Number.isSafeInteger(value)) this.isExact = false
    return value
  }

  takeUnsigned(width: number): number {
    return this.#unsignedAt(this.#take(width), width)
  }

  /** Node reads at most six bytes at once. */
  #unsignedAt(at: number, width: number): number {
    requireThat(at >= 0 && at + width <= this.#bytes.length)
    if (width <= 6) return this.#bytes.readUIntLE(at, width)
    return this.#bytes.readUIntLE(at, 4) + this.#bytes.readUIntLE(at + 4, width - 4) * 2 ** 32
  }

  #signedAt(at: number, width: number): number {
    if (width <= 6) return this.#bytes.readIntLE(at, width)
    return this.#bytes.readUIntLE(at, 4) + this.#bytes.readIntLE(at + 4, width - 4) * 2 ** 32
  }

  /** Moves on, and returns where it was. */
  #take(length: number): number {
    const start = this.#at
    requireThat(length <= this.#end - start)
    this.#at += length
    return start
  }
}

/** The table of an object is sorted by name, that of an array by position. */
function checkItems({ start, itemsEnd, count, table }: Frame, offsets: readonly number[], isObject: boolean): void {
  requireThat(offsets.length > 0 && offsets.length === (count ?? offsets.length))
  if (table) {
    const positions = isObject ? table.toSorted((a, b) => a - b) : table
    requireThat(positions.every((position, i) => position === offsets[i]))
  } else if (count === undefined) {
    const ends = [...offsets.slice(1), itemsEnd - start]
    const lengths = new Set(ends.map((end, i) => end - (offsets[i] ?? 0)))
    requireThat(lengths.size === 1)
  }
}
