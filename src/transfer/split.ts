/**
 * Splits a dump into the texts of its records, in constant memory. It knows three layouts: one record per line; lists,
 * `[…]`; and the response of a listing, `{"rows":[…]}`.
 */
import { readUtf8 } from '../base/encoding.ts'

/** The text of one record, or why it cannot be read. */
export type Piece =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly flaw: PieceFlaw }

/** `cut_off`: the input ends before its list does. */
export type PieceFlaw = 'too_long' | 'not_utf8' | 'cut_off'

export interface Splitter {
  /** The chunk must not be changed afterwards. */
  push(chunk: Uint8Array): readonly Piece[]
  /** The input is over. */
  end(): readonly Piece[]
}

interface Layout {
  push(bytes: Buffer, pieces: Piece[]): void
  end(pieces: Piece[]): void
}

/** Enough to recognise a layout. */
const HEAD_BYTES = 4096
const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

// the members of a listing before its rows
const ANSWER =
  /^\s*\{\s*(?:"(?:total_rows|offset|update_seq)"\s*:\s*(?:"[^"\\]*"|[^\s,"{}[\]]+)\s*,\s*)*"(?:rows|docs)"\s*:\s*(?=\[)/

/** A record of more than `maxBytes` is skipped and reported. */
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

/** One record per line: an error in one does not affect the next. */
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

/** The elements of lists. Recognises only brackets, strings and commas, and ignores everything outside of lists. */
function createListLayout(record: Collector): Layout {
  let isString = false
  let isEscaped = false
  let depth = 0

  /** Processes one byte; `true`: it ends what was collected so far. */
  const isEnd = (byte: number | undefined): boolean => {
    if (isEscaped) isEscaped = false
    else if (byte === QUOTE) isString = !isString
    else if (isString) isEscaped = byte === BACKSLASH
    // an object around the list is not one of its elements
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

/** Collects the bytes of one record over several chunks, and counts lines. */
interface Collector {
  take(bytes: Buffer): void
  /** Adds what was collected as a piece, unless it is blank. */
  finish(pieces: Piece[]): void
  /** Discards what was collected. */
  drop(): void
  /** The line on which what was collected begins; the first is 1. */
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
