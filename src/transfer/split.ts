/**
 * Cuts a dump into the texts of its records, in constant memory. Bytes enter, in chunks of any size; pieces leave. It
 * knows three layouts: one record a line; lists, `[…]`; the answer of a listing, `{"rows":[…]}`.
 */
import { type Collector, createCollector, type Piece } from './piece.ts'

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
export function createSplitter(mostBytes: number): Splitter {
  const head: Buffer[] = []
  let headBytes = 0
  let layout: Layout | undefined

  const begin = (pieces: Piece[]): Layout => {
    const whole = Buffer.concat(head.splice(0))
    const content = whole.subarray(0, 3).equals(BYTE_ORDER_MARK) ? whole.subarray(3) : whole
    const createLayout = isListed(content) ? createListLayout : createLineLayout
    const chosen = createLayout(createCollector(mostBytes))
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
