import type { OperationName } from '../operations.ts'
import { type Description, integer, listOf, named, object, oneOf, text } from './schema.ts'

const OUTCOME = oneOf(['success', 'failure'])

const RECORD = named('AuditRecord', {
  ...object({
    id: text('Node and sequence.'),
    time: integer('Milliseconds since the epoch.'),
    sequence: integer('From 1, without a gap, for each node.'),
    node: text(),
    event: text('Kind of the event.'),
    outcome: OUTCOME,
    'actor?': text('Name of the identity that made the request.'),
    'subject?': text('The user or administrator that the event is about.'),
    'peer?': text('Address of the client.'),
    'door?': text(),
    'handler?': text('Credential handler.'),
    'request?': text('Id of the request.'),
    'reason?': text(),
    previous: text('Hash of the record before.'),
    hash: text('SHA-256 of this record.'),
  }),
  // the other fields depend on the kind of event
  additionalProperties: true,
})

export const AUDIT_DESCRIPTIONS = {
  'audit.list': {
    summary: 'List audit records',
    query: {
      'user?': text('Only records in which this name is the actor or the subject.'),
      'event?': text('Only this kind of event.'),
      'outcome?': OUTCOME,
      'since?': text('Not before this time: ISO 8601, or milliseconds since the epoch.'),
      'until?': text('Before this time.'),
      'order?': oneOf(['newest', 'oldest'], 'Which records come first; by default the newest.'),
      'after?': text('The value of `next` in the previous page.'),
      'limit?': integer('1 to 1000, which is the default.'),
    },
    reply: object({ records: listOf(RECORD), 'next?': text('The value of `after` for the next page.') }),
  },
  'audit.erase': {
    summary: 'Replace the name of a removed user in all audit records',
    body: object({ name: text() }),
    reply: object({
      pseudonym: text('What the records show in place of the name.'),
      records: integer('How many records were changed.'),
    }),
  },
  'audit.events': {
    summary: 'List the kinds of audit events',
    reply: object({
      events: listOf(
        object({
          event: text(),
          level: oneOf(['info', 'warn', 'error']),
          outcome: OUTCOME,
          sentence: text('A short name.'),
          story: text('A sentence; `{field}` means the value of that field.'),
          fields: listOf(object({ name: text(), type: oneOf(['text', 'number', 'list']), help: text() })),
        }),
      ),
    }),
  },
} as const satisfies Partial<Record<OperationName, Description>>
