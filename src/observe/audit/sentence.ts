import { type EventRow, SECURITY_EVENTS } from '../security-event-table.ts'

/** A record as the admin API shows it. */
export type SentenceRecord = Readonly<Record<string, unknown>> & { readonly time: number; readonly event: string }

/** Shown elsewhere in the sentence, or only with `--json`. */
const PLACED: ReadonlySet<string> = new Set([
  ...['id', 'time', 'sequence', 'node', 'event', 'outcome', 'previous', 'hash'],
  ...['subject', 'actor', 'peer', 'door', 'handler', 'request'],
])

/** One line: when, what happened, who did it from where, and the other fields. */
export function renderSentence(record: SentenceRecord): string {
  const { subject, actor, peer, door, handler } = record
  const rows: Readonly<Record<string, EventRow>> = SECURITY_EVENTS
  const story = rows[record.event]?.story ?? record.event
  const details = Object.entries(record)
    .filter(([name]) => !PLACED.has(name) && !story.includes(`{${name}}`))
    .map(([name, value]) => `${name}: ${toText(value)}`)
  const words = [
    story.replaceAll(/\{(\w+)\}/g, (_, name: string) => toText(record[name] ?? MISSING[name])),
    actor !== undefined && actor !== subject && `by ${actor}`,
    door !== undefined && `at the ${door} door`,
    handler !== undefined && `with ${handler}`,
    peer !== undefined && `from ${peer}`,
  ].filter(Boolean)
  const tail = details.length === 0 ? '' : ` (${details.join('; ')})`
  return `${new Date(record.time).toISOString()}  ${words.join(' ')}${tail}`
}

/** Shown where an optional field is absent. */
const MISSING: Readonly<Record<string, string>> = { subject: 'a client' }

const toText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || 'nothing'
