/** The messages that are not sent yet, for administrators. Those that were sent are in the audit trail. */
import { operation } from '../../dialects/admin-api/operation.ts'
import { numberOf, one, type Row, textOf } from '../../store/engine.ts'
import { toStatements } from '../../store/statements.ts'
import type { Notice } from './notices.ts'
import type { MailPayload } from './queue.ts'
import { WAITING_LIST } from './schemas.ts'

const MAX_SHOWN = 200

const STATEMENTS = toStatements(
  {
    listWaiting: `SELECT id, kind, payload, claim, attempts, due_ms, problem FROM cardea_jobs
      WHERE kind >= 'mail.' AND kind < 'mail/' ORDER BY id LIMIT ${MAX_SHOWN}`,
  },
  'mail.',
)

export const findWaiting = operation('GET /messages', 'administrator', {
  summary: `List the messages that wait to be sent, the first ${MAX_SHOWN}`,
  reply: WAITING_LIST,
  run: async ({ statements }) => ({ messages: (await statements.ask(one(STATEMENTS.listWaiting))).map(show) }),
})

function show(row: Row) {
  // the module has written it
  const { address, message } = JSON.parse(textOf(row, 'payload')) as MailPayload & Partial<Pick<Notice, 'message'>>
  const isPostponed = textOf(row, 'claim') === '' && numberOf(row, 'due_ms') > 0
  return {
    id: numberOf(row, 'id'),
    message: message ?? textOf(row, 'kind').slice('mail.'.length),
    address,
    attempts: numberOf(row, 'attempts'),
    nextAt: isPostponed ? Math.ceil(numberOf(row, 'due_ms') / 1000) : null,
    problem: textOf(row, 'problem'),
  }
}
