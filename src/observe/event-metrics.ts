import type { CounterCell, Metrics } from './metrics.ts'
import type { EventKind } from './security-event-table.ts'
import type { SecurityRecord } from './security-record.ts'

/** Counts security events. The labels hold no field that a client chooses. */
export function createEventCounter(metrics: Metrics): (record: SecurityRecord) => void {
  return (record) => {
    metrics.counter('cardea_security_events_total', { event: record.event }).count += 1
    const counter = OWN_COUNTERS[record.event]?.(metrics, record.fields)
    if (counter) counter.count += 1
  }
}

type FindCounter = (metrics: Metrics, fields: SecurityRecord['fields']) => CounterCell

const textOf = (value: SecurityRecord['fields'][string] | undefined): string =>
  typeof value === 'string' ? value : 'none'

const signIn =
  (outcome: string): FindCounter =>
  (metrics, { door, handler }) =>
    metrics.counter('cardea_sign_ins_total', { door: textOf(door), outcome, handler: textOf(handler) })

const revoked =
  (what: string): FindCounter =>
  (metrics) =>
    metrics.counter('cardea_sessions_revoked_total', { what })

/** The events that have a metric of their own. */
const OWN_COUNTERS: Partial<Record<EventKind, FindCounter>> = {
  'sign-in.accepted': signIn('accepted'),
  'sign-in.refused': signIn('refused'),
  'session.revoked': revoked('all'),
  'session.ended': revoked('one'),
  'session.reused': revoked('one'),
  'sign-out': revoked('sign-out'),
  'limit.started': (metrics, { limit }) => metrics.counter('cardea_limits_reached_total', { limit: textOf(limit) }),
}
