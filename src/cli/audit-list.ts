import { setTimeout as pause } from 'node:timers/promises'
import { readIsoTime } from '../base/clock.ts'
import { toPrintable } from '../base/printable.ts'
import type { AuditListView } from '../dialects/admin-api/schemas/system.ts'
import { SECURITY_EVENTS } from '../modules.ts'
import type { EventRow } from '../observe/security-event-table.ts'
import type { Control, Query } from './client.ts'
import { type Context, usageError } from './context.ts'
import { toJsonLine } from './json-output.ts'
import { listPages, type ManageOptions, manage, readDuration } from './manage.ts'

export interface AuditListOptions extends ManageOptions {
  readonly user?: string
  readonly event?: string
  readonly outcome?: string
  readonly since?: string
  readonly until?: string
  readonly limit: number
  readonly follow?: boolean
}

type Shown = AuditListView['records'][number]

const POLL_MS = 1000
/** A record of another node may become visible after one with a later time. */
const OVERLAP_MS = 5000

export function listAudit(context: Context, options: AuditListOptions): Promise<void> {
  const query = toQuery(options)
  const print = (record: Shown) =>
    context.print(options.json ? toJsonLine(record) : toPrintable(renderSentence(record)))
  return manage(context, options, async (control) => {
    const newest = await listNewest(control, query, options.limit)
    for (const record of newest.toReversed()) print(record)
    if (options.follow) await follow(control, query, newest, print)
  })
}

function toQuery({ user, event, outcome, since, until }: AuditListOptions): Query {
  return { user, event, outcome, since: readTime(since, '--since'), until: readTime(until, '--until') }
}

function readTime(text: string | undefined, flag: string): string | undefined {
  if (text === undefined) return undefined
  // a number alone is a year
  const ago = /^\d+$/.test(text) ? undefined : readDuration(text)
  const time = ago === undefined ? readIsoTime(text) : Date.now() - ago * 1000
  if (Number.isNaN(time)) throw usageError(`${flag}: expected 30m, 2h, 7d or a time such as 2026-01-31T12:00:00Z`)
  return String(time)
}

const MAX_AT_ONCE = 1000

async function listNewest(control: Control, query: Query, limit: number): Promise<readonly Shown[]> {
  const found: Shown[] = []
  const toPageQuery = () => ({ ...query, limit: String(Math.min(limit - found.length, MAX_AT_ONCE)) })
  for await (const { records } of listPages(control, 'audit.list', toPageQuery)) {
    found.push(...records)
    if (found.length >= limit) break
  }
  return found
}

async function follow(
  control: Control,
  query: Query,
  seen: readonly Shown[],
  print: (record: Shown) => void,
): Promise<never> {
  let known = new Map(seen.map(({ id, time }) => [id, time]))
  let from = Math.max(Date.now(), ...seen.map(({ time }) => time)) - OVERLAP_MS
  for (;;) {
    await pause(POLL_MS)
    const since = Math.max(from, Number(query['since'] ?? 0))
    const page = await control.call('audit.list', { query: { ...query, order: 'oldest', since: String(since) } })
    for (const record of page.records) {
      if (!known.has(record.id)) print(record)
      known.set(record.id, record.time)
    }
    from = Math.max(from, (page.records.at(-1)?.time ?? from) - OVERLAP_MS)
    known = new Map([...known].filter(([, time]) => time >= from))
  }
}

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
  const isCommand = handler === 'socket'
  const words = [
    story.replaceAll(/\{(\w+)\}/g, (_, name: string) => toText(record[name] ?? MISSING[name])),
    isCommand && 'by the owner of the server, with the command line',
    !isCommand && actor !== undefined && actor !== subject && `by ${actor}`,
    !isCommand && door !== undefined && `at the ${door} door`,
    !isCommand && handler !== undefined && `with ${handler}`,
    peer !== undefined && `from ${peer}`,
  ].filter(Boolean)
  const tail = details.length === 0 ? '' : ` (${details.join('; ')})`
  return `${new Date(record.time).toISOString()}  ${words.join(' ')}${tail}`
}

/** Shown where an optional field is absent. */
const MISSING: Readonly<Record<string, string>> = { subject: 'a client' }

const toText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || 'nothing'
