/** Messages of RFC 5424. */
import { hostname } from 'node:os'
import { type EventRow, SECURITY_EVENTS } from '../../security-event-table.ts'
import { type AuditRecord, toShownRecord } from '../audit-record.ts'

/** Facility 13: log audit. */
const FACILITY = 13
const SEVERITIES: Readonly<Record<EventRow['level'], number>> = { error: 3, warn: 4, info: 6 }
const NAME = 'cardea'

export function renderSyslog(record: AuditRecord): string {
  const rows: Readonly<Record<string, EventRow>> = SECURITY_EVENTS
  const priority = FACILITY * 8 + SEVERITIES[rows[record.event]?.level ?? 'info']
  const time = new Date(record.time).toISOString()
  return `<${priority}>1 ${time} ${toToken(hostname(), 255)} ${NAME} ${process.pid} ${toToken(record.event, 32)} - ${renderAscii(toShownRecord(record))}`
}

/** Printable ASCII without spaces. */
const toToken = (text: string, max: number): string => text.replace(/[^\x21-\x7e]/g, '').slice(0, max) || '-'

/** JSON with escapes only, so that the message needs no mark of its encoding. */
const renderAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

export const toHost = ({ hostname: host }: URL): string => host.replace(/^\[|\]$/g, '')
