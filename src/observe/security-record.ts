import type { EventKind, EventRow } from './security-event-table.ts'

/** One event, complete and safe to write anywhere: every text is one line of at most 256 bytes. */
export interface SecurityRecord {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly event: EventKind
  readonly outcome: EventRow['outcome']
  readonly node: string
  readonly fields: Readonly<Record<string, string | number | readonly string[]>>
}

const MAX_LIST = 100

/** Makes values safe to log, and leaves out those that are `undefined`. The last value of a name counts. */
export function toSafeFields(...all: readonly object[]): SecurityRecord['fields'] {
  const given = all.flatMap((fields) => Object.entries(fields)).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, toSafe(value)]))
}

function toSafe(value: unknown): string | number | readonly string[] {
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.slice(0, MAX_LIST).map((item) => toSafeText(String(item)))
  return toSafeText(String(value))
}

const MAX_TEXT_BYTES = 256

/** Characters that start a new line, hide text or change its direction. They would let a client forge a log line. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The text in one visible line of at most 256 bytes. */
export function toSafeText(text: string): string {
  // Cut first, so that a long text costs no more than a short one.
  const visible = text.slice(0, MAX_TEXT_BYTES).replace(UNSAFE, toEscape)
  if (text.length <= MAX_TEXT_BYTES && Buffer.byteLength(visible) <= MAX_TEXT_BYTES) return visible
  return cutText(visible)
}

const toEscape = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`

const CUT_MARK = '…'

function cutText(text: string): string {
  let bytes = Buffer.byteLength(CUT_MARK)
  let kept = ''
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > MAX_TEXT_BYTES) break
    kept += character
  }
  return kept + CUT_MARK
}
