import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { createGroups } from './event-groups.ts'
import { findOrigin } from './origin.ts'
import { type EventFields, type EventKind, type EventRow, SECURITY_EVENTS } from './security-event-table.ts'

/** What a folder needs to record security events. No field ever holds a secret, token, cookie, key or password. */
export interface SecurityEvents {
  record<K extends EventKind>(kind: K, fields: EventFields<K>): void
}

/** One event, complete and safe to write anywhere: every text is one line of at most 256 bytes. */
export interface SecurityRecord {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly event: EventKind
  readonly outcome: EventRow['outcome']
  readonly node: string
  readonly fields: Readonly<Record<string, string | number | readonly string[]>>
}

export type RecordSink = (record: SecurityRecord, row: EventRow) => void

export interface SecurityEventsDeps {
  /** Name of this node. */
  node(): string
  /** Each gets every record, in order. */
  readonly sinks: readonly RecordSink[]
  readonly clock?: Clock
}

export interface RunningSecurityEvents extends SecurityEvents {
  /** Writes the counts of refusals that wait for the end of their minute. */
  flush(): void
}

export const SILENT_EVENTS: SecurityEvents = Object.freeze({ record: () => {} })

export function createSecurityEvents({ node, sinks, clock = SYSTEM_CLOCK }: SecurityEventsDeps): RunningSecurityEvents {
  const write = (record: SecurityRecord) => {
    const row: EventRow = SECURITY_EVENTS[record.event]
    for (const sink of sinks) sink(record, row)
  }
  const groups = createGroups(write, clock)
  return {
    record(kind, fields) {
      const row: EventRow = SECURITY_EVENTS[kind]
      const origin = row.scope === 'request' ? findOrigin() : {}
      const record: SecurityRecord = {
        time: clock.nowMs(),
        event: kind,
        outcome: row.outcome,
        node: node(),
        fields: toSafeFields({ ...origin, ...withoutUndefined(fields) }),
      }
      if (row.groupBy) groups.add(record, row.groupBy)
      else write(record)
    },
    flush: groups.flush,
  }
}

/** One structured line per record, at the level of its row. */
export const toLogSink =
  (log: Log): RecordSink =>
  ({ event, outcome, node, fields }, { level, sentence }) =>
    log[level](sentence, { event, outcome, node, ...fields })

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

function toSafeFields(fields: object): SecurityRecord['fields'] {
  return Object.fromEntries(Object.entries(withoutUndefined(fields)).map(([name, value]) => [name, toSafe(value)]))
}

const MAX_LIST = 100

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
  // cut first, so that a long text costs no more than a short one
  const visible = text.slice(0, MAX_TEXT_BYTES).replace(UNSAFE, toEscape)
  if (text.length <= MAX_TEXT_BYTES && Buffer.byteLength(visible) <= MAX_TEXT_BYTES) return visible
  return cutText(visible)
}

const toEscape = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`

const CUT = '…'

function cutText(text: string): string {
  let bytes = Buffer.byteLength(CUT)
  let kept = ''
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > MAX_TEXT_BYTES) break
    kept += character
  }
  return kept + CUT
}
