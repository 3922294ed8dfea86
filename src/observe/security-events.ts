import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { EventGroups } from './event-groups.ts'
import { findOrigin } from './origin.ts'
import { type EventFields, type EventKind, type EventRow, SECURITY_EVENTS } from './security-event-table.ts'
import { type SecurityRecord, toSafeFields } from './security-record.ts'

/** With `audit.on-failure = refuse`, what cannot be recorded is not done. */
export interface RecordGuard {
  /** Throws `audit_unavailable` if records are lost or cannot be written, and the option asks for it. */
  requireRecording(): void
}

/** Records security events. No field ever holds a secret, token, cookie, key or password. */
export interface SecurityEvents extends RecordGuard {
  /** Set in a worker thread: the main thread records what concerns requests. */
  readonly areOfMainThread?: true
  record<K extends EventKind>(kind: K, fields: EventFields<K>): void
}

export type RecordSink = (record: SecurityRecord, row: EventRow) => void

export interface SecurityEventsDeps {
  /** Name of this node. */
  node(): string
  /** Each sink gets every record, in order. */
  readonly sinks: readonly RecordSink[]
  /** Called with every event at once, also with those that become one record per minute. */
  onEvent?(record: SecurityRecord): void
  /** Left out: nothing is refused. */
  readonly requireRecording?: RecordGuard['requireRecording']
  readonly clock?: Clock
}

export interface RunningSecurityEvents extends SecurityEvents {
  /** Writes the counts of events that wait for the end of their minute. */
  flush(): void
}

export function createSecurityEvents(deps: SecurityEventsDeps): RunningSecurityEvents {
  const { node, sinks, onEvent, clock = SYSTEM_CLOCK } = deps
  const write = (record: SecurityRecord) => {
    const row: EventRow = SECURITY_EVENTS[record.event]
    for (const sink of sinks) sink(record, row)
  }
  const groups = new EventGroups(write, clock)
  return {
    requireRecording: () => deps.requireRecording?.(),
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
      onEvent?.(record)
      if (row.groupBy) groups.add(record, row.groupBy)
      else write(record)
    },
    flush: () => groups.flush(),
  }
}

/** One structured line per record, at the level of its row. */
export const toLogSink =
  (log: Log): RecordSink =>
  ({ event, outcome, node, fields }, { level, sentence }) =>
    log[level](sentence, { event, outcome, node, ...fields })

const withoutUndefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
