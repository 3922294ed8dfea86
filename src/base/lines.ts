import { readUtf8 } from './encoding.ts'

/** A line without its end, or why it cannot be read. The first line has the number 1. */
export type Line =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly flaw: 'too_long' | 'not_utf8' }

const LINE_FEED = 0x0a

/** Splits bytes into lines in constant memory. A line of more than `maxBytes` is skipped and reported. */
export class LineSplitter {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #length = 0
  #number = 1

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The lines that are complete now. The chunk must not be changed afterwards. */
  push(chunk: Uint8Array): readonly Line[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: Line[] = []
    let from = 0
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
      this.#collect(bytes.subarray(from, at))
      lines.push(this.#finish())
      from = at + 1
    }
    this.#collect(bytes.subarray(from))
    return lines
  }

  /** Whether the line that is not complete yet is too long already. */
  isTooLong(): boolean {
    return this.#length > this.#maxBytes
  }

  /** What follows the last line feed; `undefined`: nothing. */
  end(): Line | undefined {
    return this.#length > 0 ? this.#finish() : undefined
  }

  #collect(bytes: Buffer): void {
    this.#length += bytes.length
    if (this.#length > this.#maxBytes) this.#parts = []
    else if (bytes.length > 0) this.#parts.push(bytes)
  }

  #finish(): Line {
    const number = this.#number++
    const isTooLong = this.isTooLong()
    const [first = Buffer.alloc(0), ...others] = this.#parts
    this.#parts = []
    this.#length = 0
    if (isTooLong) return { number, flaw: 'too_long' }
    const text = readUtf8(others.length > 0 ? Buffer.concat([first, ...others]) : first)
    return text === undefined ? { number, flaw: 'not_utf8' } : { number, text }
  }
}
