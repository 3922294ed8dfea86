import { type EventRow, SECURITY_EVENTS } from '../security-event-table.ts'

/** A record as the admin API shows it. */
export type SentenceRecord = Readonly<Record<string, unknown>> & { readonly time: number; readonly event: string }

/** Shown elsewhere in the sentence, or only with `--json`. */
const PLACED: ReadonlySet<string> = new Set([
  ...['id', 'time', 'sequence', 'node', 'event', 'outcome', 'previous', 'hash'],
  ...['subject', 'actor', 'peer', 'door', 'handler', 'request'],
])

/** One line: when, what happened to which user, who did it from where, and the other fields. */
export function renderSentence(record: SentenceRecord): string {
  const { subject, actor, peer, door, handler } = record
  const rows: Readonly<Record<string, EventRow>> = SECURITY_EVENTS
  const what = rows[record.event]?.sentence ?? record.event
  const details = Object.entries(record)
    .filter(([name]) => !PLACED.has(name))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`)
  const words = [
    `${what}${subject === undefined ? '' : `: ${subject}`}`,
    actor !== undefined && actor !== subject && `by ${actor}`,
    peer !== undefined && `from ${peer}`,
    door !== undefined && `at the ${door} door${handler === undefined ? '' : ` with ${handler}`}`,
  ].filter(Boolean)
  const tail = details.length === 0 ? '' : ` (${details.join('; ')})`
  return `${new Date(record.time).toISOString()}  ${words.join(' ')}${tail}`
}
