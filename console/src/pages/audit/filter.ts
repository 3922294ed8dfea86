import type { AuditRecordView } from '../../api/client.ts'

/** Which records a list shows. Empty: all of them. */
export interface AuditFilter {
  readonly user: string
  readonly event: string
  readonly outcome: string
  readonly range: string
}

const HOUR = 3600
export const RANGES: Readonly<Record<string, number>> = {
  '1h': HOUR,
  '24h': 24 * HOUR,
  '7d': 7 * 24 * HOUR,
  '30d': 30 * 24 * HOUR,
}

export const readFilter = ({ user = '', event = '', outcome = '', range = '' }: Readonly<Record<string, string>>) => ({
  user,
  event,
  outcome,
  range,
})

/** The filter as the admin API wants it. */
export function toQuery({ user, event, outcome, range }: AuditFilter) {
  const seconds = RANGES[range]
  const since = seconds === undefined ? undefined : Math.floor(Date.now() / 1000 - seconds) * 1000
  return { user, event, outcome, since }
}

export const matches = (record: AuditRecordView, { user, event, outcome }: AuditFilter): boolean =>
  (user === '' || record.actor === user || record.subject === user) &&
  (event === '' || record.event === event) &&
  (outcome === '' || record.outcome === outcome)
