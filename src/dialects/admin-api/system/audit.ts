import { Refusal } from '../../../base/errors.ts'
import { readJson } from '../../../base/json.ts'
import { type ShownRecord, toShownRecord } from '../../../observe/audit/audit-record.ts'
import type { AuditCursor, AuditRange } from '../../../observe/audit/audit-store.ts'
import { type EventRow, SECURITY_EVENTS } from '../../../observe/security-event-table.ts'
import { readCount, readMembers, requireText } from '../json.ts'
import type { Operation } from '../operation.ts'

export interface AuditPage {
  readonly records: readonly ShownRecord[]
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string
}

const MAX_RECORDS = 1000

export const AUDIT_OPERATIONS = {
  'audit.list': {
    method: 'GET',
    path: '/audit',
    async run({ audit }, { query }): Promise<AuditPage> {
      const range = readRange(query)
      const records = await audit.list(range)
      const last = records.length === range.limit ? records.at(-1) : undefined
      return { records: records.map(toShownRecord), ...(last && { next: renderCursor(last) }) }
    },
  },
  'audit.erase': {
    method: 'POST',
    path: '/audit/erase',
    async run({ directory, audit }, { body }) {
      const name = requireText(readMembers(body, ['name']), 'name')
      if (directory.isAdministrator(name) || (await directory.findUser(name)))
        throw new Refusal('conflict', { about: 'An account has this name. Remove it first.' })
      return audit.erase(name)
    },
  },
  'audit.events': {
    method: 'GET',
    path: '/audit/events',
    run: () => ({
      events: Object.entries<EventRow>(SECURITY_EVENTS).map(([event, { level, outcome, sentence, story, fields }]) => ({
        event,
        level,
        outcome,
        sentence,
        story,
        fields: Object.entries(fields).map(([name, { type, help }]) => ({ name, type, help })),
      })),
    }),
  },
} as const satisfies Record<string, Operation<unknown>>

const refuse = (about: string): Refusal => new Refusal('bad_request', { about })

const readRange = (query: URLSearchParams): AuditRange => ({
  user: query.get('user') ?? undefined,
  event: readWord(query, 'event', Object.keys(SECURITY_EVENTS)),
  outcome: readWord(query, 'outcome', ['success', 'failure']),
  sinceMs: readTime(query, 'since'),
  untilMs: readTime(query, 'until'),
  order: readWord(query, 'order', ['newest', 'oldest'] as const) ?? 'newest',
  after: readCursor(query),
  limit: readCount(query, 'limit', MAX_RECORDS),
})

function readWord<W extends string>(query: URLSearchParams, name: string, words: readonly W[]): W | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const found = words.find((word) => word === text)
  if (found === undefined) throw refuse(`${name} must be one of ${words.join(', ')}.`)
  return found
}

/** Milliseconds since the epoch, or a date and time of ISO 8601. */
function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const time = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text)
  if (!Number.isSafeInteger(time)) throw refuse(`${name} must be a time such as 2026-01-31T12:00:00Z.`)
  return time
}

const renderCursor = ({ time, node, sequence }: AuditCursor): string =>
  Buffer.from(JSON.stringify([time, node, sequence])).toString('base64url')

function readCursor(query: URLSearchParams): AuditCursor | undefined {
  const text = query.get('after')
  if (text === null) return undefined
  const reading = readJson(Buffer.from(text, 'base64url').toString())
  const [time, node, sequence] = reading.kind === 'json' && Array.isArray(reading.value) ? reading.value : []
  if (!Number.isSafeInteger(time) || !Number.isSafeInteger(sequence) || !isNode(node))
    throw refuse('after must be the value of next in an earlier response.')
  return { time, node, sequence }
}

const isNode = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
