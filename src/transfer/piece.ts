import { readUtf8 } from '../base/encoding.ts'

/** One record as it stands in a dump, or why it cannot be read. */
export type Piece =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly flaw: PieceFlaw }

/** `cut_off`: the input ends before its list does. */
export type PieceFlaw = 'too_long' | 'not_utf8' | 'cut_off'

/** Gathers the bytes of one record, over as many chunks as it takes, and counts lines. */
export interface Collector {
  take(bytes: Buffer): void
  /** Adds what was taken as a piece; nothing where it was blank. */
  finish(pieces: Piece[]): void
  /** Forgets what was taken. */
  drop(): void
  /** The line what was taken begins on; the first is 1. */
  line(): number
}

export function createCollector(mostBytes: number): Collector {
  let parts: Buffer[] = []
  let length = 0
  let line = 1
  let lineFeeds = 0

  const toPiece = (): Piece | undefined => {
    if (length > mostBytes) return { line, flaw: 'too_long' }
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
      if (length > mostBytes) parts = []
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

const LINE_FEED = 0x0a

function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1
  return count
}
