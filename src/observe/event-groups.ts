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
export function createGroups(write: (record: SecurityRecord) => void, clock: Clock) {
  const groups = new Map<string, Group>()
  let timer: NodeJS.Timeout | undefined

  const writeCount = ({ waiting, count }: Group) => {
    if (waiting) write({ ...waiting, fields: { ...waiting.fields, count } })
  }

  /** A group with a count continues for another minute, so that its next event is counted too. */
  const endMinute = (key: string, group: Group) => {
    groups.delete(key)
    writeCount(group)
    if (group.waiting) groups.set(key, { sinceMs: clock.nowMs(), waiting: undefined, count: 0 })
  }

  const isOver = ({ sinceMs }: Group) => clock.nowMs() - sinceMs >= GROUP_MS

  const watch = () => {
    timer ??= setTimeout(() => {
      for (const [key, group] of [...groups]) if (isOver(group)) endMinute(key, group)
      timer = undefined
      if (groups.size > 0) watch()
    }, GROUP_MS / 4).unref()
  }

  return {
    add(given: SecurityRecord, by: GroupField): void {
      const { record, key } = assignGroup(given, by, groups)
      const group = groups.get(key)
      if (!group) {
        groups.set(key, { sinceMs: record.time, waiting: undefined, count: 0 })
        watch()
        write(record)
        return
      }
      group.waiting = record
      group.count += 1
      if (isOver(group)) endMinute(key, group)
    },
    flush(): void {
      clearTimeout(timer)
      timer = undefined
      for (const group of groups.values()) writeCount(group)
      groups.clear()
    },
  }
}

function assignGroup(record: SecurityRecord, by: GroupField, groups: ReadonlyMap<string, Group>) {
  const key = keyOf(record.event, toGroupKey(String(record.fields[by] ?? ''), by))
  // The upstream servers come from the configuration, so there are few.
  if (by !== 'peer' || groups.has(key) || groups.size < MAX_GROUPS) return { key, record }
  const fields = { ...record.fields, peer: OTHER_PEERS }
  return { key: keyOf(record.event, OTHER_PEERS), record: { ...record, fields } }
}

/** The limits on passwords count peers by the same key: one client with a whole IPv6 network is one peer. */
const toGroupKey = (value: string, by: GroupField): string => (by === 'peer' ? (toPeerKey(value) ?? value) : value)

const keyOf = (event: string, peer: string): string => `${event} ${peer}`
