/**
 * Reads a dump of users in constant memory, from chunks of any size. Each record, or a list of records, is on a line of
 * its own; the rows of `_all_docs` and the documents of a bulk request are lines of an open list. Never throws because
 * of what a dump contains; a record that is rejected does not stop the next one from being read.
 */
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { type Line, LineSplitter } from '../base/lines.ts'
import type { FormatName } from './format-names.ts'
import { FORMATS } from './formats.ts'
import { type RecordReader, type RecordReading, toReason } from './records.ts'

export interface Found {
  /** Left out if the source has no lines. */
  readonly line?: number
  /** Characters of the record; if a line contains several records, its length divided by their number. */
  readonly size: number
  readonly reading: RecordReading
}

/** The longest record, in bytes. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024
const MAX_DEPTH = 100

const FLAWS = {
  too_long: `The record is longer than ${MAX_RECORD_BYTES} bytes. Each must be on a line of its own.`,
  not_utf8: 'The record is not UTF-8.',
  not_json: 'The record is not JSON. Each must be on a line of its own.',
  duplicate_name: 'A member is duplicated.',
} as const

const CUT_OFF = 'The list is not closed: the dump is incomplete.'

/** A line that opens a list and holds no element of it. */
const LIST_HEAD = /^(?:\{.*"(?:rows|docs)"\s*:\s*)?\[$/

export class DumpReader {
  readonly #lines = new LineSplitter(MAX_RECORD_BYTES)
  readonly #reader: RecordReader
  #isInList = false
  #isOver = false
  #line = 1

  constructor(format: FormatName, idPrefix: string) {
    this.#reader = FORMATS[format].createReader(idPrefix)
  }

  push(chunk: Uint8Array): readonly Found[] {
    return this.#lines.push(chunk).flatMap((line) => this.#readLine(line))
  }

  /** What was not complete before, and what is wrong with the dump as a whole. */
  end(): readonly Found[] {
    const rest = this.#lines.end()
    const found = rest ? this.#readLine(rest) : []
    if (this.#isOver) return found
    const flaw = this.#isInList ? CUT_OFF : this.#reader.findFlaw?.()
    return flaw === undefined ? found : [...found, this.#toFound(refused(flaw))]
  }

  #readLine(line: Line): readonly Found[] {
    if (this.#isOver) return []
    this.#line = line.number
    if ('flaw' in line) return [this.#toFound(refused(FLAWS[line.flaw]))]
    // a byte order mark is white space here
    const text = line.text.trim()
    if (text === '' || this.#isListEdge(text)) return []
    const readings = this.#readRecords(this.#isInList && text.endsWith(',') ? text.slice(0, -1) : text)
    const size = Math.ceil(text.length / readings.length)
    this.#isOver = readings.some((reading) => reading.kind === 'refused' && reading.isLast)
    return readings.map((reading) => this.#toFound(reading, size))
  }

  #toFound(reading: RecordReading, size = 0): Found {
    return { line: this.#line, size, reading }
  }

  #isListEdge(text: string): boolean {
    const isEdge = this.#isInList ? text.startsWith(']') : text.endsWith('[') && LIST_HEAD.test(text)
    if (isEdge) this.#isInList = !this.#isInList
    return isEdge
  }

  #readRecords(text: string): readonly RecordReading[] {
    const json = readJson(text, { noDuplicates: true })
    if (json.kind === 'refused') return [refused(FLAWS[json.reason])]
    // too deep to be serialised again by every client
    if (isDeep(json.value)) return [refused(`The record is nested more than ${MAX_DEPTH} deep.`)]
    return listRecords(json.value).map((record) => this.#readRecord(record))
  }

  #readRecord(record: unknown): RecordReading {
    try {
      return this.#reader.read(record)
    } catch (error) {
      return { kind: 'refused', ...this.#reader.label(record), reason: toReason(error) }
    }
  }
}

const refused = (reason: string): RecordReading => ({ kind: 'refused', reason })

/** The elements of a list or of a whole listing on one line, or the record itself. */
function listRecords(value: unknown): readonly unknown[] {
  const list = isJsonObject(value) ? (findMember(value, 'rows') ?? findMember(value, 'docs')) : value
  return Array.isArray(list) ? list : [value]
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
