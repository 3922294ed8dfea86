import type { Clock } from '../base/clock.ts'
import { toPeerKey } from '../base/peer-key.ts'
import type { EventRow } from './security-event-table.ts'
import type { SecurityRecord } from './security-record.ts'

const GROUP_MS = 60_000

/** Failed sign-ins cost a client nothing, so the number of groups is bounded. */
const MAX_GROUPS = 1000

/** The peers above that limit share one record per minute, with this value in place of the peer. */
const OTHER_PEERS = '(other peers)'

type GroupField = NonNullable<EventRow['groupBy']>

interface Group {
  readonly sinceMs: number
  /** The last event that was only counted. */
  waiting: SecurityRecord | undefined
  count: number
}

/**
 * Turns many events of one kind from one peer, or about one upstream server, into one record per minute. The first is
 * written at once, so that an operator sees an attack when it begins. The others are counted, and the count is written
 * when the minute is over.
 */
export class EventGroups {
  readonly #write: (record: SecurityRecord) => void
  readonly #clock: Clock
  readonly #groups = new Map<string, Group>()
  #timer: NodeJS.Timeout | undefined

  constructor(write: (record: SecurityRecord) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  add(given: SecurityRecord, by: GroupField): void {
    const { record, key } = this.#assignGroup(given, by)
    const group = this.#groups.get(key)
    if (!group) {
      this.#groups.set(key, { sinceMs: record.time, waiting: undefined, count: 0 })
      this.#watch()
      this.#write(record)
      return
    }
    group.waiting = record
    group.count += 1
    if (this.#isOver(group)) this.#endMinute(key, group)
  }

  /** Writes all counts now. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const group of this.#groups.values()) this.#writeCount(group)
    this.#groups.clear()
  }

  #assignGroup(record: SecurityRecord, by: GroupField): { record: SecurityRecord; key: string } {
    const key = keyOf(record.event, toGroupKey(String(record.fields[by] ?? ''), by))
    // The upstream servers come from the configuration, so there are few.
    if (by !== 'peer' || this.#groups.has(key) || this.#groups.size < MAX_GROUPS) return { key, record }
    const fields = { ...record.fields, peer: OTHER_PEERS }
    return { key: keyOf(record.event, OTHER_PEERS), record: { ...record, fields } }
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
    if (group.waiting) this.#groups.set(key, { sinceMs: this.#clock.nowMs(), waiting: undefined, count: 0 })
  }

  #writeCount({ waiting, count }: Group): void {
    if (waiting) this.#write({ ...waiting, fields: { ...waiting.fields, count } })
  }
}

/** The limits on passwords count peers by the same key: one client with a whole IPv6 network is one peer. */
const toGroupKey = (value: string, by: GroupField): string => (by === 'peer' ? (toPeerKey(value) ?? value) : value)

const keyOf = (event: string, peer: string): string => `${event} ${peer}`
