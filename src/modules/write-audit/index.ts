/**
 * Records who wrote what: one security event for each successful write to the databases of `audit.writes`, through the
 * gateway of the document door. Tests: `test/modules/write-audit/`, `test/scenario/gateway/write-audit.test.ts`. Page:
 * `docs/reference/audit-trail.md`.
 */
import { EVENT } from '../../observe/security-event-table.ts'
import { documentGrants } from '../document-grants/index.ts'
import { defineModule } from '../module.ts'
import { writeAuditOptions } from './options.ts'
import { WRITE_RULES } from './watch.ts'

const WRITE_EVENTS = {
  'document.written': EVENT.done('document written', 'The database {database} was written to', {
    database: EVENT.text('Database.'),
    method: EVENT.text('Method of the request.'),
    document: EVENT.optional(EVENT.text('Id of the document, if it is one.')),
    revision: EVENT.optional(EVENT.text('Its new revision, if the response names it.')),
    endpoint: EVENT.optional(
      EVENT.text(
        'Endpoint of the database if it is no document, such as `_bulk_docs`; `/`: the database was created or removed.',
      ),
    ),
    count: EVENT.optional(EVENT.number('How many documents the response to a bulk write reports as written.')),
  }),
}

export const writeAudit = defineModule({
  name: 'write-audit',
  needs: [documentGrants],
  events: WRITE_EVENTS,
  options: writeAuditOptions,
  documentDoor: WRITE_RULES,
})

type Events = typeof WRITE_EVENTS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
