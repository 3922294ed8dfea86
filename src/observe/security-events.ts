import { type Clock, MONOTONIC_CLOCK, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { toPeerKey } from '../base/peer-key.ts'
import { findOrigin } from './origin.ts'
import type { EventFields, EventKind, EventRow, EventTable } from './security-event-table.ts'
import { type SecurityRecord, toSafeFields } from './security-record.ts'

/** With `audit.on-failure = refuse`, what cannot be recorded is not done. */
export interface RecordGuard {
  /** Throws `audit_unavailable` if records are lost or cannot be written, and the option asks for it. */
  requireRecording(): void
}

/** Records security events. No field ever holds a secret, token, cookie, key or password. */
export interface SecurityEvents extends RecordGuard {
  readonly rows: EventTable
  record<K extends EventKind>(kind: K, fields: EventFields<K>): void
}

export type RecordSink = (record: SecurityRecord, row: EventRow) => void

export interface SecurityEventsDeps {
  readonly rows: EventTable
  /** Name of this node. */
  node(): string
  /** Each sink gets every record, in order. */
  readonly sinks: readonly RecordSink[]
  /** Called with every event at once, also with those that become one record per minute. */
  onEvent?(record: SecurityRecord): void
  /** Left out: nothing is refused. */
  readonly requireRecording?: RecordGuard['requireRecording']
  readonly clock?: Clock
  readonly monotonic?: Clock
}

export interface RunningSecurityEvents extends SecurityEvents {
  /** Writes the counts of events that wait for the end of their minute. */
  flush(): void
}

export function createSecurityEvents(deps: SecurityEventsDeps): RunningSecurityEvents {
  const { rows, node, sinks, onEvent, clock = SYSTEM_CLOCK, monotonic = MONOTONIC_CLOCK } = deps
  const write = (record: SecurityRecord) => {
    const row: EventRow = rows[record.event]
    for (const sink of sinks) sink(record, row)
  }
  const groups = new EventGroups(write, monotonic)
  return {
    rows,
    requireRecording: () => deps.requireRecording?.(),
    record(kind, fields) {
      const row: EventRow = rows[kind]
      const origin = row.scope === 'request' ? findOrigin() : {}
      const record: SecurityRecord = {
        time: clock.nowMs(),
        event: kind,
        outcome: row.outcome,
        node: node(),
        fields: toSafeFields(origin, fields),
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

const GROUP_MS = 60_000

/** Failed sign-ins cost a client nothing, so the number of groups is bounded. */
const MAX_GROUPS = 1000
/** How many names of one peer. Above half of all groups a peer gets no further names: the rest is for other peers. */
const MAX_NAMES = 100
const MAX_GROUPS_WITH_NAMES = MAX_GROUPS / 2

/** The peers above that limit share one record per minute, with this value in place of the peer. */
const OTHER_PEERS = '(other peers)'

/** In the key of a group for the names above their limit. No field of a record contains it. */
const OTHER_NAMES = '\n'
const MAX_COUNTED_NAMES = 1000

type GroupField = NonNullable<EventRow['groupBy']>

interface Group {
  readonly sinceMs: number
  /** The peer or the upstream server. */
  readonly source: string
  /** The last event that was only counted. */
  waiting: SecurityRecord | undefined
  count: number
  /** The subjects of the counted events. */
  readonly names: Set<unknown>
}

/**
 * Turns many events of one kind from one peer about one name, or about one upstream server, into one record per minute.
 * The first is written at once, so that an operator sees an attack when it begins. The others are counted, and the count
 * is written when the minute is over.
 */
class EventGroups {
  readonly #write: (record: SecurityRecord) => void
  readonly #clock: Clock
  readonly #groups = new Map<string, Group>()
  #timer: NodeJS.Timeout | undefined

  constructor(write: (record: SecurityRecord) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  add(given: SecurityRecord, by: GroupField): void {
    const { record, source, key } = this.#assignGroup(given, by)
    const group = this.#groups.get(key)
    if (!group) {
      this.#groups.set(key, createGroup(source, this.#clock.nowMs()))
      this.#watch()
      this.#write(record)
      return
    }
    group.waiting = record
    group.count += 1
    if (group.names.size <= MAX_COUNTED_NAMES) group.names.add(record.fields['subject'])
    if (this.#isOver(group)) this.#endMinute(key, group)
  }

  /** Writes all counts now. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const group of this.#groups.values()) this.#writeCount(group)
    this.#groups.clear()
  }

  #assignGroup(record: SecurityRecord, by: GroupField): { record: SecurityRecord; source: string; key: string } {
    const { event, fields } = record
    const source = toSource(String(fields[by] ?? ''), by)
    const own = `${event} ${source} ${fields['subject'] ?? ''}`
    // The upstream servers come from the configuration, so there are few.
    if (by !== 'peer' || this.#groups.has(own) || this.#hasRoom(source)) return { record, source, key: own }
    const others = `${event} ${source} ${OTHER_NAMES}`
    if (this.#groups.has(others) || this.#groups.size < MAX_GROUPS) return { record, source, key: others }
    const key = `${event} ${OTHER_PEERS} ${OTHER_NAMES}`
    return { record: { ...record, fields: { ...fields, peer: OTHER_PEERS } }, source: OTHER_PEERS, key }
  }

  /** Whether the peer gets a group for another name. */
  #hasRoom(peer: string): boolean {
    const names = this.#groups.values().reduce((count, { source }) => count + Number(source === peer), 0)
    if (names === 0) return this.#groups.size < MAX_GROUPS
    return names < MAX_NAMES && this.#groups.size < MAX_GROUPS_WITH_NAMES
  }

  #watch(): void {
    this.#timer ??= setTimeout(() => {
      for (const [key, group] of [...this.#groups]) if (this.#isOver(group)) this.#endMinute(key, group)
      this.#timer = undefined
      if (this.#groups.size > 0) this.#watch()
    }, GROUP_MS / 4).unref()
  }

  #isOver({ sinceMs }: Group): boolean {
    return this.#clock.nowMs() - sinceMs >= GROUP_MS
  }

  /** A group with a count continues for another minute, so that its next event is counted too. */
  #endMinute(key: string, group: Group): void {
    this.#groups.delete(key)
    this.#writeCount(group)
    if (group.waiting) this.#groups.set(key, createGroup(group.source, this.#clock.nowMs()))
  }

  #writeCount({ waiting, count, names }: Group): void {
    if (waiting) this.#write({ ...waiting, fields: { ...waiting.fields, ...describeNames(names.size), count } })
  }
}

const createGroup = (source: string, sinceMs: number): Group => ({
  sinceMs,
  source,
  waiting: undefined,
  count: 0,
  names: new Set(),
})

/** A record about several names has none of them: it would blame one for the failures of all. */
function describeNames(count: number) {
  if (count <= 1) return undefined
  const isMore = count > MAX_COUNTED_NAMES
  const names = Math.min(count, MAX_COUNTED_NAMES)
  return { subject: `(and ${isMore ? 'more than ' : ''}${names} other names)`, names }
}

/** The limits on passwords count peers by the same key: one client with a whole IPv6 network is one peer. */
const toSource = (value: string, by: GroupField): string => (by === 'peer' ? (toPeerKey(value) ?? value) : value)
