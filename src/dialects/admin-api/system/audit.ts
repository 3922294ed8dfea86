import { readIsoTime } from '../../../base/clock.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import { readJson } from '../../../base/json.ts'
import { countVerified } from '../../../kernel/audit.ts'
import { toShownRecord } from '../../../observe/audit/audit-record.ts'
import type { AuditCursor, AuditRange } from '../../../observe/audit/audit-store.ts'
import type { EventRow, EventTable } from '../../../observe/security-event-table.ts'
import { operation, requireOwner } from '../operation.ts'
import { count, flag, integer, object, oneOf, type Static, text } from '../schemas/schema.ts'
import { AUDIT_EVENTS, AUDIT_LIST, OUTCOME, VERIFICATION } from '../schemas/system.ts'

const MAX_RECORDS = 1000

const auditQuery = (rows: EventTable) =>
  object({
    'user?': text('Only records in which this name is the actor or the subject.'),
    'event?': oneOf(Object.keys(rows), 'Only this kind of event.'),
    'outcome?': OUTCOME,
    'since?': text('Not before this time: ISO 8601, or milliseconds since the epoch.'),
    'until?': text('Before this time.'),
    'order?': oneOf(['newest', 'oldest'], 'Which records come first; by default the newest.'),
    'after?': text('The value of `next` in the previous page.'),
    'limit?': count(MAX_RECORDS, '1 to 1000, which is the default.'),
  })
type AuditQuery = Static<ReturnType<typeof auditQuery>>

export const auditOperations = (rows: EventTable) => ({
  'audit.list': operation('GET /audit', 'administrator', {
    summary: 'List audit records',
    query: auditQuery(rows),
    reply: AUDIT_LIST,
    async run({ audit }, { query }) {
      const range = toRange(query)
      const records = await audit.list(range)
      const last = records.length === range.limit ? records.at(-1) : undefined
      return { records: records.map(toShownRecord), ...(last && { next: renderCursor(last) }) }
    },
  }),
  'audit.erase': operation('POST /audit/erase', 'administrator', {
    summary: 'Replace the name of a removed user in all audit records',
    body: object({ name: text() }),
    reply: object({
      pseudonym: text('What the records show in place of the name.'),
      records: integer('How many records were changed.'),
    }),
    async run({ directory, audit }, { body, caller }) {
      const { name } = body
      if (directory.isAdministrator(name) || (await directory.findUser(name)))
        throw new Refusal('conflict', { reason: 'An account has this name. Remove it first.' })
      return audit.erase(name, caller)
    },
  }),
  'audit.verify': operation('POST /audit/verification', 'administrator', {
    summary: 'Read the whole audit trail and find what was changed, as `cardea audit verify` on this node',
    reply: VERIFICATION,
    async run({ audit }) {
      const verified = await audit.verify()
      return { ...countVerified(verified), findings: verified.findings }
    },
  }),
  'audit.record-command': operation('POST /audit/commands', 'administrator', {
    summary: 'Record a backup or a verification that a command has made; only at the control socket',
    body: object({
      event: oneOf(['store.saved', 'audit.verified']),
      records: integer('How many records it has read.'),
      'findings?': integer('For `audit.verified`: how many findings; absent: none.'),
    }),
    reply: object({ recorded: flag() }),
    run({ events }, { body: { event, records, findings = 0 }, requester }) {
      requireOwner(requester)
      if (event === 'store.saved') events.record(event, { records })
      else events.record(event, { records, findings })
      return { recorded: true }
    },
  }),
  'audit.events': operation('GET /audit/events', 'administrator', {
    summary: 'List the kinds of audit events',
    reply: AUDIT_EVENTS,
    run: () => ({
      events: Object.entries<EventRow>(rows).map(([event, { level, outcome, sentence, story, fields }]) => ({
        event,
        level,
        outcome,
        sentence,
        story,
        fields: Object.entries(fields).map(([name, { type, help }]) => ({ name, type, help })),
      })),
    }),
  }),
})

const toRange = ({ since, until, after, order = 'newest', limit = MAX_RECORDS, ...query }: AuditQuery): AuditRange => ({
  ...query,
  sinceMs: readTime('since', since),
  untilMs: readTime('until', until),
  order,
  after: readCursor(after),
  limit,
})

/** Milliseconds since the epoch, or a date and time of ISO 8601. */
function readTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{1,15}$/.test(text) ? Number(text) : readIsoTime(text)
  if (!Number.isSafeInteger(time)) throw badRequest(`${name} must be a time such as 2026-01-31T12:00:00Z.`)
  return time
}

const renderCursor = ({ time, node, sequence }: AuditCursor): string =>
  Buffer.from(JSON.stringify([time, node, sequence])).toString('base64url')

function readCursor(text: string | undefined): AuditCursor | undefined {
  if (text === undefined) return undefined
  const reading = readJson(Buffer.from(text, 'base64url').toString())
  const [time, node, sequence] = reading.kind === 'json' && Array.isArray(reading.value) ? reading.value : []
  if (!Number.isSafeInteger(time) || !Number.isSafeInteger(sequence) || !isNode(node))
    throw badRequest('after must be the value of next in an earlier response.')
  return { time, node, sequence }
}

const isNode = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
