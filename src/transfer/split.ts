/**
 * Cuts a dump into the texts of its records, in constant memory. Bytes enter, in chunks of any size; pieces leave. It
 * knows three layouts: one record a line; lists, `[…]`; the answer of a listing, `{"rows":[…]}`.
 */
import { readUtf8 } from '../base/encoding.ts'

/** One record as it stands in a dump, or why it cannot be read. */
export type Piece =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly flaw: PieceFlaw }

/** `cut_off`: the input ends before its list does. */
export type PieceFlaw = 'too_long' | 'not_utf8' | 'cut_off'

export interface Splitter {
  /** Nobody may write into the chunk afterwards. */
  push(chunk: Uint8Array): readonly Piece[]
  /** The input is over. */
  end(): readonly Piece[]
}

interface Layout {
  push(bytes: Buffer, pieces: Piece[]): void
  end(pieces: Piece[]): void
}

/** Enough to tell a layout by. */
const HEAD_BYTES = 4096
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

// what a listing says of itself before its rows
const ANSWER =
  /^\s*\{\s*(?:"(?:total_rows|offset|update_seq)"\s*:\s*(?:"[^"\\]*"|[^\s,"{}[\]]+)\s*,\s*)*"(?:rows|docs)"\s*:\s*(?=\[)/

/** `mostBytes` bounds one record: what is longer is passed over, and told. */
export function createSplitter(maxBytes: number): Splitter {
  const head: Buffer[] = []
  let headBytes = 0
  let layout: Layout | undefined

  const begin = (pieces: Piece[]): Layout => {
    const whole = Buffer.concat(head.splice(0))
    const content = whole.subarray(0, 3).equals(BYTE_ORDER_MARK) ? whole.subarray(3) : whole
    const createLayout = isListed(content) ? createListLayout : createLineLayout
    const chosen = createLayout(createCollector(maxBytes))
    chosen.push(content, pieces)
    return chosen
  }

  return {
    push(chunk) {
      const pieces: Piece[] = []
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      if (layout) layout.push(bytes, pieces)
      else {
        head.push(bytes)
        headBytes += bytes.length
        if (headBytes >= HEAD_BYTES) layout = begin(pieces)
      }
      return pieces
    },
    end() {
      const pieces: Piece[] = []
      layout ??= begin(pieces)
      layout.end(pieces)
      return pieces
    },
  }
}

function isListed(content: Buffer): boolean {
  const text = content.toString('latin1', 0, HEAD_BYTES)
  return text.trimStart().startsWith('[') || ANSWER.test(text)
}

/** One record a line: what is wrong with one says nothing of the next. */
function createLineLayout(record: Collector): Layout {
  return {
    push(bytes, pieces) {
      let from = 0
      for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
        record.take(bytes.subarray(from, at + 1))
        record.finish(pieces)
        from = at + 1
      }
      record.take(bytes.subarray(from))
    },
    end: (pieces) => record.finish(pieces),
  }
}

const LINE_FEED = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d] as const

/**
 * The elements of lists. Only brackets, strings and commas are told apart; the rest is for whoever reads the piece. What
 * stands outside of lists is passed over.
 */
function createListLayout(record: Collector): Layout {
  let isString = false
  let isEscaped = false
  let depth = 0

  /** Takes in one byte; `true`: what was gathered up to it is whole. */
  const isEnd = (byte: number | undefined): boolean => {
    if (isEscaped) isEscaped = false
    else if (byte === QUOTE) isString = !isString
    else if (isString) isEscaped = byte === BACKSLASH
    // an object around the list is none of its elements
    else if (byte === OPEN_LIST || (byte === OPEN_OBJECT && depth > 0)) return ++depth === 1
    else if (byte === CLOSE_LIST || (byte === CLOSE_OBJECT && depth > 0)) return depth-- === 1
    else return byte === COMMA && depth === 1
    return false
  }

  return {
    push(bytes, pieces) {
      let from = 0
      for (let at = 0; at < bytes.length; at += 1) {
        const isOutside = depth === 0
        if (!isEnd(bytes[at])) continue
        record.take(bytes.subarray(from, at))
        if (isOutside) record.drop()
        else record.finish(pieces)
        from = at + 1
      }
      record.take(bytes.subarray(from))
    },
    end(pieces) {
      if (depth > 0) pieces.push({ line: record.line(), flaw: 'cut_off' })
    },
  }
}

/** Gathers the bytes of one record, over as many chunks as it takes, and counts lines. */
interface Collector {
  take(bytes: Buffer): void
  /** Adds what was taken as a piece; nothing where it was blank. */
  finish(pieces: Piece[]): void
  /** Forgets what was taken. */
  drop(): void
  /** The line what was taken begins on; the first is 1. */
  line(): number
}

function createCollector(maxBytes: number): Collector {
  let parts: Buffer[] = []
  let length = 0
  let line = 1
  let lineFeeds = 0

  const toPiece = (): Piece | undefined => {
    if (length > maxBytes) return { line, flaw: 'too_long' }
    const text = readUtf8(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))
    if (text === undefined) return { line, flaw: 'not_utf8' }
    const content = text.trimStart()
    const blank = text.slice(0, text.length - content.length)
    return content === '' ? undefined : { line: line + blank.split('\n').length - 1, text: content }
  }

  const drop = () => {
    parts = []
    length = 0
    line += lineFeeds
    lineFeeds = 0
  }

  return {
    take(bytes) {
      length += bytes.length
      lineFeeds += countLineFeeds(bytes)
      if (length > maxBytes) parts = []
      else if (bytes.length > 0) parts.push(bytes)
    },
    finish(pieces) {
      const piece = toPiece()
      if (piece) pieces.push(piece)
      drop()
    },
    drop,
    line: () => line,
  }
}

function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1
  return count
}
