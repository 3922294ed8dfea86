import { FORMAT_NAMES } from '../../../transfer/format-names.ts'
import type { OperationName } from '../operations.ts'
import { type Description, flag, integer, listOf, object, oneOf, text } from './schema.ts'
import { CURRENT_PASSWORD_MEMBER, NEXT, PAGE_QUERY } from './users.ts'

const OUTCOME = {
  anyOf: [
    object({ kind: oneOf(['created', 'replaced', 'kept']) }),
    object({ kind: oneOf(['refused']), reason: text() }),
  ],
}

export const TRANSFER_DESCRIPTIONS = {
  'transfer.import': {
    summary: 'Import users, with stored password hashes',
    body: object({
      users: listOf({}, 'At most 1000 users, each as a line of an export in the format `cardea` has it.'),
      'replace?': flag('Replace users that exist; otherwise they are kept.'),
      'trial?': flag('Check only, write nothing.'),
      ...CURRENT_PASSWORD_MEMBER,
    }),
    reply: object({ outcomes: listOf(OUTCOME, 'One for each user, in order.') }),
  },
  'transfer.export': {
    summary: 'Export users, with stored password hashes',
    query: {
      format: oneOf(FORMAT_NAMES),
      'id-prefix?': text('For the format `document`: the beginning of the ids of user documents.'),
      ...PAGE_QUERY,
    },
    reply: object({
      users: listOf(
        object({
          name: text(),
          text: text('The record as an export holds it.'),
          losses: listOf(text(), 'What the format cannot hold of this user.'),
        }),
      ),
      'damaged?': listOf(text(), 'Users that are left out because their records are damaged.'),
      'next?': NEXT,
    }),
  },
  'transfer.administrators': {
    summary: 'Export administrators, with stored password hashes',
    reply: object({ administrators: listOf(object({ name: text(), text: text('As [admins] has it.') })) }),
  },
  'transfer.settings': {
    summary: 'Export the settings made at run time',
    reply: object({
      settings: listOf(
        object({ section: text(), key: text(), 'text?': text('Present for a secret only at the control socket.') }),
      ),
    }),
  },
  'transfer.count': { summary: 'Count the users', reply: object({ users: integer() }) },
} as const satisfies Partial<Record<OperationName, Description>>
