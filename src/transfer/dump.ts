/**
 * Reads a dump of users in any format, in constant memory, from chunks of any size. Never throws because of what a dump
 * contains; a record that is rejected does not stop the next one from being read.
 */
import { isJsonObject, readJson } from '../base/json.ts'
import type { DocumentNames } from './document.ts'
import type { FormatName } from './format-names.ts'
import { FORMATS, guessFormat } from './formats.ts'
import type { Reading, RecordReader } from './records.ts'
import { createSplitter, type Piece, type PieceFlaw } from './split.ts'

export interface DumpOptions extends DocumentNames {
  /** Left out: recognised by the first record. */
  readonly format?: FormatName | undefined
}

export interface Found {
  readonly line: number
  /** Characters of the record; if a line contains several records, its length divided by their number. */
  readonly size: number
  readonly reading: Reading
}

export interface DumpReader {
  push(chunk: Uint8Array): readonly Found[]
  end(): readonly Found[]
  /** `undefined`: not yet known. */
  format(): FormatName | undefined
}

/** The longest record, in bytes. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024
const MAX_DEPTH = 100

const PIECE_FLAWS: Readonly<Record<PieceFlaw, string>> = {
  too_long: `The record is longer than ${MAX_RECORD_BYTES} bytes.`,
  not_utf8: 'The record is not UTF-8.',
  cut_off: 'The list is not closed: the dump is incomplete.',
}

export const createDumpReader = (options: DumpOptions): DumpReader => new AnyDumpReader(options)

class AnyDumpReader implements DumpReader {
  readonly #names: DocumentNames
  readonly #splitter = createSplitter(MAX_RECORD_BYTES)
  #format: FormatName | undefined
  #reader: RecordReader | undefined
  #isOver = false
  #line = 1

  constructor({ format, ...names }: DumpOptions) {
    this.#names = names
    if (format) this.#use(format)
  }

  format(): FormatName | undefined {
    return this.#format
  }

  push(chunk: Uint8Array): readonly Found[] {
    return this.#isOver ? [] : this.#readAll(this.#splitter.push(chunk))
  }

  end(): readonly Found[] {
    const found = this.#readAll(this.#splitter.end())
    const last = this.#isOver ? undefined : this.#reader?.end()
    return last ? [...found, { line: this.#line, size: 0, reading: last }] : found
  }

  #use(format: FormatName): RecordReader {
    this.#format = format
    this.#reader = FORMATS[format].createReader(this.#names)
    return this.#reader
  }

  #readAll(pieces: readonly Piece[]): Found[] {
    const found: Found[] = []
    for (const piece of pieces) {
      if (this.#isOver) break
      this.#line = piece.line
      const readings = this.#readPiece(piece)
      this.#isOver = readings.some((reading) => reading.kind === 'refused' && reading.isLast)
      const size = 'text' in piece ? Math.ceil(piece.text.length / readings.length) : 0
      for (const reading of readings) found.push({ line: piece.line, size, reading })
    }
    return found
  }

  #readPiece(piece: Piece): readonly Reading[] {
    const { value, flaw } = readValue(piece)
    if (flaw !== undefined) return [{ kind: 'refused', reason: flaw }]
    const records: readonly unknown[] = Array.isArray(value) ? value : [value]
    return records.map((record) => this.#findReader(record)?.read(record) ?? UNKNOWN_FORMAT)
  }

  #findReader(record: unknown): RecordReader | undefined {
    if (this.#reader) return this.#reader
    const format = guessFormat(record, this.#names)
    return format && this.#use(format)
  }
}

const UNKNOWN_FORMAT: Reading = Object.freeze({
  kind: 'refused',
  reason: 'The format of the dump cannot be recognised by its first record: use --from.',
  isLast: true,
})

type Value =
  | { readonly value: unknown; readonly flaw?: undefined }
  | { readonly value?: undefined; readonly flaw: string }

function readValue(piece: Piece): Value {
  if ('flaw' in piece) return { flaw: PIECE_FLAWS[piece.flaw] }
  const reading = readJson(piece.text, { noDuplicates: true })
  if (reading.kind === 'refused') return { flaw: JSON_FLAWS[reading.reason] }
  // too deep to be serialised again by every client
  return hasManyOpeners(piece.text) && isDeep(reading.value)
    ? { flaw: `The record is nested more than ${MAX_DEPTH} deep.` }
    : reading
}

const JSON_FLAWS = { not_json: 'The record is not JSON.', duplicate_name: 'A member is duplicated.' } as const

const [OPEN_LIST, OPEN_OBJECT] = [0x5b, 0x7b] as const

/** A cheap test without allocations: few records have enough brackets to be nested too deeply. */
function hasManyOpeners(text: string): boolean {
  let openers = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === OPEN_LIST || code === OPEN_OBJECT) openers += 1
  }
  return openers > MAX_DEPTH
}

/** Level by level, not by recursion: the depth is untrusted. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((item) => (Array.isArray(item) ? item : isJsonObject(item) ? Object.values(item) : []))
  }
  return false
}
